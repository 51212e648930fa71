// What was an attribute and became an input, and defaults that changed.
#include <array>
#include <cmath>

#include "base/error.h"
#include "onnx/upgrade.h"
#include "ops/pool/pool.h"

namespace leat::onnx {
namespace {

// Attribute `key`, a list of integers, becomes input i.
Status ints_to_input(Upgrade& upgrade, std::string_view key, size_t i) {
    std::optional<std::vector<int64_t>> values;
    LEAT_RETURN_IF_ERROR(upgrade.take(key, values));
    if (values && !upgrade.has_input(i)) {
        LEAT_ASSIGN_OR_RETURN(const ValueId input, upgrade.int64s(*values));
        upgrade.set_input(i, input);
    }
    return {};
}

// Attribute `key`, a float, becomes input i, of the element type of input 0.
Status float_to_input(Upgrade& upgrade, std::string_view key, size_t i) {
    std::optional<float> value;
    LEAT_RETURN_IF_ERROR(upgrade.take(key, value));
    if (value && !upgrade.has_input(i) && upgrade.has_input(0)) {
        LEAT_ASSIGN_OR_RETURN(const ValueId input,
                              upgrade.scalar(upgrade.dtype(upgrade.node.inputs[0]), *value));
        upgrade.set_input(i, input);
    }
    return {};
}

Status upgrade_axes(Upgrade& upgrade) {
    return ints_to_input(upgrade, "axes", 1);
}

Status upgrade_slice(Upgrade& upgrade) {
    LEAT_RETURN_IF_ERROR(ints_to_input(upgrade, "starts", 1));
    LEAT_RETURN_IF_ERROR(ints_to_input(upgrade, "ends", 2));
    return ints_to_input(upgrade, "axes", 3);
}

Status upgrade_clip(Upgrade& upgrade) {
    LEAT_RETURN_IF_ERROR(float_to_input(upgrade, "min", 1));
    return float_to_input(upgrade, "max", 2);
}

Status upgrade_pad(Upgrade& upgrade) {
    LEAT_RETURN_IF_ERROR(ints_to_input(upgrade, "paddings", 1));  // its name in opset 1
    LEAT_RETURN_IF_ERROR(ints_to_input(upgrade, "pads", 1));
    return float_to_input(upgrade, "value", 2);
}

Status upgrade_split_sizes(Upgrade& upgrade) {
    return ints_to_input(upgrade, "split", 1);
}

// Equal parts: their number is that of the outputs.
Status upgrade_split_count(Upgrade& upgrade) {
    if (!upgrade.has_input(1)) {
        upgrade.set_default("num_outputs", int64_t(upgrade.node.outputs.size()));
    }
    return {};
}

// output_sequence = 0 said that nobody reads Y, as an output without a name does.
Status upgrade_recurrent(Upgrade& upgrade) {
    upgrade.drop("output_sequence");
    return {};
}

Status upgrade_reshape(Upgrade& upgrade) {
    return ints_to_input(upgrade, "shape", 1);
}

Status upgrade_top_k(Upgrade& upgrade) {
    std::optional<int64_t> k;
    LEAT_RETURN_IF_ERROR(upgrade.take("k", k));
    if (k && !upgrade.has_input(1)) {
        LEAT_ASSIGN_OR_RETURN(const ValueId input, upgrade.int64s({*k}));
        upgrade.set_input(1, input);
    }
    return {};
}

// Tile(x, tiles, axis) repeats one axis; the newest form wants a number for each axis.
Status upgrade_tile(Upgrade& upgrade) {
    if (!upgrade.has_input(0) || !upgrade.has_input(1) || !upgrade.has_input(2)) {
        return {};  // already the newest form: exporters wrote it early
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId one, upgrade.int64s({1}));
    const auto as_vector = [&](ValueId scalar) {
        const ValueId wide = upgrade.emit("Cast", {scalar}, {{"to", int64_t(DType::kInt64)}});
        return upgrade.emit("Reshape", {wide, one});
    };
    const auto ones = [&](ValueId count) -> Result<ValueId> {
        const int64_t value = 1;
        LEAT_ASSIGN_OR_RETURN(Tensor tensor,
                              Tensor::from<int64_t>({1}, std::span<const int64_t>(&value, 1)));
        return upgrade.emit("ConstantOfShape", {count}, {{"value", std::move(tensor)}});
    };
    const ValueId tiles = as_vector(upgrade.node.inputs[1]);
    const ValueId axis = as_vector(upgrade.node.inputs[2]);
    const ValueId rank = upgrade.emit("Shape", {upgrade.emit("Shape", {upgrade.node.inputs[0]})});
    const ValueId behind = upgrade.emit("Sub", {upgrade.emit("Sub", {rank, axis}), one});
    LEAT_ASSIGN_OR_RETURN(const ValueId ones_before, ones(axis));
    LEAT_ASSIGN_OR_RETURN(const ValueId ones_behind, ones(behind));
    upgrade.node.inputs.resize(1);
    upgrade.set_input(
        1, upgrade.emit("Concat", {ones_before, tiles, ones_behind}, {{"axis", int64_t{0}}}));
    return {};
}

// `to` was the name of the type.
Status upgrade_cast(Upgrade& upgrade) {
    constexpr std::array<std::string_view, 17> kNames = {
        "UNDEFINED", "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
        "INT32",     "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
        "UINT32",    "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
    std::optional<std::string> name;
    const auto to = upgrade.node.attributes.find("to");
    if (to == upgrade.node.attributes.end() || !std::holds_alternative<std::string>(to->second)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(upgrade.take("to", name));
    for (size_t i = 1; i < kNames.size(); ++i) {
        if (kNames[i] == *name) {
            upgrade.set_default("to", int64_t(i));
            return {};
        }
    }
    return invalid_argument("attribute 'to' names no element type").with_found("'" + *name + "'");
}

// The standard leaves open what floats beyond an integer type of 2 or 4 bits become. ONNX's own
// tests, of opsets 25 and 28 in release 1.23, keep the low bits, as casts of integers do in every
// opset; before they saturated.
Status wrap_into_packed(Upgrade& upgrade) {
    constexpr int32_t kFirstOpsetThatWraps = 25;
    const int64_t to = upgrade.node.attr("to", int64_t{0});
    const bool is_packed = to == int64_t(DType::kInt4) || to == int64_t(DType::kUint4) ||
                           to == int64_t(DType::kInt2) || to == int64_t(DType::kUint2);
    if (is_packed && upgrade.node.opset >= kFirstOpsetThatWraps && upgrade.has_input(0)) {
        upgrade.set_input(
            0, upgrade.emit("Cast", {upgrade.node.inputs[0]}, {{"to", int64_t(DType::kInt64)}}));
    }
    return {};
}

// A Cast, where the type is known already: packed types wrap as they do there.
Status upgrade_cast_like(Upgrade& upgrade) {
    if (!upgrade.has_input(0) || !upgrade.has_input(1)) {
        return {};
    }
    const DType to = upgrade.dtype(upgrade.node.inputs[1]);
    if (to == DType::kUndefined) {
        return {};
    }
    upgrade.node.op_type = "Cast";
    upgrade.node.inputs.resize(1);
    upgrade.set_default("to", int64_t(to));
    return wrap_into_packed(upgrade);
}

Status upgrade_concat(Upgrade& upgrade) {
    upgrade.set_default("axis", int64_t{1});
    return {};
}

Status upgrade_selu(Upgrade& upgrade) {
    upgrade.set_default("alpha", 1.6732F);
    upgrade.set_default("gamma", 1.0507F);
    return {};
}

Status upgrade_scatter(Upgrade& upgrade) {
    upgrade.node.op_type = "ScatterElements";
    return {};
}

Status upgrade_roi_align(Upgrade& upgrade) {
    upgrade.set_default("coordinate_transformation_mode", std::string("output_half_pixel"));
    return {};
}

// p was a float. Where it is whole, the newest form has it; for others there is leat's own.
Status upgrade_lp_pool(Upgrade& upgrade) {
    std::optional<float> p;
    LEAT_RETURN_IF_ERROR(upgrade.take("p", p));
    if (p && *p >= 1 && *p <= 0x1p20F && *p == std::floor(*p)) {
        upgrade.set_default("p", int64_t(*p));
    } else if (p) {
        upgrade.set_default(kFractionalP, *p);
    }
    return {};
}

Status upgrade_grid_sample(Upgrade& upgrade) {
    std::optional<std::string> mode;
    LEAT_RETURN_IF_ERROR(upgrade.take("mode", mode));
    if (mode) {
        upgrade.set_default("mode", *mode == "bilinear"  ? "linear"
                                    : *mode == "bicubic" ? "cubic"
                                                         : *mode);
    }
    return {};
}

Status upgrade_dft(Upgrade& upgrade) {
    std::optional<int64_t> axis;
    LEAT_RETURN_IF_ERROR(upgrade.take("axis", axis));
    LEAT_ASSIGN_OR_RETURN(const ValueId input,
                          upgrade.scalar(DType::kInt64, double(axis.value_or(1))));
    upgrade.set_input(2, input);
    return {};
}

constexpr AttributeSchema kScatterAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

constexpr UpgradeRule kAttributesRules[] = {
    {"Cast", 6, upgrade_cast},
    {"Cast", kAnyOpset, wrap_into_packed},
    {"CastLike", kAnyOpset, upgrade_cast_like},
    {"Clip", 11, upgrade_clip},
    {"Concat", 4, upgrade_concat},
    {"DFT", 20, upgrade_dft},
    {"GRU", 7, upgrade_recurrent},
    {"GlobalLpPool", 2, upgrade_lp_pool},
    {"GridSample", 20, upgrade_grid_sample},
    {"LSTM", 7, upgrade_recurrent},
    {"LpPool", 2, upgrade_lp_pool},
    {"Pad", 11, upgrade_pad},
    {"RNN", 7, upgrade_recurrent},
    {"ReduceL1", 18, upgrade_axes},
    {"ReduceL2", 18, upgrade_axes},
    {"ReduceLogSum", 18, upgrade_axes},
    {"ReduceLogSumExp", 18, upgrade_axes},
    {"ReduceMax", 18, upgrade_axes},
    {"ReduceMean", 18, upgrade_axes},
    {"ReduceMin", 18, upgrade_axes},
    {"ReduceProd", 18, upgrade_axes},
    {"ReduceSum", 13, upgrade_axes},
    {"ReduceSumSquare", 18, upgrade_axes},
    {"Reshape", 5, upgrade_reshape},
    {"RoiAlign", 16, upgrade_roi_align},
    {"Scatter", kAnyOpset, upgrade_scatter, kScatterAttributes},
    {"Selu", 6, upgrade_selu},
    {"Slice", 10, upgrade_slice},
    {"Split", 13, upgrade_split_sizes},
    {"Split", 18, upgrade_split_count},
    {"Squeeze", 13, upgrade_axes},
    {"Tile", 6, upgrade_tile},
    {"TopK", 10, upgrade_top_k},
    {"Unsqueeze", 13, upgrade_axes},
};

}  // namespace

std::span<const UpgradeRule> attribute_rules() {
    return kAttributesRules;
}

}  // namespace leat::onnx
