"""The linter's work around clang-tidy, with a small program in its place."""
import json, os, pathlib, shutil, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).parent
# It says of each line with BAD that it is bad, and of a file with two lines of one name that it does not compile. Each text that
# it reads is written to a log.
TOOL = '''#!/usr/bin/env python3
import json, os, pathlib, re, sys
words = sys.argv[1:]
if '--version' in words:
    print('LLVM version 14.0.6', 'RELEASE')
    sys.exit()
if '--' in words:
    sys.exit()
entry = json.loads(pathlib.Path(words[words.index('-p') + 1], 'compile_commands.json').read_text())[0]
path = pathlib.Path(words[-1])
depfile = next(word for word in words if word.startswith('--extra-arg=-Wp,-MD,')).rpartition(',')[2]
folders = [word[2:] for word in entry['arguments'] if word.startswith('-I')]
read, todo, found = [], [path], []
while todo:
    file = todo.pop()
    read.append(file)
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if 'BAD' in line:
            found.append(f'{file}:{number}:1: error: bad [bad-line]')
        if include := re.match('#include "(.*)"', line):
            todo += [pathlib.Path(entry['directory'], folder, include[1]) for folder in folders
                     if pathlib.Path(entry['directory'], folder, include[1]).exists()][:1]
lines = [line for line in path.read_text().splitlines() if line.startswith('int same')]
if len(lines) > 1:
    found.append(f'{path}:1:1: error: again [clang-diagnostic-error]')
with open(os.environ['LOG'], 'a') as log:
    log.write(json.dumps([path.read_text(), entry['arguments'], words]) + '\\n')
pathlib.Path(depfile).write_text('joined.o: ' + ' '.join(map(str, read)) + '\\n')
print(*found, sep='\\n')
sys.exit(bool(found))
'''


