"""Which files are read as one."""
import pathlib, tempfile

import source_groups

MOST_FILES, MOST_LINES = 12, 2500


def sources_of(texts):
    """{path below the root: text} as sources."""
    with tempfile.TemporaryDirectory() as work:
        sources = []
        for place, text in texts.items():
            path = pathlib.Path(work, place.replace('/', '_'))
            path.write_text(text)
            sources.append(source_groups.Source(path, place))
        return sources


def groups_of(texts):
    """The paths of the files of each group."""
    return {frozenset(source.place for source in members)
            for members in source_groups.group(sources_of(texts), MOST_FILES, MOST_LINES)}


def expect(texts, groups):
    found = groups_of({f'src/x/{number}.cpp': text for number, text in enumerate(texts)})
    expected = {frozenset(f'src/x/{number}.cpp' for number in members) for members in groups}
    assert found == expected, f'{texts}: {found}, not {groups}'


plain = ['int a() {\n}\n', 'int b() {\n}\n']
expect(plain, [[0, 1]])
expect(['struct A {\n};\n', 'using A = int;\n'], [[0], [1]])
expect(['#define A 1\n', '#define A 2\n'], [[0], [1]])
expect(['LEAT_PLUGIN(a)\n', 'LEAT_PLUGIN(b)\n'], [[0], [1]])
expect(['int a() {\n}\n', 'constexpr int a = 1;\n'], [[0], [1]])
# What two files use is the same; what one declares is another.
expect(['using x::a;\n', 'using x::a;\n'], [[0, 1]])
expect(['using x::a;\n', 'int a() {\n}\n'], [[0], [1]])
# Members of a class are no names of a file.
expect(['struct A {\n    int a() {}\n};\n', 'struct B {\n    int a() {}\n};\n'], [[0, 1]])
# Highway includes a file by its name.
expect(['#define HWY_TARGET_INCLUDE "0.cpp"\n', plain[1]], [[0], [1]])
expect(['//\n' * 2000, '//\n' * 600], [[0], [1]])


def plain_files(folder, count):
    return {f'{folder}/{number}.cpp': f'int {folder.replace("/", "_")}{number}() {{\n}}\n' for number in range(count)}


# A folder's files are divided when they are too many; small folders beside each other are read together.
assert all(len(members) <= MOST_FILES for members in groups_of(plain_files('src/x', 40)))
assert len(groups_of(plain_files('src/x', 40))) <= 8
small = {**plain_files('src/ops/a', 3), **plain_files('src/ops/b', 3)}
assert groups_of(small) == {frozenset(small)}
assert groups_of({**plain_files('src/x', 3), **plain_files('src/y', 3)}) == {
    frozenset(plain_files('src/x', 3)), frozenset(plain_files('src/y', 3))}

# What a file's group turns away goes beside others, not into a group of its own.
clash = {'src/x/0.cpp': 'int a() {\n}\n', 'src/x/1.cpp': 'int a() {\n}\n', **plain_files('src/y', 3)}
assert len(groups_of(clash)) == 2, groups_of(clash)

# Files of two kinds stay apart.
kinds = sources_of(plain_files('src/x', 4))
kinds[0].kind = kinds[1].kind = 'other'
assert sorted(len(members) for members in source_groups.group(kinds, MOST_FILES, MOST_LINES)) == [2, 2]

# A change of one file changes its own group: the order of the files, their number elsewhere and their text do not matter.
tree = {**plain_files('src/x', 40), **plain_files('src/y', 40), **plain_files('src/ops/a', 5), **plain_files('src/ops/b', 5)}
before = groups_of(tree)
assert groups_of(dict(reversed(tree.items()))) == before
for place in tree:
    longer = {**tree, place: tree[place] + 'int more() {\n}\n'}
    assert groups_of(longer) == before, place
    removed = {other: text for other, text in tree.items() if other != place}
    # Two parts that are small by now become one.
    changed = groups_of(removed) - before
    assert len(changed) == 1 and len(before - groups_of(removed)) <= 2, (place, changed)
# A file that declares another's name leaves its group, and joins one.
taken = {**tree, 'src/x/7.cpp': tree['src/x/7.cpp'] + tree['src/x/8.cpp'] + ''.join(
    tree[place] for members in before if 'src/x/7.cpp' in members for place in members if place != 'src/x/7.cpp')}
assert len(groups_of(taken) - before) <= 3, groups_of(taken) - before
