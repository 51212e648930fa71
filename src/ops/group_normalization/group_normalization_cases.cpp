// Conformance cases of GroupNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> group_normalization_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const Shape& shape, int64_t groups,
                              DType dtype = DType::kFloat32, Attributes attributes = {}) {
        const Shape channels{shape[1]};
        attributes["num_groups"] = groups;
        cases.push_back(make_case("GroupNormalization", name,
                                  {random_input(shape, dtype), random_input(channels, dtype),
                                   random_input(channels, dtype)},
                                  std::move(attributes)));
        cases.back().atol = 1e-5;
    };
    add("images", {2, 6, 9, 11}, 3);
    add("one_group", {2, 6, 4, 5}, 1);
    add("group_by_channel", {2, 5, 4, 5}, 5);
    add("many_channels", {1, 96, 6, 5}, 32);
    add("large", {2, 4, 65, 70}, 2);
    add("no_axes", {4, 12}, 3);
    add("1d", {3, 4, 33}, 2);
    add("3d", {1, 9, 3, 4, 5}, 3);
    add("rank_8", {1, 4, 1, 2, 1, 2, 1, 3}, 2);
    add("batch_zero", {0, 4, 4, 4}, 2);
    add("no_channels", {2, 0, 4}, 2);
    add("empty_plane", {2, 4, 0}, 2);
    add("epsilon", {2, 4, 4, 5}, 2, DType::kFloat32, {{"epsilon", 0.02F}});
    add("f64", {1, 4, 4, 4}, 2, DType::kFloat64, {{"stash_type", int64_t{11}}});
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        add(std::string(name_of(dtype)), {1, 4, 4, 4}, 2, dtype);
        cases.back().rtol = cases.back().atol = 5e-2;
    }
    add("far_from_zero", {1, 8, 8, 8}, 4);
    cases.back().inputs[0].low = 999;
    cases.back().inputs[0].high = 1001;
    return cases;
}

}  // namespace leat::testing
