// Conformance cases of FlexAttention.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

// A body: scores -> op(scores, number).
Graph number_modifier(const char* op, float number) {
    Graph body("modifier");
    const ValueId scores = body.input("scores", DType::kUndefined, {});
    const ValueId operand =
        body.constant("number", Tensor::from<float>({}, std::vector<float>{number}).value());
    body.output("result", body.add(op, {scores, operand}));
    return body;
}

OpCase flex_case(const std::string& name,
                 const Shape& q,
                 const Shape& k,
                 int64_t value_size,
                 Attributes attributes = {},
                 DType dtype = DType::kFloat32) {
    OpCase op_case = make_case("FlexAttention", name,
                               {random_input(q, dtype), random_input(k, dtype),
                                random_input({k[0], k[1], k[2], value_size}, dtype)},
                               std::move(attributes));
    op_case.op_type = "ai.onnx.preview.FlexAttention";
    op_case.atol = 1e-5;
    if (bits_of(dtype) == 16) {
        op_case.rtol = op_case.atol = 3e-2;
    }
    return op_case;
}

}  // namespace

std::vector<OpCase> flex_attention_cases() {
    const Shape q{2, 4, 5, 8};
    const Shape k{2, 4, 7, 8};
    std::vector<OpCase> cases;
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        cases.push_back(flex_case(std::string(name_of(dtype)), q, k, 8, {}, dtype));
    }
    cases.push_back(flex_case("grouped", q, {2, 2, 7, 8}, 6));
    cases.push_back(flex_case("scale", q, k, 8, {{"scale", 0.1F}}));
    cases.push_back(flex_case("precision", q, k, 8, {{"softmax_precision", int64_t{10}}}));
    cases.push_back(flex_case("score_mod", q, k, 8, {{"score_mod", number_modifier("Mul", 0.5F)}}));
    cases.push_back(flex_case("prob_mod", q, k, 8, {{"prob_mod", number_modifier("Add", 0.25F)}}));
    cases.push_back(flex_case(
        "both", q, k, 8,
        {{"score_mod", number_modifier("Min", 0.5F)}, {"prob_mod", number_modifier("Mul", 2)}}));
    cases.push_back(flex_case("no_keys", q, {2, 4, 0, 8}, 8));
    cases.push_back(flex_case("no_batch", {0, 4, 5, 8}, {0, 4, 7, 8}, 8));
    return cases;
}

}  // namespace leat::testing
