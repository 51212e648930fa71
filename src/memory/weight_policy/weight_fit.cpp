#include "memory/weight_policy/weight_fit.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace leat {
namespace {

constexpr int kNone = WeightAssignment::kNone;

// Big constants first: they fit the fewest places.
std::vector<int> uses_by_size(const WeightOptions& options) {
    std::vector<int> order(size_t(options.uses()));
    std::iota(order.begin(), order.end(), 0);
    // The last option is one copy, of all bytes.
    const auto bytes_of = [&](int use) { return options.at(use, options.count(use) - 1).bytes; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return bytes_of(a) > bytes_of(b); });
    return order;
}

// Options for which there is room, those that leave the most in their fullest domain first.
std::vector<int> options_by_room(const WeightOptions& options,
                                 const WeightAssignment& assignment,
                                 int use) {
    std::vector<std::pair<int64_t, int>> found;
    for (int option = 0; option < options.count(use); ++option) {
        if (!assignment.has_room(use, option)) {
            continue;
        }
        int64_t room = std::numeric_limits<int64_t>::max();
        for (const WeightOptions::Take& take : options.takes(options.at(use, option))) {
            room = std::min(room, assignment.room_bytes(take.domain) - take.bytes);
        }
        found.emplace_back(-room, option);
    }
    std::sort(found.begin(), found.end());
    std::vector<int> sorted;
    sorted.reserve(found.size());
    for (const auto& [room, option] : found) {
        sorted.push_back(option);
    }
    return sorted;
}

}  // namespace

bool fit_weights(const WeightOptions& options,
                 WeightAssignment& assignment,
                 int64_t max_steps,
                 int64_t& steps) {
    assignment.clear();
    const std::vector<int> order = uses_by_size(options);
    const int64_t end_of_steps = steps + max_steps;
    struct Level {
        std::vector<int> choices;
        size_t next = 0;
    };
    std::vector<Level> levels;  // not recursive: there are thousands
    levels.reserve(order.size());
    bool goes_deeper = true;
    while (steps < end_of_steps) {
        if (goes_deeper && levels.size() == order.size()) {
            return true;
        }
        if (goes_deeper) {
            const int use = order[levels.size()];
            steps += options.count(use);
            levels.push_back({options_by_room(options, assignment, use)});
        }
        Level& level = levels.back();
        const int use = order[levels.size() - 1];
        goes_deeper = level.next < level.choices.size();
        assignment.choose(use, goes_deeper ? level.choices[level.next++] : kNone);
        if (!goes_deeper) {
            levels.pop_back();
        }
        if (levels.empty()) {
            return false;
        }
    }
    return false;
}

}  // namespace leat
