"""clang-tidy over the source files: check_tidy.py SOURCE_ROOT BUILD_ROOT. Version 14 decides; elsewhere the test skips.

Most of the linter's time goes into the standard library's headers, which each file reads anew. So files that declare no name
twice are read as one, written one after the other with the lines of each remembered. Where that does not compile, the group is
divided.
"""
import concurrent.futures, json, os, pathlib, re, shlex, shutil, subprocess, sys, tempfile

import source_groups

# Headers take about 22 s of a processor for a group, its lines 3 to 7 ms each; 25 files take 1 GB.
FILES_OF_GROUP = 36
LINES_OF_GROUP = 7000
MOST_FILES = 100  # of a group that took in what others turned away
# One instruction set is enough to read a kernel.
ONE_TARGET = ['--extra-arg=-DHWY_COMPILE_ONLY_STATIC']
# States that the analyzer looks at in a function: an eighth of its default, for two fifths of its time.
ANALYZED = [f'--extra-arg={word}' for word in ('-Xclang', '-analyzer-config', '-Xclang', 'max-nodes=30000')]
# Tests are exempt from the path-sensitive analyzer.
NOT_ANALYZED = ['--checks=-clang-analyzer-*']


def find_tool():
    tool = shutil.which('clang-tidy-14') or shutil.which('clang-tidy')
    if not tool:
        print('no clang-tidy: skipped')
        sys.exit(77)
    if 'version 14.' not in subprocess.run([tool, '--version'], capture_output=True, text=True).stdout:
        print('not clang-tidy 14: skipped')
        sys.exit(77)
    return tool


class Source(source_groups.Source):
    """A file, how it is compiled, and whether the analyzer reads it."""

    def __init__(self, path, place, command, directory, analyzed):
        super().__init__(path, place)
        self.directory, self.analyzed = directory, analyzed
        words = shlex.split(command)
        words = words[next(i for i, word in enumerate(words) if not word.endswith('ccache')):]
        kept, skip = [], 0
        for word in words[:-1]:  # The file is last.
            if skip or word in ('-o', '-MF', '-MQ'):
                skip = 1 - skip
            elif word not in ('-c', '-MD', '-fno-gnu-unique'):  # which clang does not know
                kept.append(word)
        self.words = kept
        self.names.discard('main')  # which Linter renames
        # The analyzer follows a Status into its own file where it can, and takes it for a leak.
        self.kind = analyzed, path.parent.name == 'base'
        self.own_headers = set(re.findall(r'^#include "([^/"]+)"', self.text, re.MULTILINE))

    def fits(self, other):
        return super().fits(other) and not self.hides_from(other) and not other.hides_from(self)

    def hides_from(self, other):
        """Whether the other one's folder has a header of the name of one beside this."""
        return self.path.parent != other.path.parent and any((other.path.parent / name).exists() for name in self.own_headers)


def read_sources(root, build):
    listed = subprocess.run(['git', 'ls-files', '*.cpp'], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    wanted = {}
    for name in listed:
        if name.startswith('tests/consumers/') or name.split('/')[0] not in ('src', 'scheduler', 'benchmarks', 'tests', 'docs'):
            continue
        wanted[(root / name).resolve()] = name.split('/')[0] not in ('tests', 'docs') and not name.endswith('_cases.cpp')
    sources = {}
    for entry in json.loads((build / 'compile_commands.json').read_text()):
        path = pathlib.Path(entry['directory'], entry['file']).resolve()
        # A file that is built several times is read once.
        if path in wanted and path not in sources:
            sources[path] = Source(path, path.relative_to(root).as_posix(), entry['command'], entry['directory'], wanted[path])
    return list(sources.values())


class Linter:
    def __init__(self, tool, root, work):
        self.tool, self.root, self.work = tool, root, work
        self.divided = 0
        # The renamed ones must not throw either. The options are the file's last part.
        self.config = work / 'config'
        mains = ','.join(f'main_{number}' for number in range(MOST_FILES))
        self.config.write_text((root / '.clang-tidy').read_text() +
                               f'  - {{key: bugprone-exception-escape.FunctionsThatShouldNotThrow, value: "{mains}"}}\n')

    def run(self, sources, name):
        """What the linter says of these sources as one, with their own lines."""
        folder = self.work / name
        folder.mkdir()
        joined = folder / 'joined.cpp'
        first_lines, lines = [], 1
        with joined.open('w') as out:
            for number, source in enumerate(sources):
                first_lines.append(lines)
                out.write(re.sub(r'\bint main\(', f'int main_{number}(', source.text))
                lines += source.lines
        beside = [f'-iquote{folder}' for folder in dict.fromkeys(source.path.parent for source in sources if source.own_headers)]
        words = dict.fromkeys(word for source in sources for word in source.words)
        entry = {'directory': sources[0].directory, 'file': str(joined), 'arguments': [*words, *beside, '-c', str(joined)]}
        (folder / 'compile_commands.json').write_text(json.dumps([entry]))
        done = subprocess.run([self.tool, '-p', str(folder), '--quiet', f'--config-file={self.config}', *ONE_TARGET,
                               *(ANALYZED if sources[0].analyzed else NOT_ANALYZED), str(joined)],
                              cwd=self.root, capture_output=True, text=True)

        def place(match):
            line = int(match.group(1))
            index = max(i for i, first in enumerate(first_lines) if first <= line)
            return f'{sources[index].path.relative_to(self.root)}:{line - first_lines[index] + 1}'
        said = re.sub(re.escape(str(joined)) + r':(\d+)', place, done.stdout + done.stderr)
        said = '\n'.join(line for line in said.splitlines() if line and not re.search(r'warnings? generated|^Suppressed|^Use -header', line))
        return done.returncode, said

    def check(self, name, sources):
        code, said = self.run(sources, name)
        if not code:
            return []
        if len(sources) > 1 and 'clang-diagnostic-error' in said:
            self.divided += 1
            half = len(sources) // 2
            return self.check(name + 'a', sources[:half]) + self.check(name + 'b', sources[half:])
        return [said]


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    tool = find_tool()
    groups = source_groups.group(read_sources(root, build), FILES_OF_GROUP, LINES_OF_GROUP)
    # The longest first.
    groups.sort(key=lambda members: -sum(len(member.text) for member in members))
    failed = False
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        linter = Linter(tool, root, pathlib.Path(work))
        for findings in pool.map(linter.check, map(str, range(len(groups))), groups):
            failed = failed or bool(findings)
            print(*findings, sep='\n', end='\n' if findings else '', flush=True)
        print(f'{sum(map(len, groups))} files in {len(groups)} groups, of which {linter.divided} did not compile as one')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
