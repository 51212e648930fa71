#!/bin/sh
# Runs programs on a virtual machine with several NUMA nodes, made by $LEAT_TEST_DATA/tools/numa-vm:
#   numa_test.sh MACHINE PROGRAM...
# MACHINE is 2, 2+1 (a third node of memory only, with HMAT) or 4. All programs share one start of
# the machine. Exits with 77 (skipped) where that cannot be done.
skip() {
    echo "$1: skipped"
    exit 77
}

machine=$1
shift
case $machine in
2) options='--nodes 2 --cpus 4 --mem 1G' ;;
2+1) options='--nodes 2 --cpus 4 --memory-nodes 1 --memory-node-mem 128M --hmat' ;;
4) options='--nodes 4 --cpus 4 --mem 2G' ;;
*) echo "no machine '$machine'" && exit 2 ;;
esac
[ -n "${LEAT_TEST_DATA:-}" ] || skip 'LEAT_TEST_DATA is not set'
vm=$LEAT_TEST_DATA/tools/numa-vm
[ -x "$vm" ] || skip "there is no $vm"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
run_in_machine() {
    # shellcheck disable=SC2086,SC2016
    "$vm" $options --timeout 200 -- env LEAT_NUMA_MACHINE="$machine" sh -c '
        status=0
        for program in "$@"; do
            "$program" || status=$?
        done
        exit $status' sh "$@" >"$log" 2>&1
    status=$?
}
# 125: no machine. After the first line of the tests it died while they ran.
has_no_machine() {
    [ "$status" -eq 125 ] && ! grep -q '^\[==========\] Running' "$log"
}

# The emulator sometimes dies while the machine starts: a second attempt.
run_in_machine "$@"
if has_no_machine; then
    run_in_machine "$@"
fi
cat "$log"
has_no_machine && skip 'the virtual machine cannot be started'
exit "$status"
