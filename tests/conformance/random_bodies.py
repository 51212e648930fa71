"""Random ONNX models of If, Loop and Scan, nested up to three deep, with extents and ranks that data decide, sequences and optionals.
A seed gives one model and inputs for it.

Every result is the same on all machines: elements are multiples of 1/8 in [-1, 1] or small integers, and operators round to the
nearest or not at all. `exact` is False for what Tanh and MatMul give; such values decide no condition and no index.
"""
import random
import numpy as np
from onnx import helper

from random_open_steps import OPEN_STEPS
from random_scope import Scope
from random_sequence_steps import SEQUENCE_STEPS, any_other_type, make_other, next_sequence
from random_values import FLOATS, INTEGERS, TYPES, Open, Type, Value, Varies, high, is_fixed, least, low

SHAPES = [(), (), (1,), (2,), (3,), (2, 3), (1, 3), (2, 1), (3, 2), (2, 2, 3)]
DEEPEST = 3
MOST_ITERATIONS = 5
OPSETS = {12: 7, 13: 7, 15: 8, 16: 8, 18: 8, 21: 10}  # with IR versions


def step(scope):
    r = scope.r
    if scope.depth < DEEPEST and r.random() < (0.45 if scope.depth == 0 else 0.3):
        r.choice([add_if, add_loop, add_loop, add_scan])(scope)
    elif scope.g.is_open and r.random() < 0.4:
        r.choice(OPEN_STEPS)(scope)
    elif scope.g.has_sequences and r.random() < 0.5:
        r.choice(SEQUENCE_STEPS)(scope)
    else:
        scope.plain_step()


def any_type(scope, may_vary=True):
    """A type of values: `may_vary`: not all of them need to have the same shape, or to be tensors."""
    r = scope.r
    dtype, shape = r.choice(scope.g.dtypes), r.choice(scope.g.shapes)
    if scope.g.is_open:
        opens = [e for e in scope.opens() if high(e) <= 4]
        shape = tuple(r.choice(opens) if opens and r.random() < 0.2 else e for e in shape)
        if may_vary:
            shape = tuple(Varies(r.choice([0, 0, 1]), r.choice([3, 4])) if r.random() < 0.3 else e for e in shape)
            shape = None if r.random() < 0.08 else shape
    type = Type(dtype, shape, dtype not in FLOATS or r.random() < 0.8)
    return any_other_type(scope, type) if may_vary and scope.g.has_sequences and r.random() < 0.35 else type


def steps_in(body):
    for _ in range(body.r.randrange(5)):
        step(body)


def condition_in(scope):
    return scope.pick_or_make('bool', ())


def add_if(scope):
    r = scope.r
    types = [any_type(scope) for _ in range(r.randrange(1, 4))]
    known = r.choice(['then_branch', 'else_branch']) if r.random() < 0.2 else None
    condition = condition_in(scope) if known is None else scope.one(known == 'then_branch', 'bool')
    if known is None and r.random() < 0.15:
        condition = scope.add('Reshape', [condition, scope.ints(1)], 'bool', (1,))
    branches = {}
    for key in ('then_branch', 'else_branch'):
        body = Scope(scope.g, scope)
        steps_in(body)
        for type in types:
            # What never runs may give other shapes.
            is_free = known not in (None, key) and type.kind == 'tensor'
            body.output_of(Type(type.dtype, r.choice(scope.g.shapes), type.exact) if is_free else type)
        branches[key] = body.graph(key)
    for name, type in zip(scope.node('If', [condition], len(types), **branches), types):
        scope.values.append(type.value(name))


def trip_count_of(scope):
    """The input, and the number of iterations if it is fixed. A count of elements: its shape may be {1}."""
    r = scope.r.random()
    if r < 0.5:
        count = scope.r.choice([0, 1, 1, 2, 2, 3, 3, 4])
        return scope.constant(count if scope.r.random() < 0.85 else [count], 'i64', keep=False), count
    return scope.g.asked('i64') if r < 0.75 else scope.number(0, 4), None


def body_condition(body, iteration, condition, is_needed):
    r = body.r
    if is_needed:  # nothing else ends the loop
        within = body.add('Less', [iteration, body.one(r.randrange(4), 'i64')], 'bool', ())
        return body.add('And', [within, condition_in(body)], 'bool', ()) if r.random() < 0.5 else within
    if r.random() < 0.4:
        return condition
    if r.random() < 0.4:
        return body.one(True, 'bool')
    return condition_in(body)


