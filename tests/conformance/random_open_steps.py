"""Steps of random models whose results have extents, or a rank, that only a run knows."""
import numpy as np

from random_values import FLOATS, INTEGERS, MOST_UNRANKED, TYPES, Open, high, is_fixed, least, low, most

MOST = 24  # elements of what such a step gives


def with_axis(shape, axis, extent):
    return shape[:axis] + (extent,) + shape[axis + 1:]


def pick_small(scope, wanted=lambda value: True, elements=12):
    return scope.pick(lambda v: len(v.shape) > 0 and most(v.shape) <= elements and wanted(v))


def any_axis(scope, value):
    return scope.r.randrange(len(value.shape))


def step_nonzero(scope):
    a = pick_small(scope, lambda v: v.dtype in ('f32', 'i32', 'i64', 'u8', 'bool') and v.exact)
    if a is not None:
        scope.add('NonZero', [a], 'i64', (len(a.shape), Open(0, most(a.shape))))


def step_compress(scope):
    a = pick_small(scope)
    if a is None:
        return
    if scope.r.random() < 0.3 and is_fixed(a.shape):
        which = scope.pick_or_make('bool', (most(a.shape),))
        scope.add('Compress', [a, which], a.dtype, (Open(0, most(a.shape)),), exact=a.exact)
        return
    axis = any_axis(scope, a)
    which = scope.pick_or_make('bool', (a.shape[axis],))
    shape = with_axis(a.shape, axis, Open(0, high(a.shape[axis])))
    scope.add('Compress', [a, which], a.dtype, shape, exact=a.exact, axis=axis - scope.r.choice([0, len(a.shape)]))


def step_unique(scope):
    a = pick_small(scope, lambda v: v.dtype in ('f32', 'f64', 'i64') and v.exact and least(v.shape) > 0)
    if a is None:
        return
    axis = any_axis(scope, a) if scope.r.random() < 0.4 else None
    attributes = {} if axis is None else {'axis': axis}
    count = Open(1, most(a.shape) if axis is None else high(a.shape[axis]))
    outputs = scope.node('Unique', [a], scope.r.choice([1, 4]), sorted=scope.r.randrange(2), **attributes)
    whole = (most(a.shape) if is_fixed(a.shape) else Open(least(a.shape), most(a.shape))) if axis is None else a.shape[axis]
    shapes = [(count,) if axis is None else with_axis(a.shape, axis, count), (count,), (whole,), (count,)]
    for name, shape, dtype in zip(outputs, shapes, [a.dtype, 'i64', 'i64', 'i64']):
        scope.values.append(scope.value(name, dtype, shape))


def step_top_k(scope):
    a = pick_small(scope, lambda v: v.dtype in FLOATS + INTEGERS and v.exact)
    if a is None:
        return
    axis = any_axis(scope, a)
    extent = a.shape[axis]
    if isinstance(extent, int):
        k = scope.numbers(0, extent + 1)
    elif scope.r.random() < 0.3:
        k = scope.extent(extent)
    else:
        k = scope.add('Min', [scope.numbers(0, high(extent) + 1), scope.extent(extent)], 'i64', (1,))
    shape = with_axis(a.shape, axis, Open(0, high(extent)))
    names = scope.node('TopK', [a, k], 2, axis=axis, largest=scope.r.randrange(2))
    for name, dtype in zip(names, [a.dtype, 'i64']):
        scope.values.append(scope.value(name, dtype, shape))


def step_range(scope):
    dtype = scope.r.choice(['i64', 'i64', 'i32', 'f32'])
    end, begin = scope.number(-1, 5), scope.number(-1, 2)
    if dtype != 'i64':
        end, begin = (scope.add('Cast', [v], dtype, (), to=TYPES[dtype][1]) for v in (end, begin))
    step = scope.one(0.5 if dtype == 'f32' else scope.r.choice([1, 2]), dtype)
    result = scope.add('Range', [begin, end, step], dtype, (Open(0, 10 if dtype == 'f32' else 5),))
    if dtype == 'f32':
        scope.add('Mul', [result, scope.one(0.25, dtype)], dtype, result.shape)


def step_slice(scope):
    """Operands that are computed; the axis too, perhaps."""
    a = pick_small(scope)
    if a is None:
        return
    axis, r = any_axis(scope, a), scope.r
    begin = scope.numbers(-3, 2) if r.random() < 0.6 else scope.ints(r.randrange(-2, 2))
    end, step = scope.numbers(-1, 4), r.choice([1, 1, 2, -1])
    if step == -1:
        begin, end = end, begin
    shape, where = with_axis(a.shape, axis, Open(0, high(a.shape[axis]))), scope.ints(axis)
    if r.random() < 0.2 and len(a.shape) > 1:
        where = scope.numbers(0, len(a.shape))
        shape = [Open(0, high(e)) for e in a.shape]
    scope.add('Slice', [a, begin, end, where, scope.ints(step)], a.dtype, shape, exact=a.exact)


