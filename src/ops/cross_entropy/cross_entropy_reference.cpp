#include <cmath>
#include <vector>

#include "base/error.h"
#include "ops/axis_split.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/element.h"
#include "ops/gather/gather.h"

namespace leat {
namespace {

template <class T>
class LossLoop {
  public:
    LossLoop(const ReferenceArgs& args, LossReduction reduction)
        : args_(args),
          reduction_(reduction),
          split_(AxisSplit::make(args.inputs[0].shape, 1)),
          weights_(find_arg(args.inputs, 2)),
          loss_(find_arg(args.outputs, 0)),
          has_softmax_(args.node.op_type == "SoftmaxCrossEntropyLoss"),
          has_ignored_(args.node.has_attr("ignore_index")),
          ignored_(args.node.attr("ignore_index", int64_t{0})),
          row_(static_cast<size_t>(has_softmax_ ? split_.extent : 0)) {}

    Status run() {
        for (int64_t outer = 0; outer < split_.outer; ++outer) {
            for (int64_t inner = 0; inner < split_.inner; ++inner) {
                LEAT_RETURN_IF_ERROR(add_line(outer, inner));
            }
        }
        if (loss_ != nullptr && reduction_ != LossReduction::kNone) {
            const bool is_mean = reduction_ == LossReduction::kMean;
            loss_->as<T>()[0] = narrow<T>(is_mean ? sum_ / weight_sum_ : sum_);
        }
        return {};
    }

  private:
    // The logarithm of the softmax of one line, in row_.
    void find_log_softmax(const T* line) {
        double largest = -std::numeric_limits<double>::infinity();
        for (size_t c = 0; c < row_.size(); ++c) {
            row_[c] = widen(line[int64_t(c) * split_.inner]);
            largest = exceeds(row_[c], largest) ? row_[c] : largest;
        }
        double sum = 0;
        for (double& value : row_) {
            value -= largest;
            sum += std::exp(value);
        }
        const double log_sum = std::log(sum);
        for (double& value : row_) {
            value -= log_sum;
        }
    }

    Status add_line(int64_t outer, int64_t inner) {
        const int64_t base = outer * split_.extent * split_.inner + inner;
        const T* const line = args_.inputs[0].as<const T>() + base;
        if (has_softmax_) {
            find_log_softmax(line);
            if (const TensorArg* const log_prob = find_arg(args_.outputs, 1)) {
                T* const to = log_prob->as<T>() + base;
                for (size_t c = 0; c < row_.size(); ++c) {
                    to[int64_t(c) * split_.inner] = narrow<T>(row_[c]);
                }
            }
        }
        const int64_t at = outer * split_.inner + inner;
        const int64_t label = index_at(args_.inputs[1], at);
        double loss = 0;
        if (!has_ignored_ || label != ignored_) {
            if (label < 0 || label >= split_.extent) {
                return invalid_argument("label {} is no class", at)
                    .with_node(args_.node.label())
                    .with_found(fmt::format("{}", label))
                    .with_needed(fmt::format("a label in [0, {})", split_.extent));
            }
            const double weight = weights_ == nullptr ? 1 : widen(weights_->as<const T>()[label]);
            const double p = has_softmax_ ? row_[size_t(label)] : widen(line[label * split_.inner]);
            loss = -p * weight;
            weight_sum_ += weight;
        }
        sum_ += loss;
        if (loss_ != nullptr && reduction_ == LossReduction::kNone) {
            loss_->as<T>()[at] = narrow<T>(loss);
        }
        return {};
    }

    const ReferenceArgs& args_;
    LossReduction reduction_;
    AxisSplit split_;
    const TensorArg* weights_;
    const TensorArg* loss_;
    bool has_softmax_;
    bool has_ignored_;
    int64_t ignored_;
    std::vector<double> row_;
    double sum_ = 0;
    double weight_sum_ = 0;
};

}  // namespace

Status cross_entropy_reference(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const LossReduction reduction, loss_reduction(args.node));
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return LossLoop<typename decltype(element)::type>(args, reduction).run();
    });
}

}  // namespace leat