def condition_of(scope, is_bounded):
    """The input, and what it is if that is fixed."""
    if is_bounded and scope.r.random() < 0.5:
        return '', True
    if scope.r.random() < 0.4:
        is_true = scope.r.random() < 0.85
        return scope.one(is_true, 'bool'), is_true
    return scope.g.asked('bool') if scope.r.random() < 0.3 else condition_in(scope), None


def grown(body, value, pattern):
    """What a carried value is in the next iteration: a row more of an axis that varies, and the last ones of all."""
    r = body.r
    axis = r.choice([i for i, e in enumerate(pattern) if isinstance(e, Varies)])
    shape = list(value.shape)
    shape[axis] = Varies(0, 2)
    more = body.pick_or_make(value.dtype, tuple(shape), value.exact)
    parts = [value, more] if r.random() < 0.7 else [more, value]
    extents = [p.shape[axis] for p in parts]
    shape[axis] = Open(sum(map(low, extents)), sum(map(high, extents)))
    whole = body.add('Concat', parts, value.dtype, shape, axis=axis)
    shape[axis] = Open(min(low(shape[axis]), pattern[axis].high), pattern[axis].high)
    last = body.add('Slice', [whole, body.ints(-pattern[axis].high), body.ints(100), body.ints(axis)], value.dtype, shape,
                    exact=value.exact)
    return last


def next_of(body, value, type):
    """Gives the body the output for a carried value."""
    r = body.r
    if r.random() < 0.12:
        body.output_value(value)
    elif type.kind == 'sequence' and r.random() < 0.6:
        body.output_value(next_sequence(body, value, type))
    elif type.kind == 'tensor' and any(isinstance(e, Varies) for e in type.shape or ()) and r.random() < 0.5:
        body.output_value(grown(body, value, type.shape))
    else:
        body.output_of(type)


def initial_values(scope, types):
    """Sequences that nothing else has: ONNX Runtime takes the elements away from what a Loop begins with."""
    values = []
    for type in types:
        if type.kind == 'tensor':
            values.append(scope.of_type(type))
        else:
            before = list(scope.values)
            values.append(make_other(scope, type, is_new=True))
            scope.values = [v for v in scope.values if v in before or v.kind == 'tensor']
    return values


def add_loop(scope):
    r = scope.r
    carried = [any_type(scope) for _ in range(r.choice([0, 1, 1, 2, 2, 3]))]
    rotates = len(carried) > 1 and r.random() < 0.3
    if rotates:
        carried = carried[:1] * len(carried)
    stacked = [any_type(scope, may_vary=False) for _ in range(r.choice([0, 0, 1, 1, 2]))]
    if not carried and not stacked:
        return
    is_bounded = r.random() < 0.8
    trips, count = trip_count_of(scope) if is_bounded else ('', None)
    condition, is_true = condition_of(scope, is_bounded)
    initial = initial_values(scope, carried)
    if rotates and carried[0].kind == 'tensor' and r.random() < 0.3:
        initial = initial[:1] * len(initial)
    is_fixed_count = count is not None and is_true is not None and (condition == '' or r.random() < 0.5)
    count = 0 if is_true is False else count
    # What shape a stack without a part has is nobody's to say unless the body does: of its outputs, and of inputs that are outputs.
    is_never_empty = is_fixed_count and count > 0
    if not is_never_empty:
        stacked = [t for t in stacked if is_fixed(t.shape)]
    body = Scope(scope.g, scope)
    iteration, going_on = body.input('i64', (), declared=True), body.input('bool', (), declared=True)
    values = [body.input_of(type, declared=None if is_never_empty or type.kind != 'tensor' else True) for type in carried]
    # The specification: without a condition as input that of the body is ignored. Its next iteration may read it, but those who do
    # not ignore it give true then.
    is_ignored = condition == '' and r.random() < 0.2
    if is_ignored:
        body.values.remove(going_on)
    steps_in(body)
    if condition == '':
        body.output_value(condition_in(body) if is_ignored else body.one(True, 'bool'))
    elif is_fixed_count:
        body.output_value(body.one(True, 'bool'))
    else:
        body.output_value(body_condition(body, iteration, going_on, not is_bounded))
    for i, type in enumerate(carried):
        if rotates:
            body.output_value(values[(i + 1) % len(values)])
        else:
            next_of(body, values[i], type)
    for type in stacked:
        body.output_of(type, declared=not is_never_empty or type.shape == () or r.random() < 0.7, is_own=not is_never_empty)
    if not carried and not stacked:
        return
    names = scope.node('Loop', [trips, condition, *initial], len(carried) + len(stacked), body=body.graph('body'))
    for name, type in zip(names, carried):
        scope.values.append(type.value(name))
    length = count if is_never_empty else Open(0, MOST_ITERATIONS)
    for name, type in zip(names[len(carried):], stacked):
        scope.values.append(Value(name, type.dtype, (length,) + type.shape, type.exact))