def computed_extents(scope, count, begin=0):
    """A shape as a tensor, and what is known of it."""
    parts, shape = [], []
    for _ in range(count):
        opens = [e for e in scope.opens() if low(e) >= begin and high(e) <= 4]
        if opens and scope.r.random() < 0.4:
            shape.append(scope.r.choice(opens))
            parts.append(scope.extent(shape[-1]))
        elif scope.r.random() < 0.3:
            shape.append(scope.r.randrange(1, 3))
            parts.append(scope.ints(shape[-1]))
        else:
            shape.append(Open(begin, 3))
            parts.append(scope.numbers(begin, 4))
    return scope.value(scope.node('Concat', parts, axis=0)[0], 'i64', (count,)), tuple(shape)


def computed_rank(scope, most_axes):
    """A shape of an unknown number of axes: ones and twos."""
    sizes = scope.constant([2] + [1] * (most_axes - 1), 'i64', keep=False)
    return scope.add('Slice', [sizes, scope.ints(0), scope.numbers(0, most_axes + 1), scope.ints(0)], 'i64', (Open(0, most_axes),))


def step_expand(scope):
    a = scope.pick(lambda v: most(v.shape) <= 6 and len(v.shape) < 3 and (1 in v.shape or len(v.shape) < 2))
    if a is None:
        return
    if scope.r.random() < 0.2 and 2 not in a.shape and is_fixed(a.shape) and most(a.shape) == 1:
        scope.add('Expand', [a, computed_rank(scope, 2)], a.dtype, None, exact=a.exact)
        return
    ones = [i for i, e in enumerate(a.shape) if e == 1]
    if ones and scope.r.random() < 0.6:
        axis = scope.r.choice(ones)
        extent = Open(0, 3)
        sizes = [scope.numbers(0, 4) if i == axis else scope.ints(1) for i in range(len(a.shape))]
        sizes = scope.node('Concat', sizes, axis=0)[0]
        scope.add('Expand', [a, sizes], a.dtype, with_axis(a.shape, axis, extent), exact=a.exact)
    else:
        sizes, extents = computed_extents(scope, 1)
        sizes = scope.node('Concat', [sizes, *[scope.ints(1) for _ in a.shape]], axis=0)[0]
        scope.add('Expand', [a, sizes], a.dtype, extents + a.shape, exact=a.exact)


def step_constant_of_shape(scope):
    dtype = scope.r.choice(['f32', 'i64', 'i32', 'bool'])
    value = scope.g.elements(dtype, (1,))
    attribute = np.asarray(value, TYPES[dtype][0])
    if scope.r.random() < 0.25:
        sizes, shape = computed_rank(scope, 3), None
    else:
        sizes, shape = computed_extents(scope, scope.r.randrange(1, 3))
    scope.add('ConstantOfShape', [sizes], dtype, shape, exact=True, value=scope.tensor(attribute))


def step_reshape(scope):
    a = scope.pick(lambda v: most(v.shape) <= MOST_UNRANKED)
    if a is None:
        return
    r = scope.r.random()
    if r < 0.3 or least(a.shape) == 0:
        scope.flat(a)
    elif r < 0.6 and len(a.shape) > 1:  # the extents in another order
        order = scope.r.sample(range(len(a.shape)), len(a.shape))
        sizes = scope.add('Gather', [scope.node('Shape', [a])[0], scope.ints(*order)], 'i64', (len(order),), exact=True, axis=0)
        scope.add('Reshape', [a, sizes], a.dtype, [a.shape[i] for i in order], exact=a.exact)
    elif r < 0.8:  # ones, and what is left
        ones = scope.add('Expand', [scope.one(1, 'i64'), scope.numbers(0, 3)], 'i64', (Open(0, 2),))
        sizes = scope.node('Concat', [ones, scope.ints(-1)], axis=0)[0]
        scope.add('Reshape', [a, sizes], a.dtype, None, exact=a.exact)
    else:
        extents = [Open(1, most(a.shape)), Open(1, most(a.shape))]
        if is_fixed(a.shape) and most(a.shape) % 2 == 0:
            sizes = scope.node('Concat', [scope.numbers(1, 3), scope.ints(-1)], axis=0)[0]
            scope.add('Reshape', [a, sizes], a.dtype, extents, exact=a.exact)


