// The contract suite on any backend:
//   run_contract FILE.so [--need CHECK]...
// A line for each check; 1 if one fails, or if one that is needed does not pass; 2 if the file is
// no backend.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "backends/plugin/loaded_plugin.h"
#include "contract/contract.h"

namespace leat::contract {
namespace {

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::kPassed:
            return "passed";
        case Verdict::kUnimplemented:
            return "unimplemented";
        case Verdict::kFailed:
            return "failed";
    }
    return "?";
}

// True if all is well.
bool run_all(const Target& target, std::vector<std::string> needed) {
    int counts[3] = {0, 0, 0};
    for (const auto& group : {queue_checks(), error_checks(), compile_checks(), life_checks()}) {
        for (const Check& check : group) {
            const Report report = run_check(check, target);
            ++counts[size_t(report.verdict)];
            fmt::print("{}: {}{}{}\n", check.name, name_of(report.verdict),
                       report.reason.empty() ? "" : ": ", report.reason);
            if (report.verdict == Verdict::kPassed) {
                needed.erase(std::remove(needed.begin(), needed.end(), check.name), needed.end());
            }
        }
    }
    fmt::print("{} passed, {} unimplemented, {} failed\n", counts[0], counts[1], counts[2]);
    if (!needed.empty()) {
        fmt::print("needed, but not passed: {}\n", fmt::join(needed, ", "));
    }
    return counts[2] == 0 && needed.empty();
}

int usage() {
    fmt::print(stderr, "usage: run_contract FILE.so [--need CHECK]...\n");
    return 2;
}

int run(const std::vector<std::string>& args) {
    Target target;
    std::vector<std::string> needed;
    for (size_t i = 0; i < args.size(); ++i) {
        if (args[i] == "--need" && i + 1 < args.size()) {
            needed.push_back(args[++i]);
        } else if (target.file.empty() && args[i].compare(0, 1, "-") != 0) {
            target.file = args[i];
        } else {
            return usage();
        }
    }
    if (target.file.empty()) {
        return usage();
    }
    // Said once, and not by each check.
    const HostServices services;
    if (const auto plugin = LoadedPlugin::open(target.file, services); !plugin.ok()) {
        fmt::print(stderr, "{}\n", plugin.error().message());
        return 2;
    }
    return run_all(target, std::move(needed)) ? 0 : 1;
}

}  // namespace
}  // namespace leat::contract

int main(int argc, char** argv) {
    try {
        return leat::contract::run({argv + 1, argv + argc});
    } catch (const std::exception& failure) {
        fmt::print(stderr, "{}\n", failure.what());
        return 2;
    }
}
