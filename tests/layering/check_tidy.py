"""clang-tidy over the source files: check_tidy.py SOURCE_ROOT BUILD_ROOT. Version 14 decides; elsewhere the test skips.

Most of the linter's time goes into the standard library's headers, which each file reads anew. So files that declare no name
twice are read as one, written one after the other with the lines of each remembered. Where that does not compile, the group is
divided.
"""
import collections, concurrent.futures, json, os, pathlib, re, shlex, shutil, subprocess, sys, tempfile

FILES_OF_GROUP = 10
LINES_OF_GROUP = 2500
# One instruction set is enough to read a kernel.
ONE_TARGET = ['--extra-arg=-DHWY_COMPILE_ONLY_STATIC']
# States that the analyzer looks at in a function: an eighth of its default, for two fifths of its time.
ANALYZED = [f'--extra-arg={word}' for word in ('-Xclang', '-analyzer-config', '-Xclang', 'max-nodes=30000')]
# Tests are exempt from the path-sensitive analyzer.
NOT_ANALYZED = ['--checks=-clang-analyzer-*']

# What a line of a file's outermost level declares.
DECLARED = [re.compile(pattern) for pattern in (
    r'^(?:class|struct|enum class|enum|union)\s+(\w+)\b(?!.*;$)',
    r'^using\s+(\w+)\s*=',
    r'^#define\s+(\w+)',
    r'^(?![#}\s/]|namespace|template|return|using)[\w:<>,&*\s\[\]]*?[\s&*](\w+)\s*\(',
    r'^(?![#}\s/]|namespace|template|return|using)[\w:<>,&*\s\[\]()]*?[\s&*](\w+)(?:\[[^\]]*\])?\s*(?:=|\{|;)',
)]


def find_tool():
    tool = shutil.which('clang-tidy-14') or shutil.which('clang-tidy')
    if not tool:
        print('no clang-tidy: skipped')
        sys.exit(77)
    if 'version 14.' not in subprocess.run([tool, '--version'], capture_output=True, text=True).stdout:
        print('not clang-tidy 14: skipped')
        sys.exit(77)
    return tool


def declared_names(text):
    names = set()
    for line in text.splitlines():
        for pattern in DECLARED:
            if match := pattern.match(line):
                names.add(match.group(1))
    return names - {'const', 'noexcept'}


class Source:
    """A file, how it is compiled, and whether the analyzer reads it."""

    def __init__(self, path, command, directory, analyzed):
        self.path, self.directory, self.analyzed = path, directory, analyzed
        words = shlex.split(command)
        words = words[next(i for i, word in enumerate(words) if not word.endswith('ccache')):]
        kept, skip = [], 0
        for word in words[:-1]:  # The file is last.
            if skip or word in ('-o', '-MF', '-MQ'):
                skip = 1 - skip
            elif word not in ('-c', '-MD', '-fno-gnu-unique'):  # which clang does not know
                kept.append(word)
        self.words = kept
        self.text = path.read_text()
        self.names = declared_names(self.text)
        # A kernel file includes itself.
        self.alone = 'HWY_TARGET_INCLUDE' in self.text
        # A header without a folder is another one elsewhere.
        has_own_headers = re.search(r'^#include "[^/"]+"', self.text, re.MULTILINE)
        self.kind = (analyzed, path.parent if has_own_headers else None)


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
            sources[path] = Source(path, entry['command'], entry['directory'], wanted[path])
    return list(sources.values())


def group(sources):
    """Each source goes into the first group that has room and none of its names."""
    groups = []
    open_groups = collections.defaultdict(list)
    for source in sources:
        if source.alone:
            groups.append([source])
            continue
        lines = source.text.count('\n')
        for members in open_groups[source.kind]:
            if (len(members) < FILES_OF_GROUP and sum(m.text.count('\n') for m in members) + lines <= LINES_OF_GROUP
                    and not any(m.names & source.names for m in members)):
                members.append(source)
                break
        else:
            groups.append([source])
            open_groups[source.kind].append(groups[-1])
    return sorted(groups, key=lambda members: -sum(len(m.text) for m in members))


class Linter:
    def __init__(self, tool, root, work):
        self.tool, self.root, self.work = tool, root, work
        self.divided = 0

    def run(self, sources, name):
        """What the linter says of these sources as one, with their own lines."""
        folder = self.work / name
        folder.mkdir()
        joined = folder / 'joined.cpp'
        first_lines, lines = [], 1
        with joined.open('w') as out:
            for source in sources:
                first_lines.append(lines)
                out.write(source.text)
                lines += source.text.count('\n')
        beside = [f'-iquote{folder}' for folder in dict.fromkeys(source.path.parent for source in sources)]
        words = dict.fromkeys(word for source in sources for word in source.words)
        entry = {'directory': sources[0].directory, 'file': str(joined), 'arguments': [*words, *beside, '-c', str(joined)]}
        (folder / 'compile_commands.json').write_text(json.dumps([entry]))
        done = subprocess.run([self.tool, '-p', str(folder), '--quiet', f'--config-file={self.root}/.clang-tidy', *ONE_TARGET,
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
    groups = group(read_sources(root, build))
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
