#!/bin/sh
# Runs the NUMA tests on virtual machines with several NUMA nodes, made by $LEAT_TEST_DATA/tools/numa-vm:
#   numa_test.sh FOLDER [MACHINE...]
# FOLDER has the test programs. MACHINE, all by default, one start of a machine each:
#   1, 2, 4    as many nodes, four CPUs in all
#   2+1        two nodes, and a third of memory only, with HMAT
#   balancing  two nodes, for numa_balancing_test.cpp alone
# The last one has to run for ten seconds by the clock, so it runs beside the others.
# Fails if machines of 1, 2 and 4 nodes tell different plans or bits. Tells how long it took beside as
# many starts of a machine alone. Exits with 77 (skipped) where that cannot be done.
skip() {
    echo "$1: skipped"
    exit 77
}

folder=$1
shift
[ $# -gt 0 ] || set -- 1 2 2+1 4 balancing
[ -n "${LEAT_TEST_DATA:-}" ] || skip 'LEAT_TEST_DATA is not set'
vm=$LEAT_TEST_DATA/tools/numa-vm
[ -x "$vm" ] || skip "there is no $vm"

# More than 512 MiB: else the kernel has no huge pages.
options_of() {
    case $1 in
    1) echo '--nodes 1 --cpus 4 --mem 640M' ;;
    2 | balancing) echo '--nodes 2 --cpus 4 --mem 640M' ;;
    2+1) echo '--nodes 2 --cpus 4 --mem 640M --memory-nodes 1 --memory-node-mem 128M --hmat' ;;
    4) echo '--nodes 4 --cpus 4 --mem 768M' ;;
    *) echo "no machine '$1'" >&2 && exit 2 ;;
    esac
}
tests_of() {
    cells=$folder/numa_cells_test
    case $1 in
    1) echo "$cells --gtest_filter=NumaAcross.*" ;;
    2+1) echo "$folder/numa_domains_test; $cells --gtest_filter=-NumaAcross.*:NumaBalancing.*" ;;
    balancing) echo "$cells --gtest_filter=NumaBalancing.*" ;;
    *) echo "$cells --gtest_filter=-NumaBalancing.*" ;;
    esac
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
milliseconds() {
    echo $(($(date +%s%N) / 1000000))
}
# hwloc's plugins load X11, OpenCL and libxml2, most of the time of a process that reads a topology
# here, and have no say in NUMA; one cell has them all the same.
run_in_machine() {
    begin=$(milliseconds)
    status=0
    # shellcheck disable=SC2046,SC2016
    "$vm" $(options_of "$1") --timeout 200 -- env LEAT_NUMA_MACHINE="$1" LD_BIND_NOW=1 \
        HWLOC_PLUGINS_PATH=/nonexistent sh -c '
        start=$(date +%s%N)
        status=0
        IFS=";"
        for test in $1; do
            (unset IFS; set -f; exec $test) || status=$?
        done
        echo "tests took $((($(date +%s%N) - start) / 1000000)) ms"
        exit $status' sh "$(tests_of "$1")" >"$logs/$1" 2>&1 || status=$?
    echo "$status $(($(milliseconds) - begin))" >"$logs/$1.result"
}
# 125: the machine could not be made, or died; 124: the time is over. After the first line of the tests that is their failure.
has_no_machine() {
    grep -q '^12[45] ' "$logs/$1.result" && ! grep -q '^\[==========\] Running' "$logs/$1"
}
# The emulator sometimes dies or hangs while the machine starts: a second attempt.
run_machine() {
    run_in_machine "$1"
    if has_no_machine "$1"; then
        run_in_machine "$1"
    fi
}

for machine; do
    options_of "$machine" >/dev/null || exit 2
done
start=$(milliseconds)
for machine; do
    case $machine in
    balancing) run_machine balancing & ;;
    esac
done
for machine; do
    [ "$machine" = balancing ] || run_machine "$machine"
done
wait
all=$(($(milliseconds) - start))

result=0
least=
failed=
tell_machine() {
    read -r status took <"$logs/$1.result"
    tests=$(sed -n 's/^tests took \([0-9]*\) ms.*/\1/p' "$logs/$1")
    alone=$((took - ${tests:-0}))
    [ "${least:-$alone}" -lt "$alone" ] || least=$alone
    echo "=== machine $1"
    cat "$logs/$1"
    echo "=== machine $1: exit status $status, $took ms, of which $alone ms for its start and end"
}
# What failed is told last, where the end of a long log shows it. No machine is no failure, but a start without an end is.
for machine; do
    if grep -q '^0 ' "$logs/$machine.result"; then
        tell_machine "$machine"
    else
        failed="$failed $machine"
    fi
done
missing=
for machine in $failed; do
    tell_machine "$machine"
    if has_no_machine "$machine" && [ "$status" -eq 125 ]; then
        missing="$missing $machine"
    else
        result=$status
    fi
done
[ "$result" -ne 0 ] || [ -z "$missing" ] || skip "virtual machines that cannot be started:$missing"

# What does not depend on the number of nodes.
first=
for machine in 1 2 4; do
    grep -q '^0 ' "$logs/$machine.result" 2>/dev/null || continue
    grep '^across machines' "$logs/$machine" >"$logs/across-$machine"
    if [ -n "$first" ] && ! diff "$logs/across-$first" "$logs/across-$machine"; then
        echo "=== machines $first and $machine differ"
        result=1
    fi
    first=${first:-$machine}
done
# Again at the very end: all that a long log's reader may get to see.
for machine in $failed; do
    grep -h -A 6 ': Failure' "$logs/$machine" | head -n 40
done
[ -z "$failed" ] || echo "=== failed:$failed"
echo "=== all machines: $all ms, $((all * 100 / ($# * least))) % of $# starts and ends of $least ms, the shortest here"
exit "$result"
