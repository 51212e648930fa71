#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> max_unpool_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const Shape& shape, DType dtype,
                              const Ints& indices, const Ints& output, Attributes attributes) {
        std::vector<CaseInput> inputs = {random_elements(shape, dtype),
                                         given_input<int64_t>(shape, indices)};
        if (!output.empty()) {
            inputs.push_back(constant_ints(output));
        }
        cases.push_back(
            exact(make_case("MaxUnpool", name, std::move(inputs), std::move(attributes))));
    };
    const Attributes halves = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    const Ints four = {5, 7, 13, 15};
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add(name, {1, 1, 2, 2}, dtype, four, {}, halves);
        add(name + "_larger", {1, 1, 2, 2}, dtype, four, {1, 1, 5, 5}, halves);
    }
    add("output_4x6", {1, 1, 2, 2}, DType::kFloat32, four, {1, 1, 4, 6}, halves);
    add("output_3x6", {1, 1, 2, 2}, DType::kFloat32, four, {1, 1, 3, 6}, halves);
    add("channels", {2, 2, 1, 2}, DType::kFloat32, {1, 3, 8, 14, 17, 18, 27, 31}, {}, halves);
    add("channels_larger", {2, 2, 1, 2}, DType::kFloat32, {1, 3, 8, 14, 17, 18, 27, 31},
        {2, 2, 3, 4}, halves);
    add("pads", {1, 1, 3, 3}, DType::kFloat32, {0, 2, 4, 5, 7, 9, 20, 22, 24}, {},
        {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    add("line", {1, 1, 4}, DType::kFloat32, {1, 3, 4, 6}, {},
        {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}});
    add("volume", {1, 1, 2, 1, 2}, DType::kFloat32, {1, 3, 8, 9}, {},
        {{"kernel_shape", Ints{1, 2, 2}}, {"strides", Ints{3, 1, 2}}});
    add("no_strides", {1, 1, 2, 2}, DType::kFloat32, {0, 5, 6, 8}, {},
        {{"kernel_shape", Ints{2, 2}}});
    add("equal_indices", {1, 1, 2, 2}, DType::kFloat32, {5, 5, 5, 0}, {}, halves);
    add("no_images", {0, 1, 2, 2}, DType::kFloat32, {}, {}, halves);
    add("no_pixels", {1, 1, 0, 2}, DType::kFloat32, {}, {1, 1, 3, 4}, halves);
    return cases;
}

}  // namespace leat::testing
