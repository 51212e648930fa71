#!/usr/bin/env python3
"""Prints the tables of small_float_test.cpp: hashes of what ml_dtypes and onnx (its reference evaluator) make of
the 8-bit floating types. Needs numpy, ml_dtypes and onnx 1.23; no test runs it."""
import ml_dtypes
import numpy
from onnx.numpy_helper import saturate_cast, to_float8e8m0


def fnv(array):
    """64-bit FNV-1a of the bytes."""
    value = 14695981039346656037
    for byte in array.tobytes():
        value = ((value ^ byte) * 1099511628211) % 2**64
    return f'{value:#x}'


def decoded(dtype):
    numbers = numpy.arange(256, dtype=numpy.uint8).view(dtype).astype(numpy.float32)
    return numpy.where(numpy.isnan(numbers), numpy.float32(numpy.nan), numbers)


# Every f32 whose low 16 bits are 0, 1 or all ones: all numbers of these types, all that lies half way between two,
# and the next above and below.
high = numpy.arange(65536, dtype=numpy.uint32) << 16
x = numpy.stack([high, high | 1, high | 0xffff], 1).reshape(-1).view(numpy.float32)
numpy.seterr(all='ignore')
for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz):
    print(dtype.__name__, fnv(decoded(dtype)), fnv(saturate_cast(x, dtype)), fnv(x.astype(dtype)))
print('float8_e8m0', fnv(decoded(ml_dtypes.float8_e8m0fnu)))
# Of what the evaluator leaves to the standard's table (zero, subnormal numbers, infinity) and of negative numbers
# there is no hash.
normal = x[(x >= 2.0**-126) & numpy.isfinite(x)]
for mode in ('up', 'down', 'nearest'):
    print(mode, *(fnv(to_float8e8m0(normal, saturate, mode)) for saturate in (True, False)))
