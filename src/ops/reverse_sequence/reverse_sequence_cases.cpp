#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> reverse_sequence_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Ints& lengths,
                              bool is_time_first) {
        Attributes attributes;
        if (!is_time_first) {
            attributes = {{"batch_axis", int64_t{0}}, {"time_axis", int64_t{1}}};
        }
        cases.push_back(exact(
            make_case("ReverseSequence", name,
                      {std::move(x), given_input<int64_t>(Shape{int64_t(lengths.size())}, lengths)},
                      std::move(attributes))));
    };
    for (const DType dtype : types_of_all_sizes()) {
        const std::string name(name_of(dtype));
        add(name + "_time", random_elements({4, 3}, dtype), {4, 0, 3}, true);
        add(name + "_batch", random_elements({3, 5, 3}, dtype), {1, 5, 2}, false);
    }
    for (const DType dtype : {DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt64,
                              DType::kUint16, DType::kUint32, DType::kUint64}) {
        add(std::string(name_of(dtype)), random_elements({3, 2, 2}, dtype), {2, 3}, true);
    }
    add("images", random_elements({2, 3, 4, 5}), {3, 2}, false);
    add("rank8", random_elements({2, 3, 1, 2, 1, 2, 1, 2}), {2, 1, 2}, true);
    add("no_times", random_elements({0, 2}), {0, 0}, true);
    add("no_batches", random_elements({0, 3}), {}, false);
    add("no_elements", random_elements({2, 3, 0}), {3, 1}, false);
    add("strings", given_strings({2, 3}), {2, 3}, false);
    return cases;
}

}  // namespace leat::testing