def step_tile(scope):
    a = pick_small(scope, elements=8)
    if a is not None:
        axis = any_axis(scope, a)
        counts = [scope.numbers(0, 4) if i == axis else scope.ints(1) for i in range(len(a.shape))]
        counts = scope.node('Concat', counts, axis=0)[0]
        scope.add('Tile', [a, counts], a.dtype, with_axis(a.shape, axis, Open(0, 3 * high(a.shape[axis]))), exact=a.exact)


def step_pad(scope):
    a = pick_small(scope, lambda v: v.dtype in FLOATS + INTEGERS + ('u8',), elements=8)
    if a is None:
        return
    axis, rank = any_axis(scope, a), len(a.shape)
    pads = [scope.ints(0) for _ in range(2 * rank)]
    pads[axis] = scope.numbers(0, 3)
    if scope.r.random() < 0.5:
        pads[rank + axis] = scope.numbers(0, 2)
    extent = Open(low(a.shape[axis]), high(a.shape[axis]) + 3)
    pads = scope.node('Concat', pads, axis=0)[0]
    value = [scope.one(1, a.dtype)] if scope.r.random() < 0.7 else []
    mode = 'edge' if not value and least(a.shape) > 0 else 'constant'
    scope.add('Pad', [a, pads, *value], a.dtype, with_axis(a.shape, axis, extent), exact=a.exact, mode=mode)


def step_split(scope):
    a = pick_small(scope)
    if a is None or scope.g.opset < 13:
        return
    axis = any_axis(scope, a)
    extent = a.shape[axis]
    first = scope.numbers(0, low(extent) + 1)
    rest = scope.node('Sub', [scope.extent(extent), first])[0]
    sizes = scope.node('Concat', [first, rest], axis=0)[0]
    for name, part in zip(scope.node('Split', [a, sizes], 2, axis=axis), [Open(0, low(extent)), Open(0, high(extent))]):
        scope.values.append(scope.value(name, a.dtype, with_axis(a.shape, axis, part), a.exact))


def step_squeeze(scope):
    a = scope.pick(lambda v: v.shape.count(1) > 0)
    if a is None or scope.g.opset < 13:
        return
    ones = [i for i, e in enumerate(a.shape) if e == 1]
    which = scope.number(0, len(ones))
    axis = scope.add('Gather', [scope.constant(ones, 'i64', keep=False), which], 'i64', (), axis=0)
    axis = scope.add('Reshape', [axis, scope.ints(1)], 'i64', (1,))
    shape = [Open(min(low(x), low(y)), max(high(x), high(y))) for x, y in zip(a.shape, a.shape[1:])]
    scope.add('Squeeze', [a, axis], a.dtype, shape, exact=a.exact)


def step_unsqueeze(scope):
    a = scope.pick(lambda v: 0 < len(v.shape) < 3 and most(v.shape) <= 12)
    if a is not None and scope.g.opset >= 13:
        bounds = [(1, *map(f, a.shape)) for f in (low, high)]
        shape = [Open(min(bounds[0]), max(bounds[1])) for _ in range(len(a.shape) + 1)]
        scope.add('Unsqueeze', [a, scope.numbers(0, len(a.shape) + 1)], a.dtype, shape, exact=a.exact)


def step_reduce(scope):
    """Axes that are computed; perhaps of unknown number, and none is all."""
    a = pick_small(scope, lambda v: v.dtype in INTEGERS + ('f32',) and least(v.shape) > 0)
    if a is None:
        return
    op = scope.r.choice(['ReduceMax', 'ReduceMin'] + ['ReduceSum'] * 3) if a.dtype in INTEGERS else 'ReduceMax'
    if scope.g.opset < (13 if op == 'ReduceSum' else 18):
        return
    rank, keepdims = len(a.shape), scope.r.randrange(2)
    if scope.r.random() < 0.3:
        axes = scope.add('Range', [scope.one(0, 'i64'), scope.number(0, rank + 1), scope.one(1, 'i64')], 'i64', (Open(0, rank),))
        shape = [Open(1, high(e)) for e in a.shape] if keepdims else None
    else:
        axes = scope.numbers(-rank, 0)
        shape = [Open(1, high(e)) for e in a.shape]
        if not keepdims:
            shape = [Open(1, max(map(high, a.shape))) for _ in shape[1:]]
    result = scope.add(op, [a, axes], a.dtype, shape, exact=a.exact, keepdims=keepdims)
    if op == 'ReduceSum':
        scope.add('Mod', [result, scope.one(7, a.dtype)], a.dtype, result.shape)


