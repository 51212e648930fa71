#!/bin/sh
# clang-format over every source file, or over those that are named after the root. Version 14 decides; elsewhere the test skips.
cd "$1" || exit 1
shift
tool=$(command -v clang-format-14 || command -v clang-format) || { echo "no clang-format: skipped"; exit 77; }
case $("$tool" --version) in *"version 14."*) ;; *) echo "not clang-format 14: skipped"; exit 77 ;; esac
if [ $# -gt 0 ]; then
    exec "$tool" --dry-run --Werror "$@"
fi
git ls-files '*.h' '*.cpp' | xargs "$tool" --dry-run --Werror
