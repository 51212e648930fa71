// The distributions that random operators draw from, by 10^6 numbers; and that a seed says all of
// them, whoever draws.
#include "ops/random/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "ops/elementwise/element_access.h"
#include "ops/random/philox.h"
#include "support/compiled_routes.h"
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

constexpr int64_t kDraws = 1'000'000;

// Expected bits are those of the authors' known answers, and of an independent program.
TEST(Philox, GivesTheKnownAnswers) {
    EXPECT_THAT(philox_block(0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
    EXPECT_THAT(philox_block(uint64_t{4} << 32 | 3, uint64_t{2} << 32 | 1),
                ElementsAre(0x0ea91ef2, 0xf69ab27e, 0x9fb42d59, 0xb4ae15ef));
}

Attributes with_shape(Attributes attributes, int64_t count = kDraws) {
    attributes["shape"] = Ints{count};
    attributes.emplace("seed", 1.0F);
    return attributes;
}

std::vector<double> numbers_of(const SingleResult& result) {
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    std::vector<double> numbers;
    if (!result.tensors.empty()) {
        const Tensor& tensor = result.tensors[0];
        for (int64_t i = 0; i < tensor.element_count(); ++i) {
            numbers.push_back(load_real(tensor.dtype(), tensor.bytes(), i));
        }
    }
    return numbers;
}

std::vector<double> draw(const std::string& op, Attributes attributes, int64_t count = kDraws) {
    return numbers_of(run_single(op, {}, with_shape(std::move(attributes), count)));
}

double mean_of(const std::vector<double>& numbers, int power, double center = 0) {
    double sum = 0;
    for (const double number : numbers) {
        sum += std::pow(number - center, power);
    }
    return sum / double(numbers.size());
}

// The largest distance of the numbers' distribution from `cumulated`, times sqrt(n): above 1.95
// for one of a thousand samples (Kolmogorov and Smirnov).
double distance_from(std::vector<double> numbers, const std::function<double(double)>& cumulated) {
    std::sort(numbers.begin(), numbers.end());
    const auto n = double(numbers.size());
    double most = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
        const double wanted = cumulated(numbers[i]);
        most = std::max({most, wanted - double(i) / n, double(i + 1) / n - wanted});
    }
    return most * std::sqrt(n);
}

double normal_share(double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

TEST(RandomNormal, IsNormal) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const std::vector<double> numbers =
            draw("RandomNormal", {{"dtype", int64_t(dtype)}, {"mean", 3.0F}, {"scale", 2.0F}});
        ASSERT_EQ(numbers.size(), size_t(kDraws));
        // Five standard deviations of each mean.
        EXPECT_NEAR(mean_of(numbers, 1), 3, 5 * 2e-3);
        EXPECT_NEAR(mean_of(numbers, 2, 3), 4, 5 * 4 * std::sqrt(2.0) * 1e-3);
        EXPECT_NEAR(mean_of(numbers, 3, 3), 0, 5 * 8 * std::sqrt(15.0) * 1e-3);
        EXPECT_NEAR(mean_of(numbers, 4, 3), 48, 5 * 16 * std::sqrt(96.0) * 1e-3);
        EXPECT_LT(distance_from(numbers, [](double x) { return normal_share((x - 3) / 2); }), 1.95);
    }
}

TEST(RandomNormal, NeighboursAreIndependent) {
    const std::vector<double> numbers = draw("RandomNormal", {});
    for (const size_t lag : {1, 2, 3, 4}) {
        double sum = 0;
        for (size_t i = lag; i < numbers.size(); ++i) {
            sum += numbers[i] * numbers[i - lag];
        }
        EXPECT_NEAR(sum / double(numbers.size()), 0, 5e-3) << lag;
    }
}

