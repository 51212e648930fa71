#!/bin/bash
# Builds docs/examples/my_backend as anybody would, against installed headers, and runs the contract
# suite and two conformance tests on it: my_backend_test.sh SOURCE_ROOT BUILD_ROOT RUN_CONTRACT [GRAPHBENCH]
set -euo pipefail
source_root=$1 build_root=$2 run_contract=$(realpath "$3") graphbench=${4:+$(realpath "$4")}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR=$work/root meson install -C "$build_root" --no-rebuild --tags devel >"$work/install.log"
pc=$(find "$work/root" -name leat.pc)
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$work/root
cp -r "$source_root/docs/examples/my_backend" "$work/my_backend"
cd "$work/my_backend"
meson setup build >"$work/setup.log" || { tail -30 "$work/setup.log"; exit 1; }
ninja -C build >"$work/build.log" || { tail -30 "$work/build.log"; exit 1; }
! grep -q warning: "$work/build.log" || { grep -A5 warning: "$work/build.log"; exit 1; }
"$run_contract" build/leat_my.so --need signal_after_execute --need symbolic_dims --need queue_order \
    --need callback_once --need last_callbacks --need bad_ranges --need busy --need two_backends | tee "$work/contract.log"
# A line for each check and one with the sums.
for figures in "all $(($(wc -l <"$work/contract.log") - 1)) checks" "$(tail -1 "$work/contract.log")"; do
    grep -qF "$figures" "$source_root/docs/adding-a-backend.md" ||
        { echo "docs/adding-a-backend.md does not say: $figures"; exit 1; }
done

data=/usr/share/libonnx-testdata/data/node
if [ -z "$graphbench" ] || ! "$graphbench" conformance --help | grep -q -- --backend-path || [ ! -d $data/test_relu ]; then
    echo "no graphbench, or no ONNX test data: conformance not run"
    exit 0
fi
mkdir cases
cp -r $data/test_relu $data/test_neg cases/
"$graphbench" conformance cases --backend my --backend-path build/leat_my.so --json - >"$work/report.json" ||
    { cat "$work/report.json"; exit 1; }
python3 - "$work/report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
print({key: report[key] for key in ("total", "passed", "failed", "unsupported")})
sys.exit(0 if report["total"] == report["passed"] == 2 else 1)
END
