"""Random ONNX models of If, Loop and Scan, nested up to three deep. A seed gives one model and inputs for it.

Every result is the same on all machines: elements are multiples of 1/8 in [-1, 1] or small integers, and operators round to the
nearest or not at all. `exact` is False for what Tanh and MatMul give; such values decide no condition and no index.
"""
import random
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {'f32': (np.float32, TensorProto.FLOAT), 'f64': (np.float64, TensorProto.DOUBLE), 'f16': (np.float16, TensorProto.FLOAT16),
         'i32': (np.int32, TensorProto.INT32), 'i64': (np.int64, TensorProto.INT64), 'u8': (np.uint8, TensorProto.UINT8),
         'bool': (np.bool_, TensorProto.BOOL)}
FLOATS, INTEGERS = ('f32', 'f64'), ('i32', 'i64')
SHAPES = [(), (), (1,), (2,), (3,), (2, 3), (1, 3), (2, 1), (3, 2), (2, 2, 3)]
DEEPEST = 3
OPSETS = {12: 7, 13: 7, 15: 8, 16: 8, 18: 8, 21: 10}  # with IR versions


class Value:
    def __init__(self, name, dtype, shape, exact=True):
        # A first extent of None: known when the model runs.
        self.name, self.dtype, self.shape, self.exact = name, dtype, tuple(shape), exact

    def type(self):
        return self.dtype, self.shape, self.exact


