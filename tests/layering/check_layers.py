#!/usr/bin/env python3
"""Holds the include table: which folder may include which. Prints every include that breaks it."""
import pathlib
import re
import sys

# Folder -> folders that it may include, written out in full. Plans and runs get types of partition through machine alone.
CORE = {'public', 'base'}
GRAPH = CORE | {'graph'}
OPS = GRAPH | {'ops'}
SCHEDULER = CORE | {'trace', 'scheduler'}
MEMORY = SCHEDULER | {'memory'}
BACKENDS = OPS | MEMORY | {'backends'}
MACHINE = BACKENDS | {'custom', 'partition', 'backends/plugin', 'machine'}
PLAN = (MACHINE - {'partition'}) | {'plan'}
RUN = PLAN | {'run'}
ALLOWED = {
    'public': {'public'},
    'base': CORE,
    'trace': CORE | {'trace'},
    'scheduler': SCHEDULER,
    'memory': MEMORY,
    'graph': GRAPH,
    'pch': GRAPH,
    'ops': OPS,
    'onnx': OPS | {'onnx'},
    'passes': OPS | {'passes'},
    'partition': OPS | MEMORY | {'partition'},
    'custom': BACKENDS | {'custom'},
    'conformance': OPS | {'onnx', 'conformance'},
    'machine': MACHINE | {'backends/lowered'},
    'plan': PLAN,
    'place': PLAN | {'partition', 'passes', 'place'},
    'run': RUN,
    'saved': PLAN | {'saved'},
    'calibrate': RUN | {'partition', 'calibrate'},
    'zoo': {'public'},
    'consumers': {'public', 'scheduler'},  # of which only public headers are installed
}
FORBIDDEN_IN_PUBLIC = re.compile(r'^(tbb|oneapi|hwloc|vulkan)\b')
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def module_of(path):
    """The folder of the table that a source file counts as; None for files that may include all."""
    parts = path.parts
    if parts[0] == 'include':
        return 'public'
    if parts[0] == 'scheduler':
        return 'scheduler'
    if parts[:2] == ('benchmarks', 'zoo'):
        return 'zoo'
    if parts[:2] == ('tests', 'consumers'):
        return 'consumers'
    if parts[0] in ('tests', 'benchmarks'):
        return None
    if parts[1] == 'ops':
        stem = path.stem
        if stem.endswith('_cases'):
            return None
        for suffix in ('cpu', 'vulkan'):
            if stem.endswith('_' + suffix) or stem == suffix + '_kernel_table':
                return 'backends/' + suffix
        return 'ops'
    if parts[1] == 'backends':
        # The list of built-in backends may name them all.
        return 'backends/' + parts[2] if len(parts) > 3 else 'backends-list'
    return None if parts[1] == 'compile' else parts[1]


def included_module(target, system):
    parts = target.split('/')
    if target.startswith('leat/scheduler/'):
        return 'scheduler'
    if parts[0] == 'leat':
        return 'public'
    if system:
        return None
    if parts[0] == 'backends':
        return 'backends/' + parts[1] if len(parts) > 2 else 'backends'
    return parts[0]


def allowed(module, target_module):
    if module == 'backends-list':
        return target_module in BACKENDS or target_module.startswith('backends/')
    if module == 'backends/null':
        return target_module == 'public'
    if module.startswith('backends/'):
        return target_module in BACKENDS | {module, 'backends/host_device', 'backends/lowered',
                                           'backends/queues', 'backends/reference', 'custom'}
    return target_module in ALLOWED[module]


def check(root):
    errors = []
    sources = [p for folder in ('include', 'scheduler', 'src', 'tests', 'benchmarks')
               for p in sorted((root / folder).rglob('*')) if p.suffix in ('.h', '.cpp')]
    folders = {p.name for p in (root / 'src').iterdir() if p.is_dir()}
    for source in sources:
        path = source.relative_to(root)
        module = module_of(path)
        if module is None:
            continue
        if not module.startswith('backends') and module not in ALLOWED:
            errors.append(f'{path}: {module} has no row in the include table')
            continue
        for number, line in enumerate(source.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            system, target = match[1] == '<', match[2]
            if module == 'public' and FORBIDDEN_IN_PUBLIC.match(target):
                errors.append(f'{path}:{number}: a public header includes {target}')
            target_module = included_module(target, system)
            known = target_module in folders | {'public', 'scheduler'} or '/' in str(target_module)
            if target_module is None or not known:
                continue  # a header beside the file, generated, or of a dependency
            if not allowed(module, target_module):
                errors.append(f'{path}:{number}: {module} must not include {target_module} ({target})')
    return len(sources), errors


def main():
    count, errors = check(pathlib.Path(sys.argv[1]))
    for error in errors:
        print(error)
    print(f'{count} files, {len(errors)} forbidden includes')
    return 1 if errors or count == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
