#include "memory/order/step_order.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.h"

namespace leat {

namespace {

std::atomic<int64_t> most_order_bytes = kMostOrderBytes;

void check(int32_t before, int32_t after) {
    LEAT_CHECK(before >= 0 && before < after, "step {} waits for step {}", after, before);
}

// The successors of `after` are complete: all of them are larger.
void add(int32_t before, int32_t after, size_t words, std::vector<uint64_t>& bits) {
    uint64_t* row = &bits[size_t(before) * words];
    const uint64_t* more = &bits[size_t(after) * words];
    row[size_t(after) / 64] |= uint64_t{1} << (size_t(after) % 64);
    for (size_t word = size_t(after) / 64; word < words; ++word) {
        row[word] |= more[word];
    }
}

// Each step precedes the next one: there is no other way to that than the edge.
bool is_line(std::span<const std::vector<int32_t>> predecessors) {
    for (size_t step = 1; step < predecessors.size(); ++step) {
        const std::vector<int32_t>& own = predecessors[step];
        if (std::find(own.rbegin(), own.rend(), int32_t(step) - 1) == own.rend()) {
            return false;
        }
    }
    return true;
}

// By step, one behind which all steps are in its subtree, and which is too. `parents`: a forest of
// edges; -1: a root.
std::vector<int32_t> settled_in_forest(std::span<const int32_t> parents) {
    const size_t count = parents.size();
    std::vector<int32_t> sizes(count, 1);  // of subtrees
    for (size_t step = count; step-- > 0;) {
        if (parents[step] >= 0) {
            sizes[size_t(parents[step])] += sizes[step];
        }
    }
    // A subtree is a range of places.
    std::vector<int32_t> places(count);
    std::vector<int32_t> next(count);  // by step: the place of its next child
    std::vector<int32_t> steps(count);
    int32_t next_root = 0;
    for (size_t step = 0; step < count; ++step) {
        int32_t& place = parents[step] >= 0 ? next[size_t(parents[step])] : next_root;
        places[step] = std::exchange(place, place + sizes[step]);
        next[step] = places[step] + 1;
        steps[size_t(places[step])] = int32_t(step);
    }
    std::vector<int32_t>& last_from = next;  // by place: the last step there or further back
    int32_t last = -1;
    for (size_t place = count; place-- > 0;) {
        last = std::max(last, steps[place]);
        last_from[place] = last;
    }
    std::vector<int32_t>& last_before = steps;  // by place: the last step further in front
    last = -1;
    for (size_t place = 0; place < count; ++place) {
        last = std::max(last, std::exchange(last_before[place], last));
    }
    for (size_t step = 0; step < count; ++step) {
        const auto end = size_t(places[step]) + size_t(sizes[step]);
        const int32_t outside =
            std::max(last_before[size_t(places[step])], end < count ? last_from[end] : -1);
        sizes[step] = std::max(outside, int32_t(step)) + 1;
    }
    return sizes;
}

}  // namespace

bool keeps_whole_order(size_t steps) {
    const size_t words = (steps + 63) / 64;
    return int64_t(steps * words * sizeof(uint64_t)) <= most_order_bytes;
}

OrderLimitForTests::OrderLimitForTests(int64_t most_bytes) {
    most_order_bytes = most_bytes;
}

OrderLimitForTests::~OrderLimitForTests() {
    most_order_bytes = kMostOrderBytes;
}

StepOrder::StepOrder(Predecessors predecessors) : steps_(int32_t(predecessors.size())) {
    for (int32_t step = 0; step < steps_; ++step) {
        for (const int32_t before : predecessors[size_t(step)]) {
            check(before, step);
        }
    }
    if (is_line(predecessors)) {
        return;
    }
    std::vector<Near> near = near_of(predecessors);
    bool says_all = true;
    for (int32_t step = 0; step < steps_; ++step) {
        says_all = says_all && near[size_t(step)].settled_at <= step + kNearSteps + 1;
    }
    is_whole_ = keeps_whole_order(predecessors.size());
    if (says_all || !is_whole_) {
        near_ = std::make_shared<const std::vector<Near>>(std::move(near));
        return;
    }
    words_ = (predecessors.size() + 63) / 64;
    std::vector<uint64_t> bits(predecessors.size() * words_);
    for (int32_t step = steps_; step-- > 0;) {
        for (const int32_t before : predecessors[size_t(step)]) {
            add(before, step, words_, bits);
        }
    }
    bits_ = std::make_shared<const std::vector<uint64_t>>(std::move(bits));
}

void StepOrder::keep_successors(int32_t step, std::span<uint64_t> words) const {
    if (near_ == nullptr) {
        const std::span<const uint64_t> own = successors(step);
        for (size_t word = 0; word < words.size(); ++word) {
            words[word] &= own[word];
        }
        return;
    }
    const auto first = size_t(step) / 64;
    std::fill_n(words.begin(), first, uint64_t{0});
    const Near& own = (*near_)[size_t(step)];
    for (size_t word = first; word < words.size() && int32_t(word) * 64 < own.settled_at; ++word) {
        for (int32_t bit = 0; bit < 64; ++bit) {
            const bool is_kept = own.precedes(step, int32_t(word) * 64 + bit);
            words[word] &= is_kept ? ~uint64_t{0} : ~(uint64_t{1} << bit);
        }
    }
}

// What a step precedes is at least its subtree in any forest of edges, what its direct successors
// precede, and these. The two forests are those of the last and of the first predecessors.
std::vector<StepOrder::Near> StepOrder::near_of(Predecessors predecessors) {
    std::vector<Near> near(predecessors.size());
    std::vector<int32_t> parents(predecessors.size());
    for (const bool is_last : {true, false}) {
        for (size_t step = 0; step < predecessors.size(); ++step) {
            const std::vector<int32_t>& own = predecessors[step];
            parents[step] = own.empty() ? -1
                            : is_last   ? *std::max_element(own.begin(), own.end())
                                        : *std::min_element(own.begin(), own.end());
        }
        const std::vector<int32_t> settled = settled_in_forest(parents);
        for (size_t step = 0; step < near.size(); ++step) {
            near[step].settled_at =
                is_last ? settled[step] : std::min(settled[step], near[step].settled_at);
        }
    }
    for (int32_t step = int32_t(near.size()); step-- > 0;) {
        // All of its successors have told it what they know.
        Near& own = near[size_t(step)];
        for (int32_t before = own.settled_at - 1; before > step && own.precedes(step, before);
             --before) {
            own.settled_at = before;
        }
        for (const int32_t before : predecessors[size_t(step)]) {
            Near& other = near[size_t(before)];
            // If all behind the step come after it, they and it come after what it waits for.
            const int32_t settled = own.settled_at == step + 1 ? step : own.settled_at;
            other.settled_at = std::min(other.settled_at, settled);
            if (const int32_t distance = step - before; distance <= kNearSteps) {
                other.bits |= uint64_t{1} << (distance - 1);
                other.bits |= distance < kNearSteps ? own.bits << distance : 0;
            }
        }
    }
    return near;
}

}  // namespace leat
