"""What tools/check builds and runs: of a small build that is written down here, and of this build. tools_check_test.py ROOT BUILD"""
import importlib.machinery, importlib.util, json, os, pathlib, re, subprocess, sys, tempfile

ROOT, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
loader = importlib.machinery.SourceFileLoader('tools_check', str(ROOT / 'tools/check'))
sys.dont_write_bytecode = True
check = importlib.util.module_from_spec(importlib.util.spec_from_loader('tools_check', loader))
loader.exec_module(check)

FILES = {
    'src/base/error.h': '',
    'src/graph/node.h': '#include "base/error.h"\n',
    'src/graph/node.cpp': '#include "graph/node.h"\n',
    'src/graph/text.h': '',
    'src/graph/text.cpp': '#include "graph/text.h"\n',
    'src/graph/deep/walk.cpp': '',
    'src/ops/softmax/softmax_cpu.cpp': '',
    'src/ops/softmax/row_vulkan.cpp': '',
    'src/ops/softmax/softmax_cases.cpp': 'add("Softmax/default_axis"); add("LogSoftmax/x"); given("lower");\n',
    'src/ops/clip/clip_cases.cpp': 'add("Clip/x");\n',
    'shaders/row_sums.comp': '',
    'shaders/window.glsl': '',
    'tests/unit/node_test.cpp': '#include "graph/node.h"\nTEST(Node, A) {}\nTEST_F(Nodes, B) {}\nTEST(Node, C) {}\n',
    'tests/unit/text_test.cpp': '#include "graph/text.h"\n',
    'tests/conformance/ops_test.cpp': 'test_name_of(case);\n',
    'tests/conformance/vulkan_ops_test.cpp': 'test_name_of(case);\n',
    'tests/conformance/outputs_test.cpp': '// Its tests are not named by cases.\n',
    'tests/golden/one.txt': '',
    'tests/golden/golden_test.cpp': '',
    'tests/e2e/cli_test.py': 'import cli_lines\n',
    'tests/e2e/cli_lines.py': '',
    'tests/unit/meson.build': '',
    'docs/a page.md': '',
}
# node.cpp and text.cpp are joined, behind a precompiled header; the shader's header is known from the log alone.
NINJA = '''
build src/core.p/pch.hpp.gch: cpp_PCH ../src/pch.hpp
build src/core.p/core-unity0.o: cpp_COMPILER src/core.p/core-unity0.cpp | $
  src/core.p/pch.hpp.gch || shaders/row_sums.spv.h
 ARGS = -O3
build src/core.p/walk.o: cpp_COMPILER ../src/graph/deep/walk.cpp | src/core.p/pch.hpp.gch
build src/core.p/softmax_cpu.o: cpp_COMPILER ../src/ops/softmax/softmax_cpu.cpp
build src/core.p/row_vulkan.o: cpp_COMPILER ../src/ops/softmax/row_vulkan.cpp || shaders/row_sums.spv.h
build shaders/row_sums.spv.h: CUSTOM_COMMAND_DEP ../shaders/row_sums.comp
build src/core.a: STATIC_LINKER src/core.p/core-unity0.o src/core.p/walk.o src/core.p/softmax_cpu.o src/core.p/row_vulkan.o
build cases.o: cpp_COMPILER ../src/ops/softmax/softmax_cases.cpp
build clip_cases.o: cpp_COMPILER ../src/ops/clip/clip_cases.cpp
build cases.a: STATIC_LINKER cases.o clip_cases.o
build unit_text.p/joined.o: cpp_COMPILER unit_text.p/text-unity0.cpp
 ARGS = -I../src
build unit_text: cpp_LINKER unit_text.p/joined.o src/core.a
build on_demand.o: cpp_COMPILER ../docs/a$ page.cpp
''' + ''.join(f'''build {name}.o: cpp_COMPILER ../tests/{source}
 ARGS = -I../src -I../tests -O2 {flags}
build {name}: cpp_LINKER {name}.o | {libraries}
''' for name, source, libraries, flags in (
    ('unit_node', 'unit/node_test.cpp', 'src/core.a', ''),
    ('ops', 'conformance/ops_test.cpp', 'src/core.a cases.a', ''), ('vulkan_ops', 'conformance/vulkan_ops_test.cpp', 'src/core.a cases.a', ''),
    ('outputs', 'conformance/outputs_test.cpp', 'src/core.a cases.a', ''),
    ('golden', 'golden/golden_test.cpp', 'src/core.a', '\'-DLEAT_GOLDEN_DIR="ROOT/tests/golden"\''), ('cli', 'e2e/cli.cpp', 'src/core.a', ''))) + '''
build all: phony unit_node unit_text ops vulkan_ops outputs golden cli
'''
DEPS = '''src/core.p/pch.hpp.gch: #deps 2, deps mtime 1 (VALID)
    ../src/base/error.h
    /usr/include/c++/12/vector

src/core.p/core-unity0.o: #deps 2, deps mtime 1 (VALID)
    ../src/graph/node.h
    ../src/graph/node.cpp

src/core.p/row_vulkan.o: #deps 1, deps mtime 1 (STALE)
    shaders/row_sums.spv.h

shaders/row_sums.spv.h: #deps 1, deps mtime 1 (VALID)
    ../shaders/window.glsl
'''


