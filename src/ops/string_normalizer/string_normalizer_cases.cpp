#include "ops/movement/movement_cases.h"

namespace leat::testing {

// Results whose shape only the run knows have their own tests (string_normalizer_test.cpp).
std::vector<OpCase> string_normalizer_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const char* action) {
        cases.push_back({"StringNormalizer/" + name,
                         "StringNormalizer",
                         {std::move(x)},
                         {{"case_change_action", std::string(action)}}});
    };
    add("none", given_strings({3}), "NONE");
    add("lower", given_strings({1, 5}), "LOWER");
    add("upper", given_strings({7}), "UPPER");
    add("empty", given_strings({0}), "UPPER");
    return cases;
}

}  // namespace leat::testing
