#!/usr/bin/env python3
"""The pages of the documentation do what they say: README.md, CONTRIBUTING.md and docs/*.md.

Every fenced block says what it is, in the line that opens it: a language, and words that no reader of the page sees.
  sh                 run, as it is written, in an empty folder that all blocks of the page share, in their order
     in=tree         in leat's tree, of which the build is `build`
     needs=WHAT      left out, which the test says, where there is no such program, or no such path
  cpp meson cmake    must have one of these:
     file=NAME       written to the page's folder, for the commands behind it
     from=PATHS      what a file says, or one below a folder, that the build or another test compiles; `// ...` parts pieces of it.
                     With file=: all of it
  text prints=PATH   what the program of that source prints
  json like=FILE     has all members that the commands' FILE has
  text, json         drawings, output and formats
Any of them may have `not-run: REASON`; these are counted and printed. Commands are run with an installation in a folder of its
own: sudo and ldconfig do nothing there, and neither ninja in leat's tree nor `meson install` builds.
Usage: documents_test.py Pages|Commands SOURCE_ROOT BUILD_ROOT SOURCE_ROOT/docs [PAGE]...
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT, BUILD, DOCS = (pathlib.Path(argument).resolve() for argument in sys.argv[2:5])
PAGES = sys.argv[5:] or ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in DOCS.glob("*.md"))]
TIME_LIMIT_S = 300
CODE = {"cpp", "meson", "cmake"}
LANGUAGES = CODE | {"sh", "text", "json"}
# What a drawing or output does not begin a line with.
COMMAND = re.compile(r"^\$? *(?:(?:sudo|graphbench|run_contract|meson|ninja|cmake|g\+\+|python3?|pip|git|export|cd|cp|mkdir) |"
                     r"(?:tools|build[\w-]*|venv|\.)/)", re.MULTILINE)


class Block:
    def __init__(self, page, line, info, text):
        self.where, self.text, self.used = f"{page}:{line}", text, False
        info, _, self.not_run = (part.strip() for part in info.partition("not-run:"))
        words = info.split()
        self.language = words[0] if words and "=" not in words[0] else ""
        self.words = dict(word.partition("=")[::2] for word in words[1 if self.language else 0:])


def blocks_of(page, text):
    """Fences stand at the begin of a line and come in pairs."""
    found, opened = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if opened is None:
                opened = (number, line[3:], [])
            else:
                found.append(Block(page, *opened[:2], "\n".join(opened[2]) + "\n"))
                opened = None
        elif opened is not None:
            opened[2].append(line)
    if opened is not None:
        raise ValueError(f"{page}:{opened[0]}: a fence that nothing closes")
    return found


def fault_of(block):
    """Why the test would do nothing with the block; "" for one that it can use."""
    known = {"sh": {"in", "needs"}, "text": {"prints"}, "json": {"like"}}.get(block.language, {"file", "from"})
    if block.language not in LANGUAGES:
        return f"is '{block.language}', not one of {sorted(LANGUAGES)}"
    if not set(block.words) <= known:
        return f"has the words {sorted(set(block.words) - known)}, which say nothing"
    if block.language in CODE and not block.words and not block.not_run:
        return "is code that nothing compiles: it needs file=, from= or not-run:"
    if block.language == "text" and not block.words and COMMAND.search(block.text):
        return "is text, and has a command"
    return ""


def squeeze(text):
    return re.sub(r"\s+", "", text)


def prose_of(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(text):
    """As GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", prose_of(text), flags=re.MULTILINE)}


def members_of(value, path=""):
    """Names of all members, those of lists' elements as one."""
    if isinstance(value, list):
        return set().union(*(members_of(element, path + "[]") for element in value))
    if isinstance(value, dict):
        return {f"{path}.{name}" for name in value}.union(*(members_of(part, f"{path}.{name}") for name, part in value.items()))
    return set()


TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
BLOCKS = {page: blocks_of(page, text) for page, text in TEXTS.items()}


