"""Compares what leat knows of operators with ONNX: onnx_schemas_test.py OPERATOR_SCHEMAS STRING_OPERATORS

OPERATOR_SCHEMAS is the program of operator_schemas.cpp. Every version of every operator that leat has is compared, up to OPSET: the
names of the attributes, their types, and whether they are required. What ONNX has and leat lacks is LACKING, no more and no less.
STRING_OPERATORS is tests/support/string_operators.h: the operators that may have strings in OPSET. Exits with 77 (skipped) where
Python has no onnx of VERSION or newer: `python3 -m venv DIR && DIR/bin/pip install onnx==1.23.2`, then DIR/bin/python runs this.
"""
import re, subprocess, sys

VERSION = '1.23.2'
OPSET = 28
SKIPPED = 77
# leat lets every operator have it before opset 6, and ignores it: a hint for work in place.
HINT, FIRST_WITHOUT_HINTS = 'consumed_inputs', 6
# Operators of ONNX that leat does not have yet.
LACKING = {'ImageDecoder'}
KINDS = {'INT': 'int', 'FLOAT': 'float', 'STRING': 'string', 'TENSOR': 'tensor', 'INTS': 'ints', 'FLOATS': 'floats',
         'STRINGS': 'strings', 'GRAPH': 'graph', 'SPARSE_TENSOR': 'sparse_tensor', 'TYPE_PROTO': 'type'}


def read_rows(program):
    """Of each operator: (attribute, kind, since, before, is required)."""
    operators = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, *row = line.split('\t')
        rows = operators.setdefault(name, [])
        if row:
            attribute, kind, since, before, required = row
            rows.append((attribute, kind.replace(' ', '_'), int(since), int(before), required == '1'))
    return operators


def attributes_in(rows, opset):
    return {name: (kind, required) for name, kind, since, before, required in rows if since <= opset < before}


def attributes_of(schema):
    found = {name: (KINDS[attribute.type.name], attribute.required) for name, attribute in schema.attributes.items()}
    if schema.since_version < FIRST_WITHOUT_HINTS:
        found.pop(HINT, None)
    return found


def check(operators, history):
    """`history`: of each operator its schemas. Returns the number of versions compared, and what differs."""
    count, problems = 0, []
    for name, rows in sorted(operators.items()):
        schemas = sorted((s for s in history.get(name, []) if s.since_version <= OPSET), key=lambda s: s.since_version)
        if not schemas:
            problems.append(f'{name}: ONNX has no such operator')
        for schema, later in zip(schemas, schemas[1:] + [None]):
            count += 1
            # A row may begin or end between two versions only where nothing changes.
            opsets = range(schema.since_version, later.since_version if later else OPSET + 1)
            theirs = attributes_of(schema)
            wrong = [opset for opset in opsets if attributes_in(rows, opset) != theirs]
            if wrong:
                problems.append(f'{name}-{schema.since_version} in opset {wrong[0]}: leat has '
                                f'{dict(sorted(attributes_in(rows, wrong[0]).items()))}, ONNX {dict(sorted(theirs.items()))}')
    return count, problems


def check_names(operators, history):
    lacking = set(history) - set(operators)
    return [f'{name}: ONNX has it, leat does not' for name in sorted(lacking - LACKING)] + [
        f'{name}: in LACKING, and leat has it' for name in sorted(LACKING - lacking)]


def has_strings(schema):
    types = [t for constraint in schema.type_constraints for t in constraint.allowed_type_strs]
    types += [parameter.type_str for parameter in list(schema.inputs) + list(schema.outputs)]
    return any('tensor(string)' in t for t in types)


def check_strings(header, history):
    listed = set(re.findall(r'"(\w+)",', open(header).read()))
    newest = [max((s for s in schemas if s.since_version <= OPSET), key=lambda s: s.since_version)
              for schemas in history.values()]
    theirs = {schema.name for schema in newest if not schema.deprecated and has_strings(schema)}
    return [f'{name}: in {where} the operators that may have strings'
            for names, where in ((listed - theirs, "leat's list alone of"), (theirs - listed, "ONNX's alone of"))
            for name in sorted(names)]


def main():
    try:
        import onnx, onnx.defs
    except ImportError:
        print('Python has no package onnx: skipped')
        return SKIPPED
    if onnx.defs.onnx_opset_version() < OPSET:
        print(f'onnx {onnx.__version__} has opset {onnx.defs.onnx_opset_version()}; {VERSION} is needed: skipped')
        return SKIPPED
    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == '':
            history.setdefault(schema.name, []).append(schema)
    operators = read_rows(sys.argv[1])
    count, problems = check(operators, history)
    problems += check_names(operators, history)
    problems += check_strings(sys.argv[2], history)
    for problem in problems:
        print(problem)
    print(f'{len(operators)} operators in {count} versions, onnx {onnx.__version__}: {len(problems)} differ')
    return 1 if problems or not operators else 0


if __name__ == '__main__':
    sys.exit(main())
