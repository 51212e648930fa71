// Nodes by themselves, computed by the reference kernels.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "graph/op_def.h"

namespace leat::testing {

// Output 0 of a node with one output; a failure of the test where there is none.
inline Tensor evaluated(const NodeData& node, const std::vector<const Tensor*>& operands) {
    std::vector<ValueFact> facts(operands.size());
    std::vector<const ValueFact*> pointers;
    pointers.reserve(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
        facts[i].type = TypeInfo::tensor(operands[i]->dtype(), operands[i]->shape());
        facts[i].value = *operands[i];  // axes and the like decide shapes
        pointers.push_back(&facts[i]);
    }
    std::vector<ValueFact> outputs(1);
    const Status inferred = infer_node(node, pointers, outputs);
    EXPECT_TRUE(inferred.ok()) << inferred.message();
    auto results = evaluate_node(node, operands, outputs);
    EXPECT_TRUE(results.ok()) << results.error().message();
    return (*results)[0];
}

}  // namespace leat::testing
