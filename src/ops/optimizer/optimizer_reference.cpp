#include <array>
#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/optimizer/optimizer.h"

namespace leat {
namespace {

constexpr size_t kMostGroups = 4;
using OptimizerValues = std::array<double, kMostGroups>;

void store_optimized(const ReferenceArgs& args, size_t output, int64_t i, double value) {
    if (const TensorArg* to = find_arg(args.outputs, int(output)); to != nullptr) {
        store_real(to->dtype, to->data, i, value);
    }
}

// step(values): of each element of each tensor, from those of the groups X, G, .. to those of the
// groups of results.
template <class Step>
Status for_each_optimized(const ReferenceArgs& args, size_t groups, Step step) {
    const size_t tensors = (args.inputs.size() - 2) / groups;
    for (size_t t = 0; t < tensors; ++t) {
        const int64_t count = args.inputs[2 + t].shape.element_count();
        for (int64_t i = 0; i < count; ++i) {
            OptimizerValues values{};
            for (size_t group = 0; group < groups; ++group) {
                const TensorArg& from = args.inputs[2 + group * tensors + t];
                values[group] = load_real(from.dtype, from.data, i);
            }
            const OptimizerValues results = step(values);
            for (size_t group = 0; group + 1 < groups; ++group) {
                store_optimized(args, group * tensors + t, i, results[group]);
            }
        }
    }
    return {};
}

double optimizer_rate(const ReferenceArgs& args) {
    return load_real(args.inputs[0].dtype, args.inputs[0].data, 0);
}

int64_t optimizer_count(const ReferenceArgs& args) {
    return load_integer(args.inputs[1].dtype, args.inputs[1].data, 0);
}

}  // namespace

Status adagrad_reference(const ReferenceArgs& args) {
    const double norm = args.node.attr("norm_coefficient", 0.0F);
    const double epsilon = args.node.attr("epsilon", 1e-6F);
    const double decay = args.node.attr("decay_factor", 0.0F);
    const double rate = optimizer_rate(args) / (1 + double(optimizer_count(args)) * decay);
    return for_each_optimized(args, 3, [&](const OptimizerValues& values) {
        const auto [x, gradient, squares, unused] = values;
        const double g = norm * x + gradient;
        const double sum = squares + g * g;
        return OptimizerValues{x - rate * g / (std::sqrt(sum) + epsilon), sum};
    });
}

Status adam_reference(const ReferenceArgs& args) {
    const double norm = args.node.attr("norm_coefficient", 0.0F);
    const double norm_post = args.node.attr("norm_coefficient_post", 0.0F);
    const double epsilon = args.node.attr("epsilon", 1e-6F);
    const double alpha = args.node.attr("alpha", 0.9F);
    const double beta = args.node.attr("beta", 0.999F);
    const auto count = double(optimizer_count(args));
    double rate = optimizer_rate(args);
    if (count > 0) {
        rate *= std::sqrt(1 - std::pow(beta, count)) / (1 - std::pow(alpha, count));
    }
    return for_each_optimized(args, 4, [&](const OptimizerValues& values) {
        const auto [x, gradient, momentum, squares] = values;
        const double g = norm * x + gradient;
        const double v = alpha * momentum + (1 - alpha) * g;
        const double h = beta * squares + (1 - beta) * g * g;
        const double next = x - rate * v / (std::sqrt(h) + epsilon);
        return OptimizerValues{(1 - norm_post) * next, v, h};
    });
}

Status momentum_reference(const ReferenceArgs& args) {
    const double norm = args.node.attr("norm_coefficient", 0.0F);
    const double alpha = args.node.attr("alpha", 0.0F);
    const double beta = optimizer_count(args) > 0 ? double(args.node.attr("beta", 0.0F)) : 1;
    const bool is_nesterov = args.node.attr("mode", "") == "nesterov";
    const double rate = optimizer_rate(args);
    return for_each_optimized(args, 3, [&](const OptimizerValues& values) {
        const auto [x, gradient, momentum, unused] = values;
        const double g = norm * x + gradient;
        const double v = alpha * momentum + beta * g;
        return OptimizerValues{x - rate * (is_nesterov ? g + alpha * v : v), v};
    });
}

}  // namespace leat
