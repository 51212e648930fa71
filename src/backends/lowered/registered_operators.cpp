#include "backends/lowered/registered_operators.h"

#include <fmt/core.h>

#include "graph/plugin_attribute.h"

namespace leat::lowered {
namespace {

// `shape` outlives the view.
LeatTensorView view_of(DType dtype, const Shape& shape, void* data) {
    auto view = plugin::made<LeatTensorView>();
    view.dtype = int32_t(dtype);
    view.rank = shape.rank();
    view.extents = shape.begin();
    view.data = data;
    view.bytes = storage_bytes(dtype, shape.element_count()).value_or(0);
    return view;
}

// Types of the outputs from those of the inputs.
void infer_registered(const LeatOperator& schema,
                      const NodeData& node,
                      std::span<const TensorArg> inputs,
                      std::span<ValueFact> outputs) {
    const CalledNode called(node);
    const TensorViews input_views(inputs);
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
        schema.infer(schema.user, called.view(), int32_t(inputs.size()), input_views.inputs(),
                     pointers.data(), extents.data(), nullptr);
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

TensorViews::TensorViews(std::span<const TensorArg> args) {
    views_.reserve(args.size());
    pointers_.reserve(args.size());
    for (const TensorArg& arg : args) {
        pointers_.push_back(&views_.emplace_back(view_of(arg.dtype, arg.shape, arg.data)));
    }
}

CalledNode::CalledNode(const NodeData& node)
    : texts_(node.attributes.size()),
      tensors_(node.attributes.size()),
      view_(plugin::made<LeatNodeView>()) {
    attributes_.reserve(node.attributes.size());
    pointers_.reserve(node.attributes.size());
    for (const auto& [name, value] : node.attributes) {
        const size_t index = attributes_.size();
        LeatAttributeView& row =
            attributes_.emplace_back(plugin_attribute(name, value, texts_[index]));
        if (const auto* tensor = std::get_if<Tensor>(&value)) {
            tensors_[index] =
                view_of(tensor->dtype(), tensor->shape(), const_cast<std::byte*>(tensor->bytes()));
            row.tensor = &tensors_[index];
        }
        pointers_.push_back(&row);
    }
    view_.name = node.name.c_str();
    view_.domain = node.domain.c_str();
    view_.op_type = node.op_type.c_str();
    view_.attribute_count = int32_t(pointers_.size());
    view_.attributes = pointers_.data();
}

void RegisteredOperators::infer(const NodeData& node,
                                std::span<const TensorArg> inputs,
                                std::span<ValueFact> outputs) const {
    infer_registered(schema_of(node.domain, node.op_type), node, inputs, outputs);
}

void RegisteredOperators::add(const LeatOperator& schema) {
    const std::lock_guard lock(mutex_);
    LeatOperator& kept = schemas_[Key(schema.domain, schema.op_type)];
    kept = schema;
    kept.domain = nullptr;
    kept.op_type = nullptr;
}

bool RegisteredOperators::is_registered(const NodeData& node) const {
    return find(node.domain, node.op_type).has_value();
}

LeatOperator RegisteredOperators::schema_of(std::string_view domain,
                                            std::string_view op_type) const {
    const std::optional<LeatOperator> found = find(domain, op_type);
    if (!found) {
        throw plugin::Error(kLeatNotFound,
                            fmt::format("operator {}.{} is not registered", domain, op_type));
    }
    return *found;
}

std::optional<LeatOperator> RegisteredOperators::find(std::string_view domain,
                                                      std::string_view op_type) const {
    const std::lock_guard lock(mutex_);
    const auto found = schemas_.find(Key(domain, op_type));
    return found == schemas_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace leat::lowered
