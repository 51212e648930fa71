// BatchDivision: the plans of requests whose batch is divided over the thread groups of the nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "run/compiled_graph_impl.h"

namespace leat {

// Indices of axis 0.
struct BatchRows {
    int64_t begin = 0;
    int64_t count = 0;
};

struct BatchDivision {
    std::vector<Shape> shapes;  // of all inputs, undivided
    // By input: a part gets its rows of these, and all of the others. Empty: the batch is not
    // divided, and `reason` says why.
    std::vector<bool> is_divided_input;
    std::string reason;
    // By thread group; no plan: it has no rows.
    std::vector<BatchRows> rows;
    std::vector<std::shared_ptr<const Plan>> plans;
    std::vector<Tensor> outputs;  // by output, of the whole batch

    bool is_divided() const { return !is_divided_input.empty(); }
};

// Divides as evenly as the numbers of threads allow. An error: a part cannot be planned, or `limit`
// ended the wait for its plan.
Result<BatchDivision> divide_batch(CompiledGraph::Impl& compiled,
                                   std::vector<Shape> shapes,
                                   const WaitLimit& limit = {});

}  // namespace leat
