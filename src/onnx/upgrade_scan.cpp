// Scan-8 has a batch: axis 0 of all operands and results, axis 1 of sequences is the one to scan.
// It becomes a Scan over the batch, whose body is the Scan over the sequence.
#include <cstring>
#include <utility>

#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

// Where each entry of the batch has a length of its own, the inner body counts its iterations. From
// that length on states stay as they are, and results are 0.
class LengthMask {
  public:
    LengthMask(GraphData& body, size_t states) : body_(body), states_(states) {}

    // A new first state, the counter, and a new last captured value, the length.
    Status add() {
        const ValueId counter = body_.add_value(body_.fresh_name("iteration"), {});
        const ValueId length = body_.add_value(body_.fresh_name("length"), {});
        const std::vector<ValueId> old_states(body_.inputs.begin(),
                                              body_.inputs.begin() + std::ptrdiff_t(states_));
        body_.inputs.insert(body_.inputs.begin(), counter);
        body_.inputs.push_back(length);
        is_within_ = result_of("Less", {counter, length});
        LEAT_ASSIGN_OR_RETURN(const Tensor one, Tensor::from<int64_t>({}, std::vector<int64_t>{1}));
        const ValueId step = body_.add_constant(body_.fresh_name("one"), one);
        for (size_t i = 0; i < body_.outputs.size(); ++i) {
            ValueId& output = body_.outputs[i];
            if (i < states_) {
                output = result_of("Where", {is_within_, output, old_states[i]});
                continue;
            }
            const DType dtype = body_.value(output).type.dtype;
            if (dtype == DType::kUndefined || dtype == DType::kString) {
                return unsupported("Scan of opset 8 with sequence_lens and a result of type {}",
                                   name_of(dtype));
            }
            LEAT_ASSIGN_OR_RETURN(Tensor zero, Tensor::allocate(dtype, Shape{}));
            std::memset(zero.mutable_bytes(), 0, size_t(zero.byte_count()));
            const ValueId none = body_.add_constant(body_.fresh_name("zero"), std::move(zero));
            output = result_of("Where", {is_within_, output, none});
        }
        body_.outputs.insert(body_.outputs.begin(), result_of("Add", {counter, step}));
        body_.output_names.insert(body_.output_names.begin(), body_.fresh_name("next_iteration"));
        return {};
    }

  private:
    ValueId result_of(const char* op_type, std::vector<ValueId> inputs) {
        return body_.node(body_.add_node("", op_type, std::move(inputs), 1)).outputs[0];
    }

    GraphData& body_;
    size_t states_;
    ValueId is_within_;
};

// One entry of the batch: `inputs` are the node's own, then what its body captures.
GraphData entry_of_batch(const NodeData& node, NodeData inner, size_t operands, bool has_lengths) {
    GraphData entry;
    entry.name = node.name + "/entry";
    const auto add_input = [&entry](std::string_view stem) {
        entry.inputs.push_back(entry.add_value(entry.fresh_name(stem), {}));
        return entry.inputs.back();
    };
    const ValueId length = has_lengths ? add_input("length") : ValueId{};
    if (has_lengths) {
        Result<Tensor> zero = Tensor::from<int64_t>({}, std::vector<int64_t>{0});
        inner.inputs.push_back(entry.add_constant("first", *std::move(zero)));
    }
    for (size_t i = 0; i < operands; ++i) {
        inner.inputs.push_back(add_input("operand"));
    }
    inner.own_input_count = int32_t(inner.inputs.size());
    for (size_t k = 0; k < node.captured_count(); ++k) {
        inner.inputs.push_back(add_input("captured"));
    }
    if (has_lengths) {
        inner.inputs.push_back(length);
    }
    inner.name = node.name + "/entry";
    inner.op_type = "Scan";
    inner.def = find_op("", "Scan");
    inner.opset = node.opset;
    const size_t results = inner.body("body")->outputs.size();
    for (size_t i = 0; i < results; ++i) {
        const ValueId result = entry.add_value(entry.fresh_name("result"), {});
        entry.value(result).producer = {0};
        entry.value(result).output_index = int32_t(i);
        inner.outputs.push_back(result);
        if (i > 0 || !has_lengths) {  // the counter stays inside
            entry.outputs.push_back(result);
            entry.output_names.push_back(entry.value(result).name);
        }
    }
    entry.nodes.push_back(std::move(inner));
    return entry;
}

Status upgrade_scan(Upgrade& upgrade) {
    NodeData& node = upgrade.node;
    std::optional<int64_t> sequences;
    std::optional<std::vector<int64_t>> directions;
    LEAT_RETURN_IF_ERROR(upgrade.take("num_scan_inputs", sequences));
    LEAT_RETURN_IF_ERROR(upgrade.take("directions", directions));
    const size_t own = node.own_inputs();
    const auto found = node.attributes.find("body");
    auto* const body =
        found == node.attributes.end() ? nullptr : std::get_if<Graph>(&found->second);
    if (body == nullptr || !sequences || *sequences < 1 || size_t(*sequences) >= own) {
        return invalid_argument(
            "Scan of opset 8 needs a body, sequence_lens (or an absent input) "
            "and as many sequences as num_scan_inputs says");
    }
    const bool has_lengths = node.inputs[0].valid();
    const size_t operands = own - 1;
    if (body->data().inputs.size() != operands + node.captured_count() ||
        body->data().outputs.size() < operands - size_t(*sequences)) {
        return invalid_argument("the body does not fit the operands")
            .with_found(std::to_string(body->data().inputs.size()))
            .with_needed(std::to_string(operands + node.captured_count()));
    }
    if (has_lengths) {
        LEAT_RETURN_IF_ERROR(LengthMask(body->data(), operands - size_t(*sequences)).add());
    }
    NodeData inner;
    inner.attributes.emplace("num_scan_inputs", *sequences);
    if (directions) {
        inner.attributes.emplace("scan_input_directions", *std::move(directions));
    }
    inner.attributes.insert(node.attributes.extract(found));
    auto entry =
        std::make_unique<GraphData>(entry_of_batch(node, std::move(inner), operands, has_lengths));
    if (!has_lengths) {
        node.inputs.erase(node.inputs.begin());
        node.own_input_count = int32_t(operands);
    }
    node.attributes.insert_or_assign("num_scan_inputs", int64_t(node.own_inputs()));
    node.attributes.insert_or_assign("body", Graph(std::move(entry)));
    return {};
}

constexpr UpgradeRule kScanRules[] = {
    {"Scan", 9, upgrade_scan},
};

}  // namespace

std::span<const UpgradeRule> scan_rules() {
    return kScanRules;
}

}  // namespace leat::onnx
