#!/bin/sh
# clang-tidy over the source files: check_tidy.sh SOURCE_ROOT BUILD_ROOT. Version 14 decides; elsewhere the test skips.
cd "$1" || exit 1
tool=$(command -v clang-tidy-14 || command -v clang-tidy) || { echo "no clang-tidy: skipped"; exit 77; }
case $("$tool" --version) in *"version 14."*) ;; *) echo "not clang-tidy 14: skipped"; exit 77 ;; esac
jobs=$(nproc)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
# A file that is built several times is read once.
python3 - "$2/compile_commands.json" "$work/compile_commands.json" <<'PY'
import json, sys
entries = {}
for entry in json.load(open(sys.argv[1])):
    entries.setdefault(entry['file'], entry)
json.dump(list(entries.values()), open(sys.argv[2], 'w'))
PY
code=0
# One instruction set is enough to read a kernel.
one_target=--extra-arg=-DHWY_COMPILE_ONLY_STATIC
# States that the analyzer looks at in a function: an eighth of its default, for two fifths of its time.
states="--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=30000"
git ls-files 'src/*.cpp' 'scheduler/*.cpp' 'benchmarks/*.cpp' | grep -v '_cases.cpp$' |
    xargs -P "$jobs" -n 2 "$tool" -p "$work" --quiet $one_target $states >>"$log" 2>&1 || code=1
# Tests are exempt from the path-sensitive analyzer.
git ls-files 'tests/*.cpp' 'docs/*.cpp' 'src/*_cases.cpp' | grep -v '^tests/consumers/' |
    xargs -P "$jobs" -n 2 "$tool" -p "$work" --quiet $one_target --checks='-clang-analyzer-*' >>"$log" 2>&1 || code=1
grep -v ' warnings generated\|^$' "$log"
exit $code