class Scope:
    """A graph that is being built; `around`: that of the node that will have it as a body."""

    def __init__(self, generator, around=None):
        self.g, self.r, self.around = generator, generator.r, around
        self.depth = 0 if around is None else around.depth + 1
        self.values, self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], [], []
        self.count = 0

    # ---- names and values ----

    def fresh(self):
        """Bodies beside each other use the same names, unless the model's names are its own."""
        if self.g.has_unique_names:
            self.g.count += 1
            return f'v{self.g.count}'
        self.count += 1
        return f'v{self.depth}_{self.count}'

    def node(self, op, inputs, count=1, **attributes):
        names = [self.fresh() for _ in range(count)]
        inputs = [i.name if isinstance(i, Value) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, names, name=f'{op.lower()}_{names[0]}', **attributes))
        return names

    def add(self, op, inputs, dtype, shape, exact=None, **attributes):
        if exact is None:
            exact = all(i.exact for i in inputs if isinstance(i, Value))
        value = Value(self.node(op, inputs, **attributes)[0], dtype, shape, exact)
        self.values.append(value)
        return value

    def constant(self, array, dtype, keep=True):
        array = np.asarray(array, TYPES[dtype][0])
        if self.r.random() < 0.5:
            value = Value(self.fresh(), dtype, array.shape)
            self.initializers.append(numpy_helper.from_array(array, value.name))
        else:
            name = self.fresh()
            self.nodes.append(helper.make_node('Constant', [], [name], name=f'constant_{name}',
                                               value=numpy_helper.from_array(array, name)))
            value = Value(name, dtype, array.shape)
        if keep:
            self.values.append(value)
        return value

    def ints(self, *numbers):
        return self.constant(np.array(numbers), 'i64', keep=False)

    def one(self, number, dtype):
        return self.constant(number, dtype, keep=False)

    def any_constant(self, dtype, shape):
        return self.constant(self.g.elements(dtype, shape), dtype)

    def pick(self, wanted=lambda value: True):
        """A value of this graph or of one around it; None where there is none."""
        scope, found = self, []
        while scope is not None:
            own = [v for v in scope.values if None not in v.shape and wanted(v)]
            found = found or own
            if own and (scope.around is None or self.r.random() < 0.6):
                return self.r.choice(own)
            scope = scope.around
        return self.r.choice(found) if found else None

    def pick_or_make(self, dtype, shape, exact=True):
        r = self.r.random()
        value = None
        if r < 0.75:
            value = self.pick(lambda v: v.type() == (dtype, shape, exact) or (not exact and v.type() == (dtype, shape, True)))
        if value is None and 0.3 < r < 0.6:
            value = self.pick(lambda v: v.exact or not exact)
            value = value and self.converted(value, dtype, shape)
        return value or self.any_constant(dtype, shape)

    # ---- operators whose form depends on the opset ----

    def axes_op(self, op, value, axes, dtype, shape, since, exact=None, **attributes):
        if self.g.opset >= since:
            return self.add(op, [value, self.ints(*axes)], dtype, shape, exact, **attributes)
        return self.add(op, [value], dtype, shape, exact, axes=axes, **attributes)

    def reduced(self, op, value, axes, keepdims=0):
        shape = [1 if i in axes else e for i, e in enumerate(value.shape) if keepdims or i not in axes]
        return self.axes_op(op, value, list(axes), value.dtype, shape, 13 if op == 'ReduceSum' else 18, keepdims=keepdims)

    # ---- conversions ----

    def cast(self, value, dtype):
        if value.dtype == dtype:
            return value
        if value.dtype == 'f16' and dtype != 'f32':
            value = self.add('Cast', [value], 'f32', value.shape, to=TYPES['f32'][1])
        to_integer = dtype in INTEGERS or dtype == 'u8'
        if value.dtype in INTEGERS and dtype in FLOATS + ('f16',):
            value = self.add('Mod', [value, self.one(8, value.dtype)], value.dtype, value.shape)
            to = self.add('Cast', [value], 'f32', value.shape, to=TYPES['f32'][1])
            value = self.add('Mul', [to, self.one(0.125, 'f32')], 'f32', value.shape)
        elif value.dtype in FLOATS and to_integer:
            value = self.add('Mul', [value, self.one(4, value.dtype)], value.dtype, value.shape)
        if dtype == 'u8' and value.dtype != 'bool' and value.dtype in FLOATS + INTEGERS:
            value = self.add('Abs', [value], value.dtype, value.shape)
        if value.dtype == dtype:
            return value
        return self.add('Cast', [value], dtype, value.shape, to=TYPES[dtype][1])

    def converted(self, value, dtype, shape):
        value = self.cast(value, dtype)
        if value.shape == shape:
            return value
        if int(np.prod(value.shape)) == int(np.prod(shape)):
            return self.add('Reshape', [value, self.ints(*shape)], dtype, shape)
        flat = self.add('Reshape', [value, self.ints(-1)], dtype, (int(np.prod(value.shape)),))
        index = self.one(self.r.randrange(flat.shape[0]), 'i64')
        return self.add('Expand', [self.add('Gather', [flat, index], dtype, (), axis=0), self.ints(*shape)], dtype, shape)

    # ---- steps ----

    def step(self):
        if self.depth < DEEPEST and self.r.random() < (0.45 if self.depth == 0 else 0.3):
            return self.r.choice([add_if, add_loop, add_loop, add_scan])(self)
        return self.r.choice([self.step_binary] * 4 + [self.step_unary, self.step_compare, self.step_logic, self.step_where,
                             self.step_shape, self.step_concat, self.step_slice, self.step_move, self.step_gather,
                             self.step_reduce, self.step_cast, self.step_split, self.step_product])()

    def step_binary(self):
        a = self.pick(lambda v: v.dtype in FLOATS + INTEGERS)
        if a is None:
            return
        shape = self.r.choice([a.shape, a.shape, a.shape[-1:], ()])
        b = self.pick_or_make(a.dtype, shape, exact=a.exact)
        operands = [a, b] if self.r.random() < 0.5 else [b, a]
        op = self.r.choice(['Add', 'Sub', 'Mul', 'Max', 'Min'])
        result = self.add(op, operands, a.dtype, a.shape)
        if op in ('Max', 'Min'):
            return
        if a.dtype in INTEGERS:
            self.add('Mod', [result, self.one(self.r.choice([5, 7, 8]), a.dtype)], a.dtype, a.shape)
        elif op == 'Mul':
            result = self.add('Min', [result, self.one(1, a.dtype)], a.dtype, a.shape)
            self.add('Max', [result, self.one(-1, a.dtype)], a.dtype, a.shape)
        else:
            self.add('Mul', [result, self.one(0.5, a.dtype)], a.dtype, a.shape)

    def step_unary(self):
        a = self.pick(lambda v: v.dtype in FLOATS + INTEGERS)
        if a is not None:
            op = self.r.choice(['Neg', 'Abs'] + (['Relu', 'Tanh', 'Floor'] if a.dtype == 'f32' else []))
            if op != 'Floor' or a.exact:
                self.add(op, [a], a.dtype, a.shape, exact=a.exact and op != 'Tanh')

    def step_compare(self):
        a = self.pick(lambda v: v.exact and v.dtype in FLOATS + INTEGERS)
        if a is not None:
            b = self.pick_or_make(a.dtype, self.r.choice([a.shape, ()]))
            self.add(self.r.choice(['Less', 'Greater', 'Equal'] if a.dtype in INTEGERS else ['Less', 'Greater']), [a, b], 'bool', a.shape)

    def step_logic(self):
        a = self.pick(lambda v: v.dtype == 'bool')
        if a is not None:
            if self.r.random() < 0.4:
                self.add('Not', [a], 'bool', a.shape)
            else:
                self.add(self.r.choice(['And', 'Or', 'Xor']), [a, self.pick_or_make('bool', a.shape)], 'bool', a.shape)

    def step_where(self):
        a = self.pick(lambda v: v.dtype in ('f32', 'i32', 'i64', 'u8'))
        if a is not None:
            which = self.pick_or_make('bool', self.r.choice([a.shape, ()]))
            self.add('Where', [which, a, self.pick_or_make(a.dtype, a.shape, a.exact)], a.dtype, a.shape)

    def step_shape(self):
        a = self.pick()
        if a is not None:
            if self.r.random() < 0.3:
                self.add('Size', [a], 'i64', (), exact=True)
            elif a.shape:
                self.add('Shape', [a], 'i64', (len(a.shape),), exact=True)

    def step_concat(self):
        a = self.pick(lambda v: 0 < len(v.shape) and np.prod(v.shape) <= 6)
        if a is not None:
            b = self.pick_or_make(a.dtype, a.shape, a.exact)
            axis = self.r.randrange(len(a.shape))
            shape = list(a.shape)
            shape[axis] *= 2
            self.add('Concat', [a, b], a.dtype, shape, axis=axis - self.r.choice([0, len(shape)]))

    def step_slice(self):
        a = self.pick(lambda v: len(v.shape) > 0)
        if a is None:
            return
        axis = self.r.randrange(len(a.shape))
        begin = self.r.randrange(a.shape[axis])
        end = self.r.randrange(begin + 1, a.shape[axis] + 1)
        shape = list(a.shape)
        if self.r.random() < 0.3:  # backwards
            shape[axis] = end - begin
            last = begin - 1 if begin > 0 else -100
            self.add('Slice', [a, self.ints(end - 1), self.ints(last), self.ints(axis), self.ints(-1)], a.dtype, shape)
        else:
            shape[axis] = end - begin
            self.add('Slice', [a, self.ints(begin), self.ints(end), self.ints(axis)], a.dtype, shape)

    def step_move(self):
        a = self.pick()
        if a is None:
            return
        which = self.r.randrange(4)
        if which == 0 and len(a.shape) > 1:
            order = self.r.sample(range(len(a.shape)), len(a.shape))
            self.add('Transpose', [a], a.dtype, [a.shape[i] for i in order], perm=order)
        elif which == 1 and len(a.shape) < 3:
            axis = self.r.randrange(len(a.shape) + 1)
            self.axes_op('Unsqueeze', a, [axis], a.dtype, a.shape[:axis] + (1,) + a.shape[axis:], 13)
        elif which == 2 and 1 in a.shape:
            axis = a.shape.index(1)
            self.axes_op('Squeeze', a, [axis], a.dtype, a.shape[:axis] + a.shape[axis + 1:], 13)
        else:
            self.add('Identity', [a], a.dtype, a.shape)

    def step_gather(self):
        """An element at an index that is computed: the number of the iteration, perhaps."""
        a = self.pick(lambda v: len(v.shape) > 0)
        i = self.pick(lambda v: v.dtype in INTEGERS and v.exact and v.shape == ())
        if a is not None and i is not None:
            index = self.add('Mod', [i, self.one(a.shape[0], i.dtype)], i.dtype, ())
            self.add('Gather', [a, index], a.dtype, a.shape[1:], axis=0)

    def step_reduce(self):
        a = self.pick(lambda v: v.dtype in FLOATS + INTEGERS and len(v.shape) > 0)
        if a is not None:
            op = self.r.choice(['ReduceMax', 'ReduceMin', 'ReduceSum'] if a.dtype in INTEGERS else ['ReduceMax', 'ReduceMin'])
            result = self.reduced(op, a, [self.r.randrange(len(a.shape))], self.r.randrange(2))
            if op == 'ReduceSum':
                self.add('Mod', [result, self.one(7, a.dtype)], a.dtype, result.shape)

    def step_cast(self):
        a = self.pick(lambda v: v.exact)
        if a is not None:
            self.cast(a, self.r.choice(list(TYPES)))

    def step_split(self):
        a = self.pick(lambda v: len(v.shape) > 0 and v.shape[0] == 2)
        if a is not None:
            attributes = {'num_outputs': 2} if self.g.opset >= 18 else {}
            for name in self.node('Split', [a], 2, axis=0, **attributes):
                self.values.append(Value(name, a.dtype, (1,) + a.shape[1:], a.exact))

    def step_product(self):
        a = self.pick(lambda v: v.dtype == 'f32' and len(v.shape) == 2)
        if a is not None:
            b = self.pick_or_make('f32', (a.shape[1], 2), exact=False)
            product = self.add('MatMul', [a, b], 'f32', (a.shape[0], 2), exact=False)
            self.add('Tanh', [product], 'f32', product.shape, exact=False)

    # ---- the interface ----

    def input(self, dtype, shape, exact=True, declared=None):
        value = Value(self.fresh(), dtype, shape, exact)
        self.values.append(value)
        self.inputs.append(self.info(value, declared if declared is not None else self.r.random() < 0.8))
        return value

    def info(self, value, has_shape=True, names=None):
        shape = [None if e is None else (names or {}).get(i, e) for i, e in enumerate(value.shape)]
        return helper.make_tensor_value_info(value.name, TYPES[value.dtype][1], shape if has_shape else None)

    def output(self, dtype, shape, exact=True, declared=None):
        """Something of that type: a result, an input, a constant, what is around, or an output once more."""
        value = None
        if self.r.random() < 0.4:
            value = self.pick(lambda v: v in self.values and (v.type() == (dtype, shape, exact)))
        self.output_value(value or self.pick_or_make(dtype, shape, exact), declared)

    def output_value(self, value, declared=None):
        """An output needs a name of its own; one of a graph around is a value of that, or a copy of it here."""
        is_direct = value.name in self.own_names() or (self.depth > 0 and self.r.random() < 0.4)
        if not is_direct or value.name in [o.name for o in self.outputs]:
            value = self.add('Identity', [value], value.dtype, value.shape)
        self.outputs.append(self.info(value, declared if declared is not None else self.r.random() < 0.8))

    def own_names(self):
        names = {i.name for i in self.inputs} | {i.name for i in self.initializers}
        return names.union(*[n.output for n in self.nodes])

    def graph(self, name):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)


