#include <limits>

#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

namespace {

// One element of `period` is not zero; of the others some are negative zeros where there are any.
CaseInput some_zeros(Shape shape, DType dtype, int64_t period) {
    const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
    const DType part = dtype == DType::kComplex64    ? DType::kFloat32
                       : dtype == DType::kComplex128 ? DType::kFloat64
                                                     : dtype;
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    input.value = Tensor::allocate(dtype, shape).value();
    const int64_t parts = shape.element_count() * (is_complex ? 2 : 1);
    for (int64_t i = 0; i < parts; ++i) {
        const bool is_wanted = (i * 7 + i / 5) % period == 0;
        store_real(part, input.value.mutable_bytes(), i, is_wanted ? 1.5 + double(i % 3) : -0.0);
    }
    return input;
}

}  // namespace

std::vector<OpCase> nonzero_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x) {
        cases.push_back(exact(make_case("NonZero", name, {std::move(x)})));
    };
    for (const DType dtype :
         {DType::kBool, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8,
          DType::kUint16, DType::kUint32, DType::kUint64, DType::kFloat16, DType::kBfloat16,
          DType::kFloat32, DType::kFloat64, DType::kComplex64, DType::kComplex128}) {
        const std::string name(name_of(dtype));
        add(name + "_line", some_zeros({203}, dtype, 3));
        add(name + "_rows", some_zeros({5, 3, 70}, dtype, 4));
        add(name + "_scalar", some_zeros({}, dtype, 1));
    }
    const auto largest = std::numeric_limits<float>::max();
    const auto least = std::numeric_limits<float>::denorm_min();
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    add("odd_values", given_input<float>({3, 3}, {nan, -nan, least, -least, 0.0F, -0.0F, largest,
                                                  -largest, 1.0F}));
    add("strings", given_input<std::string>({2, 3}, {"", "a", "0", "", " ", ""}));
    add("scalar_zero", given_input<float>({}, {-0.0F}));
    add("scalar_string", given_input<std::string>({}, {"x"}));
    add("none", some_zeros({7, 90}, DType::kFloat32, 1'000'000));
    add("all", some_zeros({3, 130}, DType::kFloat32, 1));
    add("empty", random_input({0}));
    add("empty_rows", random_input({3, 0, 2}));
    add("extents_of_one", some_zeros({1, 70, 1, 3, 1}, DType::kInt32, 2));
    add("one_element", some_zeros({1, 1}, DType::kInt32, 1));
    add("column", some_zeros({300, 1}, DType::kUint8, 5));
    add("short_rows", some_zeros({301, 3}, DType::kFloat32, 5));
    add("short_rows_sparse", some_zeros({40, 50, 3}, DType::kFloat32, 997));
    add("long_rows_sparse", some_zeros({9, 1000}, DType::kUint8, 2711));
    add("rank_8", some_zeros({2, 1, 3, 2, 2, 1, 2, 5}, DType::kFloat32, 3));
    add("words", some_zeros({4, 128}, DType::kFloat64, 2));
    return cases;
}

}  // namespace leat::testing
