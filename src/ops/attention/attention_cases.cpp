// Conformance cases of Attention.
#include <algorithm>
#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct AttentionExtents {
    int64_t batch = 2;
    int64_t query_heads = 4;
    int64_t key_heads = 4;
    int64_t queries = 5;
    int64_t keys = 7;
    int64_t past = 0;
    int64_t head_size = 8;
    int64_t value_size = 8;
};

class AttentionCases {
  public:
    // Adds a case of rank 4, or 3.
    OpCase& add(const std::string& name,
                const AttentionExtents& e,
                Attributes attributes = {},
                DType dtype = DType::kFloat32,
                bool is_packed = false) {
        const auto operand = [&](int64_t heads, int64_t tokens, int64_t size) {
            return random_input(is_packed ? Shape{e.batch, tokens, heads * size}
                                          : Shape{e.batch, heads, tokens, size},
                                dtype);
        };
        std::vector<CaseInput> inputs{operand(e.query_heads, e.queries, e.head_size),
                                      operand(e.key_heads, e.keys, e.head_size),
                                      operand(e.key_heads, e.keys, e.value_size), absent_input()};
        if (e.past > 0) {
            inputs.push_back(random_input({e.batch, e.key_heads, e.past, e.head_size}, dtype));
            inputs.push_back(random_input({e.batch, e.key_heads, e.past, e.value_size}, dtype));
        }
        if (is_packed) {
            attributes["q_num_heads"] = e.query_heads;
            attributes["kv_num_heads"] = e.key_heads;
        }
        cases.push_back(make_case("Attention", name, std::move(inputs), std::move(attributes)));
        cases.back().atol = 1e-5;
        if (e.past > 0) {
            cases.back().output_count = 3;
        }
        if (bits_of(dtype) == 16) {
            cases.back().rtol = cases.back().atol = 3e-2;
        }
        return cases.back();
    }
    void mask(const std::string& name, CaseInput input, Attributes attributes = {}) {
        add("mask_" + name, {}, std::move(attributes)).inputs[3] = std::move(input);
    }
    void nonpad(const std::string& name,
                const AttentionExtents& e,
                const std::vector<int64_t>& lengths,
                Attributes attributes = {}) {
        OpCase& op_case = add("nonpad_" + name, e, std::move(attributes));
        op_case.inputs.resize(6, absent_input());
        op_case.inputs.push_back(given_input<int64_t>({int64_t(lengths.size())}, lengths));
    }

    std::vector<OpCase> cases;
};

void add_attention_shapes(AttentionCases& to) {
    const AttentionExtents grouped{2, 6, 2, 5, 7, 0, 8, 8};
    const AttentionExtents past{2, 6, 2, 3, 3, 9, 8, 10};
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        to.add(name, {}, {}, dtype);
        to.add(name + "_packed", {}, {}, dtype, true);
        to.add(name + "_past", past, {{"is_causal", int64_t{1}}}, dtype);
    }
    to.add("grouped", grouped);
    to.add("grouped_packed", grouped, {}, DType::kFloat32, true);
    to.add("past_packed", past, {}, DType::kFloat32, true);
    to.add("one_key_head", {1, 5, 1, 4, 6, 0, 8, 8});
    to.add("value_size", {2, 3, 3, 4, 6, 0, 8, 12});
    to.add("odd_sizes", {1, 3, 1, 7, 37, 0, 13, 11}, {{"is_causal", int64_t{1}}});
    to.add("decode", {2, 8, 2, 1, 1, 100, 16, 16}, {{"is_causal", int64_t{1}}});
    to.add("no_keys", {2, 4, 4, 5, 0, 0, 8, 8});
    to.add("no_queries", {2, 4, 4, 0, 7, 0, 8, 8});
    to.add("no_batch", {0, 4, 4, 5, 7, 0, 8, 8});
    to.add("no_head_size", {2, 4, 4, 5, 7, 0, 0, 8});
    to.add("no_value_size", {2, 4, 4, 5, 7, 0, 8, 0});
    to.add("large", {2, 4, 2, 130, 150, 0, 64, 64}, {{"is_causal", int64_t{1}}});
    OpCase& mixed = to.add("values_f16", {});
    mixed.inputs[2] = random_input({2, 4, 7, 8}, DType::kFloat16);
}

