#include <algorithm>
#include <map>
#include <utility>

#include "base/out_of_memory.h"
#include "ops/elementwise/element_access.h"
#include "ops/ml/tree_ensemble.h"

namespace leat {
namespace {

constexpr size_t kMostTreeNodes = size_t{1} << 29;
constexpr DTypeSet kTreeReals =
    dtype_set(DType::kFloat16, DType::kFloat32, DType::kFloat64, DType::kUint8);

// The numbers of an attribute: floats, or a tensor called `key` or `key`_as_tensor. Empty: there
// are none.
Result<std::vector<double>> reals_of(const NodeData& node, const std::string& key) {
    if (const auto* floats = node.floats(key)) {
        return std::vector<double>(floats->begin(), floats->end());
    }
    const Tensor* given = node.tensor(key);
    given = given != nullptr ? given : node.tensor(key + "_as_tensor");
    std::vector<double> reals;
    if (given == nullptr) {
        return reals;
    }
    if (!contains(kTreeReals, given->dtype())) {
        return invalid_argument("attribute {} has an element type that is not supported", key)
            .with_found(std::string(name_of(given->dtype())));
    }
    LEAT_ASSIGN_OR_RETURN(const Tensor tensor, aligned(*given));
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
        reals.push_back(load_real(tensor.dtype(), tensor.bytes(), i));
    }
    return reals;
}

std::span<const int64_t> ints_of(const NodeData& node, const std::string& key) {
    const std::vector<int64_t>* const given = node.ints(key);
    return given == nullptr ? std::span<const int64_t>() : std::span<const int64_t>(*given);
}

Status check_length(const char* key, size_t found, size_t needed) {
    if (found != needed) {
        return invalid_argument("attribute {} has a wrong number of elements", key)
            .with_found(std::to_string(found))
            .with_needed(std::to_string(needed));
    }
    return {};
}

// Error unless `index` is in [0, count).
Status check_tree_index(const char* key, int64_t index, int64_t count) {
    if (index < 0 || index >= count) {
        return invalid_argument("attribute {} has an element out of range", key)
            .with_found(std::to_string(index))
            .with_needed(fmt::format("0 to {}", count - 1));
    }
    return {};
}

// What all three operators have.
class ForestReader {
  public:
    explicit ForestReader(const NodeData& node) : node_(node) {}
    Result<TreeForest> read();

  private:
    Status read_nodes_of_version_5();
    Status read_branches_of_version_5();
    Status read_leaves_of_version_5();
    Status read_members();
    Status read_older_nodes();
    Status read_older_votes();
    Status find_branches();
    Status find_roots();
    Status check_branches() const;
    void describe_votes();

    bool is_version_5() const { return node_.op_type == "TreeEnsemble"; }
    bool is_classifier() const { return node_.op_type == "TreeEnsembleClassifier"; }
    int64_t node_count() const { return int64_t(forest_.nodes.size()); }