class Small:
    def __init__(self, work):
        self.root, self.build = pathlib.Path(work), pathlib.Path(work, 'build')
        for name, text in {**FILES, 'build/build.ninja': NINJA.replace('ROOT', work), 'build/src/core.p/core-unity0.cpp': ''.join(
                f'#include<{work}/build/../src/graph/{name}.cpp>\n' for name in ('node', 'text')),
                'build/unit_text.p/text-unity0.cpp': f'#include<{work}/tests/unit/text_test.cpp>\n'}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.graph = check.Graph(self.build)
        self.graph.read_headers(DEPS, f'{work}/')
        self.tree = check.Tree(self.root, list(FILES))
        self.targets = {name: self.target(name, *source) for name, source in {
            'unit_node': ['unit/node_test.cpp'], 'unit_text': ['unit/text_test.cpp'], 'ops': ['conformance/ops_test.cpp'],
            'vulkan_ops': ['conformance/vulkan_ops_test.cpp'],
            'outputs': ['conformance/outputs_test.cpp'], 'golden': ['golden/golden_test.cpp'], 'cli': ['e2e/cli.cpp']}.items()}
        self.seconds = {'unit_node': 1, 'unit_text': 50, 'ops': 100, 'vulkan_ops': 300, 'outputs': 300, 'golden': 4, 'cli': 20}

    def target(self, name, source):
        return {'filename': [f'{self.build}/{name}'], 'defined_in': f'{self.root}/tests/{source.split("/")[0]}/meson.build'}

    def tests(self):
        suites = {'ops': 'conformance', 'vulkan_ops': 'conformance', 'outputs': 'conformance', 'golden': 'golden', 'cli': 'e2e'}
        tests = []
        for name in self.targets:
            command = [f'{self.build}/{name}']
            if name == 'cli':
                command = ['python3', f'{self.root}/tests/e2e/cli_test.py', *command]
            tests.append(check.Test({'name': name, 'cmd': command, 'suite': [f'leat:{suites.get(name, "unit")}'], 'timeout': 120,
                                     'depends': [name]}, self.targets, self.graph, self.seconds))
        return tests

    def change(self, name):
        return check.Change(self.tree, name, self.graph, self.targets)

    def followers(self, name):
        """The sources that follow a file, by their names alone."""
        always = self.graph.needed_by(['all'])
        sources = self.graph.sources(self.change(name).dependents & always & self.graph.objects.keys())
        return sorted(os.path.basename(source) for source in sources)

    def chosen(self, *names):
        chosen, left = check.choose(self.tree, [self.change(name) for name in names], self.tests())
        return [(test.name, filters) for test, filters in chosen], sorted(test.name for test in left)

    def expect_followers(self, name, expected):
        found = self.followers(name)
        assert found == expected, (name, found)

    def expect(self, names, chosen, left=None):
        found, rest = self.chosen(*names.split(' & '))
        assert found == chosen, (names, found, rest)
        assert left is None or rest == left, (names, rest)


