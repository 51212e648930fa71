#!/bin/bash
# Builds the programs of tests/consumers in one of three ways and runs them:
# embedding_test.sh subproject|pkgconfig|cmake SOURCE_ROOT BUILD_ROOT GRAPHBENCH
set -euo pipefail
way=$1 source_root=$2 build_root=$3 graphbench=$(realpath "$4")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/consumer"
cp "$source_root"/tests/consumers/* "$source_root"/docs/examples/ten_lines.cpp \
    "$source_root"/tests/unit/task_graph_no_rtti.cpp "$work/consumer/"
cd "$work/consumer"

has_protobuf() { pkg-config --exists protobuf && pkg-config --exists tbb; }
has_protobuf || { echo "no protobuf or tbb development files: skipped"; exit 77; }

install_leat() { DESTDIR=$work/root meson install -C "$build_root" --no-rebuild >"$work/install.log"; }

case $way in
subproject)
    mkdir subprojects
    ln -s "$source_root" subprojects/leat
    # One instruction set, not optimised: how fast leat is does not matter here, and a whole build takes minutes.
    # Each file alone, without precompiled headers: elsewhere a file may use what another one includes, and nobody sees it.
    CXXFLAGS=-DHWY_COMPILE_ONLY_STATIC meson setup build -Doptimization=0 -Db_pch=false -Dleat:join_sources=false \
        >"$work/setup.log" || { tail -30 "$work/setup.log"; exit 1; }
    if find build -name '*-unity*.cpp' -o -name '*.gch' | grep .; then
        echo "files are joined, or headers precompiled"
        exit 1
    fi
    # Another run of this test has another folder.
    export CCACHE_BASEDIR=$work
    for option in tests tools benchmarks; do
        ! ninja -C build -t targets all | grep -q "^subprojects/leat/$option/.*: phony" || exit 1
    done
    ninja -C build >"$work/build.log" || { tail -30 "$work/build.log"; exit 1; }
    library=$(find build/subprojects/leat -name 'libleat.so.*.*')
    # Nothing exported that is not leat's.
    foreign=$(nm -DC --defined-only "$library" | awk '$2 != "A" {$1 = $2 = ""; print}' |
        grep -vE '^ *(leat::|typeinfo (name )?for leat::|vtable for leat::)' || true)
    [ -z "$foreign" ] || { echo "exported, but not leat's:"; echo "$foreign" | head; exit 1; }
    ;;
pkgconfig)
    install_leat
    pc=$(find "$work/root" -name leat.pc)
    export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$work/root
    lib=$(find "$work/root" -name libleat.so -printf '%h')
    flags=$(pkg-config --cflags --libs leat)
    scheduler_flags=$(pkg-config --cflags --libs leat-scheduler)
    unset PKG_CONFIG_SYSROOT_DIR
    mkdir build
    for name in load_and_run build_and_run; do
        g++ -std=c++20 $name.cpp $flags -Wl,-rpath,"$lib" -o build/$name
    done
    g++ -std=c++20 ten_lines.cpp $flags -Wl,-rpath,"$lib" -o build/task_graph
    g++ -std=c++20 ten_lines.cpp $scheduler_flags -o build/task_graph_alone
    g++ -std=c++20 own_libraries.cpp $flags $(pkg-config --cflags --libs tbb protobuf) \
        -Wl,-rpath,"$lib" -o build/own_libraries
    g++ -std=c++20 -fno-rtti task_graph_no_rtti.cpp $flags -Wl,-rpath,"$lib" -o build/task_graph_no_rtti
    for name in task_graph task_graph_alone; do
        [ ! -x build/$name ] || build/$name
    done
    ;;
cmake)
    command -v cmake >/dev/null || { echo "no cmake: skipped"; exit 77; }
    install_leat
    config=$(find "$work/root" -name leatConfig.cmake -printf '%h')
    cmake -S . -B build -Dleat_DIR="$config" >"$work/setup.log" || { tail -30 "$work/setup.log"; exit 1; }
    cmake --build build >"$work/build.log" || { tail -30 "$work/build.log"; exit 1; }
    ;;
*) echo "unknown way '$way'" >&2; exit 2 ;;
esac

"$graphbench" gen squeezenet1_1 --save model.onnx
build/load_and_run model.onnx
build/build_and_run
build/own_libraries
build/task_graph_no_rtti
