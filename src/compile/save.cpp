// CompiledGraph::save: what was decided and packed, as a file (docs/aot.md).
#include "backends/plugin/loaded_plugin.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "calibrate/calibration.h"
#include "compile/machine_record.h"
#include "leat/plugin_backend.h"
#include "run/compiled_graph_impl.h"
#include "saved/compiled_file.h"
#include "saved/compiled_record.h"

namespace leat {
namespace {

std::vector<DeviceRecord> record_devices(const CompiledGraph::Impl& compiled) {
    std::vector<DeviceRecord> records;
    for (const AssumedDevice& assumed : compiled.placed.placement.assumed.devices) {
        DeviceRecord& record = records.emplace_back();
        record.label = assumed.label;
        record.reported_ns = assumed.reported_ns;
        record.derived_ns = assumed.derived_ns;
        record.costs = assumed.measured == nullptr ? "" : assumed.measured->to_text();
        // A device that compile() could use is there still: the parts keep its backend.
        const Result<std::vector<ListedDevice>> listed =
            parse_devices(assumed.label, *compiled.runtime->backends);
        record.key = listed.ok() ? calibration_key(*compiled.runtime, listed->front()) : "";
    }
    return records;
}

// Inputs that decide shapes by their texts would need these.
bool is_saveable(const CompiledGraph::Impl& compiled) {
    const std::span<const int> deciding = compiled.deciding_inputs();
    return std::none_of(deciding.begin(), deciding.end(), [&](int input) {
        const ValueId id = compiled.graph.inputs[size_t(input)];
        return compiled.graph.value(id).type.dtype == DType::kString;
    });
}

std::vector<PlanRecord> record_plans(const CompiledGraph::Impl& compiled) {
    std::vector<PlanRecord> records;
    std::vector<std::shared_ptr<const Plan>> plans;
    if (is_saveable(compiled)) {
        plans = compiled.plans.plans();
    }
    for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
        records.push_back({(*plan)->key, (*plan)->solution()});
    }
    return records;
}

// Of each constant that the record has, what kernels have packed of it.
std::vector<PackedRecord> record_packed(const WeightStore& weights, BlobWriter& blobs) {
    std::vector<PackedRecord> records;
    const std::map<int32_t, Tensor> tensors = blobs.tensors;
    for (const auto& [blob, tensor] : tensors) {
        std::vector<std::pair<std::string, int64_t>> seen;  // one of each domain's copies is enough
        for (const WeightStore::PackedForm& form : weights.forms_of(tensor)) {
            std::pair<std::string, int64_t> key(form.layout_key, form.bytes);
            if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
                continue;
            }
            const std::span<const std::byte> bytes(form.memory.get(), size_t(form.bytes));
            records.push_back({blob, blobs.add(bytes, form.memory), form.layout_key});
            seen.push_back(std::move(key));
        }
    }
    return records;
}

// What its backend packed for a part, read back from the device. Blobs keep the bytes.
Result<std::vector<PartConstantRecord>> record_constants(const DevicePart& part,
                                                         BlobWriter& blobs) {
    LEAT_ASSIGN_OR_RETURN(std::vector<std::vector<std::byte>> constants, part.save_constants());
    std::vector<PartConstantRecord> records;
    for (size_t i = 0; i < constants.size(); ++i) {
        const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(constants[i]));
        const LeatPackedConstant& constant = *part.info().constants[i];
        records.push_back({constant.content_hash, constant.layout_key,
                           blobs.add_once({bytes->data(), bytes->size()}, bytes)});
    }
    return records;
}

Status save(const CompiledGraph::Impl& compiled,
            const std::filesystem::path& file,
            const SaveOptions& options) {
    LEAT_RETURN_IF_ERROR(compiled.check_is_whole("save"));
    LEAT_RETURN_IF_ERROR(compiled.files.check());
    CompiledRecord record;
    record.machine = machine_record(*compiled.runtime);
    record.devices = record_devices(compiled);
    record.host = compiled.placed.host->name();
    record.is_cut = compiled.placed.cut != nullptr;
    record.options = compiled.options;
    record.cost_factors = compiled.cost_factors;
    record.report = compiled.base_report;
    record.graph = compiled.graph;
    if (compiled.given != nullptr) {
        record.given = compiled.given->data();
    }
    record.placement = compiled.placed.placement;
    for (const std::shared_ptr<const DevicePart>& part : compiled.placed.parts) {
        LEAT_ASSIGN_OR_RETURN(std::string executable, part->save());
        record.executables.push_back(std::move(executable));
    }
    record.plans = record_plans(compiled);
    BlobWriter blobs(options.refers_to_model);
    // Their packed copies are part of the record.
    add_constants(record, blobs);
    if (options.saves_packed_weights) {
        record.packed = record_packed(compiled.runtime->weights, blobs);
        for (const std::shared_ptr<const DevicePart>& part : compiled.placed.parts) {
            LEAT_ASSIGN_OR_RETURN(std::vector<PartConstantRecord> constants,
                                  record_constants(*part, blobs));
            record.part_constants.push_back(std::move(constants));
        }
    }
    const std::string bytes = write_record(record, blobs);
    return write_compiled_file(file, bytes, blobs);
}

}  // namespace

Status CompiledGraph::save(const std::string& file, const SaveOptions& options) const {
    return catch_bad_alloc("save the compiled graph",
                           [&] { return leat::save(*impl_, file, options); });
}

}  // namespace leat
