"""Runs random models of If, Loop and Scan: random_bodies_test.py GRAPHBENCH [--graphs N] [--first SEED] [--keep DIR] [--backends A,B]

What ONNX Runtime gives is right. Where it cannot run a model the reference evaluator decides, and where both can they have to agree.
Models and data lie in DIR afterwards, one folder each, in the layout of ONNX's tests; a model that gives another result is reduced to
DIR/reduced/SEED. Exits with 77 (skipped) where Python lacks a package: `pip install onnx==1.23.2 onnxruntime==1.32.0`.
"""
import argparse, collections, itertools, json, pathlib, shutil, subprocess, sys, tempfile

SKIPPED = 77
try:
    import numpy as np
    import onnx, onnxruntime
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
    import random_bodies, reduced_bodies
except ImportError as error:
    print(f'{error}: skipped')
    sys.exit(SKIPPED)

DATA_SETS = 2
TOLERANCES = {'rtol': 1e-5, 'atol': 1e-6}


def bodies_of(node):
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def all_nodes(graph):
    for node in graph.node:
        yield node
        for body in bodies_of(node):
            yield from all_nodes(body)


def copy_of(model):
    return onnx.ModelProto.FromString(model.SerializeToString())


def for_runtime(model):
    """The same model for ONNX Runtime, which heeds a body's condition where the Loop has none, does not write outputs of a Scan that
    are inputs or initializers of its body, counts on in an output of a Loop's body that is the number of the iteration, and wants
    outputs of bodies to be values of the bodies' own."""
    model = copy_of(model)
    names = (f'copy_{number}' for number in itertools.count())

    def replace(output, body, op, operands, **attributes):
        name = next(names)
        body.node.append(helper.make_node(op, operands, [name], **attributes))
        output.name = name
    for node in all_nodes(model.graph):
        for body in bodies_of(node):
            results = [name for inner in body.node for name in inner.output]
            known = results + [i.name for i in body.input] + [i.name for i in body.initializer]
            for output in body.output:
                is_counted = node.op_type == 'Loop' and output.name == body.input[0].name
                if is_counted or output.name not in (results if node.op_type == 'Scan' else known):
                    replace(output, body, 'Identity', [output.name])
        if node.op_type == 'Loop' and '' in [*node.input, ''][1:2]:
            body, = bodies_of(node)
            replace(body.output[0], body, 'Constant', [], value=numpy_helper.from_array(np.array(True)))
    return model


def for_evaluator(model):
    """The same model for the reference evaluator, which runs no iteration where the condition is absent, and joins the parts of a
    stack along their first axis instead of a new one. None: it cannot run such a model, as a stack's parts are scalars, or a Scan has
    other axes or directions than the first ones, or it sorts what Unique should leave in the order of the first ones, or has lists for optionals."""
    model = copy_of(for_runtime(model))
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), 'always'))
    model.graph.initializer.append(numpy_helper.from_array(np.array([0]), 'first_axis'))
    if any(n.op_type == 'Scan' and any(any(a.ints) for a in n.attribute) for n in all_nodes(model.graph)):
        return None
    # It inserts elsewhere than the position says, once a sequence has grown.
    if any(n.op_type == 'SequenceInsert' and len(n.input) > 2 for n in all_nodes(model.graph)):
        return None
    infos = model.graph.input
    if any(n.op_type == 'Optional' for n in all_nodes(model.graph)) or any(i.type.HasField('optional_type') for i in infos):
        return None
    if any(n.op_type == 'Unique' and {a.name: a.i for a in n.attribute}.items() >= {('sorted', 0)} and
           any(a.name == 'axis' for a in n.attribute) for n in all_nodes(model.graph)):
        return None
    for node in [n for n in all_nodes(model.graph) if n.op_type == 'Loop']:
        node.input.extend([''] * (2 - len(node.input)))
        node.input[1] = node.input[1] or 'always'
        body, = bodies_of(node)
        for part in body.output[len(node.input) - 1:]:
            if part.type.tensor_type.HasField('shape') and not part.type.tensor_type.shape.dim:
                return None
            row = f'{part.name}_row'
            if model.opset_import[0].version >= 13:
                body.node.append(helper.make_node('Unsqueeze', [part.name, 'first_axis'], [row]))
            else:
                body.node.append(helper.make_node('Unsqueeze', [part.name], [row], axes=[0]))
            part.CopyFrom(helper.make_tensor_value_info(row, part.type.tensor_type.elem_type, None))
    return model


def as_value(result):
    """An array, a list of arrays, or None: an optional that has nothing."""
    return result if result is None else [np.asarray(a) for a in result] if isinstance(result, list) else np.asarray(result)


def evaluate(model, feeds):
    """A list of outputs, or why there is none."""
    model = for_evaluator(model)
    if model is None:
        return 'not for the evaluator'
    try:
        return [as_value(a) for a in ReferenceEvaluator(model).run(None, feeds)]
    except Exception as error:
        return f'{type(error).__name__}: {error}'


