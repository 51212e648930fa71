#include "ops/ml/ml.h"

#include <utility>

#include "ops/ml/label_encoder.h"
#include "ops/ml/linear_models.h"
#include "ops/ml/ml_attributes.h"
#include "ops/ml/tree_ensemble.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr std::string_view kMlDomain = "ai.onnx.ml";
constexpr DTypeSet kMlRealsOrStrings = kMlReals | dtype_set(DType::kString);
constexpr DTypeSet kMlLabels = dtype_set(DType::kString, DType::kInt64);

Status infer_array_feature_extractor(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlRealsOrStrings, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "Y"));
    const TypeInfo& x = context.input(0);
    const TypeInfo& indices = context.input(1);
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    if (x.dims->empty()) {
        return invalid_argument("X has no axis").with_needed("rank 1 or more");
    }
    DimSpec count = indices.dims ? DimSpec(1) : DimSpec::unknown();
    for (size_t i = 0; indices.dims && i < indices.dims->size(); ++i) {
        count = multiply_dims(count, (*indices.dims)[i]);
    }
    Dims dims = *x.dims;
    dims.back() = count;
    if (dims.size() == 1) {
        dims.insert(dims.begin(), DimSpec(1));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

Status infer_binarizer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlReals, "X"));
    context.set_output(0, context.input(0));
    return {};
}

Status infer_labels(InferContext& context) {
    const DType x = context.input(0).dtype;
    if (x == DType::kUndefined) {
        context.set_output(0, DType::kUndefined, context.input(0).dims);
        return {};
    }
    const bool is_mapper = context.node().op_type == "CategoryMapper";
    if (is_mapper || context.node().has_attr("classes_strings")) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlLabels, "X"));
    }
    LEAT_ASSIGN_OR_RETURN(const LabelForm form, label_form(context.node(), x));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, dtype_bit(form.keys.dtype), "X"));
    context.set_output(0, form.values.dtype, context.input(0).dims);
    return {};
}

// Error unless attribute `key`, of `count` elements, has one, or one for each index of the last
// axis.
Status check_feature_list(const InferContext& context, const char* key, size_t count) {
    const std::optional<Dims>& dims = context.input(0).dims;
    const int64_t extent = !dims ? -1 : dims->empty() ? 1 : dims->back().extent();
    if (count == 0 || (count > 1 && extent >= 0 && int64_t(count) != extent)) {
        return invalid_argument("attribute {} has a wrong number of elements", key)
            .with_found(std::to_string(count))
            .with_needed(extent < 0 ? "1 or more" : fmt::format("1 or {}", extent));
    }
    return {};
}

Status infer_scaler(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlReals, "X"));
    for (const char* key : {"scale", "offset"}) {
        if (const auto* list = context.node().floats(key)) {
            LEAT_RETURN_IF_ERROR(check_feature_list(context, key, list->size()));
        }
    }
    context.set_output(0, DType::kFloat32, context.input(0).dims);
    return {};
}

Status infer_normalizer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlReals, "X"));
    const std::string norm = context.node().attr("norm", "MAX");
    if (norm != "MAX" && norm != "L1" && norm != "L2") {
        return invalid_argument("attribute norm has no such value")
            .with_found("'" + norm + "'")
            .with_needed("MAX, L1 or L2");
    }
    const int rank = context.input(0).rank();
    if (rank == 0 || rank > 2) {
        return invalid_argument("X has a wrong shape")
            .with_found(context.input(0).to_string())
            .with_needed("[C] or [N, C]");
    }
    context.set_output(0, DType::kFloat32, context.input(0).dims);
    return {};
}

Status infer_imputer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlReals, "X"));
    const DType x = context.input(0).dtype;
    const bool is_real = x == DType::kUndefined ? context.node().has_attr("imputed_value_floats")
                                                : contains(kFloatTypes, x);
    const char* const key = is_real ? "imputed_value_floats" : "imputed_value_int64s";
    const auto* floats = context.node().floats(key);
    const auto* ints = context.node().ints(key);
    LEAT_RETURN_IF_ERROR(check_feature_list(context, key,
                                            floats != nullptr ? floats->size()
                                            : ints != nullptr ? ints->size()
                                                              : 0));
    context.set_output(0, context.input(0));
    return {};
}