def any_type(scope):
    dtype = scope.r.choice(scope.g.dtypes)
    return dtype, scope.r.choice(scope.g.shapes), dtype not in FLOATS or scope.r.random() < 0.8


def steps_in(body):
    for _ in range(body.r.randrange(5)):
        body.step()


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
        for dtype, shape, exact in types:
            # What never runs may give other shapes.
            body.output(dtype, shape if known in (None, key) else r.choice(scope.g.shapes), exact)
        branches[key] = body.graph(key)
    for name, (dtype, shape, exact) in zip(scope.node('If', [condition], len(types), **branches), types):
        scope.values.append(Value(name, dtype, shape, exact))


def trip_count_of(scope, has_stacks):
    """The input, and the number of iterations if it is fixed. A count of elements: its shape may be {1}."""
    r = scope.r.random()
    if r < 0.5 or (has_stacks and r < 0.6):
        count = scope.r.choice([0, 1, 1, 2, 2, 3, 3, 4])
        return scope.constant(count if scope.r.random() < 0.85 else [count], 'i64', keep=False), count
    if r < 0.75:
        return scope.g.asked('i64'), None
    if has_stacks:
        return scope.g.asked('i64'), None
    number = scope.pick(lambda v: v.exact and v.dtype in INTEGERS and v.shape == ())
    if number is None:
        return scope.g.asked('i64'), None
    number = scope.add('Mod', [number, scope.one(4, number.dtype)], number.dtype, ())
    return scope.cast(number, 'i64'), None


