#include "backends/vulkan/plugin/vulkan_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/plugin/vulkan_instance.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "memory/content_hash.h"

namespace leat::vulkan {
namespace {

constexpr uint64_t kRowMajorKey = 1;

class VulkanRequirements final : public plugin::Requirements {
  public:
    VulkanRequirements(std::shared_ptr<const Program> program, int32_t domain)
        : program_(std::move(program)) {
        transients_.reserve(program_->transients.size());
        pointers_.reserve(program_->transients.size());
        for (const lowered::LoweredTransient& source : program_->transients) {
            LeatTransient& row = transients_.emplace_back(plugin::made<LeatTransient>());
            row.bytes = source.bytes;
            row.alignment_bytes = kArenaAlignmentBytes;
            row.domain = domain;
            row.step_count = int32_t(source.steps.size());
            row.steps = source.steps.data();
            pointers_.push_back(&row);
        }
        output_sizes_.reserve(program_->lowered.outputs.size());
        for (const lowered::LoweredOutput& output : program_->lowered.outputs) {
            output_sizes_.push_back(output.bytes);
        }
        are_bounded_.assign(output_sizes_.size(), 0);
        step_count = program_->step_count;
        edge_count = int32_t(program_->edges.size());
        edges = program_->edges.data();
        transient_count = int32_t(pointers_.size());
        transients = pointers_.data();
        output_count = int32_t(output_sizes_.size());
        output_bytes = output_sizes_.data();
        output_is_bounded = are_bounded_.data();
    }

  private:
    std::shared_ptr<const Program> program_;
    std::vector<LeatTransient> transients_;
    std::vector<const LeatTransient*> pointers_;
    std::vector<int64_t> output_sizes_;
    std::vector<int32_t> are_bounded_;
};

void append(std::string& key, const void* data, int64_t bytes) {
    key.append(static_cast<const char*>(data), size_t(bytes));
}

// Everything that a program depends on beside its graph.
std::string key_of(const LeatRunShape& shape) {
    std::string key;
    append(key, shape.symbols, int64_t(sizeof(int64_t)) * shape.symbol_count);
    for (int32_t i = 0; i < shape.input_count; ++i) {
        const LeatTensorView* input = shape.host_inputs[i];
        append(key, &i, sizeof(i));
        if (input != nullptr) {
            append(key, &input->rank, sizeof(input->rank));
            append(key, input->extents, int64_t(sizeof(int64_t)) * input->rank);
            append(key, input->data, input->bytes);
        }
    }
    return key;
}

}  // namespace

VulkanExecutable::VulkanExecutable(LazyDevice& device,
                                   plugin::Host host,
                                   lowered::ImportedGraph graph)
    : device_(device),
      host_(host),
      graph_(std::move(graph)),
      packed_index_(graph_.graph.values.size(), -1),
      info_(plugin::made<LeatExecutableInfo>()) {
    describe_constants();
    info_.domain = device.domain();
    info_.constant_count = int32_t(constants_.size());
    info_.constants = constant_pointers_.data();
    info_.input_count = int32_t(graph_.graph.inputs.size());
    info_.output_count = int32_t(graph_.graph.outputs.size());
    info_.symbol_count = int32_t(graph_.symbols.size());
    info_.host_inputs_low = graph_.host_inputs;
}

void VulkanExecutable::describe_constants() {
    constants_.reserve(graph_.constant_values.size());
    for (size_t i = 0; i < graph_.graph.values.size(); ++i) {
        const std::optional<Tensor>& tensor = graph_.graph.values[i].constant;
        if (!tensor) {
            continue;
        }
        packed_index_[i] = int32_t(constants_.size());
        LeatPackedConstant& row = constants_.emplace_back(plugin::made<LeatPackedConstant>());
        row.value = graph_.constant_values[constants_.size() - 1];
        row.domain = device_.domain();
        row.content_hash = content_hash({tensor->bytes(), size_t(tensor->byte_count())});
        row.layout_key = kRowMajorKey;
        row.bytes = tensor->byte_count();
        row.alignment_bytes = kArenaAlignmentBytes;
    }
    constant_pointers_.reserve(constants_.size());
    for (const LeatPackedConstant& row : constants_) {
        constant_pointers_.push_back(&row);
    }
}

void VulkanExecutable::save(const LeatSink& sink) {
    const std::string bytes = lowered::saved_graph(graph_);
    const LeatCode code = sink.write(sink.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store what was saved");
    }
}

void VulkanExecutable::pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) {
    if (index < 0 || size_t(index) >= constants_.size() ||
        tensor.bytes != constants_[size_t(index)].bytes) {
        plugin::invalid_argument(
            fmt::format("constant {} of {} bytes is none of this executable", index, tensor.bytes));
    }
    const VulkanSlab& slab = slab_of(to, tensor.bytes, device_);
    slab.write(to.offset_bytes, {static_cast<const std::byte*>(tensor.data), size_t(tensor.bytes)});
}

std::shared_ptr<const Program> VulkanExecutable::program_of(const LeatRunShape& shape) {
    std::string key = key_of(shape);
    {
        const std::lock_guard lock(mutex_);
        if (last_program_ != nullptr && last_key_ == key) {
            return last_program_;
        }
    }
    auto program = std::make_shared<const Program>(
        make_program(graph_, packed_index_, device_.limits(), shape));
    const std::lock_guard lock(mutex_);
    last_key_ = std::move(key);
    last_program_ = program;
    return program;
}

std::unique_ptr<plugin::Requirements> VulkanExecutable::requirements(const LeatRunShape& shape) {
    return std::make_unique<VulkanRequirements>(program_of(shape), device_.domain());
}

std::unique_ptr<plugin::Instance> VulkanExecutable::link(const LeatRunShape& shape,
                                                         const LeatLinkage& linkage) {
    return std::make_unique<VulkanInstance>(device_, host_, program_of(shape), linkage);
}

}  // namespace leat::vulkan
