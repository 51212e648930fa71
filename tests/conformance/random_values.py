"""Values of random models, and what is known of their shapes while a model is made."""
import math
import numpy as np
from onnx import TensorProto

TYPES = {'f32': (np.float32, TensorProto.FLOAT), 'f64': (np.float64, TensorProto.DOUBLE), 'f16': (np.float16, TensorProto.FLOAT16),
         'i32': (np.int32, TensorProto.INT32), 'i64': (np.int64, TensorProto.INT64), 'u8': (np.uint8, TensorProto.UINT8),
         'bool': (np.bool_, TensorProto.BOOL)}
FLOATS, INTEGERS = ('f32', 'f64'), ('i32', 'i64')
MOST_UNRANKED, DEEPEST_UNRANKED = 24, 4  # elements and axes of values without a known rank


class Open:
    """An extent from `low` to `high` that only a run knows; the same object: the same extent. `source`: the first value that has it,
    and its axis."""

    def __init__(self, low, high):
        self.low, self.high, self.source = low, high, None


class Varies:
    """In a type that several values have, as those of both branches of an If: each has an extent of its own from `low` to `high`."""

    def __init__(self, low, high):
        self.low, self.high = low, high


def low(extent):
    return extent if isinstance(extent, int) else extent.low


def high(extent):
    return extent if isinstance(extent, int) else extent.high


def least(shape):
    return 0 if shape is None else math.prod(low(e) for e in shape)


def most(shape):
    return MOST_UNRANKED if shape is None else math.prod(high(e) for e in shape)


def is_fixed(shape):
    return shape is not None and all(isinstance(e, int) for e in shape)


def suits_extent(extent, wanted):
    if isinstance(extent, Varies) and not isinstance(wanted, Varies):
        return False
    if isinstance(wanted, Varies):
        return wanted.low <= low(extent) and high(extent) <= wanted.high
    return extent == wanted


def suits_shape(shape, wanted):
    if wanted is None:
        return most(shape) <= MOST_UNRANKED and (shape is None or len(shape) <= DEEPEST_UNRANKED)
    return shape is not None and len(shape) == len(wanted) and all(map(suits_extent, shape, wanted))


def opened(shape):
    """Of one value: what varies is an extent that only a run knows."""
    return None if shape is None else tuple(Open(e.low, e.high) if isinstance(e, Varies) else e for e in shape)


class Type:
    """What values have in common where they meet: tensors, sequences of these ('sequence'), or what may have one ('optional').

    Of a sequence `shape` holds for each element, and `length` has the bounds of their number. `of`: what an optional has."""

    def __init__(self, dtype, shape, exact=True, kind='tensor', length=(0, 0), of='tensor'):
        self.dtype, self.shape, self.exact, self.kind, self.length, self.of = dtype, shape, exact, kind, length, of

    def as_kind(self, kind, of='tensor'):
        return Type(self.dtype, self.shape, self.exact, kind, self.length, of)

    def value(self, name):
        return Value(name, self.dtype, opened(self.shape) if self.kind == 'tensor' else self.shape, self.exact, self.kind,
                     self.length, self.of)


class Value:
    """A tensor; `shape` is None where nobody knows its rank. Or something else, as Type says."""

    def __init__(self, name, dtype, shape, exact=True, kind='tensor', length=(0, 0), of='tensor'):
        self.name, self.dtype, self.exact, self.kind, self.length, self.of = name, dtype, exact, kind, length, of
        self.shape = None if shape is None else tuple(shape)
        for axis, extent in enumerate(self.shape or ()):
            if kind == 'tensor' and isinstance(extent, Open) and extent.source is None:
                extent.source = name, axis

    def type(self):
        return Type(self.dtype, self.shape, self.exact, self.kind, self.length, self.of)

    def suits(self, dtype, shape, exact):
        return self.kind == 'tensor' and self.dtype == dtype and suits_shape(self.shape, shape) and (self.exact or not exact)

    def suits_type(self, type):
        if type.kind == 'tensor':
            return self.suits(type.dtype, type.shape, type.exact)
        has_length = type.length[0] <= self.length[0] and self.length[1] <= type.length[1]
        return (self.kind == type.kind and self.of == type.of and self.dtype == type.dtype and (self.exact or not type.exact) and
                suits_shape(self.shape, type.shape) and (has_length or 'sequence' not in (type.kind, type.of)))