    const NodeData& node_;
    TreeForest forest_;
    std::map<std::pair<int64_t, int64_t>, int32_t> by_id_;  // of tree and node
    std::vector<int64_t> trees_;                            // by node
};

Result<TreeForest> ForestReader::read() {
    LEAT_ASSIGN_OR_RETURN(forest_.targets, tree_targets(node_));
    LEAT_ASSIGN_OR_RETURN(forest_.base_values, reals_of(node_, "base_values"));
    if (is_version_5()) {
        LEAT_RETURN_IF_ERROR(read_nodes_of_version_5());
        LEAT_RETURN_IF_ERROR(read_leaves_of_version_5());
        LEAT_RETURN_IF_ERROR(read_branches_of_version_5());
        LEAT_RETURN_IF_ERROR(read_members());
    } else {
        LEAT_RETURN_IF_ERROR(read_older_nodes());
        LEAT_RETURN_IF_ERROR(find_branches());
        LEAT_RETURN_IF_ERROR(read_older_votes());
        LEAT_RETURN_IF_ERROR(find_roots());
    }
    LEAT_RETURN_IF_ERROR(check_branches());
    const size_t bases = forest_.base_values.size();
    if (bases > 1 && int64_t(bases) != forest_.targets) {
        return check_length("base_values", bases, size_t(forest_.targets));
    }
    for (const TreeNode& node : forest_.nodes) {
        if (node.mode != TreeMode::kLeaf) {
            forest_.features = std::max(forest_.features, node.feature + 1);
        }
    }
    describe_votes();
    return std::move(forest_);
}

Status ForestReader::read_nodes_of_version_5() {
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> modes, reals_of(node_, "nodes_modes"));
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> splits, reals_of(node_, "nodes_splits"));
    const auto features = ints_of(node_, "nodes_featureids");
    const auto missing = ints_of(node_, "nodes_missing_value_tracks_true");
    LEAT_RETURN_IF_ERROR(check_length("nodes_splits", splits.size(), modes.size()));
    LEAT_RETURN_IF_ERROR(check_length("nodes_featureids", features.size(), modes.size()));
    if (!missing.empty()) {
        LEAT_RETURN_IF_ERROR(
            check_length("nodes_missing_value_tracks_true", missing.size(), modes.size()));
    }
    if (modes.size() >= kMostTreeNodes) {
        return unsupported("a tree ensemble of {} nodes", modes.size());
    }
    constexpr int64_t kMostFeatures = int64_t{1} << 40;
    for (size_t i = 0; i < modes.size(); ++i) {
        LEAT_RETURN_IF_ERROR(
            check_tree_index("nodes_modes", int64_t(modes[i]), int64_t(TreeMode::kLeaf)));
        LEAT_RETURN_IF_ERROR(check_tree_index("nodes_featureids", features[i], kMostFeatures));
        TreeNode node;
        node.mode = TreeMode(int(modes[i]));
        node.nan_is_true = !missing.empty() && missing[i] != 0;
        node.feature = features[i];
        node.value = splits[i];
        forest_.nodes.push_back(node);
    }
    return {};
}

// Leaves stand behind the nodes.
Status ForestReader::read_leaves_of_version_5() {
    const auto targets = ints_of(node_, "leaf_targetids");
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> weights, reals_of(node_, "leaf_weights"));
    LEAT_RETURN_IF_ERROR(check_length("leaf_weights", weights.size(), targets.size()));
    if (targets.size() >= kMostTreeNodes) {
        return unsupported("a tree ensemble of {} leaves", targets.size());
    }
    for (size_t i = 0; i < targets.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_tree_index("leaf_targetids", targets[i], forest_.targets));
        forest_.votes.push_back({targets[i], weights[i]});
        TreeNode leaf;
        leaf.if_true = int32_t(i);
        leaf.if_false = int32_t(i) + 1;
        forest_.nodes.push_back(leaf);
    }
    return {};
}

Status ForestReader::read_branches_of_version_5() {
    const int64_t leaves = int64_t(forest_.votes.size());
    const int64_t inner = node_count() - leaves;
    const auto find = [&](const char* ids_key, const char* leafs_key,
                          int32_t TreeNode::*branch) -> Status {
        const auto ids = ints_of(node_, ids_key);
        const auto are_leaves = ints_of(node_, leafs_key);
        LEAT_RETURN_IF_ERROR(check_length(ids_key, ids.size(), size_t(inner)));
        LEAT_RETURN_IF_ERROR(check_length(leafs_key, are_leaves.size(), size_t(inner)));
        for (size_t i = 0; i < ids.size(); ++i) {
            const bool is_leaf = are_leaves[i] != 0;
            LEAT_RETURN_IF_ERROR(check_tree_index(ids_key, ids[i], is_leaf ? leaves : inner));
            forest_.nodes[i].*branch = int32_t(ids[i] + (is_leaf ? inner : 0));
        }
        return {};
    };
    LEAT_RETURN_IF_ERROR(find("nodes_truenodeids", "nodes_trueleafs", &TreeNode::if_true));
    LEAT_RETURN_IF_ERROR(find("nodes_falsenodeids", "nodes_falseleafs", &TreeNode::if_false));
    for (const int64_t root : ints_of(node_, "tree_roots")) {
        LEAT_RETURN_IF_ERROR(check_tree_index("tree_roots", root, inner));
        forest_.roots.push_back(int32_t(root));
    }
    const int64_t aggregate = node_.attr("aggregate_function", int64_t{1});
    const int64_t post = node_.attr("post_transform", int64_t{0});
    LEAT_RETURN_IF_ERROR(check_tree_index("aggregate_function", aggregate, 4));
    LEAT_RETURN_IF_ERROR(check_tree_index("post_transform", post, 5));
    forest_.aggregate = TreeAggregate(aggregate);
    forest_.post = PostTransform(post);
    return {};
}