def run(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(for_runtime(model).SerializeToString(), options, providers=['CPUExecutionProvider'])
        return [as_value(a) for a in session.run(None, feeds)]
    except Exception as error:
        return str(error)


def is_same(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_same, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, equal_nan=True, **TOLERANCES)


def are_same(left, right):
    return all(map(is_same, left, right))


def expected(model, feeds, counts):
    """What is right for the model, or None."""
    wanted, other = run(model, feeds), evaluate(model, feeds)
    if isinstance(wanted, str):
        counts['not run by ONNX Runtime'] += 1
        counts['  ' + wanted[-100:]] += 1
        wanted = other
    elif isinstance(other, str):
        counts['not run by the reference evaluator'] += 1
        counts['    ' + other[:70]] += 1
    else:
        counts['run by both'] += 1
        if not are_same(wanted, other):
            counts['both differ'] += 1
            return None
    return None if isinstance(wanted, str) else wanted


def proto_of(info, value):
    kind = info.type.WhichOneof('value')
    if kind == 'optional_type':
        element = info.type.optional_type.elem_type.WhichOneof('value')
        form = onnx.OptionalProto.SEQUENCE if element == 'sequence_type' else onnx.OptionalProto.TENSOR
        return numpy_helper.from_optional(value, info.name, form)
    if kind == 'sequence_type':
        return numpy_helper.from_list(value, info.name, onnx.SequenceProto.TENSOR)
    return numpy_helper.from_array(value)


def write_test(folder, model, data):
    folder.mkdir(parents=True)
    onnx.save(model, folder / 'model.onnx')
    (folder / 'data.json').write_text(json.dumps(TOLERANCES))
    for number, (feeds, wanted) in enumerate(data):
        (folder / f'test_data_set_{number}').mkdir()
        for kind, infos, values in (('input', model.graph.input, [feeds[i.name] for i in model.graph.input]),
                                    ('output', model.graph.output, wanted)):
            for i, (info, value) in enumerate(zip(infos, values)):
                file = folder / f'test_data_set_{number}/{kind}_{i}.pb'
                file.write_bytes(proto_of(info, value).SerializeToString())


def data_of(seed, counts):
    """The model, its data and the generator, or None where nobody says what is right."""
    model, generator = random_bodies.random_model(seed)
    data = []
    for number in range(DATA_SETS):
        feeds = generator.feeds(number)
        wanted = expected(model, feeds, counts)
        if wanted is None:
            print(f'seed {seed}: nobody says what is right')
            return None
        data.append((feeds, wanted))
    return model, data, generator


def results_of(graphbench, folder, backend):
    report = folder.parent / 'report.json'
    subprocess.run([graphbench, 'conformance', folder, '--backend', backend, '--json', report], stdout=subprocess.DEVNULL)
    return {test['name']: (test['status'], test.get('reason', '')) for test in json.loads(report.read_text())['tests']}


def segments_of(graphbench, file):
    """How many there are; also of bodies that are run in segments: nodes that are steps of their own."""
    report = json.loads(subprocess.run([graphbench, 'inspect', file, '--placement', '--json', '-'], capture_output=True).stdout or '{}')
    return len(report.get('segments') or [{}])


def count_kinds(generator, model, segments, counts):
    operators = {n.op_type for n in all_nodes(model.graph)}
    counts['models with extents or ranks that only a run knows'] += generator.has_open()
    counts['models with sequences'] += any('Sequence' in op for op in operators)
    counts['models with optionals'] += any('Optional' in op for op in operators)
    counts['models in several segments'] += segments > 1


def reduce(graphbench, backend, folder, model, data):
    """Leaves a smaller model in the folder, of which the results are wrong, too."""
    def is_wrong(candidate):
        sets = []
        for feeds, _ in data:
            feeds = {i.name: feeds[i.name] for i in candidate.graph.input}
            wanted = run(candidate, feeds)
            if isinstance(wanted, str):
                return False
            sets.append((feeds, wanted))
        with tempfile.TemporaryDirectory() as place:
            write_test(pathlib.Path(place) / 'tests/candidate', candidate, sets)
            (status, _), = results_of(graphbench, pathlib.Path(place) / 'tests', backend).values()
            if status == 'failed':
                shutil.rmtree(folder, ignore_errors=True)
                write_test(folder, candidate, sets)
            return status == 'failed'
    if is_wrong(model):
        reduced_bodies.reduce(model, is_wrong)
        print(onnx.printer.to_text(onnx.load(folder / 'model.onnx')))


def constants_of(name, value, is_optional=False):
    """As lines of leat's text form. Of a sequence the number of its elements and each of them; of an optional what it has."""
    if is_optional:
        return f'  const {name}/none: bool[] = {{true}}\n' if value is None else constants_of(f'{name}/some', value)
    if isinstance(value, list):
        return f'  const {name}/count: i64[] = {{{len(value)}}}\n' + ''.join(constants_of(f'{name}/{i}', v) for i, v in enumerate(value))
    return f'  const {name}: {text_of(value)}\n'


def text_of(array):
    """As in leat's text form."""
    dtype = next(name for name, (numpy_type, _) in random_bodies.TYPES.items() if numpy_type == array.dtype)
    elements = ', '.join(str(e).lower() if dtype == 'bool' else str(e) for e in array.ravel())
    return f'{dtype}[{",".join(map(str, array.shape))}] = {{{elements}}}'


def case_of(graphbench, file, name, model, data):
    """The form that stored_bodies_test.cpp reads, graph and data; None if the graph has large constants."""
    text = subprocess.run([graphbench, 'inspect', file, '--text'], capture_output=True, text=True, check=True).stdout
    text = text[text.index('graph "'):]
    if '<hash' in text:
        return None
    optionals = {i.name for i in [*model.graph.input, *model.graph.output] if i.type.HasField('optional_type')}
    sets = ''
    for feeds, wanted in data:
        values = feeds | dict(zip([o.name for o in model.graph.output], wanted))  # an input may be an output
        lines = ''.join(constants_of(name, value, name in optionals) for name, value in values.items())
        sets += f'graph data () -> () {{\n{lines}}}\n'
    return f'case {name}\n{text}', sets


def reduced_cases(graphbench, folder):
    """Of models that have failed once: that of each folder, in ONNX's layout. What is right is asked again."""
    for test in sorted(folder.iterdir()):
        model, data = onnx.load(test / 'model.onnx'), []
        for place in sorted(test.glob('test_data_set_*')):
            feeds = {}
            for number, info in enumerate(model.graph.input):
                feeds[info.name] = numpy_helper.to_array(onnx.load_tensor(place / f'input_{number}.pb'))
            data.append((feeds, run(model, feeds)))
        case = case_of(graphbench, test / 'model.onnx', test.name, model, data)
        if case is not None:
            yield ''.join(case)


def store(graphbench, place, tests, passed, options):
    """Reduced ones, and the first small ones that have passed."""
    stored = list(reduced_cases(graphbench, options.reduced)) if options.reduced else []
    for name in passed:
        if len(stored) == options.stored:
            break
        file = place / 'tests' / name / 'model.onnx'
        case = case_of(graphbench, file, name, *tests[name])
        if case and len(case[0]) <= options.stored_characters and (not options.cut or segments_of(graphbench, file) > 1):
            stored.append(''.join(case))
    options.store.write_text(''.join(stored))
    print(f'{len(stored)} stored in {options.store}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('graphbench')
    parser.add_argument('--graphs', type=int, default=200)
    parser.add_argument('--first', type=int, default=0)
    parser.add_argument('--keep', type=pathlib.Path)
    parser.add_argument('--backends', default='cpu,reference')
    parser.add_argument('--store', type=pathlib.Path, help='a file for some of those that pass')
    parser.add_argument('--stored', type=int, default=300)
    parser.add_argument('--stored-characters', type=int, default=3600, help='of a graph')
    parser.add_argument('--reduced', type=pathlib.Path, help='a folder of models to store first, with tensors as inputs')
    parser.add_argument('--cut', action='store_true', help='stores those that are run in several segments')
    parser.add_argument('--reduce', type=int, default=3, help='of how many failures smaller models are searched')
    parser.add_argument('--count', action='store_true', help='what kinds of models there are')
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    place = options.keep or pathlib.Path(tempfile.mkdtemp())
    counts, tests = collections.Counter(), {}
    for seed in range(options.first, options.first + options.graphs):
        test = data_of(seed, counts)
        if test is not None:
            tests[str(seed)] = test[:2]
            write_test(place / 'tests' / str(seed), *test[:2])
            if options.count:
                file = place / 'tests' / str(seed) / 'model.onnx'
                count_kinds(test[2], test[0], segments_of(options.graphbench, file), counts)
    failures, passed = 0, set(tests)
    for backend in options.backends.split(','):
        results = results_of(options.graphbench, place / 'tests', backend)
        totals = collections.Counter(status for status, _ in results.values())
        print(f'{backend}: {dict(totals)} of {len(tests)}')
        failed = {name: reason for name, (status, reason) in results.items() if status != 'passed'}
        for name, reason in failed.items():
            print(f'{backend}: seed {name}: {results[name][0]}: {reason}')
        passed -= set(failed)
        failures += totals['failed'] + len(tests) - len(results)
        for name in [name for name in failed if results[name][0] == 'failed'][:options.reduce]:
            print(f'seed {name}, reduced:')
            reduce(options.graphbench, backend, place / 'reduced' / name, *tests[name])
    if options.store is not None:
        store(options.graphbench, place, tests, [name for name in tests if name in passed], options)
    for text, count in counts.most_common():
        print(f'{count:6} {text}')
    if options.keep is None:
        shutil.rmtree(place)
    return 1 if failures or not tests or counts['both differ'] else 0


if __name__ == '__main__':
    sys.exit(main())
