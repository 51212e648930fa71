#include "backends/host_device/own_operators.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace leat::host_device {
namespace {

LeatTensorView view_of(const TensorArg& arg) {
    auto view = plugin::made<LeatTensorView>();
    view.dtype = int32_t(arg.dtype);
    view.rank = arg.shape.rank();
    view.extents = arg.shape.begin();
    view.data = arg.data;
    view.bytes = storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0);
    return view;
}

struct Views {
    explicit Views(std::span<const TensorArg> args) {
        views.reserve(args.size());
        pointers.reserve(args.size());
        for (const TensorArg& arg : args) {
            pointers.push_back(&views.emplace_back(view_of(arg)));
        }
    }
    std::vector<LeatTensorView> views;
    std::vector<LeatTensorView*> pointers;
};

// Types of the outputs from those of the inputs, by the operator's callback.
void infer_custom(const CustomOperator& custom,
                  const NodeData& node,
                  std::span<const TensorArg> inputs,
                  std::span<ValueFact> outputs) {
    auto node_view = plugin::made<LeatNodeView>();
    node_view.name = node.name.c_str();
    node_view.domain = node.domain.c_str();
    node_view.op_type = node.op_type.c_str();
    const Views input_views(inputs);
    std::vector<int64_t> room(outputs.size() * size_t(kMaxRank));
    std::vector<int64_t*> extents;
    std::vector<LeatTensorView> views(outputs.size(), plugin::made<LeatTensorView>());
    std::vector<LeatTensorView*> pointers;
    extents.reserve(outputs.size());
    pointers.reserve(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        extents.push_back(room.data() + i * size_t(kMaxRank));
        pointers.push_back(&views[i]);
    }
    const LeatCode code =
        custom.schema.infer(custom.schema.user, &node_view, int32_t(inputs.size()),
                            input_views.pointers.data(), pointers.data(), extents.data(), nullptr);
    if (code != kLeatOk) {
        throw plugin::Error(code, fmt::format("inference of {} failed", node.label()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        const std::optional<Shape> shape = Shape::make({extents[i], size_t(views[i].rank)});
        if (!shape) {
            plugin::invalid_argument(fmt::format("inference of {} gave no shape", node.label()));
        }
        outputs[i].type = TypeInfo::tensor(DType(views[i].dtype), *shape);
    }
}

}  // namespace

void Operators::add(const LeatOperator& schema) {
    const std::lock_guard lock(mutex_);
    CustomOperator& custom = operators_[Key(schema.domain, schema.op_type)];
    custom.schema = schema;
    custom.schema.domain = nullptr;
    custom.schema.op_type = nullptr;
}

void Operators::add_kernel(std::string_view domain,
                           std::string_view op_type,
                           std::string_view blob) {
    const std::lock_guard lock(mutex_);
    const auto found = operators_.find(Key(domain, op_type));
    if (found == operators_.end()) {
        throw plugin::Error(kLeatNotFound,
                            fmt::format("operator {}.{} is not registered", domain, op_type));
    }
    KernelBlob kernel{};
    if (blob.size() != sizeof(kernel) || blob.substr(0, sizeof(kKernelMagic)) !=
                                             std::string_view(kKernelMagic, sizeof(kKernelMagic))) {
        plugin::invalid_argument(fmt::format("a kernel of {} bytes; needed a KernelBlob of {}",
                                             blob.size(), sizeof(kernel)));
    }
    std::memcpy(&kernel, blob.data(), sizeof(kernel));
    found->second.kernel = kernel;
}

std::shared_ptr<const CustomOperator> Operators::find(std::string_view domain,
                                                      std::string_view op_type) const {
    const std::lock_guard lock(mutex_);
    const auto found = operators_.find(Key(domain, op_type));
    return found == operators_.end() ? nullptr
                                     : std::make_shared<const CustomOperator>(found->second);
}

bool Operators::has(const NodeData& node) const {
    return is_non_zero(node) || find(node.domain, node.op_type) != nullptr;
}

void Operators::infer(const NodeData& node,
                      std::span<const TensorArg> inputs,
                      std::span<ValueFact> outputs) const {
    if (const auto custom = find(node.domain, node.op_type)) {
        infer_custom(*custom, node, inputs, outputs);
        return;
    }
    // The bound: every element.
    const Shape& from = inputs[0].shape;
    outputs[0].type = TypeInfo::tensor(DType::kInt64, Shape{from.rank(), from.element_count()});
}

bool Operators::is_bounded(const NodeData& node) const {
    return is_non_zero(node);
}

void run_custom(const CustomOperator& custom,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs) {
    const Views from(inputs);
    const Views to(outputs);
    const LeatCode code = custom.kernel.run(int32_t(inputs.size()), from.pointers.data(),
                                            int32_t(outputs.size()), to.pointers.data());
    if (code != kLeatOk) {
        throw plugin::Error(code, "the kernel of a custom operator failed");
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
