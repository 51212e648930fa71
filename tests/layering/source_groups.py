"""Which source files can be read as one: those that declare no name twice."""
import re

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
