#!/bin/sh
# ONNX's own backend tests (Debian package libonnx-testdata) on one backend: onnx_suite.sh GRAPHBENCH BACKEND
# EXPECTED. Skips when the package is not installed; LEAT_ONNX_TESTDATA names another folder.
data=${LEAT_ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
[ -d "$data" ] || { echo "no $data: skipped"; exit 77; }
exec "$1" conformance "$data" --backend "$2" --expected "$3" --quiet
