#include "plan/plan_storage.h"

#include "plan/devices/plan_devices.h"
#include "plan/plan_constants.h"

namespace leat {
namespace {

class StorageWriter {
  public:
    StorageWriter(const PlanContext& context,
                  const PlanFacts& facts,
                  const PlanMemory& memory,
                  PlanWork& work)
        : graph_(context.graph()),
          facts_(facts),
          memory_(memory),
          work_(work),
          constants_(context, facts, work),
          origins_(memory.layout.places.size()) {}

    PlanStorage write() {
        find_origins();
        place_arguments();
        place_outputs();
        return std::move(storage_);
    }

  private:
    void find_origins() {
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            origins_[graph_.inputs[i]] = {Storage::Kind::kInput, int32_t(i)};
        }
        for (const PlanStep& step : work_.steps) {
            const std::span<const TensorArg> outputs = work_.outputs_of(step);
            for (size_t i = 0; i < outputs.size(); ++i) {
                if (!outputs[i].present()) {
                    continue;
                }
                Storage& origin = origins_[step.node->outputs[i]];
                if (outputs[i].grows) {
                    origin = {Storage::Kind::kGrown, int32_t(storage_.grown_shapes.size())};
                    storage_.grown_shapes.push_back(outputs[i].shape);
                } else if (outputs[i].dtype == DType::kString) {
                    origin = {Storage::Kind::kStrings, int32_t(storage_.string_counts.size())};
                    storage_.string_counts.push_back(outputs[i].shape.element_count());
                }
            }
        }
        for (ValueId value{0}; size_t(value.index) < origins_.size(); ++value.index) {
            const ValuePlace& place = memory_.layout.places[size_t(value.index)];
            if (place.buffer >= 0 && place.root == value.index) {
                origins_[value] = {Storage::Kind::kArena, place.buffer};
            }
        }
    }

    Storage storage_of(ValueId id) {
        if (!id.valid()) {
            return {};
        }
        if (facts_.known[id]) {
            return {Storage::Kind::kConstant, constants_.index_of(id)};
        }
        const ValuePlace& place = memory_.layout.places[size_t(id.index)];
        Storage storage = origins_[ValueId{place.root}];
        storage.offset_bytes = place.offset_bytes;
        return storage;
    }

    void place_arguments() {
        storage_.args.resize(work_.args.size());
        for (const PlanStep& step : work_.steps) {
            const std::span<Storage> storages =
                std::span(storage_.args).subspan(size_t(step.first_arg));
            for (size_t i = 0; i < size_t(step.input_count); ++i) {
                storages[i] = storage_of(step.node->inputs[i]);
            }
            if (step.is_transfer && storages[0].kind == Storage::Kind::kConstant) {
                // One that is streamed, from where the host has it.
                const Tensor& constant = constants_.of(step.node->inputs[0]);
                work_.args[size_t(step.first_arg)].data = const_cast<std::byte*>(constant.bytes());
            }
            const std::span<const TensorArg> outputs = work_.outputs_of(step);
            for (size_t i = 0; i < outputs.size(); ++i) {
                if (outputs[i].present()) {
                    storages[size_t(step.input_count) + i] = storage_of(step.node->outputs[i]);
                }
            }
        }
    }

    void place_outputs() {
        const std::vector<bool> is_of_devices = buffers_of_devices(memory_.layout, work_.devices);
        for (const ValueId id : graph_.outputs) {
            PlanOutput output;
            output.storage = storage_of(id);
            if (facts_.known[id]) {
                output.dtype = facts_.known_value(graph_, id).dtype();
                output.shape = facts_.known_value(graph_, id).shape();
                // An aligned copy, so that callers may read it through a typed span.
                (void)constants_.aligned(id, /*only_small=*/false);
            } else if (const TypeInfo& type = facts_.of(id).type; type.is_tensor()) {
                output.dtype = type.dtype;
                output.shape = type.fixed_shape().value_or(Shape());
            }
            if (output.storage.kind == Storage::Kind::kGrown) {
                output.shape = storage_.grown_shapes[size_t(output.storage.index)];
            } else if (output.storage.kind == Storage::Kind::kArena) {
                output.fills_buffer =
                    fills_root(id) && !is_of_devices[size_t(output.storage.index)];
            }
            storage_.outputs.push_back(output);
        }
    }

    bool fills_root(ValueId id) const {
        const std::vector<MemoryValue>& values = memory_.planner->problem().values;
        const int32_t root = memory_.layout.places[size_t(id.index)].root;
        return values[size_t(id.index)].size_bytes == values[size_t(root)].size_bytes;
    }

    const GraphData& graph_;
    const PlanFacts& facts_;
    const PlanMemory& memory_;
    PlanWork& work_;
    PlanConstants constants_;
    IdVector<ValueId, Storage> origins_;  // of roots; also those that only devices have
    PlanStorage storage_;
};

}  // namespace

PlanStorage place_values(const PlanContext& context,
                         const PlanFacts& facts,
                         const PlanMemory& memory,
                         PlanWork& work) {
    return StorageWriter(context, facts, memory, work).write();
}

}  // namespace leat
