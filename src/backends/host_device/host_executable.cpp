#include "backends/host_device/host_executable.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "backends/host_device/host_instance.h"
#include "backends/host_device/host_slab.h"
#include "memory/content_hash.h"

namespace leat::host_device {
namespace {

constexpr uint64_t kRowMajorKey = 1;

class HostRequirements final : public plugin::Requirements {
  public:
    HostRequirements(std::shared_ptr<const HostProgram> program, int64_t alignment_bytes)
        : program_(std::move(program)) {
        const lowered::LoweredGraph& graph = program_->graph;
        transients_.reserve(graph.transients.size());
        pointers_.reserve(graph.transients.size());
        for (const lowered::LoweredTransient& source : graph.transients) {
            LeatTransient& row = transients_.emplace_back(plugin::made<LeatTransient>());
            row.bytes = source.bytes;
            row.alignment_bytes = alignment_bytes;
            row.step_count = int32_t(source.steps.size());
            row.steps = source.steps.data();
            pointers_.push_back(&row);
        }
        for (size_t i = 1; i < graph.steps.size(); ++i) {
            edges_.push_back({int32_t(i) - 1, int32_t(i)});
        }
        for (const lowered::LoweredOutput& output : graph.outputs) {
            output_bytes_.push_back(output.bytes);
            output_is_bounded_.push_back(output.is_bounded ? 1 : 0);
        }
        step_count = int32_t(graph.steps.size());
        edge_count = int32_t(edges_.size());
        edges = edges_.data();
        transient_count = int32_t(pointers_.size());
        transients = pointers_.data();
        output_count = int32_t(output_bytes_.size());
        LeatRequirements::output_bytes = output_bytes_.data();
        LeatRequirements::output_is_bounded = output_is_bounded_.data();
    }

  private:
    std::shared_ptr<const HostProgram> program_;
    std::vector<LeatTransient> transients_;
    std::vector<const LeatTransient*> pointers_;
    std::vector<LeatEdge> edges_;
    std::vector<int64_t> output_bytes_;
    std::vector<int32_t> output_is_bounded_;
};

// Equal for shapes that have the same program.
std::string key_of(const LeatRunShape& shape) {
    std::string key;
    for (int32_t i = 0; i < shape.symbol_count; ++i) {
        key += fmt::format("{},", shape.symbols[i]);
    }
    for (int32_t i = 0; i < shape.input_count; ++i) {
        const LeatTensorView* view = shape.host_inputs[i];
        key += view == nullptr ? "-;" : fmt::format("{}:{}:", view->dtype, view->rank);
        for (int32_t axis = 0; view != nullptr && axis < view->rank; ++axis) {
            key += fmt::format("{},", view->extents[axis]);
        }
        if (view != nullptr) {
            key.append(static_cast<const char*>(view->data), size_t(view->bytes));
        }
    }
    return key;
}

}  // namespace

HostExecutable::HostExecutable(lowered::ImportedGraph graph, const DeviceContext& context)
    : graph_(std::move(graph)),
      context_(context),
      packed_index_(graph_.graph.values.size(), -1),
      info_(plugin::made<LeatExecutableInfo>()) {
    for (size_t i = 0; i < graph_.graph.values.size(); ++i) {
        const std::optional<Tensor>& tensor = graph_.graph.values[i].constant;
        if (!tensor) {
            continue;
        }
        packed_index_[i] = int32_t(constants_.size());
        LeatPackedConstant& row = constants_.emplace_back(plugin::made<LeatPackedConstant>());
        row.value = graph_.constant_values[constants_.size() - 1];
        row.content_hash = content_hash({tensor->bytes(), size_t(tensor->byte_count())});
        row.layout_key = kRowMajorKey;
        row.bytes = tensor->byte_count();
        row.alignment_bytes = context.alignment_bytes;
    }
    constant_pointers_.reserve(constants_.size());
    for (const LeatPackedConstant& row : constants_) {
        constant_pointers_.push_back(&row);
    }
    info_.constant_count = int32_t(constants_.size());
    info_.constants = constant_pointers_.data();
    info_.input_count = int32_t(graph_.graph.inputs.size());
    info_.output_count = int32_t(graph_.graph.outputs.size());
    info_.symbol_count = int32_t(graph_.symbols.size());
    info_.host_inputs_low = graph_.host_inputs;
}

void HostExecutable::save(const LeatSink& sink) {
    const std::string bytes = lowered::saved_graph(graph_);
    const LeatCode code = sink.write(sink.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store what was saved");
    }
}

void HostExecutable::pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) {
    if (index < 0 || size_t(index) >= constants_.size() ||
        tensor.bytes != constants_[size_t(index)].bytes) {
        plugin::invalid_argument(
            fmt::format("constant {} of {} bytes is none of this executable", index, tensor.bytes));
    }
    std::memcpy(address_of(to, tensor.bytes), tensor.data, size_t(tensor.bytes));
}

std::unique_ptr<plugin::Requirements> HostExecutable::requirements(const LeatRunShape& shape) {
    return std::make_unique<HostRequirements>(program_for(shape), context_.alignment_bytes);
}

std::unique_ptr<plugin::Instance> HostExecutable::link(const LeatRunShape& shape,
                                                       const LeatLinkage& linkage) {
    return std::make_unique<HostInstance>(graph_.graph, program_for(shape), linkage, context_);
}

std::shared_ptr<const HostProgram> HostExecutable::program_for(const LeatRunShape& shape) {
    std::string key = key_of(shape);
    {
        const std::lock_guard lock(mutex_);
        if (last_ != nullptr && last_key_ == key) {
            return last_;
        }
    }
    std::shared_ptr<const HostProgram> program =
        make_program(graph_, packed_index_, shape, context_);
    const std::lock_guard lock(mutex_);
    last_key_ = std::move(key);
    last_ = program;
    return program;
}

}  // namespace leat::host_device
