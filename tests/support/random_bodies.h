// Random graphs of If, Loop and Scan, nested up to three deep, made by the building calls; and
// inputs for them. A seed gives the same ones everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "leat/graph.h"

namespace leat::testing_support {

// How many nodes with bodies may stand in each other.
constexpr int kDeepestBodies = 3;

struct GraphWithBodies {
    Graph graph{"random"};
    std::map<std::string, Tensor> inputs;
};
// Elements stay small: floats in [-1, 1], integers below 8. Bodies capture values and constants of
// all graphs around, some twice; outputs may be inputs, captured, constants, or one value twice.
GraphWithBodies random_graph_with_bodies(uint64_t seed);

}  // namespace leat::testing_support
