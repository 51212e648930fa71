#include <limits>
#include <string>
#include <utility>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

// Inside, across the border, without extent, the wrong way round, far away, and huge.
std::vector<float> corners_of_regions() {
    return {1, 2, 6, 5, -3,  -2,  4,   3,   2, 2, 2,    2,
            5, 6, 1, 2, 100, 100, 110, 120, 0, 0, 1e9F, 1e30F};
}
constexpr int64_t kRegions = 6;

CaseInput regions_input(const std::vector<int64_t>& images) {
    const std::vector<float> corners = corners_of_regions();
    std::vector<float> values;
    const size_t columns = images.empty() ? 4 : 5;
    for (size_t k = 0; k < size_t(kRegions); ++k) {
        if (!images.empty()) {
            values.push_back(float(images[k]));
        }
        values.insert(values.end(), corners.begin() + std::ptrdiff_t(k * 4),
                      corners.begin() + std::ptrdiff_t(k * 4 + 4));
    }
    return given_input<float>({kRegions, int64_t(columns)}, values);
}

void add_roi_align(std::vector<OpCase>& cases) {
    for (const char* mode : {"avg", "max"}) {
        for (const char* transformation : {"half_pixel", "output_half_pixel"}) {
            for (const int64_t samples : {0, 2}) {
                const std::string name =
                    std::string(mode) + "_" + transformation + "_" + std::to_string(samples);
                cases.push_back(
                    make_case("RoiAlign", name,
                              {random_input({2, 3, 7, 8}), regions_input({}),
                               given_input<int64_t>({kRegions}, {0, 1, 1, 0, 1, 0})},
                              {{"mode", std::string(mode)},
                               {"coordinate_transformation_mode", std::string(transformation)},
                               {"sampling_ratio", samples},
                               {"output_height", int64_t{3}},
                               {"output_width", int64_t{2}},
                               {"spatial_scale", 0.75F}}));
            }
        }
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    for (const int64_t samples : {0, 2}) {
        cases.push_back(make_case(
            "RoiAlign", "no_numbers_" + std::to_string(samples),
            {random_input({1, 2, 4, 5}),
             given_input<float>({3, 4}, {nan, 0, 3, 3, 0, 0, infinity, 3, 0, -infinity, 2, 3}),
             given_input<int64_t>({3}, {0, 0, 0})},
            {{"sampling_ratio", samples}}));
    }
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
        cases.push_back(
            make_case("RoiAlign", name_of(dtype),
                      {random_input({1, 2, 6, 7}, dtype), random_input({3, 4}, dtype, -1, 8),
                       given_input<int64_t>({3}, {0, 0, 0})},
                      {{"output_height", int64_t{2}}, {"output_width", int64_t{2}}}));
    }
    cases.push_back(make_case(
        "RoiAlign", "no_regions",
        {random_input({1, 2, 6, 7}), random_input({0, 4}), random_input({0}, DType::kInt64)}));
    cases.push_back(make_case(
        "RoiAlign", "no_elements",
        {random_input({1, 2, 0, 7}), random_input({2, 4}), given_input<int64_t>({2}, {0, 0})}));
}

}  // namespace

std::vector<OpCase> roi_cases() {
    std::vector<OpCase> cases;
    add_roi_align(cases);
    for (const float scale : {1.0F, 0.5F}) {
        cases.push_back(
            exact(make_case("MaxRoiPool", scale == 1 ? "plain" : "scaled",
                            {random_input({2, 3, 7, 8}), regions_input({0, 1, 1, 0, 1, 0})},
                            {{"pooled_shape", Ints{3, 2}}, {"spatial_scale", scale}})));
    }
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
        CaseInput region = random_input({4, 5}, dtype, 0, 0.9);
        cases.push_back(exact(make_case("MaxRoiPool", name_of(dtype),
                                        {random_input({1, 2, 6, 7}, dtype), std::move(region)},
                                        {{"pooled_shape", Ints{2, 2}}, {"spatial_scale", 7.0F}})));
    }
    cases.push_back(make_case("MaxRoiPool", "no_regions",
                              {random_input({1, 2, 6, 7}), random_input({0, 5})},
                              {{"pooled_shape", Ints{2, 2}}}));
    cases.push_back(
        make_case("MaxRoiPool", "no_elements",
                  {random_input({1, 2, 6, 0}), given_input<float>({1, 5}, {0, 0, 0, 3, 3})},
                  {{"pooled_shape", Ints{2, 2}}}));
    return cases;
}

}  // namespace leat::testing
