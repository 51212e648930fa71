#!/bin/sh
# ONNX's own backend tests (Debian package libonnx-testdata) on one backend: onnx_suite.sh GRAPHBENCH BACKEND
# EXPECTED [PLUGIN]. PLUGIN is the backend's shared object. Skips when the package is not installed, or the machine
# has no such device; LEAT_ONNX_TESTDATA names another folder.
data=${LEAT_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
no_device=6
[ -d "$data" ] || { echo "no $data: skipped"; exit 77; }
"$1" conformance "$data" --backend "$2" --expected "$3" --quiet ${4:+--backend-path "$4"}
code=$?
[ $code -ne $no_device ] || exit 77
exit $code
