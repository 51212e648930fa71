// DFT and STFT against sums as the standard writes them, in the forms of opsets 17 and 20.
#include "ops/dft/dft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "ops/dft/unit_root.h"
#include "support/compiled_routes.h"
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Complex = std::complex<double>;

constexpr int64_t kOn = 1;

Tensor doubles(const Shape& shape, const std::vector<double>& elements) {
    return *Tensor::from<double>(shape, elements);
}
Tensor scalar(int64_t value) {
    return *Tensor::from<int64_t>({}, std::vector<int64_t>{value});
}

std::vector<double> values_of(const SingleResult& result) {
    EXPECT_TRUE(result.status.ok()) << result.status.message();
    if (result.tensors.empty()) {
        return {};
    }
    const std::span<const double> elements = result.tensors[0].data<double>();
    return {elements.begin(), elements.end()};
}

// Expected numbers are those of NumPy.
const std::vector<double> kSignal = {1, -2, 3, 0.5, 4};
const std::vector<double> kHalf = {4, 0, 1, 2, -1, -1};

auto near(const std::vector<double>& wanted) {
    return Pointwise(DoubleNear(1e-14), wanted);
}

TEST(Dft, TakesTheLastSignalAxisOfAnyLength) {
    const SingleResult result = run_single("DFT", {doubles({5, 1}, kSignal)});
    EXPECT_EQ(result.type(), "f64[5,2]");
    EXPECT_THAT(values_of(result),
                near({6.5, 0, -1.2135254915624212, 4.2368759670397385, 0.4635254915624212,
                      5.9043528044927225, 0.4635254915624212, -5.9043528044927225,
                      -1.2135254915624212, -4.2368759670397385}));
}

TEST(Dft, GivesHalfOfAPaddedSpectrum) {
    const SingleResult result =
        run_single("DFT", {doubles({5, 1}, kSignal), scalar(6)}, {{"onesided", kOn}});
    EXPECT_EQ(result.type(), "f64[4,2]");
    EXPECT_THAT(values_of(result),
                near({6.5, 0, -4, 2.598076211353316, -1, 0.8660254037844386, 9.5, 0}));
}

TEST(Dft, InvertsHalfOfASpectrum) {
    const Attributes attributes = {{"inverse", kOn}, {"onesided", kOn}};
    EXPECT_THAT(values_of(run_single("DFT", {doubles({3, 2}, kHalf)}, attributes)),
                near({1.25, 0.25, 0.25, 2.25}));
    const SingleResult odd = run_single("DFT", {doubles({3, 2}, kHalf), scalar(5)}, attributes);
    EXPECT_EQ(odd.type(), "f64[5,1]");
    EXPECT_THAT(values_of(odd), near({0.8, 0.7214824833808244, -0.4978644038519979,
                                      1.203437212852082, 1.7729447076190916}));
}

TEST(Dft, InvertsASpectrum) {
    EXPECT_THAT(values_of(run_single("DFT", {doubles({3, 2}, kHalf)}, {{"inverse", kOn}})),
                near({1.3333333333333333, 0.3333333333333333, 0.46730792954889466,
                      0.41068360252295905, 2.199358737117772, -0.7440169358562924}));
}

// [2, 3, 1] along axis 0: sums and differences.
TEST(Dft, TakesAnAxisFromAnInput) {
    const Tensor x = doubles({2, 3, 1}, {1, 2, 3, 10, 20, 30});
    for (const int64_t axis : {0, -3}) {
        EXPECT_THAT(values_of(run_single("DFT", {x, {}, scalar(axis)})),
                    near({11, 0, 22, 0, 33, 0, -9, 0, -18, 0, -27, 0}));
    }
}

