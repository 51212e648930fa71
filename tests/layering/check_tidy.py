"""clang-tidy over the source files: check_tidy.py SOURCE_ROOT BUILD_ROOT [FILE...]. Version 14 decides; elsewhere the test skips.

Most of the linter's time goes into the standard library's headers, which each file reads anew. So files that declare no name
twice are read as one, written one after the other with the lines of each remembered. Where that does not compile, the group is
divided. Groups that were clean before are not read again while nothing of them changed (tidy_cache.py). A tracked file that the
build does not compile, so that nobody reads it, is an error. With FILEs, only the groups that hold these are read.
"""
import concurrent.futures, functools, json, os, pathlib, re, shutil, subprocess, sys, tempfile

import compiled_sources, source_groups, tidy_cache, unread_sources

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
# The linter removes the usual options for lists of headers, but not this form.
HEADERS_TO = '--extra-arg=-Wp,-MD,'
FOLDER_OPTIONS = ('-iquote', '-isystem', '-idirafter', '-I')


def find_tool():
    tool = shutil.which('clang-tidy-14') or shutil.which('clang-tidy')
    if not tool:
        print('no clang-tidy: skipped')
        sys.exit(77)
    if 'version 14.' not in subprocess.run([tool, '--version'], capture_output=True, text=True).stdout:
        print('not clang-tidy 14: skipped')
        sys.exit(77)
    return tool


def tool_identity(tool):
    """What it says of itself, its program, and the libraries that it loads."""
    said = subprocess.run([tool, '--version'], capture_output=True, text=True).stdout
    libraries = subprocess.run(['ldd', os.path.realpath(tool)], capture_output=True, text=True).stdout
    files = [tool, *re.findall(r'=> (/\S+)', libraries)]
    return tidy_cache.digest(said, *(pathlib.Path(file).read_bytes() for file in files))


@functools.cache
def real_folder(folder):
    """Without '..', which leads elsewhere behind a link: /lib is one."""
    return os.path.realpath(folder)


def real_path(path):
    return os.path.join(real_folder(os.path.dirname(path)), os.path.basename(path))


def default_folders(tool, work):
    """Where the linter looks for headers by itself, also those that do not exist."""
    empty = work / 'empty.cpp'
    empty.write_text('')
    said = subprocess.run([tool, '--quiet', '--checks=-*,misc-definitions-in-headers', '--extra-arg=-v', str(empty), '--', '-std=c++20'],
                          cwd=work, capture_output=True, text=True)
    said = said.stdout + said.stderr
    listed = re.search(r'#include <\.\.\.> search starts here:\n(.*?)End of search list', said, re.DOTALL)
    found = [line.strip() for line in listed.group(1).splitlines()] if listed else []
    return [real_folder(folder) for folder in found + re.findall(r'ignoring nonexistent directory "(.*)"', said)]


def folder_of(option):
    """The folder that an option adds to those of headers, if it does."""
    for name in FOLDER_OPTIONS:
        if option[0] == name:
            return option[1]
        if option[0].startswith(name):
            return option[0][len(name):]
    return None


def headers_of(depfile, directory, joined):
    """The headers that a compiler's list names, or None without a list."""
    try:
        text = depfile.read_text().replace('\\\n', ' ').partition(': ')[2]
    except OSError:
        return None
    words = [word.replace('\\ ', ' ').replace('$$', '$').replace('\\#', '#') for word in re.findall(r'(?:\\ |\S)+', text)]
    paths = {real_path(os.path.join(directory, word)) for word in words}
    return paths - {str(joined)} if str(joined) in paths else None


class Source(source_groups.Source):
    """A file, how it is compiled, and whether the analyzer reads it."""

    def __init__(self, path, place, options, directory, analyzed):
        super().__init__(path, place)
        self.options, self.directory, self.analyzed = options, directory, analyzed
        self.names.discard('main')  # which Linter renames
        # The analyzer follows a Status into its own file where it can, and takes it for a leak.
        self.kind = f'{"analyzed" if analyzed else "not analyzed"}{", base" if path.parent.name == "base" else ""}'
        self.own_headers = set(re.findall(r'^#include "([^/"]+)"', self.text, re.MULTILINE))

    def fits(self, other):
        return super().fits(other) and not self.hides_from(other) and not other.hides_from(self)

    def hides_from(self, other):
        """Whether the other one's folder has a header of the name of one beside this."""
        return self.path.parent != other.path.parent and any((other.path.parent / name).exists() for name in self.own_headers)


def is_analyzed(name):
    return name.split('/')[0] not in ('tests', 'docs') and not name.endswith('_cases.cpp')