TEST(RandomUniform, IsUniform) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const std::vector<double> numbers =
            draw("RandomUniform", {{"dtype", int64_t(dtype)}, {"low", -1.0F}, {"high", 5.0F}});
        ASSERT_EQ(numbers.size(), size_t(kDraws));
        EXPECT_NEAR(mean_of(numbers, 1), 2, 5 * std::sqrt(3.0) * 1e-3);
        EXPECT_NEAR(mean_of(numbers, 2, 2), 3, 5 * std::sqrt(7.2) * 1e-3);
        EXPECT_LT(distance_from(numbers, [](double x) { return (x + 1) / 6; }), 1.95);
        EXPECT_GE(*std::min_element(numbers.begin(), numbers.end()), -1);
        EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), 5);
    }
}

// One in four thousand rounds to 1, which half of them becomes 0 instead.
TEST(RandomUniform, OfFewBitsNeverReachesHigh) {
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
        const std::vector<double> numbers = draw("RandomUniform", {{"dtype", int64_t(dtype)}});
        EXPECT_LT(*std::max_element(numbers.begin(), numbers.end()), 1);
        EXPECT_GE(*std::min_element(numbers.begin(), numbers.end()), 0);
        EXPECT_NEAR(mean_of(numbers, 1), 0.5, 0.004);
    }
    const std::vector<double> equal = draw("RandomUniform", {{"low", 2.5F}, {"high", 2.5F}}, 9);
    EXPECT_THAT(equal, ::testing::Each(2.5));
}

TEST(Bernoulli, DrawsWithTheGivenProbability) {
    for (const float p : {0.0F, 0.125F, 0.75F, 1.0F}) {
        const Tensor x =
            *Tensor::from<float>({kDraws}, std::vector<float>(static_cast<size_t>(kDraws), p));
        for (const DType dtype : {DType::kFloat32, DType::kBool, DType::kInt64}) {
            const std::vector<double> numbers = numbers_of(
                run_single("Bernoulli", {x}, {{"seed", 5.0F}, {"dtype", int64_t(dtype)}}));
            EXPECT_NEAR(mean_of(numbers, 1), p, 5e-3 * std::sqrt(p * (1 - p)));
            EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end(),
                                    [](double number) { return number == 0 || number == 1; }));
        }
    }
}

TEST(Bernoulli, RefusesWhatIsNoProbability) {
    for (const float p : {-0.5F, 1.5F, NAN}) {
        const Tensor x = *Tensor::from<float>({2}, std::vector<float>{0.5F, p});
        EXPECT_THAT(run_single("Bernoulli", {x}).status.message(), HasSubstr("element 1"));
    }
}

TEST(Multinomial, DrawsInProportionToExponentials) {
    const std::vector<float> logits = {0, std::log(2.0F), -INFINITY, std::log(5.0F), 80, 79, 78, 0};
    const SingleResult result =
        run_single("Multinomial", {*Tensor::from<float>({2, 4}, logits)},
                   {{"seed", 2.0F}, {"sample_size", kDraws}, {"dtype", int64_t(DType::kInt64)}});
    EXPECT_EQ(result.type(), "i64[2,1000000]");
    const std::vector<double> numbers = numbers_of(result);
    ASSERT_EQ(numbers.size(), size_t(2 * kDraws));
    const double others = 1 + std::exp(-1) + std::exp(-2);
    const std::vector<double> wanted = {
        1.0 / 8, 2.0 / 8, 0, 5.0 / 8, 1 / others, std::exp(-1) / others, std::exp(-2) / others, 0};
    for (size_t row = 0; row < 2; ++row) {
        const auto begin = numbers.begin() + std::ptrdiff_t(row) * kDraws;
        for (size_t c = 0; c < 4; ++c) {
            const double share = wanted[row * 4 + c];
            EXPECT_NEAR(double(std::count(begin, begin + kDraws, double(c))) / kDraws, share,
                        5e-3 * std::sqrt(share * (1 - share)) + 1e-9);
        }
    }
}

