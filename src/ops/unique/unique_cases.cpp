#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> unique_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const CaseInput& x,
                              const Attributes& attributes) {
        for (const int64_t sorted : {0, 1}) {
            OpCase op_case = exact(make_case(
                "Unique", name + (sorted != 0 ? "_sorted" : "_as_they_come"), {x}, attributes));
            op_case.attributes.emplace("sorted", sorted);
            op_case.output_count = 4;
            cases.push_back(std::move(op_case));
        }
    };
    for (const DType dtype :
         {DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8,
          DType::kUint16, DType::kUint32, DType::kUint64, DType::kString}) {
        const std::string name(name_of(dtype));
        const double low = dtype == DType::kString || name[0] == 'u' ? 0 : -9;
        add(name, random_input({4, 11}, dtype, low, 12), {});
        add(name + "_rows", random_input({12, 2}, dtype, 0, 1), {{"axis", int64_t{0}}});
        add(name + "_columns", random_input({2, 12}, dtype, 0, 1), {{"axis", int64_t{-1}}});
    }
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const auto infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> odd = {2, nan, -infinity, -0.0F, nan, 0.0F, infinity, -nan, 2, -3};
    CaseInput floats = given_input<float>({10}, odd);
    add("floats", floats, {});
    add("floats_axis", floats, {{"axis", int64_t{0}}});
    add("float_slices", given_input<float>({2, 5}, {nan, 0, 1, nan, 0, 1, 2, 1, 1, 2}),
        {{"axis", int64_t{1}}});
    add("doubles", given_input<double>({2, 5}, {odd.begin(), odd.end()}), {});
    add("halves", random_input({300}, DType::kFloat16, -0.01, 0.01), {});
    add("brain_floats", random_input({300}, DType::kBfloat16), {});
    CaseInput complex;
    complex.dtype = DType::kComplex64;
    complex.shape = {5};
    complex.value = floats.value;
    complex.value =
        Tensor::view(DType::kComplex64, {5}, floats.value.bytes(), floats.value.owner());
    add("complex", complex, {});
    add("complex128", random_input({0}, DType::kComplex128), {});
    add("limits",
        given_input<int64_t>(
            {4}, {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 0, -1}),
        {});
    add("unsigned_limits",
        given_input<uint64_t>({4}, {std::numeric_limits<uint64_t>::max(), 0, 1, uint64_t{1} << 63}),
        {});
    add("many", random_input({3000}, DType::kInt32, -700, 700), {});
    add("many_wide", random_input({3000}, DType::kInt64, -700, 700), {});
    add("many_floats", random_input({2000}), {});
    add("one", random_input({}), {});
    add("empty", random_input({0}), {});
    add("empty_axis", random_input({0, 3}), {{"axis", int64_t{0}}});
    add("empty_slices", random_input({0, 3}), {{"axis", int64_t{1}}});
    add("slices", random_input({3, 20, 2}, DType::kInt32, 0, 1), {{"axis", int64_t{1}}});
    // Only what a node has to name.
    cases.push_back(exact(make_case("Unique", "alone", {random_input({50}, DType::kInt32, 0, 9)})));
    return cases;
}

}  // namespace leat::testing
