// graphbench plan: packs buffers whose lifetimes a CSV file gives (columns id, lower, upper, size,
// as of MiniMalloc), into a capacity or as low as found.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "commands.h"
#include "exit_codes.h"
#include "files.h"
#include "lifetime_file.h"
#include "memory/offsets/interval_packing.h"
#include "output.h"

namespace leat::bench {
namespace {

struct PackingOutcome {
    int64_t bound_bytes = 0;
    int64_t height_bytes = -1;  // -1: none found
    int64_t nodes = 0;
    bool is_proved = false;  // that it is the lowest, or that there is none
    std::vector<int64_t> offsets;
};

Result<PackingOutcome> solve(const LifetimeFile& file, int64_t capacity_bytes, int64_t max_nodes) {
    PackingOutcome outcome;
    if (capacity_bytes == 0) {
        LEAT_ASSIGN_OR_RETURN(PackedPlan lowest, plan_lowest(file.buffers, max_nodes));
        return PackingOutcome{lowest.plan.lower_bound_bytes, lowest.plan.height_bytes, lowest.nodes,
                              lowest.is_optimal, std::move(lowest.plan.offsets)};
    }
    // The quick plan first: where it fits, nothing is searched.
    LEAT_ASSIGN_OR_RETURN(MemoryPlan quick, plan_offsets(file.buffers));
    outcome.bound_bytes = quick.lower_bound_bytes;
    outcome.is_proved = outcome.bound_bytes > capacity_bytes;
    if (quick.height_bytes <= capacity_bytes) {
        outcome.offsets = std::move(quick.offsets);
    } else if (!outcome.is_proved) {
        PackingResult packing = pack_within(file.buffers, capacity_bytes, max_nodes);
        outcome.nodes = packing.nodes;
        outcome.is_proved = packing.is_impossible;
        outcome.offsets = std::move(packing.offsets);
    }
    for (size_t i = 0; i < outcome.offsets.size(); ++i) {
        outcome.height_bytes =
            std::max(outcome.height_bytes, outcome.offsets[i] + file.buffers[i].size_bytes);
    }
    return outcome;
}

Json to_json(const LifetimeFile& file, int64_t capacity_bytes, const PackingOutcome& outcome) {
    Json json = Json::object();
    json.set("buffers", int64_t(file.buffers.size()));
    json.set("bound_bytes", outcome.bound_bytes);
    json.set("height_bytes", outcome.height_bytes < 0 ? Json() : Json(outcome.height_bytes));
    json.set("capacity_bytes", capacity_bytes == 0 ? Json() : Json(capacity_bytes));
    json.set("nodes", outcome.nodes);
    json.set("proved", outcome.is_proved);
    return json;
}

// Without a plan what was asked for, and how far it is away.
void report(const LifetimeFile& file, int64_t capacity_bytes, const PackingOutcome& outcome) {
    if (outcome.height_bytes >= 0) {
        print_out("{} buffers: {} bytes, bound {}, {} nodes{}\n", file.buffers.size(),
                  outcome.height_bytes, outcome.bound_bytes, outcome.nodes,
                  outcome.height_bytes == outcome.bound_bytes || outcome.is_proved
                      ? ", no plan is lower"
                      : "");
        return;
    }
    const std::string reason =
        outcome.bound_bytes > capacity_bytes
            ? fmt::format("impossible: {} bytes are alive at once, {} too many",
                          outcome.bound_bytes, outcome.bound_bytes - capacity_bytes)
        : outcome.is_proved ? std::string("impossible: every plan was tried")
                            : fmt::format("not found in {} nodes; at least {} bytes are needed",
                                          outcome.nodes, outcome.bound_bytes);
    print_err("graphbench: {} bytes for {} buffers: {}\n", capacity_bytes, file.buffers.size(),
              reason);
}

}  // namespace

Result<int> plan_command(const Options& options, const OptionValues& /*values*/) {
    if (options.positional().size() != 1) {
        return usage_error(options, "one file is needed");
    }
    LEAT_ASSIGN_OR_RETURN(const LifetimeFile file, read_lifetimes(options.positional()[0]));
    const int64_t capacity_bytes = options.bytes("capacity");
    LEAT_ASSIGN_OR_RETURN(const PackingOutcome outcome,
                          solve(file, capacity_bytes, options.integer("nodes")));
    if (const std::string save = options.text("save"); !save.empty() && !outcome.offsets.empty()) {
        LEAT_RETURN_IF_ERROR(write_text_file(save, file.with_offsets(outcome.offsets)));
    }
    int exit_code = outcome.height_bytes >= 0 ? kExitOk : kExitMemory;
    if (write_json(options, to_json(file, capacity_bytes, outcome), &exit_code)) {
        return exit_code;
    }
    report(file, capacity_bytes, outcome);
    return exit_code;
}

}  // namespace leat::bench
