#include "backends/host_device/own_operators.h"

#include <fmt/core.h>

#include <cstring>

namespace leat::host_device {

void Operators::add_kernel(std::string_view domain,
                           std::string_view op_type,
                           std::string_view blob) {
    (void)schema_of(domain, op_type);
    KernelBlob kernel{};
    if (blob.size() != sizeof(kernel) || blob.substr(0, sizeof(kKernelMagic)) !=
                                             std::string_view(kKernelMagic, sizeof(kKernelMagic))) {
        plugin::invalid_argument(fmt::format("a kernel of {} bytes; needed a KernelBlob of {}",
                                             blob.size(), sizeof(kernel)));
    }
    std::memcpy(&kernel, blob.data(), sizeof(kernel));
    const std::lock_guard lock(mutex_);
    kernels_[{std::string(domain), std::string(op_type)}] = kernel;
}

std::optional<KernelBlob> Operators::kernel_of(const NodeData& node) const {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find({node.domain, node.op_type});
    return found == kernels_.end() ? std::nullopt : std::optional(found->second);
}

bool Operators::has(const NodeData& node) const {
    return is_non_zero(node) || is_registered(node);
}

void Operators::infer(const NodeData& node,
                      std::span<const TensorArg> inputs,
                      std::span<ValueFact> outputs) const {
    if (!is_non_zero(node)) {
        RegisteredOperators::infer(node, inputs, outputs);
        return;
    }
    // The bound: every element.
    const Shape& from = inputs[0].shape;
    outputs[0].type = TypeInfo::tensor(DType::kInt64, Shape{from.rank(), from.element_count()});
}

bool Operators::is_bounded(const NodeData& node) const {
    return is_non_zero(node);
}

void run_custom(const KernelBlob& kernel,
                const NodeData& node,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs) {
    const lowered::CalledNode called(node);
    const lowered::TensorViews from(inputs);
    const lowered::TensorViews to(outputs);
    const LeatCode code = kernel.run(called.view(), int32_t(inputs.size()), from.inputs(),
                                     int32_t(outputs.size()), to.outputs());
    if (code != kLeatOk) {
        throw plugin::Error(code, fmt::format("the kernel of {} failed", node.label()));
    }
}

bool is_non_zero(const NodeData& node) {
    return node.domain.empty() && node.op_type == "NonZero";
}

int64_t run_non_zero(const TensorArg& from, int64_t* to) {
    const int64_t elements = from.shape.element_count();
    const auto* values = from.as<const float>();
    int64_t count = 0;
    for (int64_t i = 0; i < elements; ++i) {
        count += values[i] != 0 ? 1 : 0;
    }
    int64_t column = 0;
    for (int64_t i = 0; i < elements; ++i) {
        if (values[i] == 0) {
            continue;
        }
        int64_t rest = i;
        for (int axis = from.shape.rank() - 1; axis >= 0; --axis) {
            to[axis * count + column] = rest % from.shape[axis];
            rest /= from.shape[axis];
        }
        ++column;
    }
    return count;
}

}  // namespace leat::host_device
