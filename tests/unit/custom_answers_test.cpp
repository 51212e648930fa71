// Callbacks of custom operators that throw, or answer what cannot be: errors that name the node, of
// a Runtime that stays usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "custom_operators.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

//  x [n] --> Neg --> acme.Scale (named "odd") --> Relu --> y     y = 2 * max(-x, 0)
class CustomAnswers : public ::testing::TestWithParam<int> {
  protected:
    // `change` gets the operator before it is registered.
    void start(const std::function<void(CustomOperator&)>& change) {
        CustomOperator scale = testing::scale_operator();
        change(scale);
        runtime_.emplace(RuntimeOptions{.threads = GetParam()});
        ASSERT_TRUE(runtime_->register_operator(scale).ok());
        is_odd_ = false;
        Graph graph("odd");
        const ValueId x = graph.input("x", DType::kFloat32, {"n"});
        const ValueId y = graph.add("acme.Scale", {graph.add("Neg", {x})}, {}, "odd");
        graph.output("y", graph.add("Relu", {y}));
        graph_ = graph;
        compiled_.emplace(*runtime_->compile(graph));
        request_.emplace(*compiled_->make_request());
    }

    Status run_with(int64_t count) {
        const std::vector<float> x(size_t(count), -1);
        Status status = request_->bind("x", {count}, std::span<const float>(x));
        return status.ok() ? request_->run() : status;
    }

    // What compile, prepare and run say while callbacks answer something odd; afterwards all is
    // well.
    template <class Matcher>
    void expect_error(StatusCode code, const Matcher& message) {
        is_odd_ = true;
        const int64_t count = 16 + ++shapes_;  // of which there is no plan
        for (const Status& status :
             {runtime_->compile(graph_, {.shapes = {{"x", {count}}}}).error(),
              compiled_->prepare({{"x", {count}}}), request_->prepare({{"x", {count}}}),
              run_with(count)}) {
            EXPECT_EQ(status.code(), code) << status.message();
            EXPECT_THAT(status.message(), AllOf(HasSubstr("node 'odd' (acme.Scale)"), message));
        }
        is_odd_ = false;
        const Status status = run_with(count);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request_->get<float>("y"), Each(2.0F));
    }

    bool is_odd_ = false;
    int64_t shapes_ = 0;
    Graph graph_;
    std::optional<Runtime> runtime_;
    std::optional<CompiledGraph> compiled_;
    std::optional<Request> request_;
};

TEST_P(CustomAnswers, ThatAreNoCost) {
    for (const OperatorCost odd :
         {OperatorCost{NAN, 1}, OperatorCost{kInfinity, 1}, OperatorCost{-kInfinity, 1},
          OperatorCost{-1, 1}, OperatorCost{1, -1}, OperatorCost{1e300, 1},
          OperatorCost{1, kMost}}) {
        start([&](CustomOperator& scale) {
            scale.cost = [&](const OperatorCall&) { return is_odd_ ? odd : OperatorCost{1, 1}; };
        });
        expect_error(StatusCode::kInvalidArgument, HasSubstr("the cost callback gives no cost"));
    }
}

TEST_P(CustomAnswers, ThatAreNoDivision) {
    for (const int64_t odd : {int64_t{0}, int64_t{-5}, int64_t{1} << 62, int64_t{1} << 40, kMost,
                              std::numeric_limits<int64_t>::min()}) {
        start([&](CustomOperator& scale) {
            scale.kernels["cpu"].tile_count = [&](const OperatorCall&) {
                return is_odd_ ? odd : int64_t{4};
            };
        });
        expect_error(StatusCode::kInvalidArgument, HasSubstr(std::to_string(odd) + " tiles"));
    }
    for (const int64_t odd : {int64_t{-1}, int64_t{1} << 62, (int64_t{1} << 47) + 1, kMost,
                              std::numeric_limits<int64_t>::min()}) {
        start([&](CustomOperator& scale) {
            scale.kernels["cpu"].scratch_bytes = [&](const OperatorCall&) {
                return is_odd_ ? odd : int64_t{64};
            };
        });
        expect_error(StatusCode::kInvalidArgument,
                     HasSubstr(std::to_string(odd) + " bytes of scratch memory"));
    }
}

