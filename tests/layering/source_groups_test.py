"""Which files are read as one."""
import pathlib, tempfile

import source_groups


def groups_of(texts):
    """The numbers of the texts, a list for each group."""
    with tempfile.TemporaryDirectory() as work:
        paths = [pathlib.Path(work, f'{number}.cpp') for number in range(len(texts))]
        for path, text in zip(paths, texts):
            path.write_text(text)
        groups = source_groups.group([source_groups.Source(path) for path in paths], 12, 2500)
        return [[paths.index(source.path) for source in members] for members in groups]


def expect(texts, groups):
    found = groups_of(texts)
    assert found == groups, f'{texts}: {found}, not {groups}'


plain = ['int a() {\n}\n', 'int b() {\n}\n']
expect(plain, [[0, 1]])
# The second one goes beside the third.
expect(['int a() {\n}\n', 'int a() {\n}\n', 'int b() {\n}\n', 'constexpr int a = 1;\n'], [[0, 2], [1], [3]])
expect(['struct A {\n};\n', 'using A = int;\n'], [[0], [1]])
expect(['#define A 1\n', '#define A 2\n'], [[0], [1]])
expect(['LEAT_PLUGIN(a)\n', 'LEAT_PLUGIN(b)\n'], [[0], [1]])
# What two files use is the same; what one declares is another.
expect(['using x::a;\n', 'using x::a;\n', 'int a() {\n}\n'], [[0, 1], [2]])
# Members of a class are no names of a file.
expect(['struct A {\n    int a() {}\n};\n', 'struct B {\n    int a() {}\n};\n'], [[0, 1]])
# Highway includes a file by its name.
expect(['#define HWY_TARGET_INCLUDE "0.cpp"\n', plain[1]], [[0], [1]])
# Neither too many files nor too many lines.
expect([f'int a{number}() {{\n}}\n' for number in range(13)], [list(range(12)), [12]])
expect(['//\n' * 2000, '//\n' * 600, '//\n' * 400], [[0, 2], [1]])
