// LabelEncoder, CategoryMapper and the tree ensembles: tables and trees are built once for a node.
// The other operators run the plain loops.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/ml/label_encoder.h"
#include "ops/ml/tree_ensemble.h"

namespace leat {
namespace {

class LabelKernel final : public cpu::CpuKernel {
  public:
    LabelKernel(LabelMap map, int64_t elements) : map_(std::move(map)), elements_(elements) {
        kernel_name = "label_table";
        names_node = true;  // the table has views of the node's attributes
        tile_count = std::max<int64_t>(elements / kElementsPerTile, 1);
    }

    Status run(const cpu::KernelArgs& args, int64_t begin, int64_t end) const override {
        map_.map(args.inputs[0], args.outputs[0], part_begin(elements_, tile_count, begin),
                 part_begin(elements_, tile_count, end));
        return {};
    }

  private:
    static constexpr int64_t kElementsPerTile = 1024;
    LabelMap map_;
    int64_t elements_;
};

class ForestKernel final : public cpu::CpuKernel {
  public:
    ForestKernel(TreeForest forest, const NodeData& node, const Shape& x)
        : forest_(std::move(forest)), node_(node), rows_(x.rank() == 2 ? x[0] : 1) {
        kernel_name = "tree_walk";
        names_node = true;
        const int64_t trees = std::max<int64_t>(int64_t(forest_.roots.size()), 1);
        const int64_t rows_per_tile = std::max<int64_t>(kWalksPerTile / trees, 1);
        tile_count = std::max<int64_t>(rows_ / rows_per_tile, 1);
        scratch_bytes = forest_.targets * int64_t{sizeof(double) + 1};
    }

    Status run(const cpu::KernelArgs& args, int64_t begin, int64_t end) const override {
        auto* const doubles = reinterpret_cast<double*>(args.scratch);
        run_forest(forest_, node_, args.inputs, args.outputs, part_begin(rows_, tile_count, begin),
                   part_begin(rows_, tile_count, end), doubles,
                   reinterpret_cast<uint8_t*>(doubles + forest_.targets));
        return {};
    }

  private:
    static constexpr int64_t kWalksPerTile = 256;
    TreeForest forest_;
    const NodeData& node_;
    int64_t rows_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_label_encoder(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    LEAT_ASSIGN_OR_RETURN(LabelMap map, LabelMap::make(context.node, x.dtype));
    return std::unique_ptr<cpu::CpuKernel>(
        new LabelKernel(std::move(map), x.shape.element_count()));
}

Result<std::unique_ptr<cpu::CpuKernel>> make_tree_ensemble(cpu::PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(TreeForest forest, tree_forest(context.node));
    LEAT_RETURN_IF_ERROR(check_features(forest, context.inputs[0].shape));
    return std::unique_ptr<cpu::CpuKernel>(
        new ForestKernel(std::move(forest), context.node, context.inputs[0].shape));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> ml_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 5> kEntries{{
        {"LabelEncoder", make_label_encoder},
        {"CategoryMapper", make_label_encoder},
        {"TreeEnsemble", make_tree_ensemble},
        {"TreeEnsembleClassifier", make_tree_ensemble},
        {"TreeEnsembleRegressor", make_tree_ensemble},
    }};
    return kEntries;
}

}  // namespace leat