// What a process could address, but no machine has: an error of the memory, of no node.
TEST_P(CustomAnswers, ThatNeedMoreMemoryThanThereIs) {
    start([&](CustomOperator& scale) {
        scale.kernels["cpu"].scratch_bytes = [&](const OperatorCall&) {
            return is_odd_ ? OperatorKernel::kMostScratchBytes : int64_t{64};
        };
    });
    is_odd_ = true;
    EXPECT_EQ(run_with(99).code(), StatusCode::kOutOfMemory);
    is_odd_ = false;
    EXPECT_TRUE(run_with(98).ok());
}

TEST_P(CustomAnswers, ThatAreExceptions) {
    const auto throwing = [this](auto answer) {
        return [this, answer](const auto&) {
            if (is_odd_) {
                throw std::runtime_error("odd");
            }
            return answer;
        };
    };
    start([&](CustomOperator& scale) { scale.cost = throwing(OperatorCost{1, 1}); });
    expect_error(StatusCode::kUserException, HasSubstr("the cost callback threw: odd"));
    start([&](CustomOperator& scale) { scale.kernels["cpu"].tile_count = throwing(int64_t{1}); });
    expect_error(StatusCode::kUserException, HasSubstr("threw: odd"));
    start(
        [&](CustomOperator& scale) { scale.kernels["cpu"].scratch_bytes = throwing(int64_t{1}); });
    expect_error(StatusCode::kUserException, HasSubstr("threw: odd"));
    start([&](CustomOperator& scale) {
        scale.infer = [this](OperatorInference& inference) {
            if (is_odd_) {
                throw 5;
            }
            return testing::infer_same(inference);
        };
    });
    expect_error(StatusCode::kUserException, HasSubstr("inference threw something"));
    start([&](CustomOperator& scale) {
        scale.cost = [this](const OperatorCall&) {
            if (is_odd_) {
                throw std::bad_alloc();
            }
            return OperatorCost{1, 1};
        };
    });
    expect_error(StatusCode::kOutOfMemory, HasSubstr("the cost callback found no memory"));
}

TEST_P(CustomAnswers, ThatAreNoCostOfAProfileOrPlacement) {
    start([&](CustomOperator& scale) {
        scale.cost = [&](const OperatorCall&) {
            return is_odd_ ? OperatorCost{NAN, 1} : OperatorCost{1, 1};
        };
    });
    ASSERT_TRUE(run_with(5).ok());
    is_odd_ = true;
    EXPECT_THAT(request_->profile().error().message(),
                AllOf(HasSubstr("node 'odd'"), HasSubstr("gives no cost; found nan flops")));
    CompileOptions options;
    options.devices = "cpu,reference";
    options.placement_policy = PlacementPolicy::kCost;
    EXPECT_EQ(runtime_->compile(graph_, options).error().message(), "ok") << "extents are assumed";
    options.dims["n"] = 5;
    EXPECT_THAT(runtime_->compile(graph_, options).error().message(),
                AllOf(HasSubstr("node 'odd'"), HasSubstr("gives no cost")));
}

TEST_P(CustomAnswers, ThatAreNoTypes) {
    using Dims = std::vector<DimSpec>;
    struct Answer {
        int output = 0;
        DType dtype = DType::kUndefined;
        std::optional<Dims> dims;
        const char* message = nullptr;
    };
    const Answer answers[] = {
        {0, DType(200), Dims{4}, "no element type of output 0; found unknown type 200"},
        {0, DType::kUndefined, Dims{4}, "no element type of output 0; found undefined"},
        {0, DType::kFloat32, Dims{-5}, "negative extent of output 0; found -5 at axis 0"},
        {0, DType::kFloat32, Dims{4, std::numeric_limits<int64_t>::min()}, "at axis 1"},
        {0, DType::kFloat32, Dims{"martian"}, "shape of output 0 open; found f32[martian]"},
        {0, DType::kFloat32, Dims{DimSpec::unknown()}, "shape of output 0 open; found f32[?]"},
        {0, DType::kFloat32, std::nullopt, "shape of output 0 open; found f32[*]"},
        {0, DType::kFloat32, Dims{int64_t{1} << 40, int64_t{1} << 40}, "too large"},
        {0, DType::kFloat32, Dims(10, 1), "too many axes"},
        {7, DType::kFloat32, Dims{4}, "output 7, which the node does not have"},
        {-1, DType::kFloat32, Dims{4}, "output -1, which the node does not have"},
    };
    for (const Answer& answer : answers) {
        CustomOperator scale = testing::scale_operator();
        scale.outputs[0] = {.name = "y"};
        scale.infer = [&answer](OperatorInference& inference) {
            inference.set_output(answer.output, answer.dtype, answer.dims);
            return Status();
        };
        const Runtime runtime({.threads = GetParam()});
        ASSERT_TRUE(runtime.register_operator(scale).ok());
        Graph graph("types");
        const ValueId x = graph.input("x", DType::kFloat32, {4});
        graph.output("y", graph.add("acme.Scale", {x}, {}, "odd"));
        EXPECT_THAT(runtime.compile(graph).error().message(),
                    AllOf(HasSubstr("node 'odd' (acme.Scale)"), HasSubstr(answer.message)));
    }
}

