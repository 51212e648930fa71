# Sourced by the commands beside it: installs missing Debian packages, and does nothing if none is missing.

# What building the library, graphbench and the backends needs. dpkg-dev tells Meson where Debian has
# libraries: else Debian 13 gets /usr/local/lib64, in which neither its loader nor its CMake looks.
build_packages=(dpkg-dev g++ meson ninja-build pkg-config libtbb-dev libhwloc-dev libhwy-dev libfmt-dev
                libvulkan-dev glslang-tools glslang-dev spirv-tools)
# What the tests need beside it: test data, and what the embedding tests build with.
test_packages=(ccache libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata cmake make libprotobuf-dev
               protobuf-compiler git mesa-vulkan-drivers vulkan-validationlayers)

# ensure_packages NAME...: returns when all are installed; ends the script with a message otherwise.
ensure_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "This is not a Debian system: install the equivalents of these packages yourself," >&2
        echo "then run 'meson setup build && ninja -C build':" >&2
        printf '  %s\n' "$@" >&2
        exit 1
    fi
    local missing=() name
    for name in "$@"; do
        if [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" != installed ]; then
            missing+=("$name")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "These packages are missing, and neither root nor sudo is at hand:" >&2
            echo "  apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "installing: ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get update -qq >&2
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
