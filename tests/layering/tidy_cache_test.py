"""When a text is known to be clean."""
import multiprocessing, os, pathlib, tempfile, time

import tidy_cache


class Clone:
    """A tree with two folders of headers and a build folder beside them."""

    def __init__(self, work, name, cache):
        self.root = pathlib.Path(work, name)
        self.build = self.root / 'build'
        self.cache_folder = pathlib.Path(work, cache)
        self.system = pathlib.Path(work, 'system')
        for folder in (self.root / 'first', self.root / 'second', self.build, self.system):
            folder.mkdir(parents=True, exist_ok=True)
        self.headers = [self.write(self.root / 'second/a.h', '#include "b.h"\n'), self.write(self.root / 'second/b.h', ''),
                        self.write(self.build / 'generated.h', 'int x;'), self.write(self.system / 'vector', 'vector')]
        self.folders = [str(folder) for folder in (self.root / 'first', self.root / 'second', self.build, self.system)]

    def write(self, path, text):
        path.write_text(text)
        os.utime(path, (1e9, 1e9))
        return str(path)

    def cache(self, seconds_later=5):
        """A new process's. A file's time of change cannot be set, and what changed a moment ago would not be kept."""
        cache = tidy_cache.Cache(self.cache_folder, self.root, self.build)
        cache.started += seconds_later
        return cache

    def knows(self, key='key'):
        found = self.cache().find(key, self.folders)
        assert found is None or sorted(found) == sorted(self.headers), found
        return found is not None

    def keep(self, key='key', seconds_later=5):
        self.cache(seconds_later).keep(key, self.folders, self.headers)


def clones(count=1):
    work = tempfile.mkdtemp(dir=everything)
    return [Clone(work, f'clone{number}', 'cache') for number in range(count)]


def keep_often(clone, number):
    for turn in range(100):
        clone.keep()
        clone.keep(f'own {number} {turn}')
        assert clone.knows()


with tempfile.TemporaryDirectory() as everything:
    # What was kept is known, under its key only.
    clone, = clones()
    assert not clone.knows()
    clone.keep()
    assert clone.knows() and not clone.knows('another key')

    # A header that appears where its name is searched, while the linter runs: nobody knows which one was read.
    clone, = clones()
    time.sleep(2.1)
    cache = clone.cache(0)
    assert cache.find('key', clone.folders) is None
    clone.write(clone.root / 'first/a.h', '')
    cache.keep('key', clone.folders, clone.headers)
    assert not clone.knows()

    # Another clone of the same contents knows it too.
    one, other = clones(2)
    one.keep()
    assert other.knows()

    # A header that changed, in the tree, in the build folder or outside of both.
    for place in ('root', 'build', 'system'):
        clone, = clones()
        clone.keep()
        path = {'root': clone.root / 'second/b.h', 'build': clone.build / 'generated.h', 'system': clone.system / 'vector'}[place]
        before = path.read_text()
        clone.write(path, 'other')
        assert not clone.knows(), place
        # Both states are kept.
        clone.keep()
        assert clone.knows()
        clone.write(path, before)
        assert clone.knows(), place
        path.unlink()
        assert not clone.knows(), place

    # A new header that would be found first: in a folder that is searched earlier, or beside the one that includes it.
    for place in ('first/a.h', 'first/vector', 'build/b.h', 'first/generated.h'):
        clone, = clones()
        clone.keep()
        clone.write(clone.root / place, '')
        assert not clone.knows(), place
    clone, = clones()
    (clone.root / 'deep').mkdir()
    clone.headers.append(clone.write(clone.root / 'deep/c.h', '#include "second/b.h"\n'))
    clone.folders.append(str(clone.root))
    clone.keep()
    (clone.root / 'deep/second').mkdir()
    assert clone.knows()
    clone.write(clone.root / 'deep/second/b.h', '')
    assert not clone.knows()
    # A new one of another name is not.
    clone, = clones()
    clone.keep()
    clone.write(clone.root / 'first/d.h', '')
    assert clone.knows()
    # One that a header asks for.
    clone, = clones()
    clone.write(clone.root / 'second/b.h', '#if __has_include(<optional.h>)\n')
    clone.keep()
    assert clone.knows()
    clone.write(clone.system / 'optional.h', '')
    assert not clone.knows()

    # One that the text asks for.
    clone, = clones()
    clone.cache().keep('key', clone.folders, clone.headers, ['optional.h'])
    assert clone.cache().find('key', clone.folders, ['optional.h']) is not None
    clone.write(clone.system / 'optional.h', '')
    assert clone.cache().find('key', clone.folders, ['optional.h']) is None

    # A header that changed while the linter ran.
    clone, = clones()
    clone.keep(seconds_later=-60)
    assert not clone.knows()

    # A damaged entry is none, and is replaced.
    clone, = clones()
    for damage in (lambda data: b'', lambda data: data[:-3], lambda data: b'x' + data, lambda data: tidy_cache.zlib.compress(b'{}'),
                   lambda data: tidy_cache.zlib.compress(tidy_cache.digest(b'[{}]').encode() + b'[{}]')):
        clone.keep()
        entry = clone.cache_folder / 'key'
        entry.write_bytes(damage(entry.read_bytes()))
        assert not clone.knows()
        clone.keep()
        assert clone.knows()

    # A folder that cannot be written costs nothing but time.
    clone, = clones()
    clone.cache_folder.write_text('a file')
    clone.keep()
    assert not clone.knows()

    # What is old, or too much, is removed, the oldest first; what is used stays.
    clone, = clones()
    for key in ('old', 'new', 'used'):
        clone.keep(key)
    long_ago = time.time() - (tidy_cache.MOST_DAYS + 1) * 86400
    for key in ('old', 'used'):
        os.utime(clone.cache_folder / key, (long_ago, long_ago))
    assert clone.knows('used')
    clone.cache().trim()
    assert not clone.knows('old') and clone.knows('new') and clone.knows('used')
    os.utime(clone.cache_folder / 'new', (time.time() - 1000,) * 2)
    tidy_cache.MOST_BYTES = (clone.cache_folder / 'used').stat().st_size
    clone.cache().trim()
    assert not clone.knows('new') and clone.knows('used')

    # Two processes at once.
    clone, = clones()
    processes = [multiprocessing.Process(target=keep_often, args=(clone, number)) for number in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    left = [path.name for path in clone.cache_folder.iterdir()]
    assert len(left) == 201 and not [name for name in left if name.startswith('new-')], left
