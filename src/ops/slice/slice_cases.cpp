#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> slice_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Ints& starts,
                              const Ints& ends, const Ints& axes, const Ints& steps) {
        cases.push_back({"Slice/" + name,
                         "Slice",
                         {std::move(x), constant_ints(starts), constant_ints(ends),
                          constant_ints(axes), constant_ints(steps)}});
    };
    cases.push_back({"Slice/without_axes",
                     "Slice",
                     {random_elements({5, 6, 7}), constant_ints({1, 2}), constant_ints({4, -1})}});
    add("to_the_end", random_elements({5, 6}), {2}, {INT64_MAX}, {1}, {1});
    add("step", random_elements({9, 8, 7}), {1, 0}, {9, 7}, {0, 2}, {3, 2});
    add("reverse", random_elements({9, 8}), {-1}, {INT64_MIN}, {1}, {-1});
    add("reverse_step", random_elements({9, 8}), {7, 100}, {1, -100}, {0, 1}, {-2, -3});
    add("nothing", random_elements({9, 8}), {5}, {5}, {0}, {1});
    add("empty_input", random_elements({0, 8}), {0}, {5}, {0}, {1});
    add("beyond", random_elements({3, 4}), {-9}, {9}, {0}, {1});
    add("huge_steps", random_elements({3, 4}), {1, 2}, {9, -9}, {0, 1}, {INT64_MAX, INT64_MIN});
    add("channels", random_elements({2, 9, 5, 6}), {2, 1}, {8, 5}, {1, 3}, {1, 2});
    add("large", random_elements({1, 70, 60, 61}), {1, 3}, {60, 59}, {2, 3}, {1, 1});
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), random_elements({5, 7}, dtype), {1, -1}, {4, 0}, {0, 1},
            {1, -2});
    }
    add("strings", given_strings({4, 3}), {1}, {3}, {0}, {1});
    return cases;
}

}  // namespace leat::testing
