#!/bin/sh
# Runs PROGRAM on a machine with two NUMA nodes and a third one that has no CPUs: numa_domains_test.sh PROGRAM
# The machine is a virtual one, made by $LEAT_TEST_DATA/tools/numa-vm. Exits with 77 (skipped) where that cannot be done.
skip() {
    echo "$1: skipped"
    exit 77
}

[ -n "${LEAT_TEST_DATA:-}" ] || skip 'LEAT_TEST_DATA is not set'
vm=$LEAT_TEST_DATA/tools/numa-vm
[ -x "$vm" ] || skip "there is no $vm"

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$vm" --nodes 2 --cpus 4 --memory-nodes 1 --memory-node-mem 128M --timeout 200 -- "$1" >"$log" 2>&1
status=$?
cat "$log"
# 125: no machine. After the first line of the tests it died while they ran.
if [ "$status" -eq 125 ] && ! grep -q '^\[==========\] Running' "$log"; then
    skip 'the virtual machine cannot be started'
fi
exit "$status"
