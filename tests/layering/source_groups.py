"""Which source files can be read as one: those that declare no name twice.

A file's group follows from its path first, so that a change of one file moves no other: the files of a folder (the first two
parts of their paths) are divided by a hash of the path, bit by bit, until each part is small enough. What does not fit into its
own part, because a name is declared there already, goes into another.
"""
import hashlib, re

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


def bits(text):
    return f'{int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"):0128b}'


class Source:
    """A file; `place` is its path below the root. Files of another `kind` are never read with it."""

    def __init__(self, path, place):
        self.path, self.place = path, place
        self.text = path.read_text()
        self.lines = self.text.count('\n')
        self.names = declared_names(self.text)
        # Two may use the same name of elsewhere.
        self.used = set(USED.findall(self.text))
        # A kernel file includes itself.
        self.alone = 'HWY_TARGET_INCLUDE' in self.text
        self.kind = ''
        folder = place.rpartition('/')[0]
        self.area = '/'.join(folder.split('/')[:2])
        # Files of one folder stay together as long as they are few.
        self.bits = bits(folder) + bits(place)

    def fits(self, other):
        return not (self.alone or other.alone or self.kind != other.kind or self.names & (other.names | other.used)
                    or self.used & other.names)


class Part:
    """The files of an area whose bits begin alike, and those that fit among them."""

    def __init__(self, kind, area, prefix):
        self.kind, self.area, self.prefix = kind, area, prefix
        self.members = []

    def has_room(self, source, most_files, most_lines):
        return (len(self.members) < most_files and sum(member.lines for member in self.members) + source.lines <= most_lines
                and all(source.fits(member) for member in self.members))


def divide(sources, most_files, most_lines, prefix=''):
    """[(first bits, files)]: a division of one part leaves every other part as it is."""
    if not sources:
        return []
    if len(sources) == 1 or len(sources) <= most_files and sum(source.lines for source in sources) <= most_lines:
        return [(prefix, sources)]
    halves = [[source for source in sources if source.bits[len(prefix)] == bit] for bit in '01']
    return divide(halves[0], most_files, most_lines, prefix + '0') + divide(halves[1], most_files, most_lines, prefix + '1')


def group(sources, most_files, most_lines):
    """Lists of sources that are read as one. A part takes a few more files than `most_files` rather than turn one away."""
    sources = sorted(sources, key=lambda source: source.bits)
    areas = {}
    for source in sources:
        if not source.alone:
            areas.setdefault((source.kind, source.area), []).append(source)
    parts, left = [], []
    for (kind, area), members in areas.items():
        for prefix, own in divide(members, most_files, most_lines):
            part = Part(kind, area, prefix)
            parts.append(part)
            for source in own:
                fitting = all(source.fits(member) for member in part.members)
                (part.members if fitting else left).append(source)
    more = most_files * 4 // 3, most_lines * 4 // 3
    for source in sorted(left, key=lambda source: source.bits):
        def preferred(part):
            return part.area != source.area, bits(f'{source.place} {part.area} {part.prefix}')
        of_kind = sorted((part for part in parts if part.kind == source.kind), key=preferred)
        part = next((part for part in of_kind if part.has_room(source, *more)), None)
        if not part:
            part = Part(source.kind, source.area, f'more {source.place}')
            parts.append(part)
        part.members.append(source)
    groups = [sorted(part.members, key=lambda source: source.place) for part in parts]
    return groups + [[source] for source in sources if source.alone]
