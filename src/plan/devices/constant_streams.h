// ConstantStreams: the constants that each run copies to a device, as a placement decided them
// (src/partition/streaming/streamed_constants.h), in terms of the graph's nodes. Parts have them as
// operands.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph_data.h"

namespace leat {

// Plain data. Nodes are those of the whole graph; a part is meant by any node of it.
struct ConstantStreams {
    struct Operand {
        int32_t node = -1;        // that reads it
        int32_t value = -1;       // the constant
        int32_t after_node = -1;  // whose part ends before the copy begins; -1: there is none
    };
    std::vector<Operand> operands;
    std::vector<std::pair<int32_t, int32_t>> node_orders;  // one part ends before the other begins

    bool empty() const { return operands.empty(); }
    // By part, the constants that it reads as operands, ascending.
    std::vector<std::vector<int32_t>> values_of_parts(std::span<const int> part_of_node,
                                                      size_t part_count) const;
};

// How far ahead of the parts that read them constants may be copied, in parts: as far as the
// placement says, and less and less where that does not fit.
constexpr int32_t kCopiesAhead[] = {1 << 30, 2, 1, 0};

// Constant streams in terms of parts, as a plan has them.
class PartStreams {
  public:
    PartStreams() = default;
    // Outlives nothing. copies_ahead: parts.
    PartStreams(const ConstantStreams& streams,
                std::span<const int> part_of_node,
                size_t part_count,
                int32_t copies_ahead);

    bool empty() const { return rows_.empty(); }
    size_t part_count() const { return before_.size(); }
    bool is_streamed(int32_t part, int32_t value) const;
    // The part that ends before the copy of the value for this part begins; -1: none.
    int32_t part_before_copy(int32_t part, int32_t value) const;
    // Parts that end before this one begins, besides those that it reads from.
    const std::vector<int32_t>& parts_before(int32_t part) const { return before_[size_t(part)]; }

  private:
    struct Row {
        int32_t part = -1;
        int32_t value = -1;
        int32_t after_part = -1;
    };
    const Row* find(int32_t part, int32_t value) const;

    std::vector<Row> rows_;                     // ascending by part, then value
    std::vector<std::vector<int32_t>> before_;  // by part
};

}  // namespace leat