def read_sources(root, build):
    """The tracked files that the build compiles, and what is said of those that it does not."""
    listed = subprocess.run(['git', 'ls-files', '*.cpp'], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    compiled = compiled_sources.compiled_sources(build)
    sources = [Source(root / name, name, *compiled[root / name], is_analyzed(name)) for name in listed if root / name in compiled]
    unread = unread_sources.Unread(listed, {source.place for source in sources}, unread_sources.build_options(build),
                                   lambda name: (root / name).read_text())
    return sources, unread


class Linter:
    def __init__(self, tool, root, build, work):
        self.tool, self.root, self.build, self.work = tool, root, build, work
        self.divided = self.known = 0
        # The renamed ones must not throw either. The options are the file's last part.
        self.config = work / 'config'
        mains = ','.join(f'main_{number}' for number in range(MOST_FILES))
        self.config.write_text((root / '.clang-tidy').read_text() +
                               f'  - {{key: bugprone-exception-escape.FunctionsThatShouldNotThrow, value: "{mains}"}}\n')
        self.cache = tidy_cache.Cache(tidy_cache.default_folder(), root, build)
        self.default_folders = default_folders(tool, work)
        own = pathlib.Path(__file__).parent
        self.identity = [tool_identity(tool), self.config.read_text(), *ONE_TARGET, *(
            (own / name).read_text() for name in ('check_tidy.py', 'compiled_sources.py', 'source_groups.py', 'tidy_cache.py'))]
        # A header's findings are told if its whole path matches, and so the root's own path may matter.
        told = re.search(r"^HeaderFilterRegex: *'(.*)'", self.identity[1], re.MULTILINE)
        self.identity.append(str(bool(told and re.search(told.group(1), f'{root}/'))))

    def key(self, sources, joined, options):
        directory = sources[0].directory
        words = []
        for option in options:
            folder = folder_of(option)
            if folder is not None:
                name = option[0] if len(option) > 1 else option[0][:len(option[0]) - len(folder)]
                words.append(f'{name} {self.cache.short(real_folder(os.path.join(directory, folder)))}')
            else:
                words += [word.replace(str(self.build), '<build>').replace(str(self.root), '<root>') for word in option]
        folders = [real_folder(os.path.join(directory, folder)) for folder in map(folder_of, options) if folder is not None]
        folders = list(dict.fromkeys(folders + self.default_folders))
        analyzed = ANALYZED if sources[0].analyzed else NOT_ANALYZED
        return tidy_cache.digest(joined, *self.identity, *analyzed, 'options', *words, 'folders', *self.default_folders), folders

    def run(self, sources, joined, options, name):
        """What the linter says of these sources as one, and the headers that it read."""
        folder = self.work / name
        folder.mkdir()
        path, depfile = folder / 'joined.cpp', folder / 'headers.d'
        path.write_text(joined)
        arguments = [word for option in options for word in option]
        entry = {'directory': sources[0].directory, 'file': str(path), 'arguments': ['c++', *arguments, '-c', str(path)]}
        (folder / 'compile_commands.json').write_text(json.dumps([entry]))
        done = subprocess.run([self.tool, '-p', str(folder), '--quiet', f'--config-file={self.config}', *ONE_TARGET,
                               HEADERS_TO + str(depfile), *(ANALYZED if sources[0].analyzed else NOT_ANALYZED), str(path)],
                              cwd=self.root, capture_output=True, text=True)
        return done.returncode, self.with_own_lines(sources, path, done.stdout + done.stderr), headers_of(depfile, sources[0].directory, path)

    def with_own_lines(self, sources, path, said):
        first_lines, lines = [], 1
        for source in sources:
            first_lines.append(lines)
            lines += source.lines

        def place(match):
            line = int(match.group(1))
            index = max(i for i, first in enumerate(first_lines) if first <= line)
            return f'{sources[index].place}:{line - first_lines[index] + 1}'
        said = re.sub(re.escape(str(path)) + r':(\d+)', place, said)
        return '\n'.join(line for line in said.splitlines() if line and not re.search(r'warnings? generated|^Suppressed|^Use -header', line))

    def check(self, name, sources):
        return self.findings(name, sources)[0]

    def findings(self, name, sources):
        """The findings, and the headers that were read if there are none."""
        joined = ''.join(re.sub(r'\bint main\(', f'int main_{number}(', source.text) for number, source in enumerate(sources))
        beside = dict.fromkeys(str(source.path.parent) for source in sources if source.own_headers)
        options = [*dict.fromkeys(option for source in sources for option in source.options), *((f'-iquote{folder}',) for folder in beside)]
        key, folders = self.key(sources, joined, options)
        asked = tidy_cache.asked_for(joined.encode())
        headers = self.cache.find(key, folders, asked)
        if headers is not None:
            self.known += 1
            return [], headers
        code, said, headers = self.run(sources, joined, options, name)
        if code and (len(sources) == 1 or 'clang-diagnostic-error' not in said):
            return [said], None
        if code:
            self.divided += 1
            half = len(sources) // 2
            parts = [self.findings(name + 'a', sources[:half]), self.findings(name + 'b', sources[half:])]
            if found := [said for findings, _ in parts for said in findings]:
                return found, None
            # Divided, it is clean as well.
            headers = None if None in (parts[0][1], parts[1][1]) else {*parts[0][1], *parts[1][1]}
        if headers is not None:
            self.cache.keep(key, folders, headers, asked)
        return [], headers


def main():
    root, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    only = {pathlib.Path(argument).resolve() for argument in sys.argv[3:]}
    tool = find_tool()
    sources, unread = read_sources(root, build)
    groups = source_groups.group(sources, FILES_OF_GROUP, LINES_OF_GROUP)
    if only:
        groups = [members for members in groups if any(member.path in only for member in members)]
    # The longest first.
    groups.sort(key=lambda members: -sum(len(member.text) for member in members))
    failed = False
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        linter = Linter(tool, root, build, pathlib.Path(work).resolve())
        for findings in pool.map(linter.check, map(str, range(len(groups))), groups):
            failed = failed or bool(findings)
            print(*findings, sep='\n', end='\n' if findings else '', flush=True)
        linter.cache.trim()
        print(f'{sum(map(len, groups))} files in {len(groups)} groups, of which {linter.divided} did not compile as one; '
              f'{linter.known} known to be clean')
    said = [f'{name} not read: {reason}' for name, reason in unread.reasons.items() if root / name in only] if only else unread.left_out
    print(*(f'{line}\n' for line in said), sep='', end='')
    for name in unread.missing:
        print(f'{name}: error: not read, because no target of {build.name} compiles it; list it in its meson.build, or in '
              'tests/layering/unread_sources.py with the reason')
    return 1 if failed or unread.missing else 0


if __name__ == '__main__':
    sys.exit(main())
