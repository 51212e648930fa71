// OpCase: one test case of an operator, declared once beside the operator and run on every backend
// against the reference kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/graph.h"
#include "leat/tensor.h"

namespace leat::testing {

// An input: given elements, or seeded random ones in [low, high] (integers are rounded; bool:
// either).
struct CaseInput {
    DType dtype = DType::kFloat32;
    Shape shape;
    double low = -2;
    double high = 2;
    Tensor value;           // defined: used as it is
    bool constant = false;  // given to the graph as a constant (weights), not as an input
    bool absent = false;    // an optional input left out
};

struct OpCase {
    std::string name;     // unique within the operator: "Softmax/axis0_empty"
    std::string op_type;  // "DOMAIN.NAME", or one of ONNX's default domain or leat's
    std::vector<CaseInput> inputs;
    Attributes attributes = {};
    int output_count = 1;
    double rtol = 1e-5;
    double atol = 1e-6;
};

}  // namespace leat::testing