def with_axis(shape, axis, extent):
    return shape[:axis] + (extent,) + shape[axis:]


def any_tensor(scope):
    type = any_type(scope, may_vary=False)
    return type.dtype, type.shape, type.exact


def add_scan(scope):
    r = scope.r
    states = [any_tensor(scope) for _ in range(r.choice([0, 1, 1, 2]))]
    parts = [any_tensor(scope) for _ in range(r.choice([1, 1, 2, 3]))]
    stacked = [any_tensor(scope) for _ in range(r.choice([0, 1, 1, 2]))]
    if not states and not stacked:
        return
    opens = [e for e in scope.opens() if 0 < low(e) and high(e) <= 4]
    length = r.choice(opens) if opens and r.random() < 0.4 else r.choice([1, 2, 2, 3])
    initial = [scope.pick_or_make(*t) for t in states]
    # As the reference evaluator can run it. ONNX Runtime divides by 0 where it moves the axes of nothing.
    is_plain = r.random() < 0.5 or any(least(shape) == 0 for _, shape, _ in parts + stacked)
    input_axes = [0 if is_plain else r.randrange(len(shape) + 1) for _, shape, _ in parts]
    output_axes = [0 if is_plain else r.randrange(len(shape) + 1) for _, shape, _ in stacked]
    scanned = [scope.pick_or_make(dtype, with_axis(shape, axis, length), exact)
               for (dtype, shape, exact), axis in zip(parts, input_axes)]
    body = Scope(scope.g, scope)
    values = [body.input(dtype, shape, exact) for dtype, shape, exact in states]
    slices = [body.input(dtype, shape, exact) for dtype, shape, exact in parts]
    steps_in(body)
    for value, (dtype, shape, exact) in zip(values, states):
        if r.random() < 0.15:
            body.output_value(value, declared=True)
        else:
            body.output(dtype, shape, exact, declared=True)
    for dtype, shape, exact in stacked:
        same = [s for s in slices if s.suits(dtype, shape, exact)]
        if same and r.random() < 0.5:
            body.output_value(r.choice(same), declared=True)
        else:
            body.output(dtype, shape, exact, declared=True)
    attributes = {'body': body.graph('body'), 'num_scan_inputs': len(parts)}
    for key, axes, types in (('scan_input_axes', input_axes, parts), ('scan_output_axes', output_axes, stacked)):
        if any(axes) or (not is_plain and r.random() < 0.3):
            attributes[key] = [axis - r.choice([0, len(shape) + 1]) for axis, (_, shape, _) in zip(axes, types)]
    for key, types in (('scan_input_directions', parts), ('scan_output_directions', stacked)):
        if types and not is_plain and r.random() < 0.6:
            attributes[key] = [r.randrange(2) for _ in types]
    attributes = {key: value for key, value in attributes.items() if not isinstance(value, list) or value}
    names = scope.node('Scan', [*initial, *scanned], len(states) + len(stacked), **attributes)
    for name, (dtype, shape, exact) in zip(names, states):
        scope.values.append(Value(name, dtype, shape, exact))
    for name, (dtype, shape, exact), axis in zip(names[len(states):], stacked, output_axes):
        scope.values.append(Value(name, dtype, with_axis(shape, axis, length), exact))


