// The numbers are those of a seed: without one no two runs are alike.
#include <cmath>

#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

constexpr DType kDrawnTypes[] = {DType::kFloat16, DType::kBfloat16, DType::kFloat32,
                                 DType::kFloat64};

std::vector<OpCase> bernoulli_cases() {
    std::vector<OpCase> cases;
    for (const DType dtype : kDrawnTypes) {
        cases.push_back(make_case("Bernoulli", std::string(name_of(dtype)),
                                  {random_input({4, 5}, dtype, 0, 1)}, {{"seed", 3.0F}}));
    }
    for (const DType dtype : {DType::kBool, DType::kUint8, DType::kInt16, DType::kInt64,
                              DType::kBfloat16, DType::kFloat64}) {
        cases.push_back(make_case("Bernoulli", "to_" + std::string(name_of(dtype)),
                                  {random_input({3, 7}, DType::kFloat32, 0, 1)},
                                  {{"seed", 3.0F}, {"dtype", int64_t(dtype)}}));
    }
    cases.push_back(make_case("Bernoulli", "empty", {random_input({0, 3})}, {{"seed", 3.0F}}));
    return cases;
}

std::vector<OpCase> multinomial_cases() {
    std::vector<OpCase> cases;
    for (const DType dtype : kDrawnTypes) {
        cases.push_back(make_case("Multinomial", std::string(name_of(dtype)),
                                  {random_input({3, 4}, dtype)},
                                  {{"seed", 3.0F}, {"sample_size", int64_t{9}}}));
    }
    cases.push_back(make_case(
        "Multinomial", "i64", {random_input({2, 3})},
        {{"seed", 3.0F}, {"sample_size", int64_t{5}}, {"dtype", int64_t(DType::kInt64)}}));
    cases.push_back(make_case("Multinomial", "impossible",
                              {given_input<float>({1, 3}, {-INFINITY, 1, -INFINITY})},
                              {{"seed", 3.0F}, {"sample_size", int64_t{9}}}));
    cases.push_back(make_case("Multinomial", "one", {random_input({3, 4})}, {{"seed", 0.0F}}));
    cases.push_back(make_case("Multinomial", "empty", {random_input({0, 4})}, {{"seed", 3.0F}}));
    return cases;
}

}  // namespace

std::vector<OpCase> random_cases() {
    std::vector<OpCase> cases = bernoulli_cases();
    for (OpCase& each : multinomial_cases()) {
        cases.push_back(std::move(each));
    }
    for (const std::string name : {"RandomNormal", "RandomUniform"}) {
        for (const DType dtype : kDrawnTypes) {
            const std::string type(name_of(dtype));
            cases.push_back(
                make_case(name, type, {},
                          {{"seed", 3.0F}, {"shape", Ints{3, 5}}, {"dtype", int64_t(dtype)}}));
            cases.push_back(
                make_case(name + "Like", type, {random_input({2, 7}, dtype)}, {{"seed", 3.0F}}));
        }
        cases.push_back(make_case(name, "scalar", {}, {{"seed", -3.5F}, {"shape", Ints{}}}));
        cases.push_back(make_case(name, "empty", {}, {{"seed", 3.0F}, {"shape", Ints{2, 0}}}));
        for (const DType dtype : {DType::kInt32, DType::kBool, DType::kUint16}) {
            cases.push_back(make_case(name + "Like", "of_" + std::string(name_of(dtype)),
                                      {random_elements({2, 3}, dtype)},
                                      {{"seed", 3.0F}, {"dtype", int64_t(DType::kFloat32)}}));
        }
        cases.push_back(make_case(name + "Like", "of_strings", {given_strings({2, 2})},
                                  {{"seed", 3.0F}, {"dtype", int64_t(DType::kFloat64)}}));
    }
    cases.push_back(
        make_case("RandomNormal", "mean_and_scale", {},
                  {{"seed", 3.0F}, {"shape", Ints{20}}, {"mean", 100.0F}, {"scale", 0.5F}}));
    cases.push_back(
        make_case("RandomUniform", "range", {},
                  {{"seed", 3.0F}, {"shape", Ints{20}}, {"low", -3.0F}, {"high", 4.0F}}));
    return cases;
}

}  // namespace leat::testing
