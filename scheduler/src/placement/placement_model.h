// A checked placement problem with the indexes that the rules and the search walk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/scheduler/placement.h"

namespace leat::scheduler {

// Rows of integers, stored one after the other.
class IntRows {
  public:
    struct Entry {
        int32_t row = 0;
        int32_t item = 0;
    };
    IntRows() = default;
    // Items of a row are ascending and distinct.
    IntRows(int32_t row_count, std::span<const Entry> entries);
    std::span<const int32_t> operator[](int32_t row) const {
        return {items_.data() + begin_[size_t(row)],
                size_t(begin_[size_t(row) + 1] - begin_[size_t(row)])};
    }

  private:
    std::vector<int32_t> begin_;
    std::vector<int32_t> items_;
};

struct PlacementModel {
    static Result<PlacementModel> make(const PlacementProblem& problem);

    double cost(int32_t task, int32_t lane) const {
        return cost_ns[size_t(task) * size_t(lanes) + size_t(lane)];
    }
    // 0 where both domains are one or no link is needed.
    double transfer(int32_t value, int32_t from, int32_t to) const {
        return transfer_ns[(size_t(value) * size_t(domains) + size_t(from)) * size_t(domains) +
                           size_t(to)];
    }
    int32_t link(int32_t from, int32_t to) const {
        return link_between[size_t(from) * size_t(domains) + size_t(to)];
    }

    // Calls visit(reader) for every use of a value that `task` writes: a task that reads two of
    // them is visited twice.
    template <class Visit>
    void for_each_reader(int32_t task, const Visit& visit) const {
        for (const int32_t value : outputs[task]) {
            for (const int32_t reader : readers[value]) {
                visit(reader);
            }
        }
    }

    int32_t tasks = 0;
    int32_t lanes = 0;
    int32_t domains = 0;
    int32_t values = 0;
    std::vector<int32_t> domain_of_lane;
    // A pool is the lanes of one domain on which every task costs the same: schedules that differ
    // by an exchange of its lanes are one.
    int32_t pools = 0;
    std::vector<int32_t> pool_of_lane;
    IntRows lanes_of_pool;
    std::vector<double> cost_ns;    // [task][lane]
    IntRows inputs;                 // task -> values that it reads
    IntRows outputs;                // task -> values that it writes
    IntRows readers;                // value -> tasks
    std::vector<int32_t> producer;  // [value]
    std::vector<PlacementLink> links;
    std::vector<int32_t> link_between;  // [from][to], kNoLink on the diagonal
    std::vector<double> transfer_ns;    // [value][from][to]
    // [value * domains + to_domain]: both numbers again, to spare divisions.
    struct Transfer {
        int32_t value = 0;
        int32_t to_domain = 0;
    };
    std::vector<Transfer> transfers;
    std::vector<int32_t> topological;  // tasks, producers before readers
};

}  // namespace leat::scheduler
