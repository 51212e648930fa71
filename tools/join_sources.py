"""Joins source files that declare no name twice: join_sources.py FOLDER SOURCE...

Most of the time to compile goes into the headers, which each file reads anew. Writes files into FOLDER that include the sources,
several each, and prints their names. For builds that are made once and thrown away: after a change of one source, all those
beside it are compiled again.
"""
import os, pathlib, re, sys

FILES_OF_GROUP = 12
LINES_OF_GROUP = 2500

# What a line of a file's outermost level declares.
DECLARED = [re.compile(pattern) for pattern in (
    r'^(?:class|struct|enum class|enum|union)\s+(\w+)\b(?!.*;$)',
    r'^using\s+(\w+)\s*=',
    r'^#define\s+(\w+)',
    r'^(LEAT_\w+)\(',  # a macro that defines functions
    r'^(?![#}\s/]|namespace|template|return|using)[\w:<>,&*\s\[\]]*?[\s&*](\w+)\s*\(',
    r'^(?![#}\s/]|namespace|template|return|using)[\w:<>,&*\s\[\]()]*?[\s&*](\w+)(?:\[[^\]]*\])?\s*(?:=|\{|;)',
)]


USED = re.compile(r'^using\s+[\w:]+::(\w+);', re.MULTILINE)


def declared_names(text):
    names = set()
    for line in text.splitlines():
        for pattern in DECLARED:
            if match := pattern.match(line):
                names.add(match.group(1))
    return names - {'const', 'noexcept'}


class Source:
    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.lines = self.text.count('\n')
        self.names = declared_names(self.text)
        # Two may use the same name of elsewhere.
        self.used = set(USED.findall(self.text))
        # A kernel file includes itself.
        self.alone = 'HWY_TARGET_INCLUDE' in self.text

    def fits(self, other):
        return not (self.alone or other.alone or self.names & (other.names | other.used) or self.used & other.names)


def group(sources, most_files, most_lines):
    """Each source goes into the first group that has room and whose members it fits."""
    groups = []
    for source in sources:
        for members in groups:
            if (len(members) < most_files and sum(member.lines for member in members) + source.lines <= most_lines
                    and all(source.fits(member) for member in members)):
                members.append(source)
                break
        else:
            groups.append([source])
    return groups


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    sources = [Source(pathlib.Path(name)) for name in sys.argv[2:]]
    for number, members in enumerate(group(sources, FILES_OF_GROUP, LINES_OF_GROUP)):
        if len(members) == 1:
            print(members[0].path)
            continue
        joined = folder / f'joined_{number}.cpp'
        text = ''.join(f'#include "{os.path.relpath(member.path, folder)}"\n' for member in members)
        # What has not changed is not compiled again.
        if not joined.exists() or joined.read_text() != text:
            joined.write_text(text)
        print(joined)


if __name__ == '__main__':
    main()