Status infer_one_hot_encoder(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlRealsOrStrings, "X"));
    const TypeInfo& x = context.input(0);
    const auto* strings = context.node().strings("cats_strings");
    const auto* ints = context.node().ints("cats_int64s");
    const bool has_strings = strings != nullptr && !strings->empty();
    const bool has_ints = ints != nullptr && !ints->empty();
    if (has_strings == has_ints) {
        return invalid_argument("the node needs one of attributes cats_strings and cats_int64s")
            .with_found(has_ints ? "both" : "none with elements");
    }
    LEAT_RETURN_IF_ERROR(
        require_dtype(context, 0, has_strings ? dtype_bit(DType::kString) : kMlReals, "X"));
    std::optional<Dims> dims = x.dims;
    if (dims) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(dims->size()) + 1));
        dims->emplace_back(int64_t(has_strings ? strings->size() : ints->size()));
    }
    context.set_output(0, DType::kFloat32, std::move(dims));
    return {};
}

Status infer_feature_vectorizer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    const auto* widths = context.node().ints("inputdimensions");
    if (widths != nullptr && int(widths->size()) != context.input_count()) {
        return invalid_argument("attribute inputdimensions has a wrong number of elements")
            .with_found(std::to_string(widths->size()))
            .with_needed(fmt::format("{}: one for each input", context.input_count()));
    }
    DimSpec rows = DimSpec::unknown();
    DimSpec width = DimSpec(0);
    for (int i = 0; i < context.input_count(); ++i) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, i, kMlReals, "X"));
        const TypeInfo& x = context.input(i);
        DimSpec own = DimSpec::unknown();
        if (x.dims) {
            if (x.rank() < 1 || x.rank() > 2) {
                return invalid_argument("input {} has a wrong shape", i)
                    .with_found(x.to_string())
                    .with_needed("[C] or [N, C]");
            }
            const DimSpec own_rows = x.rank() == 1 ? DimSpec(1) : (*x.dims)[0];
            LEAT_ASSIGN_OR_RETURN(rows, merge_dims(rows, own_rows, "the number of rows"));
            own = x.dims->back();
        }
        if (widths != nullptr) {
            const int64_t wanted = (*widths)[size_t(i)];
            if (wanted < 0) {
                return invalid_argument("attribute inputdimensions has a negative element")
                    .with_found(std::to_string(wanted));
            }
            own = DimSpec(wanted);
        }
        width = add_dims(width, own);
    }
    context.set_output(0, DType::kFloat32, Dims{rows, width});
    return {};
}

// [N, F], or [F] of one row.
Status check_rows(const InferContext& context, DimSpec& rows) {
    const TypeInfo& x = context.input(0);
    if (x.dims && (x.rank() < 1 || x.rank() > 2)) {
        return invalid_argument("X has a wrong shape")
            .with_found(x.to_string())
            .with_needed("[N, F] or [F]");
    }
    rows = !x.dims ? DimSpec::unknown() : x.rank() == 1 ? DimSpec(1) : (*x.dims)[0];
    return {};
}

Status infer_tree_ensemble(InferContext& context) {
    const bool is_new = context.node().op_type == "TreeEnsemble";
    const DTypeSet types =
        is_new ? dtype_set(DType::kFloat16, DType::kFloat32, DType::kFloat64) : kMlReals;
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, types, "X"));
    DimSpec rows = DimSpec::unknown();
    LEAT_RETURN_IF_ERROR(check_rows(context, rows));
    LEAT_ASSIGN_OR_RETURN(const int64_t targets, tree_targets(context.node()));
    const DType scores = is_new ? context.input(0).dtype : DType::kFloat32;
    const bool is_classifier = context.node().op_type == "TreeEnsembleClassifier";
    if (is_classifier) {
        const auto* strings = context.node().strings("classlabels_strings");
        const bool has_strings = strings != nullptr && !strings->empty();
        context.set_output(0, has_strings ? DType::kString : DType::kInt64, Dims{rows});
    }
    const int i = is_classifier ? 1 : 0;
    if (context.has_output(i)) {
        context.set_output(i, scores, Dims{rows, DimSpec(targets)});
    }
    return {};
}