class Generator:
    def __init__(self, seed, is_open=True):
        self.r, self.count = random.Random(seed), 0
        self.opset = self.r.choice(list(OPSETS))
        self.has_unique_names = self.r.random() < 0.3
        self.elements_of = np.random.RandomState(seed)
        # Few in a model, so that many values fit where one is needed.
        self.dtypes = self.r.choices(['f32'] * 6 + ['i64'] * 3 + ['i32', 'f64', 'bool', 'u8', 'f16'], k=3)
        self.shapes = self.r.choices(SHAPES, k=3)
        self.is_open = is_open
        self.has_sequences = is_open and self.opset >= 15 and self.r.random() < 0.85
        self.open_values = 0
        self.asked_names, self.main = {}, Scope(self)

    def elements(self, dtype, shape):
        if dtype == 'bool':
            return self.elements_of.randint(0, 2, shape).astype(np.bool_)
        if dtype in FLOATS or dtype == 'f16':
            return (self.elements_of.randint(-8, 9, shape) / 8).astype(TYPES[dtype][0])
        return self.elements_of.randint(0 if dtype == 'u8' else -7, 8, shape).astype(TYPES[dtype][0])

    def asked(self, dtype):
        """An input of the model that says how often a Loop runs."""
        known = [v for v in self.main.values if v.name in self.asked_names and v.dtype == dtype]
        if known and self.r.random() < 0.6:
            return self.r.choice(known)
        value = self.main.input(dtype, (), declared=True)
        self.asked_names[value.name] = dtype
        return value

    def model(self):
        r, main = self.r, self.main
        for _ in range(r.randrange(1, 4)):
            dtype, shape, exact = any_tensor(main)
            shape = tuple(Varies(r.randrange(2), 3) if self.is_open and r.random() < 0.2 else e for e in shape)
            if self.has_sequences and r.random() < 0.4:
                main.input_of(any_other_type(main, Type(dtype, shape, exact)), declared=True)
                continue
            value = main.input(dtype, shape, declared=True)
            if r.random() < 0.25:
                names = [e.source if isinstance(e, Open) else (value.name, i) for i, e in enumerate(value.shape)]
                main.inputs[-1].CopyFrom(main.info(value, names={i: '{}_{}'.format(*name) for i, name in enumerate(names)}))
        while not any(n.op_type in ('If', 'Loop', 'Scan') for n in main.nodes) or r.random() < 0.75:
            step(main)
        results = [v for n in main.nodes if n.op_type in ('If', 'Loop', 'Scan') for v in main.values if v.name in n.output]
        others = [v for v in main.values if v not in results]
        for value in results[-4:] + r.sample(others, min(len(others), r.randrange(3))):
            main.output_value(value)
        model = helper.make_model(main.graph(f'random'), opset_imports=[helper.make_opsetid('', self.opset)],
                                  ir_version=OPSETS[self.opset])
        return model

    def has_open(self):
        """Whether data decide an extent or a rank of some value."""
        return self.open_values > 0

    # For modules that this one has.

    def make_other(self, scope, type):
        return make_other(scope, type)

    def steps_in(self, body):
        steps_in(body)

    def any_type(self, scope):
        return any_type(scope)

    def feeds(self, number):
        """Inputs number 0, 1, ... of the model. Lists of sequences, None of optionals that have nothing."""
        self.elements_of = np.random.RandomState([number, len(self.main.inputs)])
        extents = {}

        def tensor(value):
            shape = [self.elements_of.randint(low(e), high(e) + 1) for e in value.shape]
            shape = [extents.setdefault(e, n) if isinstance(e, Open) else n for e, n in zip(value.shape, shape)]
            return np.asarray(self.elements(value.dtype, shape), TYPES[value.dtype][0])

        def input(value):
            if self.asked_names.get(value.name) == 'i64':
                return np.asarray(self.elements_of.choice([0, 1, 2, 2, 3]), np.int64)
            if value.kind == 'optional' and self.elements_of.randint(0, 3) == 0:
                return None
            if 'sequence' in (value.kind, value.of):
                return [tensor(value) for _ in range(self.elements_of.randint(value.length[0], value.length[1] + 1))]
            return tensor(value)
        names = [i.name for i in self.main.inputs]
        return {value.name: input(value) for value in self.main.values if value.name in names}


def random_model(seed):
    """A model and the generator, which has inputs for it. A fifth of them have no extents that data decide."""
    generator = Generator(seed, is_open=seed % 5 != 0)
    return generator.model(), generator
