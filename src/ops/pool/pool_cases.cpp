// Conformance cases of the pooling operators.
#include <fmt/core.h>

#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct PoolCase {
    const char* name;
    Shape shape;
    Attributes attributes;
};

std::vector<PoolCase> window_cases() {
    const Ints two{2, 2};
    const Ints three{3, 3};
    const Ints ones{1, 1, 1, 1};
    const int64_t yes = 1;
    return {
        {"k2_stride2", {1, 5, 8, 10}, {{"kernel_shape", two}, {"strides", two}}},
        {"k3_stride2_pad1",
         {2, 35, 13, 12},
         {{"kernel_shape", three}, {"strides", two}, {"pads", ones}}},
        {"k3_stride1", {1, 64, 9, 9}, {{"kernel_shape", three}}},
        {"large", {1, 16, 56, 56}, {{"kernel_shape", three}, {"strides", two}, {"pads", ones}}},
        {"asymmetric",
         {1, 3, 9, 10},
         {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{1, 3}}, {"pads", Ints{0, 1, 2, 0}}}},
        {"dilated", {1, 4, 11, 12}, {{"kernel_shape", two}, {"dilations", Ints{2, 3}}}},
        {"ceil", {1, 7, 6, 7}, {{"kernel_shape", three}, {"strides", two}, {"ceil_mode", yes}}},
        {"ceil_pads",
         {1, 7, 8, 9},
         {{"kernel_shape", three}, {"strides", two}, {"pads", ones}, {"ceil_mode", yes}}},
        {"ceil_cut",
         {1, 2, 2, 2},
         {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", yes}}},
        {"same_upper",
         {1, 6, 10, 9},
         {{"kernel_shape", three}, {"strides", two}, {"auto_pad", std::string("SAME_UPPER")}}},
        {"same_lower",
         {1, 6, 10, 9},
         {{"kernel_shape", two}, {"strides", two}, {"auto_pad", std::string("SAME_LOWER")}}},
        {"valid",
         {1, 6, 10, 9},
         {{"kernel_shape", three}, {"strides", two}, {"auto_pad", std::string("VALID")}}},
        {"whole_input", {2, 40, 7, 7}, {{"kernel_shape", Ints{7, 7}}}},
        {"1d", {2, 9, 30}, {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{1, 2}}}},
        {"3d",
         {1, 4, 6, 7, 8},
         {{"kernel_shape", Ints{2, 3, 2}},
          {"strides", Ints{2, 1, 2}},
          {"pads", Ints{1, 1, 0, 0, 1, 1}}}},
        {"batch_zero", {0, 4, 6, 7}, {{"kernel_shape", two}}},
    };
}

OpCase pool(const std::string& op, const PoolCase& row) {
    return {op + "/" + row.name, op, {random_input(row.shape)}, row.attributes};
}

void add_type_cases(std::vector<OpCase>& cases,
                    const std::string& op,
                    const std::vector<DType>& dtypes) {
    for (const DType dtype : dtypes) {
        OpCase op_case = pool(
            op, {"", {1, 3, 6, 7}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}});
        op_case.name += name_of(dtype);
        op_case.inputs[0] = random_input({1, 3, 6, 7}, dtype, 0, 100);
        op_case.rtol = op_case.atol = 1e-2;
        cases.push_back(std::move(op_case));
    }
}

void add_global_cases(std::vector<OpCase>& cases, const std::string& op) {
    cases.push_back(pool(op, {"images", {2, 37, 7, 7}, {}}));
    cases.push_back(pool(op, {"many_channels", {1, 1300, 5, 6}, {}}));
    cases.push_back(pool(op, {"1d", {2, 5, 100}, {}}));
    cases.push_back(pool(op, {"3d", {1, 5, 3, 4, 5}, {}}));
    cases.push_back(pool(op, {"one_position", {2, 5, 1, 1}, {}}));
    cases.push_back(pool(op, {"batch_zero", {0, 5, 3, 3}, {}}));
    OpCase f64 = pool(op, {"f64", {1, 3, 4, 4}, {}});
    f64.inputs[0].dtype = DType::kFloat64;
    cases.push_back(std::move(f64));
}

// A NaN at the place `at` of each image's first channels, which has to be in every window there.
CaseInput with_nan(const Shape& shape, int64_t at, float filling) {
    std::vector<float> values(size_t(shape.element_count()));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = filling * float(i % 13);
    }
    values[size_t(at)] = std::numeric_limits<float>::quiet_NaN();
    values[values.size() - 2] = -std::numeric_limits<float>::infinity();
    values[values.size() - 3] = std::numeric_limits<float>::infinity();
    return given_input<float>(shape, values);
}

