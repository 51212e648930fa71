#include <limits>

#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

std::vector<OpCase> variadic_cases();

std::vector<OpCase> variadic_cases() {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    std::vector<OpCase> cases;
    for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
        const bool selects = std::string_view(op) == "Max" || std::string_view(op) == "Min";
        for (int i = 0; i < kDTypeCount; ++i) {
            const auto type = DType(i);
            if (!contains(selects ? kNumericTypes : kFloatTypes, type)) {
                continue;
            }
            const double low = contains(kUnsignedTypes, type) ? 0 : -9;
            const auto random = [&](const Shape& shape) {
                return random_input(shape, type, low, 9);
            };
            const std::string name(name_of(type));
            cases.push_back(
                make_case(op, name, {random({2, 3, 4, 5}), random({3, 1, 1}), random({5})}));
            cases.push_back(make_case(op, name + "_one", {random({3, 7})}));
            cases.push_back(make_case(op, name + "_two", {random({1, 7}), random({3, 1})}));
            cases.push_back(make_case(op, name + "_eight",
                                      {random({33}), random({33}), random({}), random({33}),
                                       random({1}), random({33}), random({33}), random({33})}));
            cases.push_back(
                make_case(op, name + "_nine",
                          {random({5}), random({5}), random({}), random({5}), random({1}),
                           random({5}), random({5}), random({5}), random({5})}));
        }
        cases.push_back(make_case(
            op, "tiles",
            {random_input({50, 777}, DType::kFloat32), random_input({777}, DType::kFloat32),
             random_input({50, 1}, DType::kFloat32)}));
        cases.push_back(
            make_case(op, "short_rows",
                      {random_input({70, 1}, DType::kFloat32), random_input({11}, DType::kFloat32),
                       random_input({70, 11}, DType::kFloat32)}));
        if (std::string_view(op) == "Mean") {
            // Their sums are infinite.
            cases.push_back(make_case(
                op, "largest",
                {given_input<float>({3}, {3e38F, -3e38F, 3e38F}),
                 given_input<float>({3}, {3e38F, -1e38F, 1}), given_input<float>({1}, {3e38F})}));
        }
        cases.push_back(
            make_case(op, "empty",
                      {random_input({0, 7}, DType::kFloat32), random_input({7}, DType::kFloat32)}));
        cases.push_back(make_case(
            op, "nan",
            {given_input<float>({4}, {1, kNan, 2, -0.0F}),
             given_input<float>({4}, {kNan, 1, 3, 0.0F}), given_input<float>({4}, {2, 2, 2, 2})}));
    }
    return cases;
}

}  // namespace leat::testing
