#include <cmath>

#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

CaseInput off_and_on(DType dtype) {
    CaseInput values = random_elements({2}, dtype);
    values.low = 0;
    values.high = 1;
    return values;
}

CaseInput depth_of(int64_t depth) {
    CaseInput input = given_input<int64_t>({}, {depth});
    input.constant = true;
    return input;
}

// Integers around [-depth, depth).
CaseInput indices_around(Shape shape, int64_t depth, DType dtype = DType::kInt64) {
    return random_input(shape, dtype, double(-depth - 2), double(depth + 2));
}

}  // namespace

std::vector<OpCase> onehot_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput indices, CaseInput depth,
                              CaseInput values, int64_t axis) {
        cases.push_back(exact(make_case("OneHot", name,
                                        {std::move(indices), std::move(depth), std::move(values)},
                                        {{"axis", axis}})));
    };
    for (const DType dtype : types_of_all_sizes()) {
        const std::string name(name_of(dtype));
        add(name + "_last", indices_around({3, 7}, 5), depth_of(5), off_and_on(dtype), -1);
        add(name + "_first", indices_around({3, 7}, 5), depth_of(5), off_and_on(dtype), 0);
        add(name + "_middle", indices_around({3, 7}, 5), depth_of(5), off_and_on(dtype), 1);
    }
    for (const DType dtype : {DType::kInt32, DType::kFloat32, DType::kFloat64, DType::kFloat16,
                              DType::kInt8, DType::kInt16}) {
        const std::string name = "indices_" + std::string(name_of(dtype));
        add(name + "_last", indices_around({40}, 9, dtype), depth_of(9),
            off_and_on(DType::kFloat32), 1);
        add(name + "_first", indices_around({40}, 9, dtype), depth_of(9),
            off_and_on(DType::kFloat32), -2);
    }
    add("indices_u8", random_input({4, 5}, DType::kUint8, 0, 12), depth_of(10),
        off_and_on(DType::kFloat32), -1);
    add("no_numbers", given_input<float>({6}, {NAN, INFINITY, -INFINITY, 1e30F, -0.9F, 3.9F}),
        depth_of(4), off_and_on(DType::kFloat32), -1);
    add("no_numbers_first", given_input<float>({6}, {NAN, INFINITY, -INFINITY, 1e30F, -0.9F, 3.9F}),
        depth_of(4), off_and_on(DType::kFloat32), 0);
    add("huge_indices", given_input<uint64_t>({4}, {UINT64_MAX, uint64_t{1} << 63, 2, 7}),
        depth_of(4), off_and_on(DType::kFloat32), -1);
    add("scalar", given_input<int64_t>({}, {2}), depth_of(4), off_and_on(DType::kFloat32), 0);
    add("depth_4", given_input<int64_t>({3}, {2, -1, 0}), depth_of(4), off_and_on(DType::kFloat32),
        -1);
    add("depth_6", given_input<int64_t>({3}, {2, -1, 0}), depth_of(6), off_and_on(DType::kFloat32),
        -1);
    add("depth_0", given_input<int64_t>({3}, {2, -1, 0}), depth_of(0), off_and_on(DType::kFloat32),
        -1);
    CaseInput real_depth = given_input<float>({1}, {3.7F});
    real_depth.constant = true;
    add("real_depth", given_input<int64_t>({3}, {2, 3, 0}), std::move(real_depth),
        off_and_on(DType::kFloat32), -1);
    add("empty", indices_around({0, 3}, 4), depth_of(4), off_and_on(DType::kFloat32), 1);
    add("large", indices_around({300}, 500), depth_of(500), off_and_on(DType::kFloat32), -1);
    add("large_first", indices_around({300}, 500), depth_of(500), off_and_on(DType::kFloat32), 0);
    add("strings", indices_around({2, 3}, 4), depth_of(4),
        given_input<std::string>({2}, {"off", "on"}), 1);
    return cases;
}

}  // namespace leat::testing
