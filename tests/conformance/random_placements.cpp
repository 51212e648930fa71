// Networks on random placements over several devices:
//
//   random_placements [OPTION]... PATH...
//
// PATH: "onnx", the standard's own tests (LEAT_ONNX_TESTDATA, or where Debian has them), or a
// folder under $LEAT_TEST_DATA/models; both are searched for folders in the ONNX test layout. Each
// gets N placements, of which the seed, the folder's name and a number decide everything:
//   (a) several requests at a time, 1 to 4 threads, delays of the simulated device's queues:
//       bitwise equal to the serial run of the same placement;
//   (b) within the folder's tolerance of the expected outputs, and of the CPU alone;
//   (c) every other number, also with all nodes on {reference, sim}, cut between groups of nodes
//       that the passes join: bitwise equal to reference alone; (a) and (b) too.
// Bodies have no pins: their nodes go to the first device of the list that takes them. The order of
// the list is drawn where there are bodies.
// Options, with their defaults:
//   --placements 1   of each folder
//   --seed 1
//   --devices cpu,sim,reference
//   --folders N      so many of the folders, drawn by the seed
//   --only I         of each folder this number alone
//   --sim NAME=VALUE a setting of the simulated device
//   --open           only graphs with bodies, sequences, optionals, or sizes that data decide
//   --list           also which folders took part, and which could not and why
// Exit code: 0, 1 where something differs, 2 usage, 77 (skipped) where no folder is found or a
// device is not there.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "conformance/layout_test.h"
#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "placement_check.h"
#include "placement_draw.h"

namespace leat::placements {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSkipped = 77;

struct Command {
    int placements = 1;  // of each folder
    uint64_t seed = 1;
    std::string devices = "cpu,sim,reference";
    int folders = 0;       // 0: all
    int only = -1;         // -1: all
    bool is_open = false;  // graphs with open sizes alone
    bool lists = false;
    SimSettings sim;  // of all runs
    std::vector<std::string> paths;
};

std::optional<Command> parse(const std::vector<std::string>& words) {
    Command command;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--list") {
            command.lists = true;
            continue;
        }
        if (word == "--open") {
            command.is_open = true;
            continue;
        }
        if (word.rfind("--", 0) != 0) {
            command.paths.push_back(word);
            continue;
        }
        if (++i == words.size()) {
            return std::nullopt;
        }
        const char* value = words[i].c_str();
        if (word == "--placements") {
            command.placements = std::atoi(value);
        } else if (word == "--seed") {
            command.seed = std::strtoull(value, nullptr, 10);
        } else if (word == "--devices") {
            command.devices = value;
        } else if (word == "--folders") {
            command.folders = std::atoi(value);
        } else if (const size_t equals = words[i].find('=');
                   word == "--sim" && equals != std::string::npos) {
            command.sim[words[i].substr(0, equals)] = words[i].substr(equals + 1);
        } else if (word == "--only") {
            command.only = std::atoi(value);
        } else {
            return std::nullopt;
        }
    }
    return command.paths.empty() || command.placements < 1 ? std::nullopt
                                                           : std::optional(std::move(command));
}

uint64_t hash_of(const std::string& text) {
    uint64_t hash = 0;
    for (const char c : text) {
        hash = mixed(hash ^ uint64_t(static_cast<unsigned char>(c)));
    }
    return hash;
}

// All folders below the paths, or as many of them as are wanted.
std::vector<TestFolder> find_folders(const Command& command) {
    std::vector<TestFolder> found;
    for (const std::string& path : command.paths) {
        const bool is_suite = path == "onnx";
        const char* root = std::getenv(is_suite ? "LEAT_ONNX_TESTDATA" : "LEAT_TEST_DATA");
        if (!is_suite && root == nullptr) {
            fmt::print("LEAT_TEST_DATA is not set: {} skipped\n", path);
            continue;
        }
        const std::filesystem::path folder =
            is_suite
                ? std::filesystem::path(root == nullptr ? "/usr/share/libonnx-testdata/data" : root)
                : std::filesystem::path(root) / "models" / path;
        Result<FoundTests> below = find_layout_tests(folder);
        if (!below.ok()) {
            fmt::print("no tests in {}: skipped\n", folder.string());
            continue;
        }
        for (TestFolder& test : below->runnable) {
            const bool is_itself = test.folder == folder;
            test.name = is_itself ? path : path + "/" + test.name;
            found.push_back(std::move(test));
        }
    }
    if (command.folders > 0 && size_t(command.folders) < found.size()) {
        std::sort(found.begin(), found.end(), [&](const TestFolder& a, const TestFolder& b) {
            return mixed(command.seed ^ hash_of(a.name)) < mixed(command.seed ^ hash_of(b.name));
        });
        found.resize(size_t(command.folders));
    }
    return found;
}

