#include "memory/run_ahead.h"

#include <algorithm>

#include "base/check.h"

namespace leat {
namespace {

// A set of steps for each step.
class StepSets {
  public:
    explicit StepSets(size_t steps) : words_((steps + 63) / 64), bits_(steps * words_, 0) {}

    bool has(size_t set, size_t step) const {
        return ((bits_[set * words_ + step / 64] >> (step % 64)) & 1) != 0;
    }
    void add(size_t set, size_t step) {
        bits_[set * words_ + step / 64] |= uint64_t{1} << (step % 64);
    }
    void add_all(size_t set, size_t of) {
        for (size_t w = 0; w < words_; ++w) {
            bits_[set * words_ + w] |= bits_[of * words_ + w];
        }
    }
    void clear(size_t set) {
        std::fill_n(bits_.begin() + std::ptrdiff_t(set * words_), words_, uint64_t{0});
    }
    bool is_empty() const {
        return std::all_of(bits_.begin(), bits_.end(), [](uint64_t word) { return word == 0; });
    }

  private:
    size_t words_;
    std::vector<uint64_t> bits_;
};

using Inputs = std::span<const std::vector<StepInput>>;

bool leads_forward(const StepInput& input, size_t step) {
    return 0 <= input.producer && size_t(input.producer) < step;
}

void check_inputs(Inputs inputs) {
    for (size_t step = 0; step < inputs.size(); ++step) {
        const bool all = std::all_of(inputs[step].begin(), inputs[step].end(),
                                     [&](const auto& input) { return leads_forward(input, step); });
        LEAT_CHECK(all, "step {} takes data from a step that is not before it", step);
    }
}

// By step, those from which a path of at least one edge leads to it.
StepSets ancestors(Inputs inputs) {
    StepSets sets(inputs.size());
    for (size_t step = 0; step < inputs.size(); ++step) {
        for (const StepInput& input : inputs[step]) {
            sets.add(step, size_t(input.producer));
            sets.add_all(step, size_t(input.producer));
        }
    }
    return sets;
}

// From sets of steps with paths of at least k edges to those with at least k + 1. A step's set is
// made of those of earlier steps, so from the last on in place.
void lengthen(Inputs inputs, StepSets& sets) {
    for (size_t step = inputs.size(); step-- > 0;) {
        sets.clear(step);
        for (const StepInput& input : inputs[step]) {
            sets.add_all(step, size_t(input.producer));
        }
    }
}

StepSets with_longer_paths(Inputs inputs, int32_t window_edges) {
    if (window_edges == kUnlimitedWindow) {
        return StepSets(inputs.size());
    }
    StepSets sets = ancestors(inputs);
    for (int32_t edges = 0; edges < window_edges && !sets.is_empty(); ++edges) {
        lengthen(inputs, sets);
    }
    return sets;
}

}  // namespace

std::vector<std::vector<int32_t>> whole_waits(std::span<const std::vector<StepInput>> inputs,
                                              int32_t window_edges) {
    LEAT_CHECK(window_edges >= 0, "a window of {} edges", window_edges);
    check_inputs(inputs);
    StepSets wanted = with_longer_paths(inputs, window_edges);
    StepSets finished(inputs.size());
    std::vector<std::vector<int32_t>> waits(inputs.size());
    for (size_t step = 0; step < inputs.size(); ++step) {
        for (const StepInput& input : inputs[step]) {
            if (input.is_whole) {
                wanted.add(step, size_t(input.producer));
            }
        }
        // The latest first: what they have waited for has finished too.
        for (size_t earlier = step; earlier-- > 0;) {
            if (wanted.has(step, earlier) && !finished.has(step, earlier)) {
                waits[step].push_back(int32_t(earlier));
                finished.add(step, earlier);
                finished.add_all(step, earlier);
            }
        }
        std::reverse(waits[step].begin(), waits[step].end());
    }
    return waits;
}

}  // namespace leat