class Pages(unittest.TestCase):
    def test_blocks_say_what_they_are(self):
        faults = [f"{block.where} {fault_of(block)}" for blocks in BLOCKS.values() for block in blocks if fault_of(block)]
        self.assertFalse(faults, "\n".join(faults))

    def test_no_block_hides(self):
        for page, text in TEXTS.items():
            indented = re.search(r"\n\n(?: {4,}|\t)(\S.*)", prose_of(text))
            self.assertFalse(re.search(r"^(?: +```|~~~)", text, flags=re.MULTILINE), f"{page}: a fence of another kind")
            self.assertFalse(indented, f"{page}: a block that is indented stands between no fences: {indented and indented.group(1)}")

    def test_files_in_the_text_exist(self):
        """Whole paths, and the ends of some."""
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
        if not tracked:
            self.skipTest("no git repository")
        known = {"/" + part for path in tracked for part in [path, *map(str, pathlib.PurePath(path).parents)]}
        folders = {path.parts[0] for path in map(pathlib.PurePath, tracked) if len(path.parts) > 1} - {"subprojects"}
        for page, text in TEXTS.items():
            for name in re.findall(r"`([\w./-]+)`", prose_of(text)):
                is_file = re.fullmatch(r"[\w/-]+\.(?:h|cpp|comp|glsl|py|md)", name)
                if is_file or name.split("/")[0] in folders and "/" in name:
                    self.assertTrue(any(path.endswith("/" + name.rstrip("/")) for path in known), f"{page}: {name}")

    def test_faults_are_found(self):
        for info, text, fault in (("", "x\n", "not one of"), ("console", "x\n", "not one of"), ("cpp", "int x;\n", "nothing compiles"),
                                  ("sh run=no", "x\n", "say nothing"), ("text", "a\ngraphbench run x\n", "has a command"),
                                  ("cpp not-run: a sketch", "int x;\n", None), ("text", "a --> b\n", None),
                                  ("sh in=tree needs=cmake", "x\n", None)):
            found = fault_of(Block("page", 1, info, text))
            self.assertEqual(bool(found), bool(fault), info)
            self.assertIn(fault or "", found)
        with self.assertRaisesRegex(ValueError, "page:3"):
            blocks_of("page", "a\n\n```sh\nb\n")

    def test_quotations_are_of_their_files(self):
        compiled = {entry["file"] if entry["file"].startswith("/") else str((BUILD / entry["file"]).resolve())
                    for entry in json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))}
        for block in (block for blocks in BLOCKS.values() for block in blocks if "from" in block.words):
            with self.subTest(block.where):
                paths = [path for name in block.words["from"].split(",")
                         for path in ([ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).iterdir()))]
                for path in paths:
                    # An example of the tree itself is a program of the build.
                    if path.parent == ROOT / "docs/examples" and path.suffix == ".cpp":
                        self.assertIn(str(path), compiled)
                if "file" in block.words:
                    self.assertEqual(block.text, paths[0].read_text(encoding="utf-8"))
                    continue
                pieces = [squeeze(piece) for piece in re.split(r"^ *// \.\.\.\n", block.text, flags=re.MULTILINE)]
                self.assertTrue(any(all(piece in squeeze(path.read_text(encoding="utf-8")) for piece in pieces) for path in paths),
                                f"no file of {block.words['from']} has\n{block.text}")

    def test_links_lead_to_files_and_headings(self):
        for page, text in TEXTS.items():
            for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose_of(text)):
                path = (ROOT / page).parent / target if target else ROOT / page
                self.assertTrue(path.exists(), f"{page}: {target}")
                if anchor:
                    self.assertIn(anchor, anchors_of(path.read_text(encoding="utf-8")), f"{page}: {target}")

    def test_commands_in_the_text_have_such_options(self):
        for page, text in TEXTS.items():
            for command, rest in re.findall(r"`graphbench (\w+)([^`]*)`", prose_of(text)):
                done = subprocess.run([BUILD / "benchmarks/graphbench/graphbench", command, "--help"], capture_output=True, text=True,
                                      check=False)
                self.assertEqual(done.returncode, 0, f"{page}: graphbench {command}")
                for option in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(option, done.stdout, f"{page}: graphbench {command}{rest}")

    def test_files_of_the_example_are_named(self):
        for path in (ROOT / "docs/examples/my_backend").iterdir():
            if path.is_file() and "docs/adding-a-backend.md" in TEXTS:
                self.assertIn(f"`{path.name}`", TEXTS["docs/adding-a-backend.md"])


