#include "memory/plan_orders.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace leat {
namespace {

// Largest key first; ties keep the order of first steps.
template <class Key>
std::vector<int32_t> sorted_by(const PlanProblem& problem, Key key) {
    std::vector<int32_t> order(size_t(problem.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return key(a) > key(b); });
    return order;
}

// For each item the most bytes that it meets at the first step of an item, itself included.
std::vector<int64_t> most_met(const PlanProblem& problem) {
    std::vector<int64_t> at_begin(size_t(problem.size()));
    const auto is_alive_at = [&](int32_t item, int32_t step) {
        return problem.item(item).begin_step <= step && step < problem.item(item).end_step;
    };
    for (int32_t item = 0; item < problem.size(); ++item) {
        int64_t bytes = problem.item(item).size_bytes;
        for (const int32_t other : problem.conflicts(item)) {
            bytes += is_alive_at(other, problem.item(item).begin_step)
                         ? problem.item(other).size_bytes
                         : 0;
        }
        at_begin[size_t(item)] = bytes;
    }
    std::vector<int64_t> most = at_begin;
    for (int32_t item = 0; item < problem.size(); ++item) {
        for (const int32_t other : problem.conflicts(item)) {
            if (is_alive_at(item, problem.item(other).begin_step)) {
                most[size_t(item)] = std::max(most[size_t(item)], at_begin[size_t(other)]);
            }
        }
    }
    return most;
}

// Of an item with all it conflicts with.
std::vector<int64_t> conflict_bytes(const PlanProblem& problem) {
    std::vector<int64_t> sums(size_t(problem.size()));
    for (int32_t item = 0; item < problem.size(); ++item) {
        sums[size_t(item)] = problem.item(item).size_bytes;
        for (const int32_t other : problem.conflicts(item)) {
            sums[size_t(item)] += problem.item(other).size_bytes;
        }
    }
    return sums;
}

}  // namespace

// By size: TensorFlow Lite, XLA (spatial), ExecuTorch. By duration: XLA (temporal). By breadth,
// here what is met at most: Pisarchyk & Lee, arXiv:2001.03288. By first step: ggml, ONNX Runtime,
// IREE.
std::vector<NamedOrder> greedy_orders(const PlanProblem& problem) {
    const auto size = [&](int32_t i) { return problem.item(i).size_bytes; };
    const auto duration = [&](int32_t i) {
        return int64_t(problem.item(i).end_step) - problem.item(i).begin_step;
    };
    const std::vector<int64_t> met = most_met(problem);
    const std::vector<int64_t> conflicting = conflict_bytes(problem);
    return {
        {"size", sorted_by(problem, size)},
        {"breadth then size",
         sorted_by(problem, [&](int32_t i) { return std::pair(met[size_t(i)], size(i)); })},
        {"size then duration",
         sorted_by(problem, [&](int32_t i) { return std::pair(size(i), duration(i)); })},
        {"area",
         sorted_by(problem, [&](int32_t i) { return double(size(i)) * double(duration(i)); })},
        {"duration then size",
         sorted_by(problem, [&](int32_t i) { return std::pair(duration(i), size(i)); })},
        {"conflicting bytes",
         sorted_by(problem, [&](int32_t i) { return conflicting[size_t(i)]; })},
        {"first step", sorted_by(problem, [](int32_t) { return 0; })},
        {"last step", sorted_by(problem, [&](int32_t i) { return problem.item(i).end_step; })},
    };
}

}  // namespace leat