struct Tally {
    int folders = 0;
    int placements = 0;
    int with_same_kernels = 0;
    int in_segments = 0;  // of the placements
    int64_t parts = 0;
    int64_t transfers = 0;
    int failed = 0;
    std::map<std::string, std::vector<std::string>> left_out;  // names by reason
};

// What single devices compute of a data set, when first asked for.
class SingleRuns {
  public:
    SingleRuns(const Runtime& runtime, const Network& network)
        : runtime_(runtime), network_(network) {}

    Result<const Computed*> find(const std::string& device, size_t data_set) {
        const std::pair<std::string, size_t> key(device, data_set);
        auto found = runs_.find(key);
        if (found == runs_.end()) {
            CompileOptions options;
            options.devices = device;
            LEAT_ASSIGN_OR_RETURN(Computed computed, compute(runtime_, network_.graph, options,
                                                             network_.data_sets[data_set]));
            found = runs_.emplace(key, std::move(computed)).first;
        }
        return const_cast<const Computed*>(&found->second);
    }

  private:
    const Runtime& runtime_;
    const Network& network_;
    std::map<std::pair<std::string, size_t>, Computed> runs_;
};

bool has_bodies(const GraphData& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [](const NodeData& node) { return node.has_bodies(); });
}

// True if it has sizes that no input's shape tells, or values that are no tensors.
bool is_open_graph(const GraphData& graph) {
    const auto is_open = [](const NodeData& node) {
        return node.def != nullptr && (node.def->run_values != nullptr ||
                                       open_outputs_of(node) != 0 || shape_inputs_of(node) != 0);
    };
    return has_bodies(graph) || std::any_of(graph.nodes.begin(), graph.nodes.end(), is_open);
}

void shuffle(std::vector<std::string>& list, SplitMix& random) {
    for (size_t i = list.size(); i > 1; --i) {
        std::swap(list[i - 1], list[size_t(random.below(int32_t(i)))]);
    }
}

// Of a placement that failed. The rest of a long one follows from the seed.
void print_pins(const Pins& pins) {
    constexpr size_t kMostPrinted = 40;
    std::string text;
    size_t printed = 0;
    for (const auto& [node, device] : pins) {
        text += printed < kMostPrinted ? fmt::format(" {}={}", node, device) : "";
        ++printed;
    }
    fmt::print("    pins:{}{}\n", text, printed > kMostPrinted ? " ..." : "");
}

// All placements of one folder.
class FolderTest {
  public:
    FolderTest(const Command& command, const Runtime& runtime, Network network, Tally& tally)
        : command_(command),
          runtime_(runtime),
          network_(std::move(network)),
          single_runs_(runtime, network_),
          tally_(tally) {}

    // Why the folder cannot take part; empty: it has.
    std::string run() {
        std::string reason = find_out_why_not();
        if (!reason.empty()) {
            return reason;
        }
        ++tally_.folders;
        for (int number = 0; number < command_.placements; ++number) {
            if (command_.only >= 0 && command_.only != number) {
                continue;
            }
            place(number, choices_.devices, Cut::kAnywhere);
            const bool has_same_kernels = number % 2 == 0 && is_listed("sim");
            if (has_same_kernels) {
                place(number, {"reference", "sim"}, Cut::kBetweenGroups);
            }
        }
        return {};
    }

    // With the reason: what exactly is wrong.
    const std::string& detail() const { return detail_; }

  private:
    bool is_listed(const std::string& device) const {
        return std::find(choices_.devices.begin(), choices_.devices.end(), device) !=
               choices_.devices.end();
    }

    std::string find_out_why_not() {
        if (command_.is_open && !is_open_graph(network_.graph.data())) {
            return "its sizes follow from those of its inputs";
        }
        for (size_t i = 0; i < network_.data_sets.size(); ++i) {
            const Result<const Computed*> on_cpu = single_runs_.find("cpu", i);
            if (!on_cpu.ok()) {
                detail_ = on_cpu.error().message();
                return "the CPU alone cannot run it";
            }
            detail_ = difference_from_expected(**on_cpu, network_.data_sets[i], network_.tolerance);
            if (!detail_.empty()) {
                return "the CPU alone does not give the expected outputs";
            }
        }
        Result<PlacementChoices> choices = find_choices(runtime_, network_.graph, command_.devices);
        if (!choices.ok()) {
            detail_ = choices.error().message();
            return "a device alone, with the CPU for what it refuses, cannot have it";
        }
        choices_ = *std::move(choices);
        return choices_.free_count == 0 ? "no node runs that several of the devices take" : "";
    }