// Sets in the order of their nodes, a NaN behind each.
Status ForestReader::read_members() {
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> given, reals_of(node_, "membership_values"));
    if (given.size() >= kMostTreeNodes) {
        return unsupported("a tree ensemble of {} members", given.size());
    }
    size_t at = 0;
    for (TreeNode& node : forest_.nodes) {
        if (node.mode != TreeMode::kMember) {
            continue;
        }
        node.members_begin = int32_t(forest_.members.size());
        for (; at < given.size() && given[at] == given[at]; ++at) {
            forest_.members.push_back(given[at]);
        }
        if (at++ >= given.size()) {
            return invalid_argument("attribute membership_values has too few sets")
                .with_needed("one for each node of mode BRANCH_MEMBER, with a NaN behind it");
        }
        node.members_end = int32_t(forest_.members.size());
        std::sort(forest_.members.begin() + node.members_begin, forest_.members.end());
    }
    if (at < given.size()) {
        return invalid_argument("attribute membership_values has more sets than there are nodes")
            .with_needed("one for each node of mode BRANCH_MEMBER, with a NaN behind it");
    }
    return {};
}

Result<TreeMode> tree_mode(const std::string& name) {
    static constexpr const char* kNames[] = {"BRANCH_LEQ",    "BRANCH_LT", "BRANCH_GTE",
                                             "BRANCH_GT",     "BRANCH_EQ", "BRANCH_NEQ",
                                             "BRANCH_MEMBER", "LEAF"};
    for (int i = 0; i < 8; ++i) {
        if (name == kNames[i] && TreeMode(i) != TreeMode::kMember) {
            return TreeMode(i);
        }
    }
    return invalid_argument("attribute nodes_modes has no such value").with_found("'" + name + "'");
}

Status ForestReader::read_older_nodes() {
    const auto trees = ints_of(node_, "nodes_treeids");
    const auto ids = ints_of(node_, "nodes_nodeids");
    const auto features = ints_of(node_, "nodes_featureids");
    const auto missing = ints_of(node_, "nodes_missing_value_tracks_true");
    const std::vector<std::string>* const modes = node_.strings("nodes_modes");
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> values, reals_of(node_, "nodes_values"));
    LEAT_RETURN_IF_ERROR(check_length("nodes_nodeids", ids.size(), trees.size()));
    LEAT_RETURN_IF_ERROR(check_length("nodes_featureids", features.size(), trees.size()));
    LEAT_RETURN_IF_ERROR(check_length("nodes_values", values.size(), trees.size()));
    LEAT_RETURN_IF_ERROR(
        check_length("nodes_modes", modes == nullptr ? 0 : modes->size(), trees.size()));
    if (!missing.empty()) {
        LEAT_RETURN_IF_ERROR(
            check_length("nodes_missing_value_tracks_true", missing.size(), trees.size()));
    }
    if (trees.size() >= kMostTreeNodes) {
        return unsupported("a tree ensemble of {} nodes", trees.size());
    }
    constexpr int64_t kMostFeatures = int64_t{1} << 40;
    for (size_t i = 0; i < trees.size(); ++i) {
        TreeNode node;
        LEAT_ASSIGN_OR_RETURN(node.mode, tree_mode((*modes)[i]));
        if (node.mode != TreeMode::kLeaf) {
            LEAT_RETURN_IF_ERROR(check_tree_index("nodes_featureids", features[i], kMostFeatures));
        }
        node.feature = features[i];
        node.value = values[i];
        node.nan_is_true = !missing.empty() && missing[i] != 0;
        if (!by_id_.emplace(std::pair(trees[i], ids[i]), int32_t(i)).second) {
            return invalid_argument("a node of a tree is there twice")
                .with_found(fmt::format("tree {}, node {}", trees[i], ids[i]));
        }
        forest_.nodes.push_back(node);
        trees_.push_back(trees[i]);
    }
    LEAT_ASSIGN_OR_RETURN(forest_.post, post_transform_of(node_));
    const std::string aggregate = node_.attr("aggregate_function", "SUM");
    static constexpr const char* kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const auto* const found = std::find(std::begin(kNames), std::end(kNames), aggregate);
    if (found == std::end(kNames)) {
        return invalid_argument("attribute aggregate_function has no such value")
            .with_found("'" + aggregate + "'")
            .with_needed("AVERAGE, SUM, MIN or MAX");
    }
    forest_.aggregate = TreeAggregate(found - std::begin(kNames));
    return {};
}

