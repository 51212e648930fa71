// Conformance cases of RotaryEmbedding.
#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> rotary_embedding_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Shape& cache,
                              CaseInput ids, Attributes attributes = {}) {
        const DType dtype = x.dtype;
        cases.push_back(make_case("RotaryEmbedding", name,
                                  {std::move(x), random_input(cache, dtype, -1, 1),
                                   random_input(cache, dtype, -1, 1), std::move(ids)},
                                  std::move(attributes)));
        if (bits_of(dtype) == 16) {
            cases.back().rtol = cases.back().atol = 2e-2;
        }
    };
    const auto ids = [](const Shape& shape, int64_t positions) {
        return random_input(shape, DType::kInt64, 0, double(positions - 1));
    };
    const Attributes interleaved{{"interleaved", int64_t{1}}};
    const Attributes part{{"rotary_embedding_dim", int64_t{4}}};
    const Attributes heads{{"num_heads", int64_t{3}}};
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32}) {
        const std::string name(name_of(dtype));
        add(name + "_halves", random_input({2, 3, 5, 8}, dtype), {50, 4}, ids({2, 5}, 50));
        add(name + "_interleaved", random_input({2, 3, 5, 8}, dtype), {50, 4}, ids({2, 5}, 50),
            interleaved);
        add(name + "_part", random_input({2, 3, 5, 8}, dtype), {2, 5, 2}, absent_input(), part);
        add(name + "_packed", random_input({2, 5, 24}, dtype), {50, 4}, ids({2, 5}, 50), heads);
    }
    Attributes all = interleaved;
    all.insert(part.begin(), part.end());
    all.insert(heads.begin(), heads.end());
    add("all_attributes", random_input({2, 5, 24}), {2, 5, 2}, absent_input(), all);
    add("no_positions", random_input({2, 3, 5, 8}), {2, 5, 4}, absent_input());
    add("same_positions", random_input({2, 3, 5, 8}), {50, 4}, ids({1, 5}, 50));
    add("same_angles", random_input({2, 3, 5, 8}), {1, 5, 4}, absent_input());
    add("one_angle", random_input({2, 3, 5, 8}), {2, 1, 4}, absent_input());
    add("from_the_end", random_input({1, 3, 2, 8}), {50, 4},
        given_input<int64_t>({1, 2}, {-1, -50}));
    add("one_token", random_input({2, 3, 1, 128}), {50, 64}, ids({2, 1}, 50));
    add("odd_half", random_input({2, 3, 4, 14}), {50, 7}, ids({2, 4}, 50));
    add("odd_half_interleaved", random_input({2, 3, 4, 14}), {50, 7}, ids({2, 4}, 50), interleaved);
    add("empty", random_input({2, 3, 0, 8}), {50, 4}, ids({2, 0}, 50));
    add("no_batch", random_input({0, 3, 4, 8}), {0, 4, 4}, absent_input());
    add("large", random_input({2, 12, 100, 64}), {200, 32}, ids({2, 100}, 200));
    return cases;
}

}  // namespace leat::testing
