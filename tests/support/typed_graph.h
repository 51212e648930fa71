// Graphs as compile() has them before they are placed.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "passes/pipeline.h"

namespace leat::testing_support {

// Verified, in order, with types, and otherwise as it was.
inline GraphData& typed(Graph& graph) {
    std::vector<PassReport> reports;
    const Status status =
        run_passes(graph.data(),
                   {.optimize = false, .channels_last = false, .fuse_epilogues = false}, reports);
    EXPECT_TRUE(status.ok()) << status.message();
    return graph.data();
}

}  // namespace leat::testing_support
