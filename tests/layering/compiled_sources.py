"""How each file is compiled: from compile_commands.json, through joined files, without GCC's precompiled headers."""
import json, pathlib, re, shlex

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
# Options whose value is the next word.
PAIRS = {'-I', '-D', '-U', '-isystem', '-iquote', '-idirafter', '-include', '-imacros', '-x', '-Xclang', '--param'}
# Those of the compiler that name results or what clang has precompiled, or that clang-tidy does not know.
DROPPED = {'-c', '-MD', '-MMD', '-fno-gnu-unique', '-fpch-preprocess'}
DROPPED_PAIRS = {'-o', '-MF', '-MQ', '-MT', '-include-pch'}


def options(command):
    """The command's options as tuples, of an option and its value where these are two words."""
    words = shlex.split(command)
    words = iter(words[next(i for i, word in enumerate(words) if not word.endswith('ccache')) + 1:])
    found = []
    for word in words:
        if word in DROPPED_PAIRS:
            next(words)
        elif word in PAIRS:
            found.append((word, next(words)))
        elif word not in DROPPED and word.startswith('-'):
            found.append((word,))
    return found


def joined_by(path):
    """The files that Meson joined in this one."""
    return [(path.parent / name).resolve() for name in INCLUDE.findall(path.read_text())]


def compiled_sources(build):
    """{file: (options, directory)}. A file that is compiled several times counts once, alone rather than joined."""
    entries = json.loads((build / 'compile_commands.json').read_text())
    precompiled = {pathlib.Path(entry['output']).name for entry in entries if entry.get('output', '').endswith('.gch')}
    alone, joined = {}, {}
    for entry in entries:
        directory = entry['directory']
        path = pathlib.Path(directory, entry['file']).resolve()
        if path.suffix != '.cpp':
            continue
        kept = [option for option in options(entry['command'])
                if option[0] != '-include' or pathlib.Path(option[1]).name + '.gch' not in precompiled]
        if re.search(r'-unity\d+\.cpp$', path.name):
            for file in joined_by(path):
                joined.setdefault(file, (kept, directory))
        else:
            alone.setdefault(path, (kept, directory))
    return {**joined, **alone}
