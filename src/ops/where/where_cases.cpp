#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

std::vector<OpCase> where_cases();

std::vector<OpCase> where_cases() {
    std::vector<OpCase> cases;
    const auto add = [&](DType type, std::string_view suffix, const Shape& c, const Shape& a,
                         const Shape& b) {
        cases.push_back(make_case("Where", suffix,
                                  {random_input(c, DType::kBool), random_input(a, type, 0, 100),
                                   random_input(b, type, 0, 100)}));
    };
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto type = DType(i);
        if (contains(kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kFloat8E4M3FN),
                     type)) {
            add(type, name_of(type), {3, 5}, {3, 5}, {3, 5});
        }
    }
    for (const DType type : {DType::kFloat32, DType::kInt64, DType::kBool, DType::kUint16}) {
        const std::string name = std::string(name_of(type)) + "_";
        add(type, name + "scalar_right", {2, 3, 4, 5}, {2, 3, 4, 5}, {});
        add(type, name + "scalar_left", {2, 3, 4, 5}, {}, {2, 3, 4, 5});
        add(type, name + "scalars", {4, 19}, {1}, {});
        add(type, name + "mask_row", {19}, {4, 19}, {4, 1});
        add(type, name + "mask_column", {4, 1}, {4, 19}, {4, 19});
        add(type, name + "mask_column_scalar", {4, 1}, {4, 19}, {});
        add(type, name + "all_ways", {4, 1, 1}, {5, 1}, {6});
        add(type, name + "channel", {2, 3, 4, 5}, {3, 1, 1}, {2, 3, 4, 5});
        add(type, name + "tiles", {1, 20000}, {3, 20000}, {3, 1});
        add(type, name + "short_rows", {70, 11}, {70, 1}, {11});
        add(type, name + "short_mask_column", {70, 1}, {70, 21}, {21});
        add(type, name + "short_mask_row", {9}, {2, 35, 9}, {35, 1});
        add(type, name + "empty", {0, 3}, {3}, {1});
        add(type, name + "rank0", {}, {}, {});
    }
    return cases;
}

}  // namespace leat::testing