def body_condition(body, iteration, condition, is_needed, has_stacks):
    r = body.r
    if is_needed:  # nothing else ends the loop
        within = body.add('Less', [iteration, body.one(r.randrange(4), 'i64')], 'bool', ())
        return body.add('And', [within, condition_in(body)], 'bool', ()) if r.random() < 0.5 else within
    if r.random() < 0.4:
        return condition
    if has_stacks or r.random() < 0.3:
        return body.one(True, 'bool')
    return condition_in(body)


def add_loop(scope):
    r = scope.r
    carried = [any_type(scope) for _ in range(r.choice([0, 1, 1, 2, 2, 3]))]
    rotates = len(carried) > 1 and r.random() < 0.3
    if rotates:
        carried = carried[:1] * len(carried)
    stacked = [any_type(scope) for _ in range(r.choice([0, 0, 1, 1, 2]))]
    if not carried and not stacked:
        return
    # Only the run knows how long a stack is: then it is an output of the model and nothing else.
    grows = bool(stacked) and scope is scope.g.main and r.random() < 0.4
    is_fixed = bool(stacked) and not grows
    is_bounded = is_fixed or r.random() < 0.8
    trips, count = trip_count_of(scope, is_fixed) if is_bounded else ('', None)
    condition, is_true = '', True
    if not is_bounded or r.random() < 0.5:
        if is_fixed:
            is_true = r.random() < 0.85
            condition = scope.one(is_true, 'bool') if r.random() < 0.6 else scope.g.asked('bool')
            count = count if condition.name not in scope.g.asked_names else None
        else:
            condition = condition_in(scope)
    initial = [scope.pick_or_make(*t) for t in carried]
    if rotates and r.random() < 0.3:
        initial = initial[:1] * len(initial)
    # What shape a stack without a part has is nobody's to say unless the body does: of its outputs, and of inputs that are outputs.
    is_never_empty = count is not None and count > 0 and is_true and not grows
    body = Scope(scope.g, scope)
    iteration, going_on = body.input('i64', (), declared=True), body.input('bool', (), declared=True)
    values = [body.input(*type, declared=None if is_never_empty else True) for type in carried]
    # The specification: without a condition as input that of the body is ignored. Its next iteration may read it, but those who do
    # not ignore it give true then.
    is_ignored = condition == '' and r.random() < 0.2
    if is_ignored:
        body.values.remove(going_on)
    steps_in(body)
    if condition == '':
        body.output_value(condition_in(body) if is_ignored else body.one(True, 'bool'))
    else:
        body.output_value(body_condition(body, iteration, going_on, not is_bounded, is_fixed))
    for i, (dtype, shape, exact) in enumerate(carried):
        if rotates:
            body.output_value(values[(i + 1) % len(values)])
        elif r.random() < 0.12:
            body.output_value(values[i])
        else:
            body.output(dtype, shape, exact)
    declared = [not is_never_empty or shape == () or r.random() < 0.7 for _, shape, _ in stacked]
    for (dtype, shape, exact), has_shape in zip(stacked, declared):
        body.output(dtype, shape, exact, has_shape)
    names = scope.node('Loop', [trips, condition, *initial], len(carried) + len(stacked), body=body.graph('body'))
    for name, (dtype, shape, exact) in zip(names, carried):
        scope.values.append(Value(name, dtype, shape, exact))
    for name, (dtype, shape, exact), has_shape in zip(names[len(carried):], stacked, declared):
        count = 0 if not is_true else count
        if grows:
            scope.g.grown.append(Value(name, dtype, (None,) + shape, exact))
            continue
        add_stack(scope, Value(name, dtype, (count or None,) + shape, exact), has_shape)


