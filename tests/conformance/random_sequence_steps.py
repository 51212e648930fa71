"""Steps of random models on sequences and optionals."""
from onnx import helper

from random_scope import Scope
from random_values import FLOATS, INTEGERS, TYPES, Open, Type, Varies, high, is_fixed, low, most

MOST_ELEMENTS = 24
LONGEST = 6


def any_other_type(scope, type):
    """Of sequences of such tensors, or of optionals."""
    r = scope.r
    type = Type(type.dtype, type.shape, type.exact, length=(r.choice([0, 0, 1]), r.choice([3, 4])))
    if scope.g.opset < 16 or r.random() < 0.7:
        return type.as_kind('sequence')
    return type.as_kind('optional', r.choice(['tensor', 'tensor', 'sequence']))


def proto_of(type):
    tensor = helper.make_tensor_type_proto(TYPES[type.dtype][1], None)
    return helper.make_sequence_type_proto(tensor) if type.of == 'sequence' else tensor


def make_other(scope, type, is_new=False):
    """A new value of a type that is none of tensors; `is_new`: it has no sequence that another value has, too."""
    r = scope.r
    if type.kind == 'optional':
        if r.random() < 0.35:
            return scope.add_value('Optional', [], type, type=proto_of(type))
        inner = type.as_kind(type.of)
        has = make_other(scope, inner, is_new=True) if is_new and type.of == 'sequence' else scope.of_type(inner)
        return scope.add_value('Optional', [has], type)
    made = Type(type.dtype, type.shape, type.exact, 'sequence', (0, 0))
    if type.length[0] == 0 and r.random() < 0.4:
        return scope.add_value('SequenceEmpty', [], made, dtype=TYPES[type.dtype][1])
    count = r.randint(max(type.length[0], 1), min(type.length[1], 3))
    made.length = (count, count)
    elements = [scope.pick_or_make(type.dtype, type.shape, type.exact) for _ in range(count)]
    return scope.add_value('SequenceConstruct', elements, made)


def pick_sequence(scope, wanted=lambda value: True):
    return scope.pick(lambda v: v.length[1] <= LONGEST and wanted(v), is_ranked=False, kind='sequence')


def position_in(scope, sequence, is_insertion=False):
    r = scope.r
    if r.random() < 0.3 and (is_insertion or sequence.length[0] > 0):
        return scope.one(-1 if r.random() < 0.5 and sequence.length[0] > 0 else 0, 'i64')
    length = scope.node('SequenceLength', [sequence])[0]
    if is_insertion:
        length = scope.node('Add', [length, scope.one(1, 'i64')])[0]
    return scope.add('Mod', [scope.number(0, 12), length], 'i64', (), exact=True)


def longer(value, by):
    type = value.type()
    type.length = (value.length[0] + by, value.length[1] + by)
    return type


def inserted(scope, sequence):
    element = scope.pick_or_make(sequence.dtype, sequence.shape, sequence.exact)
    where = [position_in(scope, sequence, is_insertion=True)] if scope.r.random() < 0.6 else []
    return scope.add_value('SequenceInsert', [sequence, element, *where], longer(sequence, 1))


def erased(scope, sequence):
    where = [position_in(scope, sequence)] if scope.r.random() < 0.7 else []
    return scope.add_value('SequenceErase', [sequence, *where], longer(sequence, -1))


def next_sequence(body, value, type):
    """What a carried sequence is in the next iteration: one element more, or another one in the place of one."""
    if value.length[0] > 0 and body.r.random() < 0.5:
        return inserted(body, erased(body, value))
    has_room = body.node('Less', [body.node('SequenceLength', [value])[0], body.one(type.length[1], 'i64')])[0]
    then = Scope(body.g, body)
    then.output_value(inserted(then, value))
    otherwise = Scope(body.g, body)
    if value.length[1] > 0 and body.r.random() < 0.5:
        longest = otherwise.node('SequenceErase', [value])[0]
        otherwise.output_value(inserted(otherwise, Type(type.dtype, type.shape, type.exact, 'sequence',
                                                        (type.length[1] - 1, type.length[1] - 1)).value(longest)))
    else:
        otherwise.output_value(otherwise.add_value('Identity', [value], value.type()))
    return body.add_value('If', [has_room], type, then_branch=then.graph('then_branch'),
                          else_branch=otherwise.graph('else_branch'))


