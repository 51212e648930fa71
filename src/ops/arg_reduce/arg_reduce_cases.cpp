// Conformance cases of ArgMax and ArgMin.
#include <fmt/core.h>

#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

// Lines that a kernel may do in parts: ties and NaNs of different parts meet.
void add_long_lines(std::vector<OpCase>& cases, const std::string& op) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> values(size_t{3} * 5000);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = i < 5000 ? nan : i < 7000 ? nan : float(i * 7 % 11);
    }
    for (const int64_t last : {0, 1}) {
        const std::string suffix = last != 0 ? "_last" : "_first";
        const Attributes attributes{{"axis", int64_t{1}}, {"select_last_index", last}};
        cases.push_back({fmt::format("{}/long_lines{}", op, suffix),
                         op,
                         {given_input<float>({3, 5000}, values)},
                         attributes});
        cases.push_back({fmt::format("{}/long_columns{}", op, suffix),
                         op,
                         {random_input({2, 1500, 3}, DType::kInt64, -40, 40)},
                         attributes});
    }
}

// NaN at every place of a row and of a column, among numbers and infinities.
void add_nans(std::vector<OpCase>& cases, const std::string& op) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    constexpr int64_t kExtent = 19;
    for (const float filling : {1.0F, infinity, -infinity}) {
        std::vector<float> values(size_t(kExtent * kExtent), filling);
        for (int64_t i = 0; i < kExtent; ++i) {
            values[size_t(i * kExtent + i)] = nan;
        }
        values[size_t(kExtent - 1)] = nan;  // a second one in the first row and the last column
        for (const int64_t axis : {0, 1}) {
            for (const int64_t last : {0, 1}) {
                cases.push_back({fmt::format("{}/nan_in_{}_axis{}{}", op, filling, axis,
                                             last != 0 ? "_last" : "_first"),
                                 op,
                                 {given_input<float>({kExtent, kExtent}, values)},
                                 {{"axis", axis}, {"select_last_index", last}}});
            }
        }
    }
}

void add_cases(std::vector<OpCase>& cases, const std::string& op) {
    const auto add = [&](const char* name, CaseInput x, Attributes attributes) {
        cases.push_back({op + "/" + name, op, {std::move(x)}, std::move(attributes)});
    };
    const int64_t no = 0;
    const int64_t yes = 1;
    add("default_axis", random_input({9, 21}), {});
    add("last", random_input({5, 100}), {{"axis", int64_t{-1}}});
    add("last_no_keepdims", random_input({5, 1003}), {{"axis", int64_t{1}}, {"keepdims", no}});
    add("middle", random_input({3, 8, 19}), {{"axis", int64_t{1}}});
    add("extent_one", random_input({3, 1}), {{"axis", int64_t{1}}});
    add("rank_one", random_input({77}), {{"keepdims", no}});
    add("no_rows", random_input({0, 4}), {{"axis", int64_t{1}}});
    for (const int64_t last : {no, yes}) {
        const std::string suffix = last != 0 ? "_last" : "_first";
        // Whole numbers in a small range: many ties.
        const Attributes attributes{{"axis", int64_t{-1}}, {"select_last_index", last}};
        CaseInput ties = random_input({6, 70}, DType::kInt32, -2, 2);
        add(("ties_i32" + suffix).c_str(), ties, attributes);
        std::vector<float> values(160);
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = float(i * 7 % 5);
        }
        add(("ties_f32" + suffix).c_str(), given_input<float>({4, 40}, values), attributes);
        add(("ties_f32_axis0" + suffix).c_str(), given_input<float>({4, 40}, values),
            {{"axis", no}, {"select_last_index", last}});
    }
    for (const DType dtype :
         {DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8,
          DType::kInt16, DType::kUint16, DType::kUint32, DType::kInt64, DType::kUint64}) {
        add(std::string(name_of(dtype)).c_str(), random_input({4, 9}, dtype, 0, 100),
            {{"axis", yes}});
    }
    add_long_lines(cases, op);
    add_nans(cases, op);
}

}  // namespace

std::vector<OpCase> arg_reduce_cases() {
    std::vector<OpCase> cases;
    add_cases(cases, "ArgMax");
    add_cases(cases, "ArgMin");
    return cases;
}

}  // namespace leat::testing
