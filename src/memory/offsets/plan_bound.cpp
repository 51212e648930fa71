#include "memory/offsets/plan_bound.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>

#include "base/round_up.h"
#include "memory/order/antichain.h"

namespace leat {
namespace {

// Each round leaves out what is padded most. In practice one or two are enough; fewer than all only
// make the bound a few bytes weaker.
constexpr int kMaxPaddingRounds = 16;

struct RoundedSizes {
    std::vector<int64_t> rounded_bytes;
    std::vector<int64_t> padding_bytes;
};

int64_t least_alignment(const PlanProblem& problem) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int32_t number = 0; number < problem.size(); ++number) {
        const PlanItem& item = problem.item(number);
        least = item.has_bytes() ? std::min(least, item.alignment_bytes) : least;
    }
    return least == std::numeric_limits<int64_t>::max() ? 1 : least;
}

RoundedSizes rounded_sizes(const PlanProblem& problem) {
    const int64_t grain = least_alignment(problem);
    RoundedSizes sizes;
    sizes.rounded_bytes.reserve(size_t(problem.size()));
    sizes.padding_bytes.reserve(size_t(problem.size()));
    for (int32_t number = 0; number < problem.size(); ++number) {
        const int64_t bytes = problem.item(number).size_bytes;
        sizes.rounded_bytes.push_back(round_up(bytes, grain));
        sizes.padding_bytes.push_back(sizes.rounded_bytes.back() - bytes);
    }
    return sizes;
}

// Any two of the items conflict.
bool are_antichain(const PlanProblem& problem, std::span<const int32_t> items) {
    if (problem.is_interval()) {
        int32_t last_begin = 0;
        int32_t first_end = std::numeric_limits<int32_t>::max();
        for (const int32_t number : items) {
            last_begin = std::max(last_begin, problem.item(number).begin_step);
            first_end = std::min(first_end, problem.item(number).end_step);
        }
        return last_begin < first_end;
    }
    std::vector<uint64_t> bits((size_t(problem.size()) + 63) / 64, 0);
    for (const int32_t number : items) {
        bits[size_t(number) / 64] |= uint64_t{1} << (number % 64);
    }
    return std::all_of(items.begin(), items.end(), [&](int32_t number) {
        const std::span<const uint64_t> after = problem.after(number);
        uint64_t shared = 0;
        for (size_t word = 0; word < bits.size(); ++word) {
            shared |= bits[word] & after[word];
        }
        return shared == 0;
    });
}

}  // namespace

PlanBound peak_bound(const PlanProblem& problem) {
    const RoundedSizes sizes = rounded_sizes(problem);
    PlanBound bound;
    int32_t at = -1;
    int64_t alive = 0;
    const bool has_padding = std::any_of(sizes.padding_bytes.begin(), sizes.padding_bytes.end(),
                                         [](int64_t bytes) { return bytes > 0; });
    std::multiset<int64_t> paddings;  // of what is alive; empty where none has any
    auto next_end = problem.by_end().begin();
    for (int32_t number = 0; number < problem.size(); ++number) {
        for (; problem.item(*next_end).end_step <= problem.item(number).begin_step; ++next_end) {
            alive -= sizes.rounded_bytes[size_t(*next_end)];
            if (has_padding) {
                paddings.erase(paddings.find(sizes.padding_bytes[size_t(*next_end)]));
            }
        }
        alive += sizes.rounded_bytes[size_t(number)];
        int64_t most_padding = 0;
        if (has_padding) {
            paddings.insert(sizes.padding_bytes[size_t(number)]);
            most_padding = *paddings.rbegin();
        }
        if (alive - most_padding > bound.bytes) {
            bound.bytes = alive - most_padding;
            at = number;
        }
    }
    for (int32_t number = 0; number <= at; ++number) {
        if (problem.item(number).end_step > problem.item(at).begin_step) {
            bound.items.push_back(number);
        }
    }
    return bound;
}

PlanBound bound_of(const PlanProblem& problem, std::span<const int32_t> buffers) {
    std::vector<int32_t> items;
    std::vector<bool> is_in_bound(buffers.empty() ? 0 : size_t(buffers.back()) + 1, false);
    for (const int32_t buffer : buffers) {
        is_in_bound[size_t(buffer)] = true;
    }
    for (int32_t number = 0; number < problem.size(); ++number) {
        const auto index = size_t(problem.item(number).index);
        if (index < is_in_bound.size() && is_in_bound[index]) {
            items.push_back(number);
        }
    }
    return are_antichain(problem, items) ? bound_of_antichain(problem, items) : PlanBound();
}

PlanBound bound_of_antichain(const PlanProblem& problem, std::span<const int32_t> items) {
    const int64_t grain = least_alignment(problem);
    PlanBound bound{0, {items.begin(), items.end()}};
    int64_t padding = 0;
    for (const int32_t number : items) {
        const int64_t bytes = problem.item(number).size_bytes;
        bound.bytes += round_up(bytes, grain);
        padding = std::max(padding, round_up(bytes, grain) - bytes);
    }
    bound.bytes -= padding;
    return bound;
}

// The heaviest antichain is not always the best, as its padding counts. A better one has less
// padding than it, and weighs more than what is known: so leave out what is padded as much, again
// and again.
PlanBound antichain_bound(const PlanProblem& problem) {
    const RoundedSizes sizes = rounded_sizes(problem);
    std::vector<int64_t> weights = sizes.rounded_bytes;
    PlanBound bound;
    Antichains antichains(problem);
    for (int round = 0; round < kMaxPaddingRounds; ++round) {
        const std::vector<int32_t> heaviest = antichains.heaviest(weights);
        int64_t bytes = 0;
        int64_t padding = 0;
        for (const int32_t number : heaviest) {
            bytes += weights[size_t(number)];
            padding = std::max(padding, sizes.padding_bytes[size_t(number)]);
        }
        if (bytes <= bound.bytes) {
            break;
        }
        if (bytes - padding > bound.bytes) {
            bound = {bytes - padding, heaviest};
        }
        if (padding == 0) {
            break;
        }
        for (size_t number = 0; number < weights.size(); ++number) {
            weights[number] = sizes.padding_bytes[number] >= padding ? 0 : weights[number];
        }
    }
    return bound;
}

}  // namespace leat