def joined(extents):
    """The extent of elements together, or that of each."""
    if all(e is extents[0] or (isinstance(e, int) and e == extents[0]) for e in extents):
        return extents[0]
    return Varies(min(map(low, extents)), max(map(high, extents)))


def step_construct(scope):
    a = scope.pick(lambda v: most(v.shape) <= 12, is_ranked=False)
    if a is None:
        return
    wanted = a.shape
    if wanted is not None and scope.r.random() < 0.5:
        wanted = tuple(Varies(0, 4) if scope.r.random() < 0.5 else e for e in wanted)
    if scope.r.random() < 0.1 and most(a.shape) <= MOST_ELEMENTS and len(a.shape or ()) < 4:
        wanted = None
    parts = [a] + [scope.pick_or_make(a.dtype, wanted, a.exact) for _ in range(scope.r.randrange(3))]
    shapes = [p.shape for p in parts]
    shape = None
    if wanted is not None and all(s is not None for s in shapes):
        shape = tuple(joined(extents) for extents in zip(*shapes)) if shapes[0] else ()
    exact = all(p.exact for p in parts)
    scope.add_value('SequenceConstruct', parts, Type(a.dtype, shape, exact, 'sequence', (len(parts), len(parts))))


def step_insert(scope):
    a = pick_sequence(scope)
    if a is not None:
        inserted(scope, a)


def step_erase(scope):
    a = pick_sequence(scope, lambda v: v.length[0] > 0)
    if a is not None:
        erased(scope, a)


def step_at(scope):
    a = pick_sequence(scope, lambda v: v.length[0] > 0)
    if a is not None:
        scope.add_value('SequenceAt', [a, position_in(scope, a)], a.type().as_kind('tensor'))


def step_length(scope):
    a = pick_sequence(scope)
    if a is not None:
        scope.add('SequenceLength', [a], 'i64', (), exact=True)


def step_identity(scope):
    a = scope.pick(is_ranked=False, kind=scope.r.choice(['sequence', 'optional']))
    if a is not None and (a.kind == 'sequence' or scope.g.opset >= 16):
        scope.add_value('Identity', [a], a.type())


def step_split(scope):
    a = scope.pick(lambda v: len(v.shape) > 0 and most(v.shape) <= 12 and v.dtype in FLOATS + INTEGERS)
    if a is None:
        return
    axis = scope.r.randrange(len(a.shape))
    extent, which = a.shape[axis], scope.r.randrange(3)
    attributes = {'axis': axis - scope.r.choice([0, len(a.shape)])}
    part, length, split = 1, (low(extent), high(extent)), []
    if which == 0 or low(extent) == 0:
        keepdims = scope.r.randrange(2)
        attributes['keepdims'] = keepdims
        part = 1 if keepdims else None
        if low(extent) == 0:
            return
    elif which == 1:
        split, part, length = [scope.number(1, 4)], Varies(1, min(3, high(extent))), (1, high(extent))
    else:
        first = scope.numbers(0, low(extent) + 1)
        rest = scope.node('Sub', [scope.extent(extent), first])[0]
        split, part, length = [scope.node('Concat', [first, rest], axis=0)[0]], Varies(0, high(extent)), (2, 2)
    shape = a.shape[:axis] + (() if part is None else (part,)) + a.shape[axis + 1:]
    scope.add_value('SplitToSequence', [a, *split], Type(a.dtype, shape, a.exact, 'sequence', length), **attributes)