    void place(int number, std::vector<std::string> list, Cut cut) {
        const bool is_same = cut == Cut::kBetweenGroups;
        SplitMix random(mixed(command_.seed + uint64_t(number)) ^ hash_of(network_.name) ^
                        (is_same ? 1U : 0U));
        if (has_bodies(network_.graph.data())) {
            shuffle(list, random);
        }
        const std::string devices = fmt::format("{}", fmt::join(list, ","));
        const size_t data_set = size_t(number) % network_.data_sets.size();
        const Result<const Computed*> on_cpu = single_runs_.find("cpu", data_set);
        PlacementCheck check{runtime_, network_, network_.data_sets[data_set],
                             devices,  {},       draw_settings(random, command_.sim)};
        check.single = on_cpu.ok() ? *on_cpu : nullptr;
        std::string failure;
        if (is_same) {
            const std::vector<std::string> same = {"reference", "sim"};
            check.pins = draw_pins(network_.graph, choices_.among(same), cut, random);
            const Result<const Computed*> alone = single_runs_.find("reference", data_set);
            failure = alone.ok() ? "" : "reference alone: " + alone.error().message();
            check.same_kernels = alone.ok() ? *alone : nullptr;
        } else {
            check.pins = draw_pins(network_.graph, choices_, cut, random);
        }
        const PlacementOutcome outcome = check_placement(check);
        count(outcome, is_same);
        failure = failure.empty() ? outcome.failure : failure;
        if (!failure.empty()) {
            ++tally_.failed;
            fmt::print("FAILED {} on {} (--seed {} --only {}; {}; {}): {}\n", network_.name,
                       devices, command_.seed, number, check.data.name, check.settings.to_string(),
                       failure);
            print_pins(check.pins);
        }
    }

    void count(const PlacementOutcome& outcome, bool is_same) {
        ++tally_.placements;
        tally_.with_same_kernels += is_same ? 1 : 0;
        tally_.in_segments += outcome.is_in_segments ? 1 : 0;
        tally_.parts += outcome.parts;
        tally_.transfers += outcome.transfers;
    }

    const Command& command_;
    const Runtime& runtime_;
    const Network network_;
    SingleRuns single_runs_;
    Tally& tally_;
    PlacementChoices choices_;
    std::string detail_;
};

void test_folder(const Command& command,
                 const Runtime& runtime,
                 const TestFolder& folder,
                 Tally& tally) {
    const int failed_before = tally.failed;
    const int64_t parts_before = tally.parts;
    Result<Network> network = load_network(folder.name, folder.folder);
    std::string reason = "the model cannot be loaded";
    std::string detail;
    if (network.ok()) {
        FolderTest test(command, runtime, *std::move(network), tally);
        reason = test.run();
        detail = test.detail();
    } else {
        detail = network.error().message();
    }
    if (!reason.empty()) {
        tally.left_out[reason].push_back(
            detail.empty() ? folder.name : fmt::format("{} ({})", folder.name, detail));
    } else if (command.lists) {
        fmt::print("{}: {} failed, {} parts\n", folder.name, tally.failed - failed_before,
                   tally.parts - parts_before);
    }
}

void print_tally(const Command& command, const Tally& tally) {
    for (const auto& [reason, names] : tally.left_out) {
        fmt::print("left out, {}: {}\n", reason, names.size());
        for (const std::string& name : command.lists ? names : std::vector<std::string>()) {
            fmt::print("    {}\n", name);
        }
    }
    fmt::print(
        "{} placements of {} folders, {} of them on reference,sim and the others on {}, {} in "
        "segments: {} parts, {} transfers a run; {} failed\n",
        tally.placements, tally.folders, tally.with_same_kernels, command.devices,
        tally.in_segments, tally.parts, tally.transfers, tally.failed);
}

// A device of the list that this machine does not have.
std::string missing_device(const Runtime& runtime, const std::string& devices) {
    Graph graph("probe");
    graph.output("y", graph.add("Relu", {graph.input("x", DType::kFloat32, {1})}));
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kAllow;
    const Result<CompiledGraph> compiled = runtime.compile(graph, options);
    return compiled.ok() ? std::string() : compiled.error().message();
}

int run(const Command& command) {
    const std::vector<TestFolder> folders = find_folders(command);
    RunSettings settings;
    settings.sim = command.sim;
    const Runtime runtime(runtime_options(settings));
    const std::string missing = missing_device(runtime, command.devices);
    if (folders.empty() || !missing.empty()) {
        fmt::print("skipped: {}\n", folders.empty() ? "no folder" : missing);
        return kExitSkipped;
    }
    Tally tally;
    for (const TestFolder& folder : folders) {
        test_folder(command, runtime, folder, tally);
    }
    print_tally(command, tally);
    if (tally.parts == 0) {
        fmt::print("no part ran on a device of a plugin\n");
    }
    return tally.failed == 0 && tally.parts > 0 ? 0 : kExitFailed;
}

}  // namespace
}  // namespace leat::placements

int main(int argc, char** argv) {
    const auto command = leat::placements::parse({argv + 1, argv + argc});
    if (!command) {
        fmt::print(stderr,
                   "usage: random_placements [--placements N] [--seed S] [--devices LIST] "
                   "[--folders N] [--only I] [--sim NAME=VALUE]... [--open] [--list] PATH...\n");
        return leat::placements::kExitUsage;
    }
    return leat::placements::run(*command);
}
