#!/bin/sh
# ONNX's own backend tests (Debian package libonnx-testdata) on one backend: onnx_suite.sh GRAPHBENCH BACKEND
# EXPECTED [PLUGIN]. With PLUGIN, the backend's shared object, tests on strings are not expected: no device holds
# them. Skips when the package is not installed, or the machine has no such device; LEAT_ONNX_TESTDATA names another
# folder.
data=${LEAT_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
no_device=6
[ -d "$data" ] || { echo "no $data: skipped"; exit 77; }
[ $# -gt 3 ] || exec "$1" conformance "$data" --backend "$2" --expected "$3" --quiet
expected=$(mktemp)
trap 'rm -f "$expected"' EXIT
grep -v STRING "$3" > "$expected"
"$1" conformance "$data" --backend "$2" --expected "$expected" --quiet --backend-path "$4"
code=$?
[ $code -ne $no_device ] || exit 77
exit $code