class Tree:
    """A repository, its build folder, the linter and an empty cache."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        self.bin = self.work / 'bin'
        self.write('bin/clang-tidy-14', TOOL).chmod(0o755)
        for name in ('check_tidy.py', 'compiled_sources.py', 'source_groups.py', 'tidy_cache.py', 'unread_sources.py'):
            (self.work / 'lint').mkdir(exist_ok=True)
            shutil.copy(HERE / name, self.work / 'lint')
        self.root = self.work / 'clone'
        self.write('clone/.clang-tidy', "Checks: '*'\nHeaderFilterRegex: 'src/.*'\nCheckOptions:\n")
        self.write('clone/src/x/a.h', 'int a();\n')
        self.write('clone/src/x/a.cpp', '#include "x/a.h"\n')
        self.write('clone/src/x/b.cpp', 'int b;\n')
        self.write('clone/src/y/c.cpp', 'int c;\n')
        self.options = {'vulkan': 'enabled', 'tests': 'enabled', 'b_sanitize': 'none'}
        self.entries = [self.entry(name) for name in ('x/a', 'x/b', 'y/c')]
        subprocess.run(['git', 'init', '-q'], cwd=self.root, check=True)

    def write(self, name, text):
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def entry(self, name, flags=''):
        return {'directory': 'BUILD', 'file': f'../src/{name}.cpp', 'output': f'{name}.o',
                'command': f'ccache c++ -Iapp.p -I../src {flags} -MD -MQ {name}.o -MF {name}.d -o {name}.o -c ../src/{name}.cpp'}

    def run(self, *files):
        """Exit code, output and the texts that the tool read."""
        build, log = self.root / 'build', self.work / 'log'
        (build / 'meson-info').mkdir(parents=True, exist_ok=True)
        (build / 'compile_commands.json').write_text(json.dumps(self.entries).replace('BUILD', str(build)))
        (build / 'meson-info/intro-buildoptions.json').write_text(
            json.dumps([{'name': name, 'value': value} for name, value in self.options.items()]))
        subprocess.run(['git', 'add', 'src', '.clang-tidy'], cwd=self.root, check=True)
        log.write_text('')
        environment = {**os.environ, 'PATH': f'{self.bin}:{os.environ["PATH"]}', 'LOG': str(log), 'XDG_CACHE_HOME': str(self.work / 'cache')}
        done = subprocess.run([sys.executable, self.work / 'lint/check_tidy.py', self.root, build, *(self.root / file for file in files)],
                              env=environment, capture_output=True, text=True)
        self.calls = [json.loads(line) for line in log.read_text().splitlines()]
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout, [text for text, _, _ in self.calls]


    def settle(self):
        """Headers of this second would not be kept."""
        time.sleep(1.1)

    def reads(self, count):
        code, said, texts = self.run()
        assert code == 0 and len(texts) == count, (count, said, texts)

    def clone(self, name):
        shutil.copytree(self.root, self.work / name, symlinks=True)
        shutil.rmtree(self.work / name / 'build')
        self.root = self.work / name


with tempfile.TemporaryDirectory() as everything:
    def tree():
        return Tree(tempfile.mkdtemp(dir=everything))

    # Folders are groups; what was clean is not read again, in another clone neither.
    it = tree()
    it.settle()
    code, said, texts = it.run()
    assert code == 0 and sorted(texts) == ['#include "x/a.h"\nint b;\n', 'int c;\n'], (said, texts)
    assert '3 files in 2 groups, of which 0 did not compile as one; 0 known to be clean' in said, said
    code, said, texts = it.run()
    assert code == 0 and not texts and '2 known to be clean' in said, (said, texts)
    it.clone('other/clone')
    it.settle()
    it.reads(0)
    # A changed file, the header of one, a flag, the configuration, the linter, the tool: what depends on it is read.
    it.write('other/clone/src/y/c.cpp', 'int c, d;\n')
    it.reads(1)
    it.reads(0)
    it.write('other/clone/src/x/a.h', 'int a(int);\n')
    it.settle()
    it.reads(1)
    it.reads(0)
    it.entries[2] = it.entry('y/c', '-DX')
    it.reads(1)
    it.reads(0)
    it.write('other/clone/.clang-tidy', "Checks: 'a*'\nHeaderFilterRegex: 'src/.*'\nCheckOptions:\n")
    it.reads(2)
    it.reads(0)
    for name in ('check_tidy.py', 'compiled_sources.py', 'source_groups.py', 'tidy_cache.py'):
        with (it.work / 'lint' / name).open('a') as out:
            out.write('# changed\n')
        it.reads(2)
        it.reads(0)
    it.write('bin/clang-tidy-14', TOOL.replace('RELEASE', 'of another day'))
    it.reads(2)
    it.write('bin/clang-tidy-14', TOOL + '# another program\n')
    it.reads(2)
    it.reads(0)
    # A damaged entry is read again.
    for entry in (it.work / 'cache/leat/tidy').iterdir():
        entry.write_bytes(entry.read_bytes()[:-2])
    it.reads(2)
    it.reads(0)
    # A header in the target's own folder hides the other.
    it.write('other/clone/build/app.p/x/a.h', '')
    it.reads(1)

    # Findings have their own lines, and are told again.
    it = tree()
    it.settle()
    it.write('clone/src/x/b.cpp', 'int b;\nint BAD;\n')
    for turn in range(2):
        code, said, texts = it.run()
        assert code == 1 and 'src/x/b.cpp:2:1: error: bad [bad-line]' in said, said
        assert len(texts) == (2, 1)[turn], texts
    it.write('clone/src/x/a.h', 'BAD\n')
    code, said, texts = it.run()
    assert code == 1 and 'src/x/a.h:1:1: error: bad [bad-line]' in said, said

    # Only the groups of the files that are named.
    it = tree()
    code, said, texts = it.run('src/y/c.cpp')
    assert code == 0 and texts == ['int c;\n'], (said, texts)
    it.write('clone/src/y/d_vulkan.cpp', '')
    it.options['vulkan'] = 'disabled'
    code, said, texts = it.run('src/y/d_vulkan.cpp')
    assert code == 0 and 'src/y/d_vulkan.cpp not read: the option vulkan is disabled' in said, said

    # A group that does not compile as one is divided, and the next time not.
    it = tree()
    it.settle()
    it.write('clone/src/x/a.cpp', '#include "x/a.h"\nint same() {}\n')
    it.write('clone/src/x/b.cpp', 'int same_too;\n')
    code, said, texts = it.run()
    assert code == 0 and '1 did not compile as one' in said and len(texts) == 4, (said, texts)
    it.reads(0)

    # Joined files are read apart, with their flags; GCC's precompiled headers are left out, other headers of the flags are not.
    it = tree()
    it.write('clone/build/app.p/app-unity0.cpp', f'#include<{it.root}/build/../src/x/a.cpp>\n#include "../../src/x/b.cpp"\n')
    flags = '-fpch-preprocess -include app_pch.hpp -include kept.h -isystem one -isystem two -Winvalid-pch'
    it.entries = [
        {'directory': 'BUILD', 'file': '../src/app_pch.hpp', 'output': 'app.p/app_pch.hpp.gch',
         'command': 'ccache c++ -Iapp.p -o app.p/app_pch.hpp.gch -c ../src/app_pch.hpp'},
        {'directory': 'BUILD', 'file': 'app.p/app-unity0.cpp', 'output': 'app.p/meson-generated_app-unity0.cpp.o',
         'command': f'ccache c++ -Iapp.p -I../src {flags} -DJOINED -MD -MQ a.o -MF a.d -o a.o -c app.p/app-unity0.cpp'},
        it.entry('y/c')]
    code, said, texts = it.run()
    assert code == 0 and sorted(texts) == ['#include "x/a.h"\nint b;\n', 'int c;\n'], (said, texts)
    words = next(arguments for text, arguments, _ in it.calls if 'int b' in text)
    assert words[:10] == ['c++', '-Iapp.p', '-I../src', '-include', 'kept.h', '-isystem', 'one', '-isystem', 'two', '-Winvalid-pch'], words
    assert '-DJOINED' in words and '-fpch-preprocess' not in words and 'app_pch.hpp' not in words, words

    # A tracked file that no target compiles is an error, with its name.
    it = tree()
    it.write('clone/src/y/d.cpp', '')
    code, said, texts = it.run()
    assert code == 1 and 'src/y/d.cpp: error: not read, because no target of build compiles it' in said, said
    assert 'c.cpp' not in said
    # One that the configuration leaves out is not, and is told; as long as the configuration does leave it out.
    it = tree()
    it.write('clone/src/y/d_vulkan.cpp', '')
    for value, expected in (('disabled', 0), ('enabled', 1), ('auto', 0)):
        it.options['vulkan'] = value
        code, said, texts = it.run()
        assert code == expected and 'src/y/d_vulkan.cpp' in said, (value, said)
        assert ('the option vulkan is' in said) == (not expected), said
    # One of Vulkan's files is compiled here.
    it.write('clone/src/backends/vulkan/device.cpp', '')
    it.entries.append(it.entry('backends/vulkan/device'))
    code, said, texts = it.run()
    assert code == 1 and 'src/y/d_vulkan.cpp: error: not read' in said, said

    # Elsewhere the test skips.
    it = tree()
    it.write('bin/clang-tidy-14', "#!/bin/sh\necho 'LLVM version 19.1.7'\n")
    code, said, texts = it.run()
    assert code == 77 and said == 'not clang-tidy 14: skipped\n', said