def step_concat(scope):
    def can_be_joined(v):
        return v.length[0] > 0 and v.shape is not None and most(v.shape) * v.length[1] <= MOST_ELEMENTS
    a = pick_sequence(scope, can_be_joined)
    if a is None:
        return
    varying = [i for i, e in enumerate(a.shape) if isinstance(e, Varies)]
    count = a.length[0] if a.length[0] == a.length[1] else Open(*a.length)
    if not varying and len(a.shape) < 4 and (not a.shape or scope.r.random() < 0.5):
        axis = scope.r.randrange(len(a.shape) + 1)
        scope.add('ConcatFromSequence', [a], a.dtype, a.shape[:axis] + (count,) + a.shape[axis:], exact=a.exact, axis=axis,
                  new_axis=1)
    elif a.shape and len(varying) < 2:
        axis = varying[0] if varying else scope.r.randrange(len(a.shape))
        extent = a.shape[axis]
        whole = count * extent if is_fixed((count, extent)) else Open(low(extent) * low(count), high(extent) * high(count))
        scope.add('ConcatFromSequence', [a], a.dtype, a.shape[:axis] + (whole,) + a.shape[axis + 1:], exact=a.exact,
                  axis=axis - scope.r.choice([0, len(a.shape)]))


def step_map(scope):
    a = pick_sequence(scope)
    if a is None or scope.g.opset < 17 or scope.depth > 2:
        return
    r = scope.r
    body = Scope(scope.g, scope)
    operands = [a]
    body.input_of(a.type().as_kind('tensor'))
    if r.random() < 0.4:
        other = a if r.random() < 0.5 else scope.pick(is_ranked=False)
        if other is not None:
            operands.append(other)
            body.input_of(other.type().as_kind('tensor'))
    scope.g.steps_in(body)
    types = [scope.g.any_type(scope) for _ in range(r.randrange(1, 3))]
    types = [t.as_kind('tensor') for t in types]
    for type in types:
        body.output_of(type)
    for name, type in zip(scope.node('SequenceMap', operands, len(types), body=body.graph('body')), types):
        type.length = a.length
        scope.values.append(type.as_kind('sequence').value(name))


def step_optional(scope):
    a = scope.pick(is_ranked=False, kind=scope.r.choice(['tensor', 'sequence']))
    if a is not None:
        scope.add_value('Optional', [a], a.type().as_kind('optional', a.kind))


def step_has(scope):
    kinds = ['optional', 'optional'] + (['tensor', 'sequence'] if scope.g.opset >= 18 else [])
    a = scope.pick(is_ranked=False, kind=scope.r.choice(kinds))
    if a is not None:
        scope.add('OptionalHasElement', [a], 'bool', (), exact=True)


def step_get(scope):
    """The element, or something else where there is none."""
    a = scope.pick(is_ranked=False, kind='optional')
    if a is None or scope.depth > 2:
        return
    type = a.type().as_kind(a.of)
    then, otherwise = Scope(scope.g, scope), Scope(scope.g, scope)
    then.output_value(then.add_value('OptionalGetElement', [a], type))
    otherwise.output_of(type)
    has = scope.node('OptionalHasElement', [a])[0]
    scope.add_value('If', [has], type, then_branch=then.graph('then_branch'), else_branch=otherwise.graph('else_branch'))


def step_empty(scope):
    type = any_other_type(scope, scope.g.any_type(scope))
    if type.kind == 'sequence':
        type.length = (0, 0)
        scope.add_value('SequenceEmpty', [], type, dtype=TYPES[type.dtype][1])


SEQUENCE_STEPS = [step_construct, step_construct, step_construct, step_insert, step_insert, step_erase, step_at, step_at, step_length,
                  step_identity, step_split, step_split, step_concat, step_concat, step_map, step_map, step_optional, step_has,
                  step_get, step_get, step_empty]
