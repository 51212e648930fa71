#include "custom/custom_inference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/tensor_check.h"
#include "custom/custom_op_def.h"
#include "custom/guarded_call.h"

namespace leat::custom {
namespace {

class InferenceOfCustom final : public OperatorInference {
  public:
    explicit InferenceOfCustom(InferContext& context)
        : context_(context),
          node_(context.node()),
          dtypes_(size_t(context.output_count())),
          dims_(dtypes_.size()) {}

    const OperatorNode& node() const override { return node_; }
    int input_count() const override { return context_.input_count(); }
    int output_count() const override { return context_.output_count(); }
    bool has_input(int i) const override { return i >= 0 && context_.has_input(i); }
    DType dtype(int i) const override {
        return has_input(i) ? context_.input(i).dtype : DType::kUndefined;
    }
    const std::optional<std::vector<DimSpec>>& dims(int i) const override {
        return has_input(i) ? context_.input(i).dims : unknown_;
    }
    const Tensor* value(int i) const override {
        const Tensor* known = has_input(i) ? context_.value(i) : nullptr;
        asked_in_vain_ = asked_in_vain_ || known == nullptr;
        return known;
    }
    std::optional<std::vector<int64_t>> ints(int i) const override {
        std::optional<std::vector<int64_t>> known = has_input(i) ? context_.ints(i) : std::nullopt;
        asked_in_vain_ = asked_in_vain_ || !known;
        return known;
    }
    void set_output(int i, DType dtype, std::optional<std::vector<DimSpec>> dims) override {
        if (i < 0 || i >= output_count()) {
            beyond_ = beyond_.value_or(i);
            return;
        }
        dtypes_[size_t(i)] = dtype;
        dims_[size_t(i)] = std::move(dims);
    }

    // What is wrong with the types that were set.
    Status check_results() const {
        if (beyond_) {
            return invalid_argument("inference set output {}, which the node does not have",
                                    *beyond_)
                .with_needed(fmt::format("outputs below {}: see output_count()", output_count()));
        }
        const bool is_fixed = has_fixed_inputs();
        for (size_t i = 0; i < dtypes_.size(); ++i) {
            LEAT_RETURN_IF_ERROR(check_result(i, is_fixed));
        }
        return {};
    }

    // Precondition: check_results() is ok.
    void give_results() {
        for (size_t i = 0; i < dtypes_.size(); ++i) {
            context_.set_output(int(i), dtypes_[i], std::move(dims_[i]));
        }
    }

    std::span<const DType> output_dtypes() const { return dtypes_; }

  private:
    // Nothing is open that shapes of results may depend on.
    bool has_fixed_inputs() const {
        for (int i = 0; i < input_count() && !asked_in_vain_; ++i) {
            const bool decides = i < 32 && ((context_.node().def->shape_inputs >> i) & 1U) != 0;
            if (has_input(i) &&
                (!context_.input(i).fixed_shape() || (decides && context_.value(i) == nullptr))) {
                return false;
            }
        }
        return !asked_in_vain_;
    }

    Status check_result(size_t i, bool must_be_fixed) const {
        const DType dtype = dtypes_[i];
        if (dtype == DType::kUndefined || !is_known_dtype(dtype)) {
            return invalid_argument("inference set no element type of output {}", i)
                .with_found(text_of(dtype))
                .with_needed("set_output() with one of DType for each output of the node");
        }
        bool is_fixed = dims_[i].has_value();
        for (size_t axis = 0; dims_[i] && axis < dims_[i]->size(); ++axis) {
            const DimSpec& dim = (*dims_[i])[axis];
            if (dim.extent() < DimSpec::unknown().extent()) {
                return invalid_argument("inference set a negative extent of output {}", i)
                    .with_found(fmt::format("{} at axis {}", dim.extent(), axis))
                    .with_needed("0 or more, a name, or DimSpec::unknown()");
            }
            is_fixed = is_fixed && dim.is_fixed();
        }
        if (must_be_fixed && !is_fixed) {
            return invalid_argument("inference left the shape of output {} open", i)
                .with_found(TypeInfo::tensor(dtype, dims_[i]).to_string())
                .with_needed("numbers, as those of all inputs are known");
        }
        return {};
    }

    InferContext& context_;
    NodeOfCustom node_;
    const std::optional<std::vector<DimSpec>> unknown_;
    // By output, as they were set.
    std::vector<DType> dtypes_;
    std::vector<std::optional<std::vector<DimSpec>>> dims_;
    std::optional<int> beyond_;           // the first output that was set but does not exist
    mutable bool asked_in_vain_ = false;  // for elements that are not known by now
};

// Element types of a node's operands against their specifications.
class TypeCheck {
  public:
    Status check(const std::vector<OperandSpec>& specs, std::span<const DType> dtypes) {
        for (size_t i = 0; i < specs.size(); ++i) {
            const size_t end = specs[i].is_variadic ? std::max(dtypes.size(), i + 1) : i + 1;
            for (size_t operand = i; operand < end; ++operand) {
                const DType dtype = operand < dtypes.size() ? dtypes[operand] : DType::kUndefined;
                LEAT_RETURN_IF_ERROR(check_one(specs[i], operand, dtype));
            }
        }
        return {};
    }