with tempfile.TemporaryDirectory() as work:
    small = Small(os.path.realpath(work))
    # Through the joined file, the precompiled header and the log of headers.
    small.expect_followers('src/graph/node.cpp', ['node.cpp', 'text.cpp'])
    small.expect_followers('src/graph/text.cpp', ['node.cpp', 'text.cpp'])
    small.expect_followers('src/graph/node.h', ['node.cpp', 'text.cpp'])
    small.expect_followers('src/base/error.h', ['node.cpp', 'text.cpp', 'walk.cpp'])
    small.expect_followers('shaders/window.glsl', ['row_vulkan.cpp'])
    small.expect_followers('src/ops/softmax/softmax_cpu.cpp', ['softmax_cpu.cpp'])
    assert len(small.graph.sources(small.graph.needed_by(['all']))) == 14
    assert small.graph.objects[f'{work}/build/on_demand.o'] == f'{work}/docs/a page.cpp'

    # First the test that includes the file's header, then one of its folder.
    small.expect('src/graph/node.cpp', [('unit_node', ''), ('unit_text', '')], ['cli', 'golden', 'ops', 'outputs', 'vulkan_ops'])
    small.expect('src/graph/node.h', [('unit_node', ''), ('unit_text', '')])
    # One of the folder above.
    small.expect('src/graph/deep/walk.cpp', [('unit_node', ''), ('unit_text', '')])
    # What takes too long is left.
    small.seconds['unit_text'] = 70
    small.expect('src/graph/node.cpp', [('unit_node', '')], ['cli', 'golden', 'ops', 'outputs', 'unit_text', 'vulkan_ops'])
    small.expect('src/graph/text.cpp', [('unit_text', '')], ['cli', 'golden', 'ops', 'outputs', 'unit_node', 'vulkan_ops'])
    small.seconds['unit_text'] = 100
    small.expect('src/graph/text.cpp', [('unit_node', '')])
    # A test's own file: of a long test only what the file defines.
    small.expect('tests/unit/node_test.cpp', [('unit_node', '')], [])
    small.seconds['unit_node'] = 40
    small.expect('tests/unit/node_test.cpp', [('unit_node', 'Node.*:*/Node.*:Nodes.*:*/Nodes.*')], [])
    # An operator's cases, on the device of the file.
    softmax = '*/LogSoftmax_*:*/Softmax_*'
    small.expect('src/ops/softmax/softmax_cpu.cpp', [('ops', softmax)])
    small.expect('src/ops/softmax/row_vulkan.cpp', [('vulkan_ops', softmax)])
    small.expect('src/ops/softmax/softmax_cases.cpp', [('ops', softmax), ('vulkan_ops', softmax)], ['outputs'])
    # A shader has the operator of the file that its name begins with.
    small.expect('shaders/row_sums.comp', [('vulkan_ops', softmax)], ['cli', 'golden', 'ops', 'outputs', 'unit_node', 'unit_text'])
    # Golden files, scripts, and what scripts import.
    small.expect('tests/golden/one.txt', [('golden', '')], [])
    small.expect('tests/e2e/cli_test.py', [('cli', '')], [])
    small.expect('tests/e2e/cli_lines.py', [('cli', '')], [])
    # The programs of a meson.build.
    small.seconds['unit_text'] = 5
    small.expect('tests/unit/meson.build', [('unit_text', ''), ('unit_node', '')], [])
    small.expect('docs/a page.md', [], [])
    # Several files at once.
    small.expect('tests/golden/one.txt & src/ops/softmax/softmax_cpu.cpp', [('golden', ''), ('ops', softmax)])
    small.expect('src/ops/softmax/softmax_cpu.cpp & src/ops/clip/clip_cases.cpp', [('ops', softmax + ':*/Clip_*'), ('vulkan_ops', '*/Clip_*')])
    # The nearest of each come first, also where one file has many.
    small.seconds.update({'unit_node': 30, 'unit_text': 40})
    small.expect('src/graph/node.cpp & src/ops/softmax/softmax_cpu.cpp', [('unit_node', ''), ('ops', softmax)])
    # Without a time of the last run, a part of the limit.
    small.seconds = {}
    assert [test.seconds for test in small.tests()] == [12.0] * 7

    # One source for a header: of its name, or of its folder.
    def linted(*names):
        return [os.path.relpath(path, work) for path in check.sources_to_lint(small.tree, names)]
    assert linted('src/graph/node.cpp', 'src/graph/node.h') == ['src/graph/node.cpp'], linted('src/graph/node.h')
    assert linted('src/graph/text.h', 'tests/golden/one.txt') == ['src/graph/text.cpp']
    assert linted('src/base/error.h') == []

# The last runs' durations, the longest of each test.
with tempfile.TemporaryDirectory() as work:
    logs = pathlib.Path(work, 'meson-logs')
    logs.mkdir()
    (logs / 'testlog.json').write_text(json.dumps({'name': 'leat:unit / base', 'duration': 3}) + '\n')
    (logs / 'check.json').write_text(json.dumps({'name': 'leat:unit / base', 'duration': 1}) + '\n')
    assert check.last_seconds(pathlib.Path(work)) == {'base': 3}


def told(*files):
    done = subprocess.run([ROOT / 'tools/check', '-n', '-C', BUILD, *files], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


# This build.
code, said = told('tests/unit/base_test.cpp')
assert code == 0 and re.search(r'tests/unit/base_test.cpp: [1-9]\d* of \d+ files follow', said) and 'would run: base' in said, said
code, said = told('src/ops/softmax/softmax_cpu.cpp')
assert code == 0 and 'would run: ops, only */Hardmax_*:*/LogSoftmax_*:*/Softmax_*' in said, said
code, said = told('src/memory/offsets/plan.cpp')
assert code == 0 and 'would run: memory' in said, said
# Meson writes scripts and programs in other forms than the tree's paths.
code, said = told('tests/layering/check_layers.py')
assert code == 0 and 'would run: layering' in said, said
code, said = told('tests/e2e/tools_test.py')
assert code == 0 and 'would run: tools\n' in said, said
# A script that is given the tree names the file; without graphbench there is no such test.
tests = json.loads((BUILD / 'meson-info/intro-tests.json').read_text())
code, said = told('README.md')
assert code == 0 and ('would run: documents\n' in said or not any(test['name'] == 'documents' for test in tests)), said
code, said = told('docs/aot.md')
assert code == 0 and ('would run: documents\n' in said or not any(test['name'] == 'documents' for test in tests)), said
code, said = told('meson_options.txt')
assert code == 0 and 'meson_options.txt: everything may depend on it; .ci/run decides' in said, said
done = subprocess.run([ROOT / 'tools/check', '-n', '-C', BUILD / 'none', 'README.md'], cwd=ROOT, capture_output=True, text=True)
assert done.returncode == 1 and 'is not set up' in done.stderr, done.stderr
code, said = told('src/no_such_file.cpp')
assert code == 1 and 'src/no_such_file.cpp is not a tracked file of this tree' in said, said
