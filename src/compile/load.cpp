// Runtime::load: a compiled graph from a file (docs/aot.md). The recipe is the body of load().
// Nothing is searched for: neither passes, placement, order nor places. Nothing in the file is
// trusted: ids and numbers are checked (record_check.h), shapes are inferred again, and plans are
// proved again.
#include <algorithm>
#include <chrono>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "calibrate/calibration.h"
#include "compile/compile_input.h"
#include "compile/machine_record.h"
#include "compile/mapped_copies.h"
#include "compile/record_check.h"
#include "compile/weight_targets.h"
#include "place/body_placement.h"
#include "place/cut_parts.h"
#include "run/compiled_graph_impl.h"
#include "saved/compiled_file.h"
#include "saved/compiled_record.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<ListedDevice>> find_devices(const Runtime::Impl& runtime,
                                               std::span<const DeviceRecord> records) {
    std::vector<ListedDevice> devices;
    for (const DeviceRecord& record : records) {
        LEAT_ASSIGN_OR_RETURN(std::vector<ListedDevice> found,
                              parse_devices(record.label, *runtime.backends));
        const std::string key = calibration_key(runtime, found.front());
        if (found.size() != 1 || key != record.key) {
            return make_error(StatusCode::kVersionMismatch,
                              "it was compiled for another device '{}'", record.label)
                .with_found(record.key)
                .with_needed(key)
                .with_hint("compile the graph again on this machine");
        }
        if (!record.costs.empty()) {
            LEAT_ASSIGN_OR_RETURN(MeasuredCosts costs, MeasuredCosts::parse(record.costs));
            found.front().measured = std::make_shared<const MeasuredCosts>(std::move(costs));
        }
        devices.push_back(std::move(found.front()));
    }
    return devices;
}

// By part. Borrowed of the file.
Result<std::vector<std::vector<SavedConstant>>> constants_of_parts(const BlobReader& blobs,
                                                                   const CompiledRecord& record) {
    std::vector<std::vector<SavedConstant>> parts;
    for (const std::vector<PartConstantRecord>& rows : record.part_constants) {
        std::vector<SavedConstant>& constants = parts.emplace_back();
        for (const PartConstantRecord& row : rows) {
            const std::byte* bytes = blobs.find(row.blob);
            if (bytes == nullptr) {
                return parse_error("a packed constant of part {} is no blob", parts.size() - 1);
            }
            constants.push_back({row.content_hash,
                                 row.layout_key,
                                 {bytes, size_t(blobs.places()[size_t(row.blob)].size_bytes)}});
        }
    }
    return parts;
}

// As far as plans in the file are of groups with memory of their own.
Result<HeldWeights> copy_weights(const CompiledGraph::Impl& compiled,
                                 const BlobReader& blobs,
                                 const CompiledRecord& record) {
    std::vector<int> groups;
    for (const PlanRecord& plan : record.plans) {
        const bool is_group =
            plan.key.group >= 0 && size_t(plan.key.group) < compiled.runtime->groups.size();
        if (is_group && std::count(groups.begin(), groups.end(), plan.key.group) == 0) {
            groups.push_back(plan.key.group);
        }
    }
    return copy_mapped_weights(compiled, groups, mapped_forms(blobs, record.packed));
}

Result<CompiledGraph> load(const std::shared_ptr<Runtime::Impl>& runtime,
                           const std::filesystem::path& path,
                           const LoadOptions& options) {
    const auto start = Clock::now();
    const FileAccess access = options.copies ? FileAccess::kCopy : FileAccess::kMap;
    LEAT_ASSIGN_OR_RETURN(CompiledFile file,
                          open_compiled_file(path, options.verifies_weights, access));
    LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_checked_record(file));
    LEAT_RETURN_IF_ERROR(check_machine(record.machine, *runtime));
    LEAT_RETURN_IF_ERROR(check_placement(record));
    if (const Status options_status = check_options(record.options); !options_status.ok()) {
        return parse_error("its options are invalid: {}", options_status.text());
    }
    LEAT_RETURN_IF_ERROR(runtime->operators_status);
    LEAT_RETURN_IF_ERROR(define_operators(record.graph, runtime->operators.source()));
    Graph graph(std::make_unique<GraphData>(std::move(record.graph)));
    LEAT_RETURN_IF_ERROR(graph.verify());
    LEAT_ASSIGN_OR_RETURN(const std::vector<ListedDevice> devices,
                          find_devices(*runtime, record.devices));

    auto compiled =
        std::make_shared<CompiledGraph::Impl>(runtime, std::move(graph), std::move(record.options));
    LEAT_ASSIGN_OR_RETURN(compiled->mapped, map_weights(file.blobs, record.packed));
    compiled->files.add(file.blobs.file());
    record.placement.assumed = assume_devices(devices, runtime->host.threads);
    std::vector<AssumedDevice>& assumed = record.placement.assumed.devices;
    for (size_t d = 0; d < assumed.size(); ++d) {
        assumed[d].reported_ns = std::move(record.devices[d].reported_ns);
        assumed[d].derived_ns = std::move(record.devices[d].derived_ns);
    }
    if (record.is_cut) {
        LEAT_ASSIGN_OR_RETURN(std::vector<std::vector<SavedConstant>> constants,
                              constants_of_parts(file.blobs, record));
        LEAT_ASSIGN_OR_RETURN(
            compiled->placed,
            restore_parts(compiled->graph, devices, std::move(record.placement),
                          {record.executables, std::move(constants)}, compiled->mapped->hashes()));
    } else {
        compiled->placed.placement = std::move(record.placement);
    }
    LEAT_ASSIGN_OR_RETURN(compiled->placed.host, find_backend(record.host));
    // Files have no parts of bodies: these are cut and compiled again.
    LEAT_RETURN_IF_ERROR(place_bodies(compiled->graph, devices, compiled->options,
                                      runtime->host.threads, compiled->placed));
    if (!record.given.default_inputs.empty()) {
        compiled->given =
            std::make_shared<const Graph>(std::make_unique<GraphData>(std::move(record.given)));
    }
    if (!record.cost_factors.empty()) {
        record.cost_factors.resize(size_t(compiled->planned_graph().node_count()), 1);
    }
    compiled->cost_factors = std::move(record.cost_factors);
    compiled->base_report = std::move(record.report);
    compiled->weight_targets = choose_weight_targets(*runtime, compiled->graph);
    LEAT_ASSIGN_OR_RETURN(const HeldWeights held, copy_weights(*compiled, file.blobs, record));
    for (PlanRecord& plan : record.plans) {
        LEAT_RETURN_IF_ERROR(compiled->restore_plan(plan.key, std::move(plan.choice)));
    }
    compiled->base_report.load_time_ns = nanoseconds_since(start);
    return CompiledGraph(std::move(compiled));
}

}  // namespace

Result<CompiledGraph> Runtime::load(const std::string& file, const LoadOptions& options) const {
    return catch_bad_alloc("load the compiled graph", [&]() -> Result<CompiledGraph> {
        Result<CompiledGraph> loaded = leat::load(impl_, file, options);
        if (!loaded.ok()) {
            return std::move(loaded).error().with_file(file);
        }
        return loaded;
    });
}

}  // namespace leat
