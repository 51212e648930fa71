#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> transpose_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, Attributes attributes) {
        cases.push_back({"Transpose/" + name, "Transpose", {std::move(x)}, std::move(attributes)});
    };
    add("reversed", random_elements({5, 6, 7}), {});
    add("scalar", random_elements({}), {});
    add("matrix", random_elements({37, 53}), {{"perm", Ints{1, 0}}});
    add("large_matrix", random_elements({301, 517}), {{"perm", Ints{1, 0}}});
    add("to_channels_last", random_elements({2, 3, 40, 40}), {{"perm", Ints{0, 2, 3, 1}}});
    add("to_channels_first", random_elements({2, 40, 40, 3}), {{"perm", Ints{0, 3, 1, 2}}});
    add("heads", random_elements({2, 9, 4, 24}), {{"perm", Ints{0, 2, 1, 3}}});
    add("pairs", random_elements({5, 6, 2}), {{"perm", Ints{1, 0, 2}}});
    add("identity", random_elements({5, 6, 2}), {{"perm", Ints{0, 1, 2}}});
    add("empty", random_elements({5, 0, 2}), {{"perm", Ints{2, 0, 1}}});
    add("rank8", random_elements({2, 1, 3, 2, 1, 2, 3, 2}),
        {{"perm", Ints{7, 0, 6, 1, 5, 2, 4, 3}}});
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), random_elements({19, 3, 21}, dtype),
            {{"perm", Ints{2, 1, 0}}});
    }
    add("strings", given_strings({3, 4}), {});
    return cases;
}

}  // namespace leat::testing