Status ForestReader::find_branches() {
    const auto find = [&](const char* key, int32_t TreeNode::*branch) -> Status {
        const auto ids = ints_of(node_, key);
        LEAT_RETURN_IF_ERROR(check_length(key, ids.size(), forest_.nodes.size()));
        for (size_t i = 0; i < ids.size(); ++i) {
            if (forest_.nodes[i].mode == TreeMode::kLeaf) {
                continue;
            }
            const auto found = by_id_.find({trees_[i], ids[i]});
            if (found == by_id_.end()) {
                return invalid_argument("attribute {} names a node that is not there", key)
                    .with_found(fmt::format("tree {}, node {}", trees_[i], ids[i]));
            }
            forest_.nodes[i].*branch = found->second;
        }
        return {};
    };
    LEAT_RETURN_IF_ERROR(find("nodes_truenodeids", &TreeNode::if_true));
    return find("nodes_falsenodeids", &TreeNode::if_false);
}

Status ForestReader::read_older_votes() {
    const std::string prefix = is_classifier() ? "class" : "target";
    const auto trees = ints_of(node_, prefix + "_treeids");
    const auto ids = ints_of(node_, prefix + "_nodeids");
    const auto targets = ints_of(node_, prefix + "_ids");
    LEAT_ASSIGN_OR_RETURN(const std::vector<double> weights, reals_of(node_, prefix + "_weights"));
    const char* const what = "class_* or target_*";
    LEAT_RETURN_IF_ERROR(check_length(what, ids.size(), trees.size()));
    LEAT_RETURN_IF_ERROR(check_length(what, targets.size(), trees.size()));
    LEAT_RETURN_IF_ERROR(check_length(what, weights.size(), trees.size()));
    if (trees.size() >= kMostTreeNodes) {
        return unsupported("a tree ensemble of {} votes", trees.size());
    }
    std::vector<std::pair<int32_t, size_t>> of_node;  // votes, by node
    for (size_t i = 0; i < trees.size(); ++i) {
        const auto found = by_id_.find({trees[i], ids[i]});
        if (found == by_id_.end()) {
            return invalid_argument("a vote is of a node that is not there")
                .with_found(fmt::format("tree {}, node {}", trees[i], ids[i]));
        }
        LEAT_RETURN_IF_ERROR(check_tree_index(what, targets[i], forest_.targets));
        if (forest_.nodes[size_t(found->second)].mode == TreeMode::kLeaf) {
            of_node.emplace_back(found->second, i);
        }
    }
    std::sort(of_node.begin(), of_node.end());
    for (const auto& [node, vote] : of_node) {
        TreeNode& leaf = forest_.nodes[size_t(node)];
        const auto at = int32_t(forest_.votes.size());
        leaf.if_true = leaf.if_false == 0 ? at : leaf.if_true;
        leaf.if_false = at + 1;
        forest_.votes.push_back({targets[vote], weights[vote]});
    }
    return {};
}