// A comparison that misses the cache for each of some levels of each tree.
Cost tree_ensemble_cost(const NodeData& node,
                        std::span<const TensorArg> inputs,
                        std::span<const TensorArg> outputs) {
    constexpr double kFlopsPerTree = 100;
    const auto* roots = node.ints("tree_roots");
    const auto* trees = node.ints("nodes_treeids");
    const auto count = double(roots != nullptr   ? roots->size()
                              : trees != nullptr ? trees->size() / 16 + 1
                                                 : 1);
    const Shape& x = inputs[0].shape;
    const double rows = x.rank() == 2 ? double(x[0]) : 1;
    return {rows * count * kFlopsPerTree, moved_bytes(inputs, outputs)};
}

bool gives_rows_of_matrix(const ShardArgs& args) {
    return args.inputs[0].shape.rank() == 2 && rows_of_first_input(args);
}

constexpr OpDef kMlOps[] = {
    {.name = "ArrayFeatureExtractor",
     .domain = kMlDomain,
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_array_feature_extractor,
     .reference = array_feature_extractor_reference},
    {.name = "Binarizer",
     .domain = kMlDomain,
     .attributes = kBinarizerAttributes,
     .infer = infer_binarizer,
     .reference = binarizer_reference,
     .gives_rows = rows_of_first_input,
     .type_rule = TypeRule::kFirst},
    {.name = "CategoryMapper",
     .domain = kMlDomain,
     .attributes = kCategoryMapperAttributes,
     .infer = infer_labels,
     .reference = label_encoder_reference},
    {.name = "FeatureVectorizer",
     .domain = kMlDomain,
     .max_inputs = -1,
     .attributes = kFeatureVectorizerAttributes,
     .infer = infer_feature_vectorizer,
     .reference = feature_vectorizer_reference},
    {.name = "Imputer",
     .domain = kMlDomain,
     .attributes = kImputerAttributes,
     .infer = infer_imputer,
     .reference = imputer_reference},
    {.name = "LabelEncoder",
     .domain = kMlDomain,
     .attributes = kLabelEncoderAttributes,
     .infer = infer_labels,
     .reference = label_encoder_reference,
     .gives_rows = rows_of_first_input},
    {.name = "LinearClassifier",
     .domain = kMlDomain,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kLinearClassifierAttributes,
     .infer = infer_linear_model,
     .reference = linear_model_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "LinearRegressor",
     .domain = kMlDomain,
     .attributes = kLinearRegressorAttributes,
     .infer = infer_linear_model,
     .reference = linear_model_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "SVMClassifier",
     .domain = kMlDomain,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kSVMClassifierAttributes,
     .infer = infer_svm,
     .reference = svm_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "SVMRegressor",
     .domain = kMlDomain,
     .attributes = kSVMRegressorAttributes,
     .infer = infer_svm,
     .reference = svm_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "Normalizer",
     .domain = kMlDomain,
     .attributes = kNormalizerAttributes,
     .infer = infer_normalizer,
     .reference = normalizer_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "OneHotEncoder",
     .domain = kMlDomain,
     .attributes = kOneHotEncoderAttributes,
     .infer = infer_one_hot_encoder,
     .reference = one_hot_encoder_reference,
     .gives_rows = rows_of_first_input},
    {.name = "Scaler",
     .domain = kMlDomain,
     .attributes = kScalerAttributes,
     .infer = infer_scaler,
     .reference = scaler_reference,
     .gives_rows = gives_rows_of_matrix},
    {.name = "TreeEnsemble",
     .domain = kMlDomain,
     .attributes = kTreeEnsembleAttributes,
     .infer = infer_tree_ensemble,
     .reference = tree_ensemble_reference,
     .cost = tree_ensemble_cost,
     .gives_rows = gives_rows_of_matrix},
    {.name = "TreeEnsembleClassifier",
     .domain = kMlDomain,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kTreeEnsembleClassifierAttributes,
     .infer = infer_tree_ensemble,
     .reference = tree_ensemble_reference,
     .cost = tree_ensemble_cost,
     .gives_rows = gives_rows_of_matrix},
    {.name = "TreeEnsembleRegressor",
     .domain = kMlDomain,
     .attributes = kTreeEnsembleRegressorAttributes,
     .infer = infer_tree_ensemble,
     .reference = tree_ensemble_reference,
     .cost = tree_ensemble_cost,
     .gives_rows = gives_rows_of_matrix},
};

}  // namespace

std::span<const OpDef> ml_ops() {
    return kMlOps;
}

}  // namespace leat
