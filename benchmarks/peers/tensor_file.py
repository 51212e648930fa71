"""TensorProto files (the .pb of the ONNX test layout) to NumPy arrays, without the onnx package."""
import struct

import numpy as np

_DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
           9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data):
    """(field number, wire type, value) for each field; a value is an int or a memoryview."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 5:
            value, at = data[at:at + 4], at + 4
        elif wire == 2:
            size, at = _varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {wire} in a tensor file")
        yield number, wire, value


def _integers(wire, value):
    if wire == 0:
        return [value]
    numbers, at = [], 0
    while at < len(value):
        number, at = _varint(value, at)
        numbers.append(number)
    return numbers


def _signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def read_tensor(path):
    with open(path, "rb") as file:
        data = memoryview(file.read())
    dims, dtype, raw, numbers, floats, strings = [], 0, None, [], b"", []
    for number, wire, value in _fields(data):
        if number == 1:
            dims += [_signed(n) for n in _integers(wire, value)]
        elif number == 2:
            dtype = value
        elif number in (4, 10):
            floats += bytes(value)
        elif number in (5, 7, 11):
            numbers += _integers(wire, value)
        elif number == 6:
            strings.append(bytes(value).decode())
        elif number == 9:
            raw = value
    if dtype == 8:
        return np.array(strings, dtype=object).reshape(dims)
    if dtype not in _DTYPES:
        raise ValueError(f"{path}: element type {dtype} has no NumPy counterpart here")
    kind = np.dtype(_DTYPES[dtype])
    if raw is not None:
        return np.frombuffer(raw, dtype=kind).reshape(dims).copy()
    if floats:
        return np.frombuffer(floats, dtype=kind).reshape(dims).copy()
    if kind == np.float16:
        packed = struct.pack(f"<{len(numbers)}H", *[n & 0xFFFF for n in numbers])
        return np.frombuffer(packed, dtype=kind).reshape(dims).copy()
    if kind.kind in "iu" and kind.itemsize == 8 and kind.kind == "u":
        return np.array(numbers, dtype=kind).reshape(dims)
    return np.array([_signed(n) for n in numbers]).astype(kind).reshape(dims)