TEST(Multinomial, RefusesRowsWithoutAClass) {
    const auto message = [](const Shape& shape, const std::vector<float>& elements) {
        return run_single("Multinomial", {*Tensor::from<float>(shape, elements)}).status.message();
    };
    EXPECT_THAT(message({1, 2}, {-INFINITY, -INFINITY}), HasSubstr("row 0"));
    EXPECT_THAT(message({1, 2}, {0, NAN}), HasSubstr("[0, 1]"));
    EXPECT_THAT(message({2, 0}, {}), HasSubstr("0 classes"));
    EXPECT_THAT(message({2}, {1, 2}), HasSubstr("rank 2"));
}

TEST(RandomOperators, RefuseParametersThatAreNone) {
    const auto message = [](const std::string& op, Attributes attributes) {
        return run_single(op, {}, with_shape(std::move(attributes), 4)).status.message();
    };
    EXPECT_THAT(message("RandomNormal", {{"scale", -1.0F}}), HasSubstr("scale"));
    EXPECT_THAT(message("RandomNormal", {{"mean", NAN}}), HasSubstr("mean"));
    EXPECT_THAT(message("RandomUniform", {{"low", 1.0F}, {"high", 0.0F}}),
                HasSubstr("low <= high"));
    EXPECT_THAT(message("RandomUniform", {{"dtype", int64_t{6}}}), HasSubstr("i32"));
    EXPECT_THAT(message("RandomUniform", {{"dtype", int64_t{99}}}), HasSubstr("99"));
    EXPECT_THAT(run_single("RandomUniform", {}, with_shape({}, -4)).status.message(),
                HasSubstr("-4"));
    const SingleInput integers = fact_of({"n", 3}, DType::kInt32);
    EXPECT_THAT(run_single("RandomNormalLike", {integers}).type(), HasSubstr("attribute dtype"));
    EXPECT_EQ(run_single("RandomNormalLike", {integers}, {{"dtype", int64_t{10}}}).type(),
              "f16[n,3]");
    EXPECT_EQ(run_single("RandomUniformLike", {fact_of({"n"}, DType::kFloat64)}).type(), "f64[n]");
}

TEST(RandomOperators, DrawTheNumbersOfTheirSeed) {
    const auto with_seed = [](float seed) { return draw("RandomNormal", {{"seed", seed}}, 100); };
    EXPECT_EQ(with_seed(1), with_seed(1));
    EXPECT_NE(with_seed(1), with_seed(2));
    EXPECT_NE(with_seed(0), with_seed(-1));
    const auto fresh = [] {
        return numbers_of(run_single("RandomUniform", {}, {{"shape", Ints{100}}}));
    };
    EXPECT_NE(fresh(), fresh());
    // A part of the numbers is that of more of them.
    const std::vector<double> few = draw("RandomUniform", {}, 11);
    std::vector<double> many = draw("RandomUniform", {}, 100);
    many.resize(few.size());
    EXPECT_EQ(few, many);
}

