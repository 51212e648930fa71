#include "ops/ml/tree_ensemble.h"

#include <algorithm>

#include "base/out_of_memory.h"
#include "ops/elementwise/element_access.h"
#include "ops/ml/ml.h"

namespace leat {
namespace {

bool leads_to_true(const TreeForest& forest, const TreeNode& node, double x) {
    if (node.nan_is_true && x != x) {
        return true;
    }
    switch (node.mode) {
        case TreeMode::kLeq:
            return x <= node.value;
        case TreeMode::kLt:
            return x < node.value;
        case TreeMode::kGte:
            return x >= node.value;
        case TreeMode::kGt:
            return x > node.value;
        case TreeMode::kEq:
            return x == node.value;
        case TreeMode::kNeq:
            return x != node.value;
        default:
            return x == x && std::binary_search(forest.members.begin() + node.members_begin,
                                                forest.members.begin() + node.members_end, x);
    }
}

void store_label(const NodeData& node, const TensorArg& y, int64_t row, int64_t label) {
    if (y.dtype == DType::kString) {
        y.as<std::string>()[row] = (*node.strings("classlabels_strings"))[size_t(label)];
    } else {
        y.as<int64_t>()[row] = (*node.ints("classlabels_int64s"))[size_t(label)];
    }
}

// The place of the label. The scores become those of the result.
int64_t classify(const TreeForest& forest, double* scores, const uint8_t* is_voted) {
    const bool has_bases = !forest.base_values.empty();
    const bool is_binary =
        forest.targets == 2 && forest.votes_for_one && forest.base_values.size() < 2;
    if (!is_binary) {
        int64_t best = -1;
        int64_t first_of_all = 0;
        for (int64_t c = 0; c < forest.targets; ++c) {
            scores[c] += forest.base(c);
            const bool counts = has_bases || is_voted[c] != 0;
            best = counts && (best < 0 || scores[c] > scores[best]) ? c : best;
            first_of_all = scores[c] > scores[first_of_all] ? c : first_of_all;
        }
        transform_scores(forest.post, scores, forest.targets);
        return best < 0 ? first_of_all : best;
    }
    const int64_t target = forest.votes[0].target;
    const double score = scores[target] + forest.base(target);
    const int64_t label = score > (forest.is_negative ? 0 : 0.5) ? 1 : 0;
    scores[1] = score;
    if (target == 1) {
        scores[0] = 0;
        transform_scores(forest.post, scores, 2);
        return label;
    }
    const bool is_logistic = forest.post == PostTransform::kLogistic;
    scores[0] = forest.is_negative || is_logistic ? -score : 1 - score;
    if (is_logistic || forest.post == PostTransform::kProbit) {
        transform_scores(forest.post, scores, 2);
    }
    return label;
}

void finish_targets(const TreeForest& forest, double* sums) {
    const bool is_average = forest.aggregate == TreeAggregate::kAverage && !forest.roots.empty();
    for (int64_t t = 0; t < forest.targets; ++t) {
        sums[t] = (is_average ? sums[t] / double(forest.roots.size()) : sums[t]) + forest.base(t);
    }
    transform_scores(forest.post, sums, forest.targets);
}

Status run_tree_ensemble(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const TreeForest forest, tree_forest(args.node));
    const Shape& x = args.inputs[0].shape;
    LEAT_RETURN_IF_ERROR(check_features(forest, x));
    const int64_t rows = x.rank() == 1 ? 1 : x[0];
    if (rows == 0) {
        return {};
    }
    auto doubles = std::vector<double>(size_t(forest.targets));
    auto bytes = std::vector<uint8_t>(size_t(forest.targets));
    run_forest(forest, args.node, args.inputs, args.outputs, 0, rows, doubles.data(), bytes.data());
    return {};
}

}  // namespace

double TreeForest::base(int64_t target) const {
    return base_values.empty()       ? 0
           : base_values.size() == 1 ? base_values[0]
                                     : base_values[size_t(target)];
}

const TreeNode& TreeForest::leaf_of(const TensorArg& x, int64_t first, const TreeNode& root) const {
    const TreeNode* node = &root;
    while (node->mode != TreeMode::kLeaf) {
        const bool is_true = leads_to_true(*this, *node, load_ml(x, first + node->feature));
        node = &nodes[size_t(is_true ? node->if_true : node->if_false)];
    }
    return *node;
}

void TreeForest::sum_row(const TensorArg& x, int64_t row, double* sums, uint8_t* is_voted) const {
    const int64_t first = row * last_extent(x.shape);
    for (const int32_t root : roots) {
        const TreeNode& leaf = leaf_of(x, first, nodes[size_t(root)]);
        for (int32_t v = leaf.if_true; v < leaf.if_false; ++v) {
            const TreeVote& vote = votes[size_t(v)];
            double& sum = sums[vote.target];
            const bool is_first = is_voted[vote.target] == 0;
            is_voted[vote.target] = 1;
            if (aggregate == TreeAggregate::kMin || aggregate == TreeAggregate::kMax) {
                const bool is_better =
                    aggregate == TreeAggregate::kMin ? vote.weight < sum : vote.weight > sum;
                sum = is_first || is_better ? vote.weight : sum;
            } else {
                sum += vote.weight;
            }
        }
    }
}

Status check_features(const TreeForest& forest, const Shape& x) {
    if (x.element_count() > 0 && last_extent(x) < forest.features) {
        return invalid_argument("the rows of X have too few features")
            .with_found(std::to_string(last_extent(x)))
            .with_needed(fmt::format("{}, as the trees read", forest.features));
    }
    if (x.element_count() == 0 && forest.features > 0 && (x.rank() == 1 || x[0] > 0)) {
        return invalid_argument("the rows of X have no features")
            .with_needed(fmt::format("{}, as the trees read", forest.features));
    }
    return {};
}

void run_forest(const TreeForest& forest,
                const NodeData& node,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs,
                int64_t begin,
                int64_t end,
                double* doubles,
                uint8_t* bytes) {
    const bool is_classifier = node.op_type == "TreeEnsembleClassifier";
    const TensorArg* const scores = find_arg(outputs, is_classifier ? 1 : 0);
    for (int64_t row = begin; row < end; ++row) {
        std::fill_n(doubles, forest.targets, 0.0);
        std::fill_n(bytes, forest.targets, uint8_t{0});
        forest.sum_row(inputs[0], row, doubles, bytes);
        if (!is_classifier) {
            finish_targets(forest, doubles);
        } else {
            const int64_t label = classify(forest, doubles, bytes);
            if (outputs[0].present()) {
                store_label(node, outputs[0], row, label);
            }
        }
        for (int64_t t = 0; scores != nullptr && t < forest.targets; ++t) {
            store_real(scores->dtype, scores->data, row * forest.targets + t, doubles[t]);
        }
    }
}

Status tree_ensemble_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run trees", [&] { return run_tree_ensemble(args); });
}

}  // namespace leat
