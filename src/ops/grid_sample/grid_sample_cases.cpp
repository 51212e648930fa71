#include <limits>
#include <string>
#include <utility>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase grid_sample(const std::string& name,
                   CaseInput x,
                   CaseInput grid,
                   const std::string& mode,
                   const std::string& outside,
                   int64_t align_corners) {
    return make_case("GridSample", name, {std::move(x), std::move(grid)},
                     {{"mode", mode}, {"padding_mode", outside}, {"align_corners", align_corners}});
}

// Elements that no rounding changes, in types that have strings and numbers.
CaseInput sampled_elements(const Shape& shape, DType dtype) {
    if (dtype == DType::kString) {
        std::vector<std::string> texts;
        for (int64_t i = 0; i < shape.element_count(); ++i) {
            texts.push_back("element number " + std::to_string(i));
        }
        return given_input<std::string>(shape, texts);
    }
    return random_input(shape, dtype, 0, 100);
}

void add_grid_sample_modes(std::vector<OpCase>& cases) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
        for (const char* outside : {"zeros", "border", "reflection"}) {
            for (const int64_t align : {0, 1}) {
                const std::string name =
                    std::string(mode) + "_" + outside + (align != 0 ? "_aligned" : "");
                cases.push_back(grid_sample(name, random_input({2, 3, 5, 4}),
                                            random_input({2, 4, 6, 2}), mode, outside, align));
                cases.push_back(grid_sample(name + "_1d", random_input({1, 2, 7}),
                                            random_input({1, 9, 1}), mode, outside, align));
                cases.push_back(grid_sample(name + "_3d", random_input({1, 2, 3, 4, 5}),
                                            random_input({1, 2, 3, 4, 3}), mode, outside, align));
                cases.push_back(grid_sample(name + "_one_element", random_input({1, 2, 1, 1}),
                                            random_input({1, 3, 3, 2}), mode, outside, align));
            }
        }
    }
}

void add_grid_sample_types(std::vector<OpCase>& cases) {
    for (const DType dtype :
         {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64, DType::kInt8,
          DType::kInt16, DType::kInt32, DType::kInt64, DType::kBfloat16, DType::kFloat16,
          DType::kFloat64, DType::kBool, DType::kComplex64, DType::kComplex128, DType::kString}) {
        const std::string name(name_of(dtype));
        cases.push_back(exact(grid_sample(name + "_nearest", sampled_elements({1, 2, 4, 5}, dtype),
                                          random_input({1, 3, 4, 2}), "nearest", "zeros", 0)));
        if (dtype != DType::kString) {
            cases.push_back(grid_sample(name + "_linear", sampled_elements({1, 2, 4, 5}, dtype),
                                        random_input({1, 3, 4, 2}), "linear", "border", 0));
        }
    }
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat64}) {
        cases.push_back(grid_sample("grid_" + std::string(name_of(dtype)),
                                    random_input({1, 2, 4, 5}), random_input({1, 3, 4, 2}, dtype),
                                    "linear", "zeros", 1));
    }
}

}  // namespace

std::vector<OpCase> grid_sample_cases() {
    std::vector<OpCase> cases;
    add_grid_sample_modes(cases);
    add_grid_sample_types(cases);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const CaseInput odd = given_input<float>(
        {1, 2, 3, 2}, {nan, 0, 0, nan, infinity, 0, -infinity, infinity, 1e30F, -1e30F, -1, 1});
    for (const char* mode : {"nearest", "linear", "cubic"}) {
        for (const char* outside : {"zeros", "border", "reflection"}) {
            cases.push_back(grid_sample(std::string("odd_places_") + mode + "_" + outside,
                                        random_input({1, 2, 4, 5}), odd, mode, outside, 0));
        }
    }
    cases.push_back(grid_sample("4d", random_input({1, 2, 2, 3, 2, 3}),
                                random_input({1, 2, 2, 1, 2, 4}), "linear", "border", 0));
    cases.push_back(grid_sample("no_positions", random_input({1, 2, 4, 5}),
                                random_input({1, 0, 3, 2}), "linear", "zeros", 0));
    cases.push_back(grid_sample("no_elements", random_input({1, 2, 0, 5}),
                                random_input({1, 2, 3, 2}), "linear", "zeros", 0));
    cases.push_back(grid_sample("batch_zero", random_input({0, 2, 4, 5}),
                                random_input({0, 2, 3, 2}), "linear", "border", 0));
    cases.push_back(grid_sample("many_channels", random_input({3, 37, 9, 11}),
                                random_input({3, 12, 13, 2}, DType::kFloat32, -1.2, 1.2), "linear",
                                "zeros", 0));
    return cases;
}

}  // namespace leat::testing
