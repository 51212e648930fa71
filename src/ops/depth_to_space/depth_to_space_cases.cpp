#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> depth_to_space_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const char* op, const std::string& name, CaseInput x, int64_t block,
                              const std::string& mode) {
        Attributes attributes = {{"blocksize", block}};
        if (!mode.empty()) {
            attributes.emplace("mode", mode);
        }
        cases.push_back(exact(make_case(op, name, {std::move(x)}, std::move(attributes))));
    };
    const auto add_both = [&add](const std::string& name, const Shape& deep, const Shape& wide,
                                 int64_t block, DType dtype = DType::kFloat32) {
        for (const char* mode : {"DCR", "CRD"}) {
            add("DepthToSpace", name + "_" + mode, random_elements(deep, dtype), block, mode);
            add("SpaceToDepth", name + "_" + mode, random_elements(wide, dtype), block, mode);
        }
    };
    for (const DType dtype : types_of_all_sizes()) {
        add_both(std::string(name_of(dtype)), {2, 12, 3, 2}, {2, 3, 4, 6}, 2, dtype);
    }
    for (const DType dtype : {DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt64,
                              DType::kUint16, DType::kUint32, DType::kUint64}) {
        add_both(std::string(name_of(dtype)), {1, 8, 1, 3}, {1, 2, 4, 2}, 2, dtype);
    }
    add("DepthToSpace", "default", random_elements({1, 8, 2, 3}), 2, "");
    add("SpaceToDepth", "default", random_elements({1, 2, 4, 6}), 2, "");
    add_both("blocks_of_3", {2, 18, 2, 5}, {2, 2, 6, 15}, 3);
    add_both("blocks_of_1", {2, 3, 2, 5}, {2, 3, 2, 5}, 1);
    add_both("large", {2, 36, 40, 50}, {2, 4, 120, 150}, 3);
    add_both("no_images", {0, 4, 2, 2}, {0, 1, 4, 4}, 2);
    add_both("no_channels", {2, 0, 2, 2}, {2, 0, 4, 4}, 2);
    add_both("no_pixels", {2, 4, 0, 2}, {2, 1, 0, 4}, 2);
    add("DepthToSpace", "strings", given_strings({1, 4, 2, 1}), 2, "CRD");
    add("SpaceToDepth", "strings", given_strings({1, 2, 2, 2}), 2, "DCR");
    return cases;
}

}  // namespace leat::testing