// Of each tree the first node that is nobody's branch.
Status ForestReader::find_roots() {
    std::vector<bool> is_branch(forest_.nodes.size());
    for (const TreeNode& node : forest_.nodes) {
        if (node.mode != TreeMode::kLeaf) {
            is_branch[size_t(node.if_true)] = true;
            is_branch[size_t(node.if_false)] = true;
        }
    }
    std::map<int64_t, bool> has_root;
    for (size_t i = 0; i < forest_.nodes.size(); ++i) {
        bool& has_one = has_root[trees_[i]];
        if (!has_one && !is_branch[i]) {
            has_one = true;
            forest_.roots.push_back(int32_t(i));
        }
    }
    for (const auto& [tree, has_one] : has_root) {
        if (!has_one) {
            return invalid_argument("tree {} has no root: its nodes stand in a circle", tree);
        }
    }
    return {};
}

// Whatever way is taken, it ends: nodes are taken away that nobody else leads to.
Status ForestReader::check_branches() const {
    std::vector<int32_t> ways(forest_.nodes.size());
    const auto for_branches = [&](const TreeNode& node, const auto& visit) {
        if (node.mode != TreeMode::kLeaf) {
            visit(size_t(node.if_true));
            visit(size_t(node.if_false));
        }
    };
    for (const TreeNode& node : forest_.nodes) {
        for_branches(node, [&](size_t branch) { ++ways[branch]; });
    }
    std::vector<size_t> free;
    for (size_t i = 0; i < ways.size(); ++i) {
        if (ways[i] == 0) {
            free.push_back(i);
        }
    }
    size_t taken = 0;
    for (; !free.empty(); ++taken) {
        const size_t next = free.back();
        free.pop_back();
        for_branches(forest_.nodes[next], [&](size_t branch) {
            if (--ways[branch] == 0) {
                free.push_back(branch);
            }
        });
    }
    if (taken < forest_.nodes.size()) {
        return invalid_argument("nodes of a tree stand in a circle")
            .with_found(
                fmt::format("{} of {} nodes", forest_.nodes.size() - taken, forest_.nodes.size()));
    }
    return {};
}

void ForestReader::describe_votes() {
    const auto& votes = forest_.votes;
    forest_.votes_for_one =
        !votes.empty() && std::all_of(votes.begin(), votes.end(), [&](const TreeVote& vote) {
            return vote.target == votes[0].target;
        });
    forest_.is_negative = std::any_of(votes.begin(), votes.end(),
                                      [](const TreeVote& vote) { return vote.weight < 0; });
}

}  // namespace

Result<int64_t> tree_targets(const NodeData& node) {
    constexpr int64_t kMostTargets = int64_t{1} << 27;
    int64_t targets = node.attr("n_targets", int64_t{0});
    if (node.op_type == "TreeEnsembleClassifier") {
        const auto* strings = node.strings("classlabels_strings");
        const auto* ints = node.ints("classlabels_int64s");
        const bool has_strings = strings != nullptr && !strings->empty();
        const bool has_ints = ints != nullptr && !ints->empty();
        if (has_strings == has_ints) {
            return invalid_argument(
                       "the node needs one of attributes classlabels_strings and "
                       "classlabels_int64s")
                .with_found(has_ints ? "both" : "none with elements");
        }
        targets = int64_t(has_strings ? strings->size() : ints->size());
    } else if (!node.has_attr("n_targets")) {
        const char* const key = node.op_type == "TreeEnsemble" ? "leaf_targetids" : "target_ids";
        for (const int64_t target : ints_of(node, key)) {
            targets = std::max(targets, std::min(target, kMostTargets) + 1);
        }
    }
    if (targets < 1 || targets > kMostTargets) {
        return invalid_argument("attribute n_targets is no number of targets")
            .with_found(std::to_string(targets))
            .with_needed(fmt::format("1 to {}", kMostTargets));
    }
    return targets;
}

Result<TreeForest> tree_forest(const NodeData& node) {
    return catch_bad_alloc("store trees", [&] { return ForestReader(node).read(); });
}

}  // namespace leat
