// Conformance cases of LinearAttention.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct LinearAttentionExtents {
    int64_t batch, tokens, query_heads, key_heads, key_size, value_size;
};

struct LinearAttentionForm {
    std::string rule;
    bool has_past = false;
    bool decays_by_element = false;
    bool has_one_beta = false;
    DType dtype = DType::kFloat32;
    DType state = DType::kFloat32;
};

OpCase linear_attention_case(const std::string& name,
                             const LinearAttentionExtents& e,
                             const LinearAttentionForm& form) {
    const DType dtype = form.dtype;
    std::vector<CaseInput> inputs{
        random_input({e.batch, e.tokens, e.query_heads * e.key_size}, dtype, -1, 1),
        random_input({e.batch, e.tokens, e.key_heads * e.key_size}, dtype, -0.5, 0.5),
        random_input({e.batch, e.tokens, e.key_heads * e.value_size}, dtype, -1, 1)};
    inputs.push_back(form.has_past ? random_input({e.batch, e.key_heads, e.key_size, e.value_size},
                                                  form.state, -1, 1)
                                   : absent_input());
    const int64_t decays = form.decays_by_element ? e.key_heads * e.key_size : e.key_heads;
    const int64_t betas = form.has_one_beta ? 1 : e.key_heads;
    const bool has_decay = form.rule == "gated" || form.rule == "gated_delta";
    const bool has_beta = form.rule == "delta" || form.rule == "gated_delta";
    inputs.push_back(has_decay ? random_input({e.batch, e.tokens, decays}, dtype, -1, 0)
                               : absent_input());
    inputs.push_back(has_beta ? random_input({e.batch, e.tokens, betas}, dtype, 0, 1)
                              : absent_input());
    OpCase op_case = make_case("LinearAttention", name, std::move(inputs),
                               {{"q_num_heads", e.query_heads},
                                {"kv_num_heads", e.key_heads},
                                {"update_rule", form.rule}});
    op_case.output_count = 2;
    op_case.atol = 1e-5;
    if (bits_of(dtype) == 16) {
        op_case.rtol = op_case.atol = 5e-2;
    }
    return op_case;
}

}  // namespace

std::vector<OpCase> linear_attention_cases() {
    const LinearAttentionExtents usual{2, 5, 4, 2, 3, 6};
    std::vector<OpCase> cases;
    for (const std::string rule : {"linear", "gated", "delta", "gated_delta"}) {
        cases.push_back(linear_attention_case(rule, usual, {rule}));
        cases.push_back(linear_attention_case(rule + "_past", usual, {rule, true}));
        cases.push_back(linear_attention_case(rule + "_variants", usual, {rule, true, true, true}));
    }
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        const std::string name(name_of(dtype));
        cases.push_back(
            linear_attention_case(name, usual, {"gated_delta", true, false, false, dtype, dtype}));
        cases.push_back(
            linear_attention_case(name + "_f32_state", usual,
                                  {"gated_delta", true, false, false, dtype, DType::kFloat32}));
        cases.push_back(linear_attention_case(name + "_no_past", usual,
                                              {"linear", false, false, false, dtype, dtype}));
    }
    cases.push_back(linear_attention_case("one_token", {2, 1, 4, 4, 8, 8}, {"gated_delta", true}));
    cases.push_back(linear_attention_case("one_key_head", {1, 7, 3, 1, 4, 4}, {"gated", true}));
    cases.push_back(linear_attention_case("no_tokens", {2, 0, 2, 2, 4, 4}, {"delta", true}));
    cases.push_back(linear_attention_case("no_batch", {0, 3, 2, 2, 4, 4}, {"gated_delta", true}));
    cases.push_back(linear_attention_case("no_values", {1, 3, 2, 2, 4, 0}, {"gated_delta"}));
    cases.push_back(linear_attention_case("scale", usual, {"linear"}));
    cases.back().attributes["scale"] = 0.25F;
    cases.back().attributes["chunk_size"] = int64_t{2};
    return cases;
}

}  // namespace leat::testing