// With an open extent of the input, or elements that are not known yet, they may be open.
TEST_P(CustomAnswers, OfTypesMayBeOpenUntilTheRun) {
    const Runtime runtime({.threads = GetParam()});
    ASSERT_TRUE(runtime.register_operator(testing::repeat_operator()).ok());
    Graph graph("repeat");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId times = graph.input("times", DType::kInt64, {1});
    graph.output("y", graph.add("acme.Repeat", {x, times}));
    Request request = *runtime.compile(graph)->make_request();
    const std::vector<float> elements = {1, 2};
    const std::vector<int64_t> twice = {2};
    ASSERT_TRUE(request.bind<float>("x", elements).ok());
    ASSERT_TRUE(request.bind<int64_t>("times", twice).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ::testing::ElementsAre(1, 2, 1, 2));
    const std::vector<int64_t> less = {-1};
    ASSERT_TRUE(request.bind<int64_t>("times", less).ok());
    EXPECT_FALSE(request.run().ok());
}

INSTANTIATE_TEST_SUITE_P(Threads, CustomAnswers, ::testing::Values(1, 2));

TEST(CustomOperator, IsRefusedWithTypesThatThereAreNot) {
    const auto with = [](auto change) {
        CustomOperator custom = testing::scale_operator();
        change(custom);
        return OperatorLibrary().add(custom).message();
    };
    EXPECT_THAT(with([](CustomOperator& c) { c.inputs[0].dtypes.push_back(DType(99)); }),
                AllOf(HasSubstr("acme.Scale"), HasSubstr("input 'x'"), HasSubstr("type 99")));
    EXPECT_THAT(with([](CustomOperator& c) { c.outputs[0].dtypes = {DType::kUndefined}; }),
                HasSubstr("output 'y' may have an element type that there is not"));
    EXPECT_THAT(with([](CustomOperator& c) { c.attributes[0].type = AttributeType(77); }),
                HasSubstr("attribute 'factor' is of no type; found type 77"));
    const Tensor odd = Tensor::view(DType(99), {1}, nullptr, nullptr);
    EXPECT_THAT(with([&](CustomOperator& c) {
                    c.attributes.push_back({.name = "table",
                                            .type = AttributeType::kTensor,
                                            .default_value = AttributeValue(odd)});
                }),
                HasSubstr("the default of attribute 'table'"));
}

// Each alone would fit, but the sum of them does not.
TEST(CustomOperator, WithUnreadOutputsBeyondMemoryIsAnError) {
    CustomOperator parts = testing::parts_operator();
    parts.infer = [](OperatorInference& inference) {
        inference.set_output(0, DType::kFloat32, inference.dims(0));
        inference.set_output(1, DType::kFloat32, std::vector<DimSpec>{int64_t{1} << 57});
        return Status();
    };
    const Runtime runtime({.threads = 1});
    ASSERT_TRUE(runtime.register_operator(parts).ok());
    Graph graph("parts");
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    graph.output("y", graph.add_multi("acme.Parts", {x}, 2, {}, "odd")[0]);
    const Status status = runtime.compile(graph).error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("node 'odd'"));
}

}  // namespace
}  // namespace leat
