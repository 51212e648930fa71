// TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier: trees that compare a feature at
// each node, and add up what their leaves say.
//
//   x : [N, F] or [F]; f32, f64, f16 (TreeEnsemble), f32, f64, i64, i32 (the others).
//   y : TreeEnsemble: as x, [N, n_targets]; Regressor: f32 [N, n_targets]; Classifier: labels [N],
//       i64 or string, and scores, f32 [N, classes].
//   A node compares x[n, feature] with its value by <=, <, >=, >, ==, != or, in TreeEnsemble, by
//       being one of its members; a NaN goes where nodes_missing_value_tracks_true says, else where
//       the comparison leads that is false, but for !=.
//   aggregate_function : AVERAGE over the trees, SUM, MIN or MAX of the leaves' weights of a
//       target; base_values are added then. A target of no leaf has 0.
//   post_transform : scores.h.
// The classifier's scores: sums and base values of the classes; the label is that of the largest,
// the first of equal ones, without classes that have neither votes nor base values. Where there are
// two classes, votes for one alone and at most one base value, that sum s decides: the label is the
// second one's if s > 0.5, or if s > 0 where a weight is negative. With votes for the first class
// the scores are 1 - s and s, or -s and s, and for LOGISTIC those of -s and s. So it is in ONNX
// Runtime; the standard leaves it open. Where votes are for both, ONNX Runtime gives no labels of
// the attribute, and leat the class of the larger score.
// Comparisons are of f64, sums are kept in f64. Roots of the older operators: the nodes of a tree
// that are nobody's branch. Features are checked against F, and trees must not run in circles.
// ONNX TreeEnsemble-5, TreeEnsembleRegressor-3, TreeEnsembleClassifier-3, of domain ai.onnx.ml.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "ops/ml/scores.h"

namespace leat {

enum class TreeMode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };
enum class TreeAggregate : uint8_t { kAverage, kSum, kMin, kMax };

struct TreeNode {
    TreeMode mode = TreeMode::kLeaf;
    bool nan_is_true = false;
    int64_t feature = 0;
    double value = 0;
    int32_t if_true = 0;   // leaves: the first of its votes
    int32_t if_false = 0;  // leaves: behind the last one
    int32_t members_begin = 0;
    int32_t members_end = 0;
};

struct TreeVote {
    int64_t target = 0;
    double weight = 0;
};

// What the attributes of any of the operators say. Safe to use concurrently.
struct TreeForest {
    std::vector<TreeNode> nodes;
    std::vector<TreeVote> votes;
    std::vector<double> members;  // of each node ascending
    std::vector<int32_t> roots;
    std::vector<double> base_values;  // by target, or one for all, or none
    TreeAggregate aggregate = TreeAggregate::kSum;
    PostTransform post = PostTransform::kNone;
    int64_t targets = 0;
    int64_t features = 0;        // one more than the largest that a node reads
    bool votes_for_one = false;  // all votes are of one target
    bool is_negative = false;    // of a weight below 0

    // Adds what the trees say of row `row` of x to sums: `targets` elements, zeros before.
    // is_voted: as many bytes, zeros before: 1 where a leaf voted.
    void sum_row(const TensorArg& x, int64_t row, double* sums, uint8_t* is_voted) const;
    // The base value of a target.
    double base(int64_t target) const;

  private:
    const TreeNode& leaf_of(const TensorArg& x, int64_t first, const TreeNode& root) const;
};

// The attributes of a node of any of the operators, checked.
Result<TreeForest> tree_forest(const NodeData& node);
// Targets, or classes: without the trees.
Result<int64_t> tree_targets(const NodeData& node);

// Rows [begin, end) of what a forest makes of x. Nothing is allocated: doubles are room for
// `targets` doubles, bytes for as many bytes.
void run_forest(const TreeForest& forest,
                const NodeData& node,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs,
                int64_t begin,
                int64_t end,
                double* doubles,
                uint8_t* bytes);
// Error unless rows of x have the features that the trees read.
Status check_features(const TreeForest& forest, const Shape& x);

Status tree_ensemble_reference(const ReferenceArgs& args);

}  // namespace leat
