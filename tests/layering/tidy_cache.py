"""Which texts the linter found clean before: a folder outside the tree, ~/.cache/leat/tidy.

A text's key is a hash of the text, its flags, the configuration and the tool. An entry of the key lists the headers that were
read and a hash of their contents; the text is known clean while an entry's headers are the same, and while the compiler would
still find each of them in the same place. Paths below the root and the build folder are kept without these, so that another
clone has the entries too. Findings are never kept.
"""
import hashlib, json, os, pathlib, re, tempfile, time, zlib

# Headers of so many states are kept for a text: branches that one goes to and fro between.
MOST_STATES = 4
# What was not used for so long, or makes the folder larger, is removed, the oldest first.
MOST_DAYS = 60
MOST_BYTES = 200_000_000
# Compilers open these only if they exist.
ASKED_FOR = re.compile(rb'__has_include(?:_next)?\s*\(\s*[<"]([^>"\n]+)[>"]')


def asked_for(data):
    return {name.decode() for name in ASKED_FOR.findall(data)}


def default_folder():
    return pathlib.Path(os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache', 'leat', 'tidy')


def digest(*parts):
    """A hash of texts and bytes; where one part ends counts."""
    whole = hashlib.blake2b(digest_size=20)
    for part in parts:
        part = part.encode() if isinstance(part, str) else part
        whole.update(len(part).to_bytes(8, 'little') + part)
    return whole.hexdigest()


class Cache:
    """Safe to use from several threads and processes at once: an entry appears whole, and one that is lost costs time only."""

    def __init__(self, folder, root, build):
        self.started = time.time()
        self.folder, self.root, self.build = folder, str(root), str(build)
        self.contents, self.listings, self.asked = {}, {}, {}

    def short(self, path):
        """A path as another clone writes it."""
        for name, base in (('<build>', self.build), ('<root>', self.root)):
            if path == base or path.startswith(base + '/'):
                return name + path[len(base):]
        return path

    def long(self, path):
        return path.replace('<build>', self.build, 1).replace('<root>', self.root, 1) if path.startswith('<') else path

    def content(self, path):
        """The hash of a file, and the names that it asks for; None without a file."""
        if path not in self.contents:
            try:
                data = pathlib.Path(path).read_bytes()
                self.asked[path] = asked_for(data)
                self.contents[path] = digest(data)
            except OSError:
                self.contents[path] = None
        return self.contents[path]

    def listing(self, folder):
        if folder not in self.listings:
            try:
                self.listings[folder] = frozenset(os.listdir(folder))
            except OSError:
                self.listings[folder] = frozenset()
        return self.listings[folder]

    def state(self, files, folders, asked):
        """A hash of the files, and of where the compiler could find their names, and these places; (None, []) if a file is missing.

        A new header in a folder that is searched earlier, or beside a file that includes, is read instead of the old one.
        """
        hashes = [self.content(path) for path in files]
        if None in hashes:
            return None, []
        searched = dict.fromkeys([*folders, *(os.path.dirname(path) for path in files if self.short(path) != path)])
        names = set(asked).union(*(self.asked[path] for path in files))
        names.update(path[len(folder) + 1:] for path in files for folder in folders if path.startswith(folder + '/'))
        by_folder = {}
        for name in names:
            head, _, tail = name.rpartition('/')
            by_folder.setdefault(f'/{head}'.rstrip('/'), set()).add(tail)
        places = [(folder, f'{head}/{tail}') for folder in searched for head, tails in sorted(by_folder.items())
                  for tail in sorted(tails & self.listing(folder + head))]
        hashed = digest(*(f'{self.short(path)} {found}' for path, found in zip(files, hashes)),
                        *(f'{self.short(folder)} {name}' for folder, name in places))
        return hashed, [folder + name for folder, name in places]

    def entries(self, key):
        try:
            data = zlib.decompress((self.folder / key).read_bytes())
            if data[:40].decode() != digest(data[40:]):
                return []
            return [(list(map(str, entry['files'])), str(entry['state'])) for entry in json.loads(data[40:])]
        except (OSError, ValueError, KeyError, TypeError, zlib.error):  # A damaged entry is none.
            return []

    def find(self, key, folders, asked=()):
        """The headers that were read when this was clean; None if it is not known to be.

        `folders`: those that are searched, in order; `asked`: headers that the text asks for, whether they exist or not.
        """
        for short, state in self.entries(key):
            files = [self.long(path) for path in short]
            if self.state(files, folders, asked)[0] == state:
                try:
                    os.utime(self.folder / key)
                except OSError:
                    pass  # Removed meanwhile.
                return files
        return None

    def keep(self, key, folders, files, asked=()):
        """Nothing is kept if a header changed since this object was made, or one appeared where its name is searched: what was
        read is not known then."""
        files = sorted(files)
        try:
            state, places = self.state(files, folders, asked)
            # File systems may round times to a second.
            if state is None or any(max(stat.st_mtime, stat.st_ctime) >= self.started - 1 for stat in map(os.stat, {*files, *places})):
                return
            entries = [{'files': [self.short(path) for path in files], 'state': state}]
            entries += [{'files': paths, 'state': other} for paths, other in self.entries(key) if other != state]
            data = json.dumps(entries[:MOST_STATES]).encode()
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, prefix='new-', delete=False) as out:
                out.write(zlib.compress(digest(data).encode() + data))
            os.replace(out.name, self.folder / key)
        except OSError as error:  # A full disk, or a folder that is not ours: the next run reads the files again.
            print(f'not kept in {self.folder}: {error}')

    def trim(self):
        files = []
        for path in self.folder.glob('*'):
            try:
                files.append((path.stat().st_mtime, path.stat().st_size, path))
            except OSError:
                pass  # Another process was faster.
        total = 0
        for used, size, path in sorted(files, reverse=True):
            total += size
            if total > MOST_BYTES or used < time.time() - MOST_DAYS * 86400:
                try:
                    path.unlink(missing_ok=True)
                except OSError:
                    pass  # A folder, or not ours.
