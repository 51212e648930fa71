// Conformance cases of TopK.
#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

constexpr float kTopkInfinity = std::numeric_limits<float>::infinity();
constexpr float kTopkNan = std::numeric_limits<float>::quiet_NaN();

class TopkCases {
  public:
    // The case for the largest and for the smallest; results are equal, not close.
    void add(const std::string& name, const CaseInput& x, int64_t k, int64_t axis = -1) {
        for (const int64_t largest : {1, 0}) {
            all_.push_back(exact({fmt::format("TopK/{}{}", name, largest != 0 ? "" : "_smallest"),
                                  "TopK",
                                  {x, constant_ints({k})},
                                  {{"axis", axis}, {"largest", largest}},
                                  2}));
        }
    }
    void add_attributes(const std::string& name, Attributes attributes) {
        all_.push_back(exact({"TopK/" + name,
                              "TopK",
                              {random_input({3, 50, 4}), constant_ints({4})},
                              std::move(attributes),
                              2}));
    }
    std::vector<OpCase> take() { return std::move(all_); }

  private:
    std::vector<OpCase> all_;
};

CaseInput topk_line(const std::vector<float>& values) {
    return given_input<float>({int64_t(values.size())}, values);
}

template <class Element>
CaseInput topk_line_of(int64_t extent, const Element& element) {
    std::vector<float> values;
    for (int64_t i = 0; i < extent; ++i) {
        values.push_back(element(i));
    }
    return topk_line(values);
}

void add_topk_types(TopkCases& cases) {
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64,
                              DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                              DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}) {
        const std::string name(name_of(dtype));
        const bool is_signed = name[0] != 'u';
        const CaseInput rows = random_input({3, 700}, dtype, is_signed ? -100 : 0, 100);
        cases.add(name + "_line", rows, 9);
        cases.add(name + "_sorted", rows, 300);
        cases.add(name + "_axis0", random_input({300, 21}, dtype, is_signed ? -100 : 0, 100), 3, 0);
    }
    const CaseInput limits = given_input<int64_t>(
        {6}, {0, std::numeric_limits<int64_t>::min(), -1, std::numeric_limits<int64_t>::max(), 1,
              std::numeric_limits<int64_t>::min()});
    cases.add("limits_i64", limits, 6);
    cases.add("limits_u64",
              given_input<uint64_t>({5}, {0, std::numeric_limits<uint64_t>::max(), 1,
                                          uint64_t{1} << 63, (uint64_t{1} << 63) - 1}),
              5);
    cases.add("limits_i32",
              given_input<int32_t>({5}, {0, std::numeric_limits<int32_t>::max(), -1,
                                         std::numeric_limits<int32_t>::min(), 1}),
              4);
}

