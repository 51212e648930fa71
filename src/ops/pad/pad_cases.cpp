#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> pad_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const char* mode, CaseInput x,
                              const Ints& pads) {
        cases.push_back({"Pad/" + name,
                         "Pad",
                         {std::move(x), constant_ints(pads)},
                         {{"mode", std::string(mode)}}});
    };
    for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
        const std::string prefix = std::string(mode) + "_";
        add(prefix + "matrix", mode, random_elements({4, 5}), {1, 2, 3, 1});
        add(prefix + "image", mode, random_elements({2, 3, 7, 6}), {0, 0, 2, 1, 0, 0, 1, 2});
        add(prefix + "long", mode, random_elements({3}), {8, 9});
        add(prefix + "crop", mode, random_elements({6, 7}), {-1, 2, 1, -3});
        add(prefix + "one", mode, random_elements({1, 4}), {2, 0, 2, 0});
        add(prefix + "nothing", mode, random_elements({2, 3}), {0, 0, 0, 0});
        add(prefix + "scalar", mode, random_elements({}), {});
    }
    add("empty", "constant", random_elements({0, 2}), {1, 1, 2, 0});
    add("to_empty", "edge", random_elements({3, 2}), {-1, 0, -2, 0});
    add("large", "constant", random_elements({1, 32, 56, 56}), {0, 0, 1, 1, 0, 0, 1, 1});
    cases.push_back({"Pad/value_and_axes",
                     "Pad",
                     {random_elements({2, 3, 4}), constant_ints({1, 2}),
                      given_input<float>({}, {7.5F}), constant_ints({-1})}});
    for (const DType dtype : types_of_all_sizes()) {
        add("constant_" + std::string(name_of(dtype)), "constant", random_elements({3, 5}, dtype),
            {1, 1, 0, 2});
        add("reflect_" + std::string(name_of(dtype)), "reflect", random_elements({3, 5}, dtype),
            {1, 1, 0, 2});
    }
    add("strings", "constant", given_strings({2}), {1, 1});
    return cases;
}

}  // namespace leat::testing