  private:
    Status check_one(const OperandSpec& spec, size_t operand, DType dtype) {
        if (dtype == DType::kUndefined) {
            return spec.is_optional ? Status()
                                    : invalid_argument("operand {} ('{}') is absent but required",
                                                       operand, spec.name);
        }
        const std::vector<DType>& allowed = spec.dtypes;
        if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), dtype) == allowed.end()) {
            std::vector<std::string_view> names;
            names.reserve(allowed.size());
            std::transform(allowed.begin(), allowed.end(), std::back_inserter(names),
                           [](DType each) { return name_of(each); });
            return invalid_argument("operand {} ('{}') has an element type that the operator lacks",
                                    operand, spec.name)
                .with_found(text_of(dtype))
                .with_needed(fmt::format("{}", fmt::join(names, " or ")));
        }
        if (spec.type_name.empty()) {
            return {};
        }
        const auto [first, is_new] = types_.emplace(spec.type_name, dtype);
        if (is_new || first->second == dtype) {
            return {};
        }
        return invalid_argument("operand {} ('{}') is of another element type than others of {}",
                                operand, spec.name, spec.type_name)
            .with_found(std::string(name_of(dtype)))
            .with_needed(std::string(name_of(first->second)));
    }

    std::map<std::string_view, DType> types_;
};

Status check_inputs(const InferContext& context, TypeCheck& types) {
    std::vector<DType> dtypes(size_t(context.input_count()));
    for (int i = 0; i < context.input_count(); ++i) {
        if (!context.has_input(i)) {
            continue;
        }
        if (!context.input(i).is_tensor()) {
            return unsupported("input {} of a custom operator is no tensor", i)
                .with_found(context.input(i).to_string());
        }
        dtypes[size_t(i)] = context.input(i).dtype;
    }
    return types.check(custom_of(context.node()).schema.inputs, dtypes);
}

const OperandSpec& output_spec(const CustomOperator& schema, size_t output) {
    return schema.outputs[std::min(output, schema.outputs.size() - 1)];
}

ValueFact fact_of(const TensorArg& arg) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(arg.dtype, arg.shape);
    if (arg.data != nullptr) {
        fact.value = Tensor::view(arg.dtype, arg.shape, arg.data, nullptr);
    }
    return fact;
}

}  // namespace

Status infer_custom(InferContext& context) {
    const CustomOpDef& def = custom_of(context.node());
    LEAT_RETURN_IF_ERROR(check_attributes(def.label(), def.attributes, kCanonicalOpset,
                                          given_attributes(context.node().attributes)));
    TypeCheck types;
    LEAT_RETURN_IF_ERROR(check_inputs(context, types));
    InferenceOfCustom inference(context);
    LEAT_RETURN_IF_ERROR(guarded("inference", [&] { return def.schema.infer(inference); }));
    LEAT_RETURN_IF_ERROR(inference.check_results());
    inference.give_results();
    return types.check(def.schema.outputs, inference.output_dtypes());
}

Status infer_unread_outputs(const NodeData& node,
                            std::span<const TensorArg> inputs,
                            std::span<TensorArg> outputs) {
    const CustomOperator& schema = custom_of(node).schema;
    const auto is_missing = [&](size_t i) {
        return !outputs[i].present() && !output_spec(schema, i).is_optional;
    };
    bool any = false;
    for (size_t i = 0; i < outputs.size(); ++i) {
        any = any || is_missing(i);
    }
    if (!any) {
        return {};
    }
    std::vector<ValueFact> facts(inputs.size());
    std::vector<const ValueFact*> given(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].present()) {
            facts[i] = fact_of(inputs[i]);
            given[i] = &facts[i];
        }
    }
    std::vector<ValueFact> found(outputs.size());
    LEAT_RETURN_IF_ERROR(infer_node(node, given, found));
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!is_missing(i)) {
            continue;
        }
        const std::optional<Shape> shape = found[i].type.fixed_shape();
        if (!shape) {
            return invalid_argument("inference left the shape of output {} open", i)
                .with_found(found[i].type.to_string())
                .with_needed("extents that follow from those of the inputs");
        }
        outputs[i] = row_major_arg(found[i].type.dtype, *shape, nullptr);
    }
    return {};
}

}  // namespace leat::custom