void add_topk_shapes(TopkCases& cases) {
    for (const int64_t axis : {0, 1, 2, -1, -2}) {
        cases.add(fmt::format("axis{}", axis), random_input({9, 21, 5}), 4, axis);
    }
    for (const int64_t k : {0, 1, 2, 7, 8, 15, 16, 17}) {
        cases.add(fmt::format("k{}_of_17", k), random_input({5, 17}), k);
    }
    for (const int64_t extent : {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000}) {
        cases.add(fmt::format("one_of_{}", extent), random_input({2, extent}), 1);
        cases.add(fmt::format("many_of_{}", extent), random_input({2, extent}), extent / 5);
    }
    cases.add("no_rows", random_input({0, 4}), 2);
    cases.add("empty_axis", random_input({3, 0}), 0);
    cases.add("no_columns", random_input({3, 4, 0}), 2, 1);
    cases.add("wide_columns", random_input({2, 260, 70}), 5, 1);
    cases.add("long_columns", random_input({9000, 3}), 40, 0);
    cases.add("many_tiles", random_input({600, 512}), 6);
    cases.add("many_tiles_of_columns", random_input({4, 512, 200}), 6, 1);
    cases.add("long_line", random_input({1, 200'000}), 50);
    cases.add("long_line_of_halves", random_input({1, 100'000}, DType::kFloat16), 300);
    cases.add("long_line_sorted", random_input({1, 20'000}), 20'000);
    cases.add("long_line_k_of_quarter", random_input({1, 20'000}), 5000);
    cases.add("wide_types", random_input({2, 30'000}, DType::kFloat64), 700);
    cases.add_attributes("no_attributes", {});
    cases.add_attributes("not_sorted", {{"sorted", int64_t{0}}});
    cases.add_attributes("not_sorted_smallest", {{"sorted", int64_t{0}}, {"largest", int64_t{0}}});
}

// Many equal elements, and orders that let every element be better than all before it.
void add_topk_ties(TopkCases& cases) {
    for (const int64_t k : {1, 5, 60}) {
        const std::string suffix = fmt::format("_k{}", k);
        cases.add("equal" + suffix, topk_line_of(5000, [](int64_t) { return 1.5F; }), k);
        cases.add("few_values" + suffix, random_input({3, 4000}, DType::kInt32, -2, 2), k);
        cases.add("few_values_i64" + suffix, random_input({3, 4000}, DType::kInt64, -2, 2), k);
        cases.add("ascending" + suffix, topk_line_of(9000, [](int64_t i) { return float(i); }), k);
        cases.add("descending" + suffix, topk_line_of(9000, [](int64_t i) { return float(-i); }),
                  k);
        cases.add("steps" + suffix,
                  topk_line_of(9000, [](int64_t i) { return float(i - i % 1000); }), k);
        cases.add("zeros" + suffix,
                  topk_line_of(3000, [](int64_t i) { return i % 3 != 0 ? 0.F : -0.F; }), k);
        cases.add("subnormal" + suffix,
                  topk_line_of(3000, [](int64_t i) { return float(i * 7 % 11 - 5) * 0x1p-149F; }),
                  k);
        cases.add(
            "masked" + suffix,
            topk_line_of(3000, [](int64_t i) { return i % 90 == 7 ? float(i) : -kTopkInfinity; }),
            k);
    }
    const CaseInput all_largest = given_input<int32_t>(
        {4000}, std::vector<int32_t>(4000, std::numeric_limits<int32_t>::max()));
    cases.add("equal_to_the_largest_i32", all_largest, 30);
    const CaseInput all_least = given_input<int32_t>(
        {4000}, std::vector<int32_t>(4000, std::numeric_limits<int32_t>::min()));
    cases.add("equal_to_the_least_i32", all_least, 30);
}

// All numbers and NaNs of a type of 16 bits.
template <class T>
void add_topk_codes(TopkCases& cases) {
    std::vector<T> codes;
    codes.reserve(1 << 16);
    for (int code = 0; code < 1 << 16; ++code) {
        codes.push_back({uint16_t(code * 7)});
    }
    const CaseInput all = given_input<T>({1 << 16}, codes);
    cases.add(fmt::format("codes_{}", name_of(all.dtype)), all, 100);
    cases.add(fmt::format("codes_{}_sorted", name_of(all.dtype)), all, 1 << 16);
}

void add_topk_nans(TopkCases& cases) {
    cases.add("nan_and_infinity",
              topk_line({1, kTopkNan, 3, 2, -kTopkNan, -kTopkInfinity, kTopkInfinity, 0, -0.F}), 9);
    for (const int64_t k : {1, 3, 40, 1500}) {
        const std::string suffix = fmt::format("_k{}", k);
        const auto among = [](float rare) {
            return [rare](int64_t i) { return i % 977 == 400 ? rare : float(i * 31 % 1009); };
        };
        cases.add("nan" + suffix, topk_line_of(3000, among(kTopkNan)), k);
        cases.add("infinity" + suffix, topk_line_of(3000, among(kTopkInfinity)), k);
        cases.add("all_nan" + suffix, topk_line_of(3000, [](int64_t) { return kTopkNan; }), k);
        cases.add("all_infinity" + suffix,
                  topk_line_of(3000, [](int64_t) { return kTopkInfinity; }), k);
        cases.add("infinities" + suffix,
                  topk_line_of(
                      3000, [](int64_t i) { return i % 2 == 0 ? kTopkInfinity : -kTopkInfinity; }),
                  k);
    }
    std::vector<double> wide(3000, -double(kTopkInfinity));
    for (size_t i = 0; i < wide.size(); i += 7) {
        wide[i] = i % 49 == 0 ? double(kTopkNan) : double(i % 10) * 0x1p-1074;
    }
    cases.add("nan_f64", given_input<double>({3000}, wide), 100);
    cases.add("nan_f64_sorted", given_input<double>({3000}, wide), 3000);
    add_topk_codes<Float16>(cases);
    add_topk_codes<BFloat16>(cases);
    // In every place of a line and of a column.
    constexpr int64_t kExtent = 67;
    std::vector<float> values(size_t(kExtent * kExtent));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = i % size_t(kExtent + 1) == 0 ? kTopkNan : float(i * 7 % 23);
    }
    for (const int64_t axis : {0, 1}) {
        cases.add(fmt::format("nan_everywhere_axis{}", axis),
                  given_input<float>({kExtent, kExtent}, values), 5, axis);
    }
}

}  // namespace

std::vector<OpCase> topk_cases() {
    TopkCases cases;
    add_topk_types(cases);
    add_topk_shapes(cases);
    add_topk_ties(cases);
    add_topk_nans(cases);
    return cases.take();
}

}  // namespace leat::testing
