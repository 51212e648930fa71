#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> eye_like_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, Attributes attributes = {}) {
        cases.push_back(exact(make_case("EyeLike", name, {std::move(x)}, std::move(attributes))));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kInt8,
          DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
          DType::kUint32, DType::kUint64, DType::kBool}) {
        const std::string name(name_of(dtype));
        add(name, random_elements({3, 4}, dtype));
        add("to_" + name, random_elements({4, 3}), {{"dtype", int64_t(dtype)}, {"k", int64_t{-1}}});
    }
    for (const int64_t k : {int64_t{1}, int64_t{-2}, int64_t{4}, int64_t{-3}, int64_t{9},
                            int64_t{-9}, INT64_MIN, INT64_MAX}) {
        add("k_" + std::to_string(k), random_elements({3, 5}), {{"k", k}});
    }
    add("no_rows", random_elements({0, 3}));
    add("no_columns", random_elements({3, 0}), {{"k", int64_t{1}}});
    return cases;
}

}  // namespace leat::testing
