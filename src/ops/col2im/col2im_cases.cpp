#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> col2im_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Ints& image,
                              const Ints& block, Attributes attributes = {}) {
        cases.push_back(make_case("Col2Im", name,
                                  {std::move(x), constant_ints(image), constant_ints(block)},
                                  std::move(attributes)));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt8,
          DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
          DType::kUint32, DType::kUint64, DType::kBool, DType::kComplex64, DType::kComplex128}) {
        add(std::string(name_of(dtype)), random_elements({2, 12, 6}, dtype), {4, 3}, {2, 2});
    }
    add("strides", random_elements({1, 9, 4}), {5, 5}, {3, 3}, {{"strides", Ints{2, 2}}});
    add("gaps", random_elements({1, 4, 4}), {6, 5}, {2, 2}, {{"strides", Ints{3, 3}}});
    add("pads", random_elements({2, 8, 12}), {4, 4}, {2, 2}, {{"pads", Ints{1, 0, 0, 0}}});
    add("all_pads", random_elements({1, 5, 15}), {5, 5}, {1, 5}, {{"pads", Ints{0, 1, 0, 1}}});
    add("dilations", random_elements({1, 4, 5}), {6, 6}, {2, 2}, {{"dilations", Ints{1, 5}}});
    add("line", random_elements({2, 6, 5}), {7}, {3});
    add("volume", random_elements({1, 10, 12}), {3, 4, 5}, {1, 1, 5});
    add("rank6", random_elements({1, 8, 1}), {2, 1, 2, 1, 1, 2}, {2, 1, 2, 1, 1, 2});
    add("blocks_of_1", random_elements({2, 3, 6}), {2, 3}, {1, 1});
    add("image_4x4", random_elements({1, 4, 9}), {4, 4}, {2, 2});
    add("image_10x2", random_elements({1, 4, 9}), {10, 2}, {2, 2});
    add("large", random_elements({3, 36, 900}), {61, 61}, {3, 3},
        {{"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 0, 0}}});
    add("large_pads", random_elements({2, 32, 441}), {40, 40}, {4, 4},
        {{"strides", Ints{2, 2}}, {"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{1, 1}}});
    add("wide_pads", random_elements({1, 4, 36}), {2, 2}, {2, 2}, {{"pads", Ints{3, 2, 2, 3}}});
    add("no_images", random_elements({0, 4, 9}), {4, 4}, {2, 2});
    add("no_channels", random_elements({2, 0, 9}), {4, 4}, {2, 2});
    add("no_pixels", random_elements({1, 4, 3}), {0, 4}, {2, 2}, {{"pads", Ints{1, 0, 1, 0}}});
    add("strings", given_strings({1, 4, 2}), {2, 3}, {2, 2});
    return cases;
}

}  // namespace leat::testing
