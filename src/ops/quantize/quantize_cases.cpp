#include <cmath>
#include <limits>

#include "conformance/case_inputs.h"
#include "ops/quantize/quantize.h"

namespace leat::testing {

std::vector<OpCase> quantize_cases();

namespace {

constexpr DType kF32 = DType::kFloat32;

CaseInput scales(Shape shape, DType dtype = kF32) {
    return random_input(shape, dtype, 0.02, 0.5);
}

// Zero points in the middle of what the type can have.
CaseInput zeros(Shape shape, DType dtype) {
    const bool has_sign = contains(kSignedTypes | dtype_set(DType::kInt4, DType::kInt2), dtype);
    const double high = std::ldexp(1.0, bits_of(dtype) - (has_sign ? 1 : 0)) - 1;
    return random_input(shape, dtype, has_sign ? -high : 0, high);
}

void add(std::vector<OpCase>& cases,
         const std::string& name,
         std::vector<CaseInput> inputs,
         Attributes attributes = {}) {
    cases.push_back(
        exact(make_case("QuantizeLinear", name, std::move(inputs), std::move(attributes))));
}
void add_back(std::vector<OpCase>& cases,
              const std::string& name,
              std::vector<CaseInput> inputs,
              Attributes attributes = {}) {
    cases.push_back(
        exact(make_case("DequantizeLinear", name, std::move(inputs), std::move(attributes))));
}

void add_types(std::vector<OpCase>& cases) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = DType(i);
        if (!contains(kQuantizedTypes | dtype_bit(DType::kInt32), dtype)) {
            continue;
        }
        const std::string name(name_of(dtype));
        const bool is_float = contains(kSmallFloatTypes, dtype);
        const CaseInput one_zero = is_float ? random_input({}, dtype, 0, 0) : zeros({}, dtype);
        const CaseInput x = is_float ? random_input({3, 50}, dtype) : zeros({3, 50}, dtype);
        add_back(cases, name, {x, scales({})});
        add_back(cases, name + "_zero", {x, scales({}), one_zero});
        if (dtype == DType::kInt32) {
            continue;
        }
        for (const DType real : {kF32, DType::kFloat16, DType::kBfloat16, DType::kInt32}) {
            const double reach = real == DType::kInt32 ? 300 : 100;
            const DType scale = real == DType::kInt32 ? kF32 : real;
            add(cases, fmt::format("{}_{}", name_of(real), name),
                {random_input({5, 37}, real, -reach, reach), scales({}, scale), one_zero});
        }
        add(cases, name + "_output_dtype", {random_input({70}, kF32, -90, 90), scales({})},
            {{"output_dtype", int64_t(dtype)}});
    }
    for (const DType to : {DType::kFloat16, DType::kBfloat16}) {
        const std::string name(name_of(to));
        add_back(cases, "i8_" + name, {zeros({40}, DType::kInt8), scales({}, to)});
        add_back(cases, "i32_" + name, {zeros({40}, DType::kInt32), scales({})},
                 {{"output_dtype", int64_t(to)}});
    }
}

void add_axes(std::vector<OpCase>& cases) {
    const Shape shape{2, 5, 3, 19};
    for (int64_t axis = -4; axis < 4; ++axis) {
        const Shape own{shape[int(axis < 0 ? axis + 4 : axis)]};
        const std::string name = fmt::format("axis_{}", axis);
        add(cases, name,
            {random_input(shape, kF32, -90, 90), scales(own), zeros(own, DType::kInt8)},
            {{"axis", axis}});
        add(cases, name + "_no_zero", {random_input(shape, kF32, -90, 90), scales(own)},
            {{"axis", axis}});
        add_back(cases, name, {zeros(shape, DType::kUint8), scales(own), zeros(own, DType::kUint8)},
                 {{"axis", axis}});
        add_back(cases, name + "_no_zero", {zeros(shape, DType::kInt32), scales(own)},
                 {{"axis", axis}});
    }
    add(cases, "one_scale_in_vector",
        {random_input(shape, kF32, -90, 90), scales({1}), zeros({1}, DType::kUint8)});
    add(cases, "last_axis_wide",
        {random_input({7, 200}, kF32, -90, 90), scales({200}), zeros({200}, DType::kUint16)});
    const Shape blocks{2, 3, 3, 19};
    add(cases, "blocks",
        {random_input(shape, kF32, -90, 90), scales(blocks), zeros(blocks, DType::kInt8)},
        {{"axis", int64_t{1}}, {"block_size", int64_t{2}}});
    add_back(cases, "blocks",
             {zeros(shape, DType::kInt8), scales(blocks), zeros(blocks, DType::kInt8)},
             {{"axis", int64_t{-3}}, {"block_size", int64_t{2}}});
    add_back(cases, "blocks_i4_f16", {zeros({8, 6}, DType::kInt4), scales({2, 6}, DType::kFloat16)},
             {{"axis", int64_t{0}}, {"block_size", int64_t{4}}});
}

