// The contract suite: checks of docs/backends.md over the C ABI, for any backend.
//
// A check passes, fails with a reason, or reports that the backend does not implement what it is
// about.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "backends/plugin/loaded_plugin.h"

namespace leat::contract {

// A backend, and what the ABI does not say of it.
struct Target {
    std::string file;
    const LeatBackendApi* table = nullptr;  // of this process, in place of a file
    BackendSettings settings;
    // Further settings, if the backend has such; without them some checks are weaker or
    // unimplemented.
    BackendSettings slow;          // each submission takes 20 ms or longer
    BackendSettings losing;        // the third submission loses the device
    BackendSettings small_memory;  // less than 64 MiB
    std::string double_kernel;     // for register_kernel: y = 2 x, of f32; empty: none
};

enum class Verdict : uint8_t { kPassed, kUnimplemented, kFailed };

struct Report {
    Verdict verdict = Verdict::kPassed;
    std::string reason;
};

class Context;

struct Check {
    std::string_view name;  // as in docs/backends.md
    void (*run)(Context& context);
};

// What test frameworks print.
// NOLINTNEXTLINE(readability-identifier-naming): the framework's name
inline void PrintTo(const Check& check, std::ostream* out) {
    *out << check.name;
}

std::span<const Check> queue_checks();
std::span<const Check> error_checks();
std::span<const Check> compile_checks();
std::span<const Check> life_checks();

// Loads the backend, runs the check and closes it again.
Report run_check(const Check& check, const Target& target);

}  // namespace leat::contract