// Nodes of one seed, two without, and two that nobody folds: of constants, and of no inputs.
TEST(RandomOperators, GiveTheSameBitsForAnyNumberOfThreads) {
    NamedModel model;
    model.inputs = {{"x", DType::kFloat32, {300, 70}}};
    model.constants = {{"c", *Tensor::from<float>({2, 3}, std::vector<float>(6, 0.5F))}};
    const Attributes seed = {{"seed", 4.0F}};
    model.nodes = {{"RandomNormalLike", {"x"}, {"a"}, seed},
                   {"RandomUniformLike", {"x"}, {"b"}, seed},
                   {"Bernoulli", {"b"}, {"d"}, seed},
                   {"RandomNormalLike", {"x"}, {"e"}},
                   {"RandomNormalLike", {"x"}, {"f"}},
                   {"RandomUniformLike", {"c"}, {"g"}},
                   {"RandomNormal", {}, {"h"}, {{"shape", Ints{50}}}}};
    model.outputs = {"a", "b", "d", "e", "f", "g", "h"};
    const Tensor x = *Tensor::allocate(DType::kFloat32, {300, 70});
    std::vector<TensorsByName> runs;
    for (const int threads : {1, 2, 4}) {
        Runtime runtime(with_built_backends(threads));
        const Result<CompiledGraph> compiled = runtime.compile(graph_of(model), {});
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        for (int i = 0; i < 2; ++i) {
            const Result<TensorsByName> outputs = outputs_of(*compiled, {{"x", x}});
            ASSERT_TRUE(outputs.ok()) << outputs.error().message();
            runs.push_back(*outputs);
        }
    }
    const auto same = [&runs](size_t i, size_t j, const char* a, const char* b) {
        const Tensor& first = runs[i].at(a);
        const Tensor& second = runs[j].at(b);
        return std::memcmp(first.bytes(), second.bytes(), size_t(first.byte_count())) == 0;
    };
    for (size_t i = 1; i < runs.size(); ++i) {
        for (const char* name : {"a", "b", "d"}) {
            EXPECT_TRUE(same(0, i, name, name)) << name << ", run " << i;
        }
        for (const char* name : {"e", "f", "g", "h"}) {
            EXPECT_FALSE(same(0, i, name, name)) << name << ", run " << i;
        }
    }
    EXPECT_FALSE(same(0, 0, "e", "f")) << "two nodes without a seed are not one";
}

Tensor truth_of(bool value) {
    Tensor tensor = *Tensor::allocate(DType::kBool, {});
    *tensor.mutable_bytes() = std::byte(value ? 1 : 0);
    return tensor;
}

SingleResult dropout(const Tensor& x, float ratio, Attributes attributes) {
    return run_single("Dropout",
                      {x, *Tensor::from<float>({}, std::vector<float>{ratio}), truth_of(true)},
                      std::move(attributes), 2);
}

// NumPy: RandomState(7).random_sample(8) >= 0.25
TEST(Dropout, DrawsAsNumpyDoes) {
    const Tensor x = *Tensor::from<float>({8}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
    const SingleResult result = dropout(x, 0.25F, {{"seed", int64_t{7}}});
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_THAT(result.tensors[0].data<float>(),
                ElementsAre(0, float(2 / 0.75), 4, float(4 / 0.75), float(5 / 0.75), 8,
                            float(7 / 0.75), 0));
    std::vector<int> mask;
    for (int64_t i = 0; i < 8; ++i) {
        mask.push_back(int(result.tensors[1].bytes()[i]));
    }
    EXPECT_THAT(mask, ElementsAre(0, 1, 1, 1, 1, 1, 1, 0));
}

TEST(Dropout, DropsItsRatio) {
    const Tensor x =
        *Tensor::from<float>({kDraws}, std::vector<float>(static_cast<size_t>(kDraws), 1.0F));
    const SingleResult first = dropout(x, 0.25F, {});
    const SingleResult second = dropout(x, 0.25F, {});
    ASSERT_TRUE(first.status.ok()) << first.status.message();
    const std::vector<double> numbers = numbers_of(first);
    EXPECT_NEAR(double(std::count(numbers.begin(), numbers.end(), 0.0)) / kDraws, 0.25, 2.5e-3);
    EXPECT_NE(numbers, numbers_of(second));
}

TEST(Dropout, RefusesRatiosThatLeaveNothing) {
    const Tensor x = *Tensor::from<float>({1}, std::vector<float>{1});
    for (const float ratio : {1.0F, -0.5F, NAN}) {
        EXPECT_THAT(dropout(x, ratio, {}).status.message(), HasSubstr("[0, 1)"));
    }
    const Tensor integers = *Tensor::from<int64_t>({1}, Ints{1});
    EXPECT_FALSE(dropout(integers, 0.5F, {}).status.ok());
}

}  // namespace
}  // namespace leat::testing
