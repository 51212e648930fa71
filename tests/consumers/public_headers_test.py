#!/usr/bin/env python3
"""The installed headers as strict programs include them, and programs that are built in four ways.

Every header of the install set compiles alone, without a warning, with GCC and Clang, as C++20 and C++23, with and without
exceptions and run-time type information. Where there is no Clang, GCC's half is checked and the other skipped.
Usage: public_headers_test.py SOURCE_ROOT BUILD_ROOT
"""
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
STANDARDS = ["-std=c++20", "-std=c++2b"]
BARE = ["-fno-exceptions", "-fno-rtti"]
# Those that say by #error that they need exceptions, and their standard: plugins need not be C++20.
NEED_EXCEPTIONS = {"leat/plugin_backend.h", "leat/plugin_entry.h"}
PROGRAMS = ["docs/examples/custom_operator.cpp", "docs/examples/ten_lines.cpp", "docs/examples/tree.cpp",
            "tests/consumers/build_and_run.cpp", "tests/consumers/load_and_run.cpp", "tests/consumers/options.cpp", "tests/unit/task_graph_no_rtti.cpp"]


def compilers():
    """By name: the command. Only Clang may be missing."""
    cache = ["ccache"] if shutil.which("ccache") else []
    clang = next((name for name in ("clang++", "clang++-14") if shutil.which(name)), None)
    return {"g++": [*cache, "g++"], **({"clang++": [*cache, clang]} if clang else {})}


def members_without_initializer(headers):
    """Structs that functions take, and members of them that have no initializer.

    A program that names some members of such a struct, `{.threads = 2}`, would be warned of each of these. Bases of the C ABI are
    zeroed as a whole, and references have to be given.
    """
    structs, everything = {}, ""
    for header in headers:
        text = re.sub(r"namespace detail \{.*?\n\}  // namespace detail", "", header.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"//[^\n]*", "", text)
        if 'extern "C" {' in text:
            continue
        everything += text
        for match in re.finditer(r"^struct\s+(?:LEAT_API\s+)?(\w+)\s*\{\n(.*?)^\};", text, flags=re.DOTALL | re.MULTILINE):
            structs[match.group(1)] = match.group(2)
    taken = {name for name in structs if re.search(rf"[(,]\s*(?:const\s+)?{name}\s*&?\s*\w*\s*(?:=\s*\{{\}})?[,)]", everything)}
    while True:
        parts = {name for name in structs if any(re.search(rf"\b{name}\b", structs[whole]) for whole in taken)}
        if parts <= taken:
            break
        taken |= parts
    bare = []
    for name in sorted(taken):
        # A member is at the first level, and ends there: neither a function, nor a type, nor initialized.
        for member in re.findall(r"^    (?!using|static|friend|template|return|enum|struct|\})([\w:][^;{}=]*[\w>*] \w+(?:\[\w*\])?);",
                                 structs[name], flags=re.MULTILINE):
            bare.append(f"{name}: {' '.join(member.split())}")
    return taken, bare


class PublicHeaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.work = pathlib.Path(cls.folder.name)
        root = cls.work / "root"
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--tags", "devel", "--destdir", root], check=True,
                       stdout=subprocess.DEVNULL)
        cls.include = next(root.rglob("leat/leat.h")).parents[1]
        cls.headers = sorted(str(path.relative_to(cls.include)) for path in cls.include.rglob("*") if path.is_file())
        packages = next(root.rglob("leat.pc")).parent
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "leat"], check=True, capture_output=True, text=True,
                               env={**os.environ, "PKG_CONFIG_PATH": str(packages), "PKG_CONFIG_SYSROOT_DIR": str(root)}).stdout
        # Paths below the folder are relative ones, so that a compiler's cache knows them in the next run.
        cls.flags = flags.replace(str(cls.work) + "/", "").split()
        cls.compilers = compilers()
        if "clang++" not in cls.compilers:
            print("no clang++: its half of the checks is SKIPPED", flush=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_command(self, command):
        return subprocess.run(command, cwd=self.work, capture_output=True, text=True, check=False,
                              env={**os.environ, "CCACHE_BASEDIR": str(self.work), "CCACHE_NOHASHDIR": "1"})

    def compile_all(self, jobs):
        """jobs: a name, source text, compiler command with flags. Gives what each compiler said, or "" where it succeeded."""
        def compile_one(job):
            name, text, command = job
            path = self.work / (re.sub(r"\W+", "_", name) + (".c" if "c" in command else ".cpp"))
            path.write_text(text, encoding="utf-8")
            done = self.run_command([*command, "-c", path.name, "-o", path.stem + ".o"])
            return name, done.stderr if done.returncode else ""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(pool.map(compile_one, jobs))

    def test_each_header_alone(self):
        jobs, refused = [], []
        includes = [flag for flag in self.flags if flag.startswith(("-I", "-D"))]
        for header, compiler, standard, bare in itertools.product(self.headers, self.compilers, STANDARDS, ([], BARE)):
            job = (" ".join([header, compiler, standard, *bare]), f"#include <{header}>\n",
                   [*self.compilers[compiler], standard, *bare, *WARNINGS, *includes])
            (refused if bare and header in NEED_EXCEPTIONS else jobs).append(job)
        # Plugins may be older C++, and the C ABI is C.
        for header, compiler in itertools.product(self.headers, self.compilers):
            text = (self.include / header).read_text(encoding="utf-8")
            includes_it = f"#include <{header}>\n"
            if header in NEED_EXCEPTIONS:
                jobs.append((f"{header} {compiler} c++17", includes_it,
                             [*self.compilers[compiler], "-std=c++17", "-fno-rtti", *WARNINGS, *includes]))
            if 'extern "C" {' in text:
                jobs.append((f"{header} {compiler} c99", includes_it,
                             [*self.compilers[compiler], "-x", "c", "-std=c99", *WARNINGS, *includes]))
        said = self.compile_all(jobs + refused)
        failed = {name: said[name] for name, _, _ in jobs if said[name]}
        self.assertFalse(failed, "\n".join(f"== {name}\n{text[:600]}" for name, text in failed.items()))
        for name, _, _ in refused:
            self.assertRegex(said[name].split("error", 1)[1].splitlines()[0], r"needs exceptions", name)
        print(f"{len(self.headers)} headers, {len(jobs)} ways to compile them, {len(refused)} that #error refuses", flush=True)
        self.assertGreaterEqual(len(jobs), len(self.headers) * 4)

    def test_designated_initializers_leave_nothing_open(self):
        taken, bare = members_without_initializer([self.include / header for header in self.headers])
        self.assertLessEqual({"RuntimeOptions", "CompileOptions", "RunOptions", "RunControl", "ConformanceOptions",
                              "LoadOnnxOptions", "OperandSpec", "ExecutorOptions"}, taken)
        self.assertFalse(bare, "members without an initializer, `= {}`")

    def test_the_check_finds_a_bare_member(self):
        header = self.work / "bare.h"
        header.write_text("struct Inner {\n    std::vector<int> list;\n    int n = 0;\n};\n"
                          "struct Outer {\n    Inner inner = {};\n    std::function<int(int)> f;\n};\n"
                          "struct Report {\n    std::string text;\n};\nint take(const Outer& outer = {});\n", encoding="utf-8")
        taken, bare = members_without_initializer([header])
        self.assertEqual(taken, {"Inner", "Outer"})
        self.assertEqual(bare, ["Inner: std::vector<int> list", "Outer: std::function<int(int)> f"])

    def test_programs_built_in_four_ways_run(self):
        # The library where it was built: its headers are all that the test installs.
        links = [f"-L{BUILD / 'src'}", f"-Wl,-rpath,{BUILD / 'src'}", *(flag for flag in self.flags if not flag.startswith("-I"))]
        jobs = []
        includes = [flag for flag in self.flags if flag.startswith("-I")]
        builds = list(itertools.product(self.compilers, ([], BARE)))
        for program, (compiler, bare) in itertools.product(PROGRAMS, builds):
            jobs.append((" ".join([pathlib.Path(program).stem, compiler, *bare]), (SOURCE / program).read_text(encoding="utf-8"),
                         [*self.compilers[compiler], "-std=c++20", *bare, *WARNINGS, *includes, f"-I{SOURCE / 'docs/examples'}"]))
        failed = {name: text for name, text in self.compile_all(jobs).items() if text}
        self.assertFalse(failed, "\n".join(f"== {name}\n{text[:600]}" for name, text in failed.items()))
        for name, _, command in jobs:
            stem = re.sub(r"\W+", "_", name)
            linked = self.run_command([*[word for word in command if not word.startswith(("-W", "-I", "-std"))], stem + ".o", *links,
                                       "-o", stem])
            self.assertEqual(linked.returncode, 0, f"{name}: {linked.stderr}")
            # load_and_run takes a model; build_and_run, before it, wrote this one.
            done = self.run_command([f"./{stem}", "affine.onnx"])
            self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
        print(f"{len(PROGRAMS)} programs, {len(builds)} ways to build them", flush=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