TEST(Dft, OfOpset17HasTheAxisAsAnAttribute) {
    NamedModel model;
    model.inputs = {{"x", DType::kFloat64, {1, 2, 3, 1}}};
    model.nodes = {{"DFT", {"x"}, {"y"}}, {"DFT", {"x"}, {"z"}, {{"axis", int64_t{2}}}}};
    model.outputs = {"y", "z"};
    Runtime runtime;
    const ScratchFolder folder;
    const std::string file = (folder.path() / "dft.onnx").string();
    write_contents(file, onnx_bytes_of(model, 17));
    const Result<Graph> graph = load_onnx(file);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const Result<CompiledGraph> compiled = runtime.compile(*graph, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const Result<TensorsByName> outputs =
        outputs_of(*compiled, {{"x", doubles({1, 2, 3, 1}, {1, 2, 3, 10, 20, 30})}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message();
    EXPECT_THAT(outputs->at("y").data<double>(),
                near({11, 0, 22, 0, 33, 0, -9, 0, -18, 0, -27, 0}));
    EXPECT_EQ(outputs->at("z").shape(), Shape({1, 2, 3, 2}));
    EXPECT_THAT(outputs->at("z").data<double>()[0], DoubleNear(6, 1e-14));
}

TEST(Dft, RefusesWhatItCannotTransform) {
    const Tensor real = doubles({1, 4, 1}, {1, 2, 3, 4});
    const Tensor both = doubles({1, 2, 2}, {1, 2, 3, 4});
    const auto message = [](const SingleResult& result) { return result.status.message(); };
    EXPECT_THAT(message(run_single("DFT", {both}, {{"onesided", kOn}})), HasSubstr("real input"));
    EXPECT_THAT(message(run_single("DFT", {real}, {{"onesided", kOn}, {"inverse", kOn}})),
                HasSubstr("complex input"));
    EXPECT_THAT(message(run_single("DFT", {real}, {{"onesided", int64_t{2}}})),
                HasSubstr("0 or 1"));
    EXPECT_THAT(message(run_single("DFT", {real, scalar(0)})), HasSubstr("dft_length"));
    EXPECT_THAT(message(run_single("DFT", {real, {}, scalar(2)})), HasSubstr("last axis"));
    EXPECT_THAT(message(run_single("DFT", {real, {}, scalar(3)})), HasSubstr("[-3, 3)"));
    EXPECT_THAT(message(run_single("DFT", {doubles({1, 1, 3}, {1, 2, 3})})),
                HasSubstr("1 (real) or 2"));
    EXPECT_THAT(message(run_single("DFT", {doubles({1, 0, 1}, {})}, {{"onesided", kOn}})),
                HasSubstr("at least 1"));
}

TEST(Dft, InfersNamesAndOpenExtents) {
    const auto type = [](std::vector<DimSpec> dims, std::vector<SingleInput> more,
                         Attributes attributes = {}) {
        more.insert(more.begin(), fact_of(std::move(dims)));
        return run_single("DFT", more, std::move(attributes)).type();
    };
    EXPECT_EQ(type({"n", "t", 1}, {}), "f32[n,t,2]");
    EXPECT_EQ(type({"n", "t", 1}, {}, {{"onesided", kOn}}), "f32[n,?,2]");
    EXPECT_EQ(type({"n", "t", 2}, {scalar(9)}), "f32[n,9,2]");
    EXPECT_EQ(type({"n", 5, 2}, {}, {{"onesided", kOn}, {"inverse", kOn}}), "f32[n,8,1]");
    EXPECT_EQ(type({"n", "t", 2}, {{}, fact_of({}, DType::kInt64)}), "f32[?,?,2]");
    EXPECT_EQ(type({"n", "t", 2}, {fact_of({}, DType::kInt64)}), "f32[n,?,2]");
}

// Sums of all terms, with exact roots.
std::vector<Complex> plain_transform(const std::vector<Complex>& x) {
    const auto n = int64_t(x.size());
    std::vector<Complex> y(x.size());
    for (int64_t k = 0; k < n; ++k) {
        for (int64_t i = 0; i < n; ++i) {
            y[size_t(k)] += x[size_t(i)] * std::conj(unit_root(i * k % n, n));
        }
    }
    return y;
}

TEST(FourierPlan, IsExactForEveryLength) {
    SplitMix random(1);
    for (int64_t n = 1; n < 300; n += n < 140 ? 1 : 13) {
        std::vector<Complex> x(static_cast<size_t>(n));
        for (Complex& element : x) {
            element = {random.unit() - 0.5, random.unit() - 0.5};
        }
        const std::vector<Complex> wanted = plain_transform(x);
        FourierPlan(n, false).run(x.data());
        for (size_t k = 0; k < x.size(); ++k) {
            EXPECT_LT(std::abs(x[k] - wanted[k]), 1e-13) << n << ", " << k;
        }
    }
}

TEST(FourierPlan, GoesThereAndBack) {
    SplitMix random(2);
    for (const int64_t n : {4096, 5040, 10'007}) {
        std::vector<Complex> x(static_cast<size_t>(n));
        for (Complex& element : x) {
            element = {random.unit(), random.unit()};
        }
        std::vector<Complex> y = x;
        FourierPlan(n, false).run(y.data());
        FourierPlan(n, true).run(y.data());
        for (size_t k = 0; k < x.size(); ++k) {
            EXPECT_LT(std::abs(y[k] / double(n) - x[k]), 1e-13) << n << ", " << k;
        }
    }
}

TEST(UnitRoot, IsExactAtQuarters) {
    EXPECT_EQ(unit_root(0, 8), Complex(1, 0));
    EXPECT_EQ(unit_root(2, 8), Complex(0, 1));
    EXPECT_EQ(unit_root(4, 8), Complex(-1, 0));
    EXPECT_EQ(unit_root(6, 8), Complex(0, -1));
    EXPECT_EQ(unit_root(1, 8).real(), unit_root(7, 8).real());
    EXPECT_EQ(unit_root(1, 3), std::conj(unit_root(2, 3)));
}

TEST(Stft, SlidesAWindow) {
    const Tensor signal = doubles({1, 7, 1}, {1, 2, 3, 4, 5, 6, 7});
    const SingleResult result = run_single("STFT", {signal, scalar(2), doubles({3}, {1, 2, 1})});
    EXPECT_EQ(result.type(), "f64[1,3,2,2]");
    EXPECT_THAT(values_of(result), near({8, 0, -2.5, -0.8660254037844386, 16, 0, -3.5,
                                         -2.598076211353316, 24, 0, -4.5, -4.330127018922193}));
}

TEST(Stft, RefusesFramesThatDoNotFit) {
    const Tensor signal = doubles({1, 4, 1}, {1, 2, 3, 4});
    const Tensor window = doubles({3}, {1, 1, 1});
    const auto message = [](const SingleResult& result) { return result.status.message(); };
    EXPECT_THAT(message(run_single("STFT", {signal, scalar(1), {}, scalar(5)})),
                HasSubstr("no longer than the signal"));
    EXPECT_THAT(message(run_single("STFT", {signal, scalar(0), window})), HasSubstr("frame_step"));
    EXPECT_THAT(message(run_single("STFT", {signal, scalar(1), window, scalar(4)})),
                HasSubstr("3 and 4"));
    EXPECT_THAT(message(run_single("STFT", {doubles({4}, {1, 2, 3, 4}), scalar(1), window})),
                HasSubstr("[batch, length"));
}

TEST(Stft, InfersNamesAndOpenExtents) {
    const SingleInput signal = fact_of({"n", "t", 1});
    const SingleInput window = fact_of({8});
    EXPECT_EQ(run_single("STFT", {signal, scalar(2), window}).type(), "f32[n,?,5,2]");
    EXPECT_EQ(run_single("STFT", {signal, scalar(2), window}, {{"onesided", int64_t{0}}}).type(),
              "f32[n,?,8,2]");
    const SingleInput fixed = fact_of({"n", 20, 1});
    EXPECT_EQ(run_single("STFT", {fixed, scalar(3), window}).type(), "f32[n,5,5,2]");
}

}  // namespace
}  // namespace leat::testing