void add_attention_masks(AttentionCases& to) {
    const auto numbers = [](const Shape& shape) { return random_input(shape); };
    const auto bools = [](const Shape& shape) { return random_input(shape, DType::kBool); };
    to.mask("numbers_2d", numbers({5, 7}));
    to.mask("numbers_3d", numbers({4, 5, 7}));
    to.mask("numbers_4d", numbers({2, 4, 5, 7}), {{"is_causal", int64_t{1}}});
    to.mask("by_batch", numbers({2, 1, 1, 7}));
    to.mask("line", bools({7}));
    to.mask("scalar", numbers({}));
    to.mask("bools_2d", bools({5, 7}));
    to.mask("bools_4d", bools({2, 1, 5, 7}), {{"is_causal", int64_t{1}}});
    to.mask("shorter", numbers({5, 4}));
    to.mask("bools_shorter", bools({4, 1, 3}));
    to.mask("integers", random_input({5, 7}, DType::kInt32, -3, 3));
    to.mask("f64", random_input({5, 7}, DType::kFloat64));
    CaseInput all_masked = bools({1, 7});
    all_masked.value = Tensor::allocate(DType::kBool, {1, 7}).value();
    std::fill_n(all_masked.value.mutable_bytes(), 7, std::byte{0});
    to.mask("nothing_left", std::move(all_masked));
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    to.mask("infinite",
            given_input<float>({1, 7}, {0, -kInfinity, 1, -kInfinity, -1e30F, 0, -kInfinity}),
            {{"softcap", 2.0F}});
    // Memory behind the valid keys may hold anything.
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    OpCase& odd = to.add("masked_nan", {1, 1, 1, 2, 3, 0, 1, 1}, {{"is_causal", int64_t{1}}});
    odd.inputs[1] = given_input<float>({1, 1, 3, 1}, {1, 2, kNan});
    odd.inputs[2] = given_input<float>({1, 1, 3, 1}, {3, 5, kNan});
}

void add_attention_attributes(AttentionCases& to) {
    constexpr int64_t kOne = 1;
    to.add("scale", {}, {{"scale", 0.01F}});
    to.add("softcap", {}, {{"softcap", 0.5F}});
    to.add("causal", {}, {{"is_causal", kOne}});
    to.add("precision", {}, {{"softmax_precision", int64_t{11}}});
    to.add("left_window", {}, {{"left_window_size", int64_t{2}}, {"is_causal", kOne}});
    to.add("windows", {}, {{"left_window_size", kOne}, {"right_window_size", int64_t{2}}});
    to.add("window_0", {}, {{"left_window_size", int64_t{0}}, {"right_window_size", int64_t{0}}});
    to.add("wide_windows", {},
           {{"left_window_size", int64_t{1} << 62}, {"right_window_size", int64_t{1} << 62}});
    to.add("window_past", {2, 4, 2, 3, 3, 9, 8, 8},
           {{"left_window_size", int64_t{4}}, {"is_causal", kOne}});
    const AttentionExtents cache{3, 4, 2, 2, 9, 0, 8, 8};
    to.nonpad("plain", cache, {9, 3, 0});
    to.nonpad("causal", cache, {9, 3, 1}, {{"is_causal", kOne}});
    to.nonpad("window", cache, {9, 5, 0}, {{"is_causal", kOne}, {"left_window_size", kOne}});
    for (int64_t mode = 0; mode < 4; ++mode) {
        OpCase& op_case =
            to.add("scores_" + std::to_string(mode), {2, 4, 2, 3, 3, 4, 8, 8},
                   {{"qk_matmul_output_mode", mode}, {"softcap", 1.5F}, {"is_causal", kOne}});
        op_case.output_count = 4;
        op_case.inputs[3] = random_input({3, 7});
    }
}

}  // namespace

std::vector<OpCase> attention_cases() {
    AttentionCases to;
    add_attention_shapes(to);
    add_attention_masks(to);
    add_attention_attributes(to);
    return to.cases;
}

}  // namespace leat::testing
