// WaitReduction: which waits of a task other waits of it imply.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace leat::scheduler {

// Removes waits that other waits imply. Ancestors are bit sets over two blocks of tasks, the one of
// the task and the one before: a wait that reaches further back stays, so memory does not grow with
// the square.
class WaitReduction {
  public:
    explicit WaitReduction(size_t tasks)
        : words_(int64_t(std::min(tasks, kMostTasks) + 63) / 64),
          rows_(std::min(tasks, kMostTasks) * size_t(words_), 0) {}

    // Tasks in order; sorts and reduces `waits` of `task`.
    void reduce(int32_t task, std::vector<int32_t>& waits) {
        // Most callers have them in order.
        if (std::is_sorted(waits.begin(), waits.end())) {
            std::reverse(waits.begin(), waits.end());
        } else {
            std::sort(waits.begin(), waits.end(), std::greater<>());
        }
        waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
        uint64_t* row = row_of(task);
        std::fill(row, row + words_, 0);
        const int64_t base = base_of(task);
        const auto is_implied = [&](int32_t wait) {
            const int64_t bit = wait - base;
            if (bit < 0) {
                return false;
            }
            if (((row[bit / 64] >> (bit % 64)) & 1) != 0) {
                return true;
            }
            merge(row, base, wait);
            return false;
        };
        waits.erase(std::remove_if(waits.begin(), waits.end(), is_implied), waits.end());
        std::reverse(waits.begin(), waits.end());
    }

  private:
    static constexpr int64_t kBlock = 2048;
    static constexpr size_t kMostTasks = 2 * kBlock;  // that have a row at a time

    // First task that the row of `task` can hold.
    static int64_t base_of(int64_t task) {
        return std::max<int64_t>(task / kBlock - 1, 0) * kBlock;
    }
    uint64_t* row_of(int64_t task) { return rows_.data() + task % (2 * kBlock) * words_; }

    // Adds `wait` and its ancestors to a row that starts at `base`.
    void merge(uint64_t* row, int64_t base, int32_t wait) {
        const uint64_t* from = row_of(wait);
        const int64_t shift = (base - base_of(wait)) / 64;
        for (int64_t word = shift; word < words_; ++word) {
            row[word - shift] |= from[word];
        }
        const int64_t bit = wait - base;
        row[bit / 64] |= uint64_t{1} << (bit % 64);
    }

    const int64_t words_;  // of a row
    std::vector<uint64_t> rows_;
};

}  // namespace leat::scheduler
