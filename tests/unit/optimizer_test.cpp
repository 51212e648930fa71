// Adagrad, Adam and Momentum: numbers that a hand can follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;

const std::string kDomain = "ai.onnx.preview.training.";

Tensor one(double value) {
    return *Tensor::from<double>({1}, std::vector<double>{value});
}
Tensor rate(double value) {
    return *Tensor::from<double>({}, std::vector<double>{value});
}
Tensor count(int64_t value) {
    return *Tensor::from<int64_t>({}, std::vector<int64_t>{value});
}

double value_of(const SingleResult& result, size_t i) {
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    return result.tensors.size() > i ? result.tensors[i].data<double>()[0] : 0;
}

TEST(Adagrad, DividesByTheSquaresOfAllGradients) {
    // g = 3, sum = 16 + 9, R / (1 + 2 * 0.5) = 1
    const SingleResult result =
        run_single(kDomain + "Adagrad", {rate(2), count(2), one(10), one(3), one(16)},
                   {{"decay_factor", 0.5F}, {"epsilon", 0.0F}}, 2);
    EXPECT_DOUBLE_EQ(value_of(result, 0), 10 - 3.0 / 5);
    EXPECT_DOUBLE_EQ(value_of(result, 1), 25);
}

TEST(Adam, CorrectsForTheFirstSteps) {
    // With alpha = beta = 0.5 and T = 1: V = 1.5, H = 4.5, and R sqrt(0.5) / 0.5.
    const Attributes attributes = {{"alpha", 0.5F}, {"beta", 0.5F}, {"epsilon", 0.0F}};
    const SingleResult result = run_single(
        kDomain + "Adam", {rate(1), count(1), one(10), one(3), one(0), one(0)}, attributes, 3);
    EXPECT_DOUBLE_EQ(value_of(result, 0), 9);
    EXPECT_DOUBLE_EQ(value_of(result, 1), 1.5);
    EXPECT_DOUBLE_EQ(value_of(result, 2), 4.5);
}

TEST(Adam, HasTheStandardsDefaults) {
    const SingleResult result =
        run_single(kDomain + "Adam", {rate(1), count(0), one(10), one(3), one(0), one(0)}, {}, 3);
    const double alpha = 0.9F;
    const double beta = 0.999F;
    const double v = (1 - alpha) * 3;
    const double h = (1 - beta) * 9;
    EXPECT_DOUBLE_EQ(value_of(result, 0), 10 - v / (std::sqrt(h) + double(1e-6F)));
}

TEST(Momentum, TakesTheWholeFirstGradient) {
    const auto momentum = [](const std::string& mode, int64_t steps) {
        return run_single(
            kDomain + "Momentum", {rate(0.5), count(steps), one(10), one(3), one(2)},
            {{"alpha", 0.5F}, {"beta", 0.25F}, {"mode", mode}, {"norm_coefficient", 0.125F}}, 2);
    };
    // g = 0.125 * 10 + 3 = 4.25
    EXPECT_DOUBLE_EQ(value_of(momentum("standard", 0), 1), 5.25);
    EXPECT_DOUBLE_EQ(value_of(momentum("standard", 0), 0), 10 - 0.5 * 5.25);
    EXPECT_DOUBLE_EQ(value_of(momentum("standard", 1), 1), 1 + 0.25 * 4.25);
    EXPECT_DOUBLE_EQ(value_of(momentum("nesterov", 0), 0), 10 - 0.5 * (4.25 + 0.5 * 5.25));
    EXPECT_THAT(momentum("other", 0).status.message(), HasSubstr("'other'"));
}

TEST(Optimizers, TakeListsOfTensors) {
    const Tensor pair = *Tensor::from<double>({2}, std::vector<double>{1, 2});
    const SingleResult result =
        run_single(kDomain + "Adagrad",
                   {rate(1), count(0), one(10), pair, one(3), pair, one(16), pair}, {}, 4);
    EXPECT_EQ(result.type(1), "f64[2]");
    EXPECT_EQ(result.type(2), "f64[1]");
    EXPECT_DOUBLE_EQ(value_of(result, 3), 2);
    EXPECT_FALSE(run_single(kDomain + "Adagrad", {rate(1), count(0), one(10), pair, one(16)}, {}, 2)
                     .status.ok());
    EXPECT_THAT(run_single(kDomain + "Adagrad", {rate(1), count(0), pair, pair, pair}, {}, 3)
                    .status.message(),
                HasSubstr("2 n outputs"));
}

}  // namespace
}  // namespace leat::testing
