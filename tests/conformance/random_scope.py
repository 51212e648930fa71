"""A graph of a random model that is being built: its values, and the steps that do without bodies."""
import numpy as np
from onnx import helper, numpy_helper

from random_values import FLOATS, INTEGERS, TYPES, Open, Type, Value, Varies, high, is_fixed, least, low, most, suits_extent


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
        # Opens of inputs are known when a run begins; those that other values have had first are not.
        inputs_of_model = {i.name for i in self.g.main.inputs}
        self.g.open_values += value.shape is None or any(isinstance(e, Open) and e.source[0] not in inputs_of_model for e in value.shape)
        self.values.append(value)
        return value

    def add_value(self, op, inputs, value_type, /, **attributes):
        value = value_type.value(self.node(op, inputs, **attributes)[0])
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

    def value(self, name, dtype, shape, exact=True):
        return Value(name, dtype, shape, exact)

    def tensor(self, array):
        return numpy_helper.from_array(array)

    def ints(self, *numbers):
        return self.constant(np.array(numbers), 'i64', keep=False)

    def one(self, number, dtype):
        return self.constant(number, dtype, keep=False)

    def any_constant(self, dtype, shape):
        if is_fixed(shape):
            return self.constant(self.g.elements(dtype, shape), dtype)
        some = [e if isinstance(e, int) and self.r.random() < 0.7 else 1 for e in shape]
        element = self.any_constant(dtype, self.r.choice([(), tuple(some)]))
        return self.add('Expand', [element, self.shape_value(shape)], dtype, shape)

    def pick(self, wanted=lambda value: True, is_ranked=True, kind='tensor'):
        """A value of this graph or of one around it; None where there is none."""
        scope, found = self, []
        while scope is not None:
            own = [v for v in scope.values if v.kind == kind and (v.shape is not None or not is_ranked) and wanted(v)]
            found = found or own
            if own and (scope.around is None or self.r.random() < 0.6):
                return self.r.choice(own)
            scope = scope.around
        return self.r.choice(found) if found else None

    def pick_or_make(self, dtype, shape, exact=True):
        r = self.r.random()
        value = None
        if r < 0.75:
            value = self.pick(lambda v: v.suits(dtype, shape, exact), is_ranked=False)
        if value is None and 0.2 < r < 0.5:
            value = self.fitted(dtype, shape, exact)
        if value is None:
            shape = self.chosen(shape)
        if value is None and 0.3 < r < 0.6:
            value = self.pick(lambda v: v.exact or not exact, is_ranked=False)
            value = value and self.converted(value, dtype, shape)
        return value or self.any_constant(dtype, shape)

    def of_type(self, type):
        """Something of that type."""
        if type.kind == 'tensor':
            return self.pick_or_make(type.dtype, type.shape, type.exact)
        value = self.pick(lambda v: v.suits_type(type), is_ranked=False, kind=type.kind) if self.r.random() < 0.75 else None
        return value or self.g.make_other(self, type)

    def opens(self):
        """Extents that only the run knows, of values that can be seen from here."""
        scope, found = self, []
        while scope is not None:
            found += [e for v in scope.values if v.kind == 'tensor' for e in v.shape or () if isinstance(e, Open)]
            scope = scope.around
        return found

    def chosen(self, shape):
        """A shape of those that a type permits."""
        if shape is None:
            return self.r.choice(self.g.shapes)
        return tuple(self.chosen_extent(e) if isinstance(e, Varies) else e for e in shape)

    def chosen_extent(self, wanted):
        fits = [e for e in self.opens() if suits_extent(e, wanted)]
        if fits and self.r.random() < 0.6:
            return self.r.choice(fits)
        return self.r.randint(max(wanted.low, self.r.randrange(2)), wanted.high)

    def fitted(self, dtype, shape, exact):
        """The begin of a larger value, where the type permits several extents."""
        def can_be_cut(v):
            return (v.dtype == dtype and (v.exact or not exact) and len(v.shape) == len(shape) and
                    all(low(e) >= wanted.low if isinstance(wanted, Varies) else e == wanted for e, wanted in zip(v.shape, shape)))
        value = self.pick(can_be_cut) if shape else None
        for axis, wanted in enumerate(shape or ()):
            if value is not None and not suits_extent(value.shape[axis], wanted):
                cut = Open(wanted.low, wanted.high) if low(value.shape[axis]) < wanted.high else wanted.high
                value = self.add('Slice', [value, self.ints(0), self.ints(wanted.high), self.ints(axis)], dtype,
                                 value.shape[:axis] + (cut,) + value.shape[axis + 1:])
        return value

    def extent(self, extent):
        """As a tensor of one element."""
        if not isinstance(extent, Open):
            return self.ints(extent)
        name, axis = extent.source
        shape = self.node('Shape', [name])[0]
        return Value(self.node('Gather', [shape, self.ints(axis)], axis=0)[0], 'i64', (1,))

    def shape_value(self, shape):
        """The shape as a tensor; computed where the run decides it."""
        if is_fixed(shape):
            return self.ints(*shape)
        known = self.pick(lambda v: v.shape == shape)
        if known is not None and self.r.random() < 0.5:
            return Value(self.node('Shape', [known])[0], 'i64', (len(shape),))
        return Value(self.node('Concat', [self.extent(e) for e in shape], axis=0)[0], 'i64', (len(shape),))

    def number(self, begin, end):
        """An integer in [begin, end) that data decide, as a scalar."""
        value = self.pick(lambda v: v.exact and v.dtype in INTEGERS and v.shape == ())
        if value is None or self.r.random() < 0.2:
            value = self.pick(lambda v: v.exact, is_ranked=False)
            value = value and self.converted(value, 'i64', ())
        value = self.cast(value or self.g.asked('i64'), 'i64')
        value = self.add('Mod', [value, self.one(end - begin, 'i64')], 'i64', ())
        return self.add('Add', [value, self.one(begin, 'i64')], 'i64', ()) if begin else value

    def numbers(self, begin, end):
        """The same with the shape {1}."""
        return self.add('Reshape', [self.number(begin, end), self.ints(1)], 'i64', (1,))

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

    def flat(self, value):
        count = 1
        if is_fixed(value.shape):
            count = most(value.shape)
        else:
            count = Open(least(value.shape), most(value.shape))
        return self.add('Reshape', [value, self.ints(-1)], value.dtype, (count,))

    def converted(self, value, dtype, shape):
        value = self.cast(value, dtype)
        if value.shape == shape:
            return value
        if is_fixed(value.shape) and is_fixed(shape) and 0 < most(value.shape) == most(shape):
            return self.add('Reshape', [value, self.ints(*shape)], dtype, shape)
        flat = self.flat(value)
        index = self.one(self.r.randrange(low(flat.shape[0]) or 1), 'i64')
        if low(flat.shape[0]) == 0:
            one = self.any_constant(dtype, (1,))
            flat = self.add('Concat', [flat, one], dtype, (Open(1, high(flat.shape[0]) + 1),), axis=0)
        element = self.add('Gather', [flat, index], dtype, (), axis=0)
        return self.add('Expand', [element, self.shape_value(shape)], dtype, shape)

    # ---- steps ----

    def plain_step(self):
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
            if self.r.random() < 0.3 or a.shape is None:
                self.add('Size', [a], 'i64', (), exact=True)
            elif a.shape:
                self.add('Shape', [a], 'i64', (len(a.shape),), exact=True)

    def step_concat(self):
        a = self.pick(lambda v: 0 < len(v.shape) and most(v.shape) <= 6)
        if a is not None:
            axis = self.r.randrange(len(a.shape))
            wanted = list(a.shape)
            if self.r.random() < 0.4:
                wanted[axis] = Varies(0, 3)
            b = self.pick_or_make(a.dtype, tuple(wanted), a.exact)
            shape, parts = list(a.shape), (a.shape[axis], b.shape[axis])
            shape[axis] = sum(parts) if is_fixed(parts) else Open(sum(map(low, parts)), sum(map(high, parts)))
            self.add('Concat', [a, b], a.dtype, shape, axis=axis - self.r.choice([0, len(shape)]))

    def step_slice(self):
        a = self.pick(lambda v: any(isinstance(e, int) and e > 0 for e in v.shape))
        if a is None:
            return
        axis = self.r.choice([i for i, e in enumerate(a.shape) if isinstance(e, int) and e > 0])
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
        a = self.pick(lambda v: len(v.shape) > 0 and low(v.shape[0]) > 0)
        i = self.pick(lambda v: v.dtype in INTEGERS and v.exact and v.shape == ())
        if a is not None and i is not None:
            count = self.one(a.shape[0], i.dtype) if isinstance(a.shape[0], int) else self.extent(a.shape[0])
            if isinstance(a.shape[0], Open):
                i, count = self.cast(i, 'i64'), self.axes_op('Squeeze', count, [0], 'i64', (), 13)
            index = self.add('Mod', [i, count], i.dtype, ())
            self.add('Gather', [a, index], a.dtype, a.shape[1:], axis=0)

    def step_reduce(self):
        a = self.pick(lambda v: v.dtype in FLOATS + INTEGERS and len(v.shape) > 0 and least(v.shape) > 0)
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
        a = self.pick(lambda v: len(v.shape) > 0 and v.shape[0] in (2, 4))
        if a is not None:
            attributes = {'num_outputs': 2} if self.g.opset >= 18 else {}
            for name in self.node('Split', [a], 2, axis=0, **attributes):
                self.values.append(Value(name, a.dtype, (a.shape[0] // 2,) + a.shape[1:], a.exact))

    def step_product(self):
        a = self.pick(lambda v: v.dtype == 'f32' and len(v.shape) == 2)
        if a is not None:
            b = self.pick_or_make('f32', (a.shape[1], 2), exact=False)
            product = self.add('MatMul', [a, b], 'f32', (a.shape[0], 2), exact=False)
            self.add('Tanh', [product], 'f32', product.shape, exact=False)

    # ---- the interface ----

    def input(self, dtype, shape, exact=True, declared=None):
        return self.input_of(Type(dtype, shape, exact), declared)

    def input_of(self, type, declared=None):
        value = type.value(self.fresh())
        self.values.append(value)
        self.inputs.append(self.info(value, declared if declared is not None else self.r.random() < 0.8))
        return value

    def info(self, value, has_shape=True, names=None):
        shape = None
        if has_shape and value.shape is not None:
            shape = [(names or {}).get(i, e if isinstance(e, int) else None) for i, e in enumerate(value.shape)]
        type = helper.make_tensor_type_proto(TYPES[value.dtype][1], shape)
        for kind in [value.of if value.kind == 'optional' else '', value.kind]:
            if kind == 'sequence':
                type = helper.make_sequence_type_proto(type)
            elif kind == 'optional':
                type = helper.make_optional_type_proto(type)
        return helper.make_value_info(value.name, type)

    def output(self, dtype, shape, exact=True, declared=None):
        self.output_of(Type(dtype, shape, exact), declared)

    def output_of(self, type, declared=None, is_own=False):
        """Something of that type: a result, an input, a constant, what is around, or an output once more."""
        value = None
        if self.r.random() < 0.4:
            value = self.pick(lambda v: v in self.values and v.suits_type(type), is_ranked=False, kind=type.kind)
        self.output_value(value or self.of_type(type), declared, is_own)

    def output_value(self, value, declared=None, is_own=False):
        """An output needs a name of its own; one of a graph around is a value of that, or a copy of it here: `is_own`."""
        is_direct = value.name in self.own_names() or (self.depth > 0 and not is_own and self.r.random() < 0.4)
        if not is_direct or value.name in [o.name for o in self.outputs]:
            value = self.add_value('Identity', [value], value.type())
        self.outputs.append(self.info(value, declared if declared is not None else self.r.random() < 0.8))

    def own_names(self):
        names = {i.name for i in self.inputs} | {i.name for i in self.initializers}
        return names.union(*[n.output for n in self.nodes])

    def graph(self, name):
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
