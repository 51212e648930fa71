#!/bin/sh
# ONNX's own backend tests (Debian package libonnx-testdata) on one backend: onnx_suite.sh GRAPHBENCH BACKEND
# EXPECTED [PLUGIN [LACKING]]. PLUGIN is the backend's shared object; LACKING names tests of EXPECTED that it need not
# pass. Skips when the package is not installed, or the machine has no such device; LEAT_ONNX_TESTDATA names another
# folder.
data=${LEAT_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
no_device=6
[ -d "$data" ] || { echo "no $data: skipped"; exit 77; }
expected=$3
if [ -n "$5" ]; then
  expected=$(mktemp)
  trap 'rm -f "$expected"' EXIT
  grep -vxF -f "$5" "$3" > "$expected"
fi
"$1" conformance "$data" --backend "$2" --expected "$expected" --quiet ${4:+--backend-path "$4"}
code=$?
[ $code -ne $no_device ] || exit 77
exit $code
