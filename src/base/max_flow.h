// Maximum flow by Dinic's algorithm (Soviet Math. Doklady 11, 1970), and the minimum cut it leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace leat {

class MaxFlow {
  public:
    static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

    explicit MaxFlow(int32_t node_count) : arcs_of_(size_t(node_count)), level_(arcs_of_.size()) {}

    int32_t add_node();
    // Capacities of the arc and of its reverse.
    void add_arc(int32_t from, int32_t to, int64_t capacity, int64_t reverse_capacity = 0);
    // Saturates all paths; afterwards is_on_source_side tells the cut with the fewest nodes there.
    void solve(int32_t source, int32_t sink);
    bool is_on_source_side(int32_t node) const { return level_[size_t(node)] >= 0; }

  private:
    struct Arc {
        int32_t to = 0;
        int32_t reverse = 0;  // index of the opposite arc in arcs_
        int64_t capacity = 0;
    };
    bool assign_levels(int32_t source, int32_t sink);
    void block_flow(int32_t source, int32_t sink);
    size_t push_path(const std::vector<int32_t>& path);

    std::vector<Arc> arcs_;
    std::vector<std::vector<int32_t>> arcs_of_;  // [node] -> indexes into arcs_
    std::vector<int32_t> level_;                 // distance from the source; -1: not reached
    std::vector<size_t> next_;                   // [node]: first arc that may still carry flow
};

}  // namespace leat