def add_stack(scope, stack, is_declared):
    """A stack without a part, or of a length that is not fixed, is an output of the model, or reduced."""
    scope.values.append(stack)
    if stack.shape[0] is not None or not is_declared or stack.dtype not in FLOATS + INTEGERS:
        return
    if stack.dtype in INTEGERS:
        total = scope.reduced('ReduceSum', stack, [0])
        scope.add('Mod', [total, scope.one(7, stack.dtype)], stack.dtype, total.shape)
    else:
        row = scope.any_constant(stack.dtype, (1,) + stack.shape[1:])
        scope.reduced('ReduceMax', scope.add('Concat', [row, stack], stack.dtype, stack.shape, axis=0), [0])


def with_axis(shape, axis, extent):
    return shape[:axis] + (extent,) + shape[axis:]


def add_scan(scope):
    r = scope.r
    states = [any_type(scope) for _ in range(r.choice([0, 1, 1, 2]))]
    parts = [any_type(scope) for _ in range(r.choice([1, 1, 2, 3]))]
    stacked = [any_type(scope) for _ in range(r.choice([0, 1, 1, 2]))]
    if not states and not stacked:
        return
    length = r.choice([1, 2, 2, 3])
    initial = [scope.pick_or_make(*t) for t in states]
    is_plain = r.random() < 0.5  # as the reference evaluator can run it
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
        same = [s for s in slices if s.type() == (dtype, shape, exact)]
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
    def __init__(self, seed):
        self.r, self.count = random.Random(seed), 0
        self.opset = self.r.choice(list(OPSETS))
        self.has_unique_names = self.r.random() < 0.3
        self.elements_of = np.random.RandomState(seed)
        # Few in a model, so that many values fit where one is needed.
        self.dtypes = self.r.choices(['f32'] * 6 + ['i64'] * 3 + ['i32', 'f64', 'bool', 'u8', 'f16'], k=3)
        self.shapes = self.r.choices(SHAPES, k=3)
        self.asked_names, self.grown, self.main = {}, [], Scope(self)

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
            dtype, shape, exact = any_type(main)
            value = main.input(dtype, shape, declared=True)
            if r.random() < 0.25:
                main.inputs[-1].CopyFrom(main.info(value, names={i: f'{value.name}_{i}' for i in range(len(shape))}))
        while not any(n.op_type in ('If', 'Loop', 'Scan') for n in main.nodes) or r.random() < 0.75:
            main.step()
        results = [v for n in main.nodes if n.op_type in ('If', 'Loop', 'Scan') for v in main.values if v.name in n.output]
        others = [v for v in main.values if v not in results]
        for value in results[-4:] + r.sample(others, min(len(others), r.randrange(3))) + self.grown:
            main.output_value(value)
        model = helper.make_model(main.graph(f'random'), opset_imports=[helper.make_opsetid('', self.opset)],
                                  ir_version=OPSETS[self.opset])
        return model

    def feeds(self, number):
        """Inputs number 0, 1, ... of the model."""
        self.elements_of = np.random.RandomState([number, len(self.main.inputs)])
        feeds = {}
        for value in self.main.values:
            if value.name in [i.name for i in self.main.inputs]:
                array = self.elements(value.dtype, value.shape)
                if self.asked_names.get(value.name) == 'i64':
                    array = np.asarray(self.elements_of.choice([0, 1, 2, 2, 3]), np.int64)
                feeds[value.name] = np.asarray(array, TYPES[value.dtype][0])
        return feeds


def random_model(seed):
    """A model and the generator, which has inputs for it."""
    generator = Generator(seed)
    return generator.model(), generator