def step_boxes(scope):
    """No two scores are the same, and no overlap is the limit."""
    count = scope.r.randrange(2, 5)
    corners = scope.g.elements_of.randint(0, 6, (1, count, 2))
    sizes = scope.g.elements_of.randint(1, 6, (1, count, 2))
    boxes = scope.constant(np.concatenate([corners, corners + sizes], axis=2), 'f32', keep=False)
    scores = scope.g.elements_of.permutation(8)[:count].reshape(1, 1, count) / 8
    scores = scope.constant(scores, 'f32', keep=False)
    found = Open(0, count)
    if scope.r.random() < 0.5:
        which = scope.number(0, 4)
        row = scope.constant([0.0, 0.3, 0.55, 0.8], 'f32', keep=False)
        limit = scope.add('Gather', [row, which], 'f32', (), axis=0)
        limit = scope.add('Reshape', [limit, scope.ints(1)], 'f32', (1,))
    else:
        limit = scope.constant([0.05], 'f32', keep=False)
    overlap = scope.constant([scope.r.choice([0.137, 0.331, 0.731])], 'f32', keep=False)
    rows = scope.add('NonMaxSuppression', [boxes, scores, scope.numbers(1, 5), overlap, limit], 'i64', (found, 3))
    picked = scope.add('Gather', [rows, scope.ints(2)], 'i64', (found, 1), axis=1)
    scope.add('Gather', [scope.constant(scope.g.elements('f32', (count,)), 'f32'), scope.flat(picked)], 'f32', (found,), axis=0)


def step_gather(scope):
    """Rows at indices of unknown number."""
    a = pick_small(scope, lambda v: isinstance(v.shape[0], int) and v.shape[0] > 0, elements=8)
    i = scope.pick(lambda v: v.dtype in INTEGERS and v.exact and len(v.shape) == 1 and high(v.shape[0]) <= 4)
    if a is not None and i is not None:
        index = scope.add('Mod', [i, scope.one(a.shape[0], i.dtype)], i.dtype, i.shape)
        scope.add('Gather', [a, index], a.dtype, i.shape + a.shape[1:], exact=a.exact, axis=0)


def step_resize(scope):
    a = pick_small(scope, lambda v: v.dtype == 'f32' and least(v.shape) > 0, elements=6)
    if a is None:
        return
    axis = any_axis(scope, a)
    factors = [scope.numbers(1, 3) if i == axis else scope.ints(1) for i in range(len(a.shape))]
    sizes = scope.node('Mul', [scope.node('Shape', [a])[0], scope.node('Concat', factors, axis=0)[0]])[0]
    extent = Open(low(a.shape[axis]), 2 * high(a.shape[axis]))
    none = scope.constant(np.zeros(0), 'f32', keep=False)
    scope.add('Resize', [a, '' if scope.g.opset >= 13 else none, '' if scope.g.opset >= 13 else none, sizes], 'f32',
              with_axis(a.shape, axis, extent), exact=a.exact, mode='nearest', coordinate_transformation_mode='asymmetric',
              nearest_mode='floor')


def step_cumulate(scope):
    a = pick_small(scope, lambda v: v.dtype in INTEGERS)
    if a is not None:
        total = scope.add('CumSum', [a, scope.number(0, len(a.shape))], a.dtype, a.shape)
        scope.add('Mod', [total, scope.one(7, a.dtype)], a.dtype, a.shape)


def step_unranked(scope):
    """Of a value whose rank nobody knows, if there is one."""
    a = scope.pick(lambda v: v.shape is None, is_ranked=False)
    if a is None:
        return
    which = scope.r.randrange(8)
    if which == 0:
        scope.add('Shape', [a], 'i64', (Open(0, 4),), exact=True)
    elif which == 1:
        scope.add('Size', [a], 'i64', (), exact=True)
    elif which == 2:
        scope.flat(a)
    elif which == 3:
        scope.add('Identity', [a], a.dtype, None)
    elif which == 4 and a.dtype in FLOATS + INTEGERS:
        scope.add(scope.r.choice(['Neg', 'Abs']), [a], a.dtype, None)
    elif which == 5 and a.dtype in FLOATS + INTEGERS:
        operands = [a, scope.pick_or_make(a.dtype, (), a.exact)]
        scope.add(scope.r.choice(['Max', 'Min']), operands[::scope.r.choice([1, -1])], a.dtype, None)
    elif which == 6 and a.dtype in ('f32', 'i32', 'i64', 'u8'):
        scope.add('Where', [scope.pick_or_make('bool', ()), a, scope.pick_or_make(a.dtype, (), a.exact)], a.dtype, None)
    elif a.exact:
        scope.cast(a, scope.r.choice(list(TYPES)))


OPEN_STEPS = [step_nonzero, step_nonzero, step_compress, step_unique, step_top_k, step_range, step_slice, step_expand,
              step_constant_of_shape, step_reshape, step_tile, step_pad, step_split, step_squeeze, step_unsqueeze,
              step_reduce, step_boxes, step_gather, step_resize, step_cumulate, step_unranked, step_unranked]