void add_values(std::vector<OpCase>& cases) {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> special{0.0F,   -0.0F,  0.5F,     1.5F,        2.5F,          -0.5F,
                                     -1.5F,  -2.5F,  3.5F,     0.49999997F, 126.5F,        127.5F,
                                     128.5F, 254.5F, 255.5F,   -128.5F,     -129.0F,       1e10F,
                                     -1e10F, 3e38F,  infinity, -infinity,   std::nanf(""), 1e-40F};
    const Shape shape{int64_t(special.size())};
    for (const DType to : {DType::kUint8, DType::kInt8, DType::kUint16, DType::kInt16, DType::kInt4,
                           DType::kUint2, DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ,
                           DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ, DType::kFloat4E2M1}) {
        const std::string name(name_of(to));
        add(cases, "special_" + name,
            {given_input(shape, special), given_input<float>({}, {1.0F}),
             random_input({}, to, 1, 1)});
        add(cases, "special_third_" + name,
            {given_input(shape, special), given_input<float>({}, {1.0F / 3}),
             random_input({}, to, 0, 0)},
            {{"saturate", int64_t{0}}});
    }
    for (const DType dtype : {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                              DType::kFloat8E5M2FNUZ}) {
        const std::string name(name_of(dtype));
        add_back(cases, "codes_" + name, {all_codes(dtype), scales({})});
        add_back(cases, "codes_zero_" + name,
                 {all_codes(dtype), scales({}), random_input({}, dtype, 1, 2)});
        add_back(cases, "scale_f8e8m0_" + name,
                 {all_codes(dtype), scales({256}, DType::kFloat8E8M0)},
                 {{"output_dtype", int64_t(kF32)}, {"axis", int64_t{0}}});
        add(cases, "scale_f8e8m0_" + name,
            {random_input({256}, kF32, -90, 90), scales({256}, DType::kFloat8E8M0),
             random_input({256}, dtype, 0, 0)},
            {{"axis", int64_t{0}}});
    }
    add(cases, "scale_f8e8m0_i8",
        {random_input({256}, kF32, -9, 9), scales({}, DType::kFloat8E8M0),
         zeros({}, DType::kInt8)});
    add(cases, "precision_f16",
        {random_input({99}, kF32, -90, 90), scales({}), zeros({}, DType::kInt8)},
        {{"precision", int64_t(DType::kFloat16)}});
    add(cases, "large", {random_input({300, 501}, kF32, -90, 90), scales({})});
    add(cases, "empty", {random_input({0, 3}, kF32), scales({}), zeros({}, DType::kInt8)});
    add(cases, "scalar", {random_input({}, kF32), scales({}), zeros({}, DType::kInt8)});
    const std::vector<int32_t> wide{std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max(), 16777217, -16777219, 0};
    add_back(cases, "i32_wide", {given_input<int32_t>({5}, wide), scales({})});
    add_back(cases, "i32_wide_zero",
             {given_input<int32_t>({5}, wide), scales({}),
              given_input<int32_t>({}, {std::numeric_limits<int32_t>::max()})});
    add_back(cases, "large", {zeros({300, 501}, DType::kUint8), scales({})});
    add_back(cases, "empty", {zeros({3, 0}, DType::kUint8), scales({})});
}

void add_dynamic(std::vector<OpCase>& cases) {
    const auto dynamic = [&cases](const char* name, CaseInput x) {
        OpCase op_case = exact(make_case("DynamicQuantizeLinear", name, {std::move(x)}));
        op_case.output_count = 3;
        cases.push_back(std::move(op_case));
    };
    const float infinity = std::numeric_limits<float>::infinity();
    dynamic("both_signs", random_input({7, 53}, kF32, -3, 5));
    dynamic("positive", random_input({100}, kF32, 2, 5));
    dynamic("negative", random_input({100}, kF32, -5, -1));
    dynamic("zeros", random_input({33}, kF32, 0, 0));
    dynamic("empty", random_input({0}));
    dynamic("scalar", random_input({}));
    dynamic("large", random_input({90, 1001}));
    dynamic("nan", given_input<float>({3}, {std::nanf(""), 1.0F, -2.0F}));
    dynamic("infinite", given_input<float>({3}, {infinity, 1.0F, -2.0F}));
    dynamic("both_infinite", given_input<float>({4}, {infinity, 1.0F, -2.0F, -infinity}));
}

}  // namespace

std::vector<OpCase> quantize_cases() {
    std::vector<OpCase> cases;
    add_types(cases);
    add_axes(cases);
    add_values(cases);
    add_dynamic(cases);
    return cases;
}

}  // namespace leat::testing
