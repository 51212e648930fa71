// An order in which each comes behind all that it waits for; of those that could be next the first
// number is.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace leat {

// followers: by number, those that wait for it, as often as they do. Each one's place in the order;
// empty: some wait for each other.
inline std::vector<int32_t> first_ready_ranks(const std::vector<std::vector<int32_t>>& followers) {
    std::vector<int32_t> missing(followers.size());
    for (const std::vector<int32_t>& own : followers) {
        for (const int32_t follower : own) {
            ++missing[size_t(follower)];
        }
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t i = 0; i < missing.size(); ++i) {
        if (missing[i] == 0) {
            ready.push(int32_t(i));
        }
    }
    std::vector<int32_t> ranks(followers.size());
    size_t next = 0;
    while (!ready.empty()) {
        const int32_t first = ready.top();
        ready.pop();
        ranks[size_t(first)] = int32_t(next++);
        for (const int32_t follower : followers[size_t(first)]) {
            if (--missing[size_t(follower)] == 0) {
                ready.push(follower);
            }
        }
    }
    return next == followers.size() ? ranks : std::vector<int32_t>();
}

}  // namespace leat
