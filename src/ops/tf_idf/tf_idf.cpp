#include "ops/tf_idf/tf_idf.h"

#include <algorithm>
#include <limits>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kTfIdfInts = dtype_set(DType::kInt32, DType::kInt64);

Result<TfIdfMode> tf_idf_mode(const NodeData& node) {
    const std::string mode = node.attr("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF") {
        return invalid_argument("attribute mode has no such value")
            .with_found("'" + mode + "'")
            .with_needed("TF, IDF or TFIDF");
    }
    return mode == "TF" ? TfIdfMode::kTf : mode == "IDF" ? TfIdfMode::kIdf : TfIdfMode::kTfIdf;
}

Status check_lengths(const NodeData& node, TfIdfForm& form) {
    form.least_length = node.attr("min_gram_length", int64_t{0});
    form.most_length = node.attr("max_gram_length", int64_t{0});
    const int64_t skips = node.attr("max_skip_count", int64_t{-1});
    if (form.least_length < 1 || form.most_length < form.least_length ||
        form.most_length > int64_t(form.first.size())) {
        return invalid_argument("attributes min_gram_length and max_gram_length are no range")
            .with_found(fmt::format("{} to {}", form.least_length, form.most_length))
            .with_needed(
                fmt::format("lengths of 1 to {}, as ngram_counts has them", form.first.size()));
    }
    if (skips < 0) {
        return invalid_argument("attribute max_skip_count is negative")
            .with_found(std::to_string(skips));
    }
    form.most_apart = std::min(skips, std::numeric_limits<int64_t>::max() - 1) + 1;
    return {};
}

// Where the n-grams of each length begin, and that they are whole.
Status check_pool(const TfIdfForm& form) {
    int64_t grams = 0;
    for (size_t n = 1; n <= form.first.size(); ++n) {
        const int64_t begin = form.first[n - 1];
        const int64_t end = form.end(n);
        if (begin < 0 || end < begin || end > form.pool_size()) {
            return invalid_argument("attribute ngram_counts is wrong for the {}-grams", n)
                .with_found(fmt::format("places {} to {} of {}", begin, end, form.pool_size()))
                .with_needed("ascending places in the pool");
        }
        if ((end - begin) % int64_t(n) != 0) {
            return invalid_argument("the pool has a part of a {}-gram", n)
                .with_found(fmt::format("{} tokens", end - begin))
                .with_needed(fmt::format("a multiple of {}", n));
        }
        grams += (end - begin) / int64_t(n);
    }
    if (grams != int64_t(form.column.size())) {
        return invalid_argument("attribute ngram_indexes has a wrong number of elements")
            .with_found(std::to_string(form.column.size()))
            .with_needed(fmt::format("{}: one for each n-gram of the pool", grams));
    }
    return {};
}

Status check_columns(TfIdfForm& form) {
    // The pool's tokens and columns are numbered in 32 bits, and results are counted in 64.
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
    for (const int64_t column : form.column) {
        if (column < 0 || column >= kMost) {
            return invalid_argument("attribute ngram_indexes has an element that is no column")
                .with_found(std::to_string(column))
                .with_needed(fmt::format("0 to {}", kMost - 1));
        }
        form.columns = std::max(form.columns, column + 1);
    }
    if (form.columns == 0 || form.pool_size() >= kMost) {
        return invalid_argument("the pool has no n-grams, or too many")
            .with_found(fmt::format("{} tokens", form.pool_size()))
            .with_needed(fmt::format("1 to {}", kMost - 1));
    }
    if (!form.weights.empty() && form.weights.size() != form.column.size()) {
        return invalid_argument("attribute weights has a wrong number of elements")
            .with_found(std::to_string(form.weights.size()))
            .with_needed(fmt::format("{}: one for each n-gram of the pool", form.column.size()));
    }
    return {};
}

Status infer_tf_idf(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const TfIdfForm form, tf_idf_form(context.node()));
    const DTypeSet types = form.has_strings ? dtype_bit(DType::kString) : kTfIdfInts;
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, types, "X"));
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, DType::kFloat32, std::nullopt);
        return {};
    }
    if (x.rank() > 2) {
        return invalid_argument("the tokens have a wrong shape")
            .with_found(x.to_string())
            .with_needed("[C] or [N, C]");
    }
    Dims dims;
    if (x.rank() == 2) {
        dims.push_back((*x.dims)[0]);
    }
    dims.emplace_back(form.columns);
    context.set_output(0, DType::kFloat32, std::move(dims));
    return {};
}

Cost tf_idf_cost(const NodeData& node,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    const auto lengths = double(std::max(node.attr("max_gram_length", int64_t{1}), int64_t{1}));
    const auto skips = double(std::max(node.attr("max_skip_count", int64_t{0}), int64_t{0}));
    const Shape& x = inputs[0].shape;
    const double tokens = x.rank() == 0 ? 1 : double(x[x.rank() - 1]);
    const double apart = std::min(skips + 1, tokens);
    constexpr double kFlopsPerLookUp = 20;
    return {double(x.element_count()) * apart * lengths * kFlopsPerLookUp,
            moved_bytes(inputs, outputs)};
}

bool tf_idf_gives_rows(const ShardArgs& args) {
    return args.inputs[0].shape.rank() == 2 && rows_of_first_input(args);
}

constexpr AttributeSchema kTfIdfAttributes[] = {
    {.name = "max_gram_length", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "max_skip_count", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "min_gram_length", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "mode", .kind = AttributeKind::kString, .is_required = true},
    {.name = "ngram_counts", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "ngram_indexes", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "pool_int64s", .kind = AttributeKind::kInts},
    {.name = "pool_strings", .kind = AttributeKind::kStrings},
    {.name = "weights", .kind = AttributeKind::kFloats},
};

constexpr OpDef kTfIdfOps[] = {
    {.name = "TfIdfVectorizer",
     .attributes = kTfIdfAttributes,
     .infer = infer_tf_idf,
     .reference = tf_idf_reference,
     .cost = tf_idf_cost,
     .gives_rows = tf_idf_gives_rows},
};

}  // namespace

Result<TfIdfForm> tf_idf_form(const NodeData& node) {
    TfIdfForm form;
    LEAT_ASSIGN_OR_RETURN(form.mode, tf_idf_mode(node));
    if (const auto* first = node.ints("ngram_counts")) {
        form.first = *first;
    }
    if (const auto* column = node.ints("ngram_indexes")) {
        form.column = *column;
    }
    if (const auto* weights = node.floats("weights")) {
        form.weights = *weights;
    }
    const std::vector<int64_t>* const int64s = node.ints("pool_int64s");
    const std::vector<std::string>* const strings = node.strings("pool_strings");
    const bool has_ints = int64s != nullptr && !int64s->empty();
    form.has_strings = strings != nullptr && !strings->empty();
    if (has_ints == form.has_strings) {
        return invalid_argument("the node needs one of attributes pool_int64s and pool_strings")
            .with_found(has_ints ? "both" : "none, or an empty one");
    }
    if (has_ints) {
        form.int64s = *int64s;
    } else {
        form.strings = *strings;
    }
    LEAT_RETURN_IF_ERROR(check_lengths(node, form));
    LEAT_RETURN_IF_ERROR(check_pool(form));
    LEAT_RETURN_IF_ERROR(check_columns(form));
    return form;
}

std::span<const OpDef> tf_idf_ops() {
    return kTfIdfOps;
}

}  // namespace leat
