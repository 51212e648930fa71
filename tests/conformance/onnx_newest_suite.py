"""The node tests of the newest ONNX on leat: onnx_newest_suite.py GRAPHBENCH [--backend NAME]... [--keep DIR]

Writes the tests that Python's package onnx (VERSION) makes as test folders, and runs them on each backend, by default cpu and
reference. All have to pass but those of onnx_exceptions.txt, for which that file says why, and which check() here judges otherwise.
Exits with 77 (skipped) where Python has no onnx of this version: `python3 -m venv DIR && DIR/bin/pip install onnx==1.23.2 ml_dtypes`,
then DIR/bin/python runs this.
"""
import argparse, json, pathlib, subprocess, sys, tempfile, warnings

VERSION = '1.23.2'
SKIPPED = 77
EXCEPTIONS = pathlib.Path(__file__).parent / 'onnx_exceptions.txt'

try:
    import ml_dtypes  # noqa: F401  numpy's types of 16 bits and less
    import numpy as np
    import onnx
    from onnx import TensorProto, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    onnx = None


def proto_of(value, info):
    kind = info.type
    if kind.HasField('sequence_type'):
        return numpy_helper.from_list(value, info.name)
    if kind.HasField('optional_type'):
        return numpy_helper.from_optional(value, info.name)
    if isinstance(value, TensorProto):
        return value
    array = np.asarray(value)
    return numpy_helper.from_array(array.astype(object) if array.dtype.kind in 'US' else array, info.name)


def write_test(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(case.model, folder / 'model.onnx')
    (folder / 'data.json').write_text(json.dumps({'rtol': case.rtol, 'atol': case.atol}))
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data_set = folder / f'test_data_set_{number}'
        data_set.mkdir(exist_ok=True)
        for stem, values, infos in (('input', inputs, case.model.graph.input), ('output', outputs, case.model.graph.output)):
            for i, value in enumerate(values):
                if value is not None:  # an optional input that is empty has no file
                    (data_set / f'{stem}_{i}.pb').write_bytes(proto_of(value, infos[i]).SerializeToString())


def write_suite(root):
    from onnx.backend.test.case.node import collect_testcases
    for case in collect_testcases(None):
        write_test(case, root / case.name)


def read_exceptions():
    """Name -> kind. Each line: name, kind, reason."""
    lines = [line for line in EXCEPTIONS.read_text(encoding='utf-8').splitlines() if line and not line.startswith('#')]
    return {name: kind for name, kind, _ in (line.split(None, 2) for line in lines)}


def load(folder, stem):
    arrays = []
    for file in sorted(folder.glob(f'{stem}_*.pb'), key=lambda file: int(file.stem.split('_')[1])):
        tensor = TensorProto()
        tensor.ParseFromString(file.read_bytes())
        arrays.append(numpy_helper.to_array(tensor))
    return arrays


def results_of(graphbench, backend, folder, scratch):
    """What leat gives for the first data set of the test."""
    subprocess.run([graphbench, 'run', folder / 'model.onnx', '--inputs', folder / 'test_data_set_0', '--backend', backend,
                    '--save', scratch, '--quiet'], check=True, capture_output=True)
    return load(pathlib.Path(scratch), 'output')


def in_float64(model, inputs):
    """The reference evaluator's results where all floats are float64."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    floats = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    for info in [*wide.graph.input, *wide.graph.output, *wide.graph.value_info]:
        if info.type.tensor_type.elem_type in floats:
            info.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in wide.graph.node:
        for attribute in node.attribute:
            if node.op_type == 'Cast' and attribute.name == 'to' and attribute.i in floats:
                attribute.i = TensorProto.DOUBLE
            if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type in floats:
                attribute.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(attribute.t).astype(np.float64)))
    feeds = {info.name: array.astype(np.float64) if array.dtype.kind in 'fV' else array
             for info, array in zip(wide.graph.input, inputs)}
    return ReferenceEvaluator(wide).run(None, feeds)


def check(kind, graphbench, backend, folder, scratch):
    """What is wrong with leat's results, by the rule of this kind of exception; None: nothing."""
    if kind == 'later':
        return None
    got = results_of(graphbench, backend, folder, scratch)
    want = load(folder / 'test_data_set_0', 'output')
    if [(a.shape, a.dtype) for a in got] != [(a.shape, a.dtype) for a in want]:
        return 'other shapes or types than the data'
    if kind == 'random':
        return None if all(set(np.unique(a.astype(np.float64))) <= {0.0, 1.0} for a in got) else 'other values than 0 and 1'
    if kind == 'noise':
        exact = in_float64(onnx.load(folder / 'model.onnx'), load(folder / 'test_data_set_0', 'input'))
        for a, b, e in zip(got, want, exact):
            ours, theirs = (np.abs(x.astype(np.float64) - e).max(initial=0) for x in (a, b))
            if ours > theirs:
                return f'error {ours:.3g} against float64, the data has {theirs:.3g}'
        return None
    return f'no rule for exceptions of the kind {kind}'


def run(graphbench, backend, suite, exceptions, scratch):
    report = scratch / 'report.json'
    subprocess.run([graphbench, 'conformance', suite, '--backend', backend, '--jobs', '2', '--json', report, '--quiet'],
                   check=False, capture_output=True)
    tests = json.loads(report.read_text())['tests']
    problems = []
    for test in tests:
        name, has_passed = test['name'], test['status'] == 'passed'
        if name in exceptions:
            wrong = check(exceptions[name], graphbench, backend, suite / name, scratch / name)
            if wrong:
                problems.append(f'{name}: {wrong}')
        elif not has_passed:
            problems.append(f"{name}: {test['reason']}")
    passed = sum(test['status'] == 'passed' for test in tests)
    print(f'{backend}: {passed} of {len(tests)} passed, {len(exceptions)} exceptions, {len(problems)} wrong')
    for problem in problems:
        print(f'  {problem}')
    return not problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('graphbench')
    parser.add_argument('--backend', action='append')
    parser.add_argument('--keep', type=pathlib.Path, help='write the folders here, and leave them')
    options = parser.parse_args()
    if onnx is None or onnx.__version__ != VERSION:
        print(f'Python has no onnx {VERSION} with ml_dtypes: skipped')
        return SKIPPED
    warnings.filterwarnings('ignore')
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        suite = options.keep or scratch / 'suite'
        write_suite(suite)
        exceptions = read_exceptions()
        good = [run(options.graphbench, backend, suite, exceptions, scratch) for backend in options.backend or ['cpu', 'reference']]
        return 0 if all(good) else 1


if __name__ == '__main__':
    sys.exit(main())