// NaN at the first, a middle and the last place of a window.
void add_nan_cases(std::vector<OpCase>& cases) {
    const Attributes three{{"kernel_shape", Ints{3, 3}}};
    for (const int64_t at : {0, 1, 4, 7, 8}) {
        const int64_t place = at / 3 * 7 + at % 3;
        for (const float sign : {1.0F, -1.0F}) {
            const CaseInput x = with_nan({1, 35, 7, 7}, place, sign);
            const std::string name = fmt::format("nan_{}{}", at, sign < 0 ? "_negative" : "");
            for (const char* op : {"MaxPool", "AveragePool"}) {
                cases.push_back({fmt::format("{}/{}", op, name), op, {x}, three});
            }
            cases.push_back({"MaxPool/" + name + "_indices", "MaxPool", {x}, three});
            cases.back().output_count = 2;
            cases.push_back({"GlobalMaxPool/" + name, "GlobalMaxPool", {x}});
            cases.push_back({"GlobalAveragePool/" + name, "GlobalAveragePool", {x}});
        }
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    cases.push_back({"MaxPool/nan_only",
                     "MaxPool",
                     {given_input<float>({1, 1, 2, 2}, {nan, nan, nan, nan})},
                     {{"kernel_shape", Ints{2, 2}}}});
}

// Windows of many taps, of equal elements, so that every rounding of a running sum goes one way,
// and of elements whose sum f32 does not hold.
void add_long_sums(std::vector<OpCase>& cases) {
    const auto add = [&](const std::string& op, const std::string& name, const Shape& shape,
                         float element, Attributes attributes) {
        std::vector<float> values(size_t(shape.element_count()), element);
        cases.push_back(
            {op + "/" + name, op, {given_input<float>(shape, values)}, std::move(attributes)});
        cases.back().atol = 0;
    };
    const Ints wide{120, 130};
    add("AveragePool", "large_window", {1, 9, 121, 130}, 0.1F, {{"kernel_shape", wide}});
    add("AveragePool", "large_window_dilated", {1, 2, 121, 260}, 0.1F,
        {{"kernel_shape", wide}, {"dilations", Ints{1, 2}}});
    add("AveragePool", "long_line", {1, 3, 40'000}, 0.1F, {{"kernel_shape", Ints{39'999}}});
    add("GlobalAveragePool", "large", {1, 9, 200, 201}, 0.1F, {});
    for (const float element : {3e38F, -3e38F}) {
        const std::string name = element > 0 ? "near_largest" : "near_lowest";
        add("AveragePool", name, {2, 35, 6, 7}, element, {{"kernel_shape", Ints{3, 3}}});
        add("AveragePool", name + "_large_window", {1, 3, 20, 21}, element,
            {{"kernel_shape", Ints{19, 20}}});
        add("GlobalAveragePool", name, {2, 35, 6, 7}, element, {});
    }
}

void add_norm_cases(std::vector<OpCase>& cases) {
    for (const int64_t p : {1, 2, 3}) {
        for (const PoolCase& row : window_cases()) {
            OpCase norm = pool("LpPool", row);
            norm.name += fmt::format("_p{}", p);
            norm.attributes["p"] = p;
            cases.push_back(std::move(norm));
        }
        for (const DType dtype :
             {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
            OpCase norm = pool("GlobalLpPool", {"", {2, 3, 4, 5}, {{"p", p}}});
            norm.name += fmt::format("{}_p{}", name_of(dtype), p);
            norm.inputs[0].dtype = dtype;
            cases.push_back(std::move(norm));
        }
    }
    cases.push_back(pool("GlobalLpPool", {"1d", {2, 5, 100}, {}}));
    cases.push_back(pool("GlobalLpPool", {"3d_fractional", {1, 5, 3, 4, 5}, {{"leat.p", 1.5F}}}));
    cases.push_back(pool("GlobalLpPool", {"no_elements", {1, 5, 3, 0}, {}}));
    cases.push_back({"LpPool/near_largest",
                     "LpPool",
                     {random_input({1, 2, 5, 5}, DType::kFloat64, 1e299, 1e300)},
                     {{"kernel_shape", Ints{2, 2}}, {"p", int64_t{4}}}});
    const CaseInput odd = with_nan({1, 3, 7, 7}, 8, 1);
    cases.push_back({"LpPool/nan", "LpPool", {odd}, {{"kernel_shape", Ints{3, 3}}}});
    add_type_cases(cases, "LpPool", {DType::kFloat64, DType::kFloat16, DType::kBfloat16});
}

}  // namespace

std::vector<OpCase> pool_cases() {
    std::vector<OpCase> cases;
    for (const PoolCase& row : window_cases()) {
        cases.push_back(pool("MaxPool", row));
        cases.push_back(pool("AveragePool", row));
        OpCase padded = pool("AveragePool", row);
        padded.name += "_count_include_pad";
        padded.attributes["count_include_pad"] = int64_t{1};
        cases.push_back(std::move(padded));
        for (const int64_t order : {0, 1}) {
            OpCase indices = pool("MaxPool", row);
            indices.name += order == 0 ? "_indices" : "_indices_column_major";
            indices.attributes["storage_order"] = order;
            indices.output_count = 2;
            cases.push_back(std::move(indices));
        }
    }
    add_type_cases(
        cases, "MaxPool",
        {DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8});
    add_type_cases(cases, "AveragePool", {DType::kFloat64, DType::kFloat16, DType::kBfloat16});
    add_global_cases(cases, "GlobalMaxPool");
    add_global_cases(cases, "GlobalAveragePool");
    add_norm_cases(cases);
    add_nan_cases(cases);
    add_long_sums(cases);
    return cases;
}

}  // namespace leat::testing