class Commands(unittest.TestCase):
    """Runs the commands of each page, one script a page."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        work = pathlib.Path(cls.scratch.name)
        # A tree whose build is `build`, and `build-test`, whatever this one is called.
        cls.tree = work / "leat"
        cls.tree.mkdir()
        for entry in ROOT.iterdir():
            if not entry.name.startswith("build"):
                (cls.tree / entry.name).symlink_to(entry)
        for name in ("build", "build-test"):
            (cls.tree / name).symlink_to(BUILD)
        programs = work / "programs"
        programs.mkdir()
        meson, ninja = shutil.which("meson"), shutil.which("ninja")
        for name, text in (("sudo", 'exec "$@"'), ("ldconfig", ":"), ("ninja", f'[ "$PWD" = {cls.tree} ] || exec {ninja} "$@"'),
                           ("meson", f'[ "$1" != install ] || set -- "$@" --no-rebuild\nexec {meson} "$@"')):
            (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            (programs / name).chmod(0o755)
        options = {option["name"]: option["value"]
                   for option in json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))}
        prefix = work / "root" / options["prefix"].lstrip("/")
        library = prefix / options["libdir"]
        cls.environment = {
            **os.environ, "DESTDIR": str(work / "root"), "LEAT": str(cls.tree),
            # graphbench of the build, which knows where backends were built; that of the prefix looks for them in the real one.
            "PATH": ":".join([str(programs), str(BUILD / "benchmarks/graphbench"), str(BUILD / "tests/contract/runner"),
                              os.environ["PATH"]]),
            "PKG_CONFIG_PATH": str(library / "pkgconfig"), "PKG_CONFIG_SYSROOT_DIR": str(work / "root"),
            "CMAKE_PREFIX_PATH": str(prefix), "LD_LIBRARY_PATH": str(library), "LEAT_BUILT_BACKENDS": str(BUILD / "src/backends/plugins"),
            "XDG_CACHE_HOME": str(work / "cache")}
        cls.environment.pop("LEAT_TEST_DATA", None)
        subprocess.run([programs / "meson", "install", "-C", BUILD], check=True, stdout=subprocess.DEVNULL, env=cls.environment)
        for name in ("graphbench", "run_contract"):
            if not (prefix / options["bindir"] / name).is_file():
                raise AssertionError(f"{name} is not installed")

    def script_of(self, page, folder):
        """One script of all blocks; and the lines about those that are left out."""
        lines, left_out = ["set -euo pipefail"], []
        for number, block in enumerate(BLOCKS[page]):
            missing = block.words.get("needs", "")
            if block.not_run:
                left_out.append(f"{block.where}: {block.not_run}")
            elif missing and not (shutil.which(missing) or pathlib.Path(missing).is_absolute() and pathlib.Path(missing).exists()):
                left_out.append(f"{block.where}: SKIPPED, no {missing} here")
            elif block.language == "sh":
                lines.append(f"echo '### {block.where}'")
                lines += ['(cd "$LEAT"', block.text, ")"] if block.words.get("in") == "tree" else [block.text]
            elif "file" in block.words:
                kept = folder.parent / f"{folder.name}-{number}"
                kept.write_text(block.text, encoding="utf-8")
                lines.append(f"cp '{kept}' '{block.words['file']}'")
        # Tables whose last column is commands.
        for row in re.findall(r"^\|.*\|$", prose_of(TEXTS[page]), flags=re.MULTILINE):
            commands = [code for code in re.findall(r"`([^`]*)`", row.split("|")[-2]) if COMMAND.match(code)]
            reason = re.search(r"<!-- not-run: (.*?) -->", row)
            if commands and reason:
                left_out.append(f"{page}, `{commands[0]}`: {reason.group(1)}")
            elif commands:
                lines += [f"echo '### {page}, a table: '{shlex.quote(command)}\n{command}" for command in commands]
        return "\n".join(lines) + "\n", left_out

    def test_commands_of_the_pages_run(self):
        run, left_out = 0, []
        for page in PAGES:
            folder = self.tree.parent / re.sub(r"\W", "_", page)
            folder.mkdir()
            script, page_left_out = self.script_of(page, folder)
            left_out += page_left_out
            if "###" not in script:
                continue
            with self.subTest(page):
                begin = time.monotonic()
                log = folder.parent / f"{folder.name}.log"
                with log.open("w", encoding="utf-8") as output:
                    done = subprocess.run(["bash", "-c", script], cwd=folder, env=self.environment, stdout=output,
                                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False, timeout=TIME_LIMIT_S)
                said = log.read_text(encoding="utf-8", errors="replace")
                self.assertEqual(done.returncode, 0, "\n".join(said.splitlines()[-40:]))
                self.assertNotRegex(said, r"warning: .*\[-W")
                for block in (block for block in BLOCKS[page] if "like" in block.words):
                    written = next(folder.rglob(block.words["like"]), None)
                    if written is not None:
                        self.assertLessEqual(members_of(json.loads(written.read_text(encoding="utf-8"))),
                                             members_of(json.loads(block.text)), block.where)
                count = script.count("echo '### ")
                run += count
                print(f"{page}: {count} blocks of commands, {time.monotonic() - begin:.1f} s", flush=True)
        every = [block for blocks in BLOCKS.values() for block in blocks]
        print(f"{len(every)} blocks: {run} of commands run, {sum('file' in block.words for block in every)} files of theirs, "
              f"{sum('from' in block.words for block in every)} quotations, "
              f"{sum(block.language in ('text', 'json') for block in every)} texts, {len(left_out)} not run:")
        print("\n".join(f"  {line}" for line in left_out), flush=True)

    def test_programs_print_what_the_pages_show(self):
        for block in (block for blocks in BLOCKS.values() for block in blocks if "prints" in block.words):
            with self.subTest(block.where):
                program = BUILD / "docs/examples" / f"example_{pathlib.Path(block.words['prints']).stem}"
                done = subprocess.run([program], cwd=self.scratch.name, capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout, block.text)

    def test_first_example_prints_what_its_comment_says(self):
        folder = pathlib.Path(self.scratch.name) / "fifteen_lines"
        folder.mkdir()
        subprocess.run([BUILD / "benchmarks/graphbench/graphbench", "gen", "squeezenet1_1", "--save", "model.onnx", "--quiet"], cwd=folder,
                       check=True)
        done = subprocess.run([BUILD / "docs/examples/example_fifteen_lines"], cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        # How many nodes the passes leave may differ from CPU to CPU.
        shown = re.search(r'summary\(\)\);\s*// "(.*)"', (ROOT / "README.md").read_text(encoding="utf-8")).group(1)
        self.assertEqual(re.sub(r"\d+", "N", done.stdout.strip()), re.sub(r"\d+", "N", shown))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:2], verbosity=2)
