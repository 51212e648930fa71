// What the contract suite leaves to the backend: the Vulkan plugin on transients that share memory,
// on outputs that are no step's result, and on places that it must refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "contract/compiled.h"
#include "contract/context.h"
#include "contract/graph_view.h"

namespace leat::contract {
namespace {

using Floats = std::vector<float>;

int64_t bytes_in(const Floats& values) {
    return int64_t(values.size() * sizeof(float));
}

class VulkanGraph : public ::testing::Test {
  protected:
    void SetUp() override {
        const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
        target_.file = fmt::format("{}/leat_vulkan.so", folder == nullptr ? "." : folder);
        target_.settings = {{"check_hazards", "1"}};
        if (::access(target_.file.c_str(), F_OK) != 0) {
            GTEST_SKIP() << "built without Vulkan";
        }
        context_ = std::make_unique<Context>(target_);
        try {
            context_->start();
        } catch (const Failure& failure) {
            context_.reset();
            GTEST_SKIP() << failure.reason;
        }
    }

    void TearDown() override {
        if (context_ != nullptr) {
            context_->api().free_instance(context_->backend(), instance_);
            context_->api().free_executable(context_->backend(), executable_);
            context_->stop();
            context_->close();
        }
    }

    void compile(GraphView& graph) {
        const auto options = plugin::made<LeatCompileOptions>();
        PluginError error;
        ASSERT_EQ(context_->api().compile(context_->backend(), 0, graph.view(), &options,
                                          &executable_, error.get()),
                  kLeatOk)
            << error.text();
    }

    // Transient i lies at places[i] of one slab.
    LeatCode link(const std::vector<int64_t>& places, PluginError& error) {
        auto shape = plugin::made<LeatRunShape>();
        LeatSlab* slab = context_->slab(4096);
        std::vector<LeatPlacement> transients;
        transients.reserve(places.size());
        for (const int64_t place : places) {
            transients.push_back({slab, place});
        }
        auto linkage = plugin::made<LeatLinkage>();
        linkage.transient_count = int32_t(transients.size());
        linkage.transients = transients.data();
        return context_->api().link(context_->backend(), executable_, &shape, &linkage, &instance_,
                                    error.get());
    }

    LeatBinding bound(const Floats& values) {
        LeatSlab* slab = context_->slab(bytes_in(values));
        void* from = context_->host_bytes(bytes_in(values));
        std::memcpy(from, values.data(), size_t(bytes_in(values)));
        context_->wait_ok(
            context_->copy_in(context_->compute_queue(), from, {slab, 0}, bytes_in(values)));
        return {slab, 0, bytes_in(values), nullptr};
    }

    LeatCode execute(const std::vector<LeatBinding>& inputs,
                     const std::vector<LeatBinding>& outputs) {
        const LeatSubmission submission = context_->submission(context_->compute_queue());
        const LeatCode code = context_->api().execute(context_->backend(), instance_, &submission,
                                                      inputs.data(), outputs.data(), nullptr);
        return code == kLeatOk ? context_->wait(submission.signal) : code;
    }

    Floats read(const LeatBinding& at) {
        const std::vector<uint8_t> bytes = context_->bytes_of({at.slab, at.offset_bytes}, at.bytes);
        Floats values(bytes.size() / sizeof(float));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }

    Target target_;
    std::unique_ptr<Context> context_;
    LeatExecutable* executable_ = nullptr;
    LeatInstance* instance_ = nullptr;
};

// x --Neg--> a --GlobalMaxPool--> b --Relu--> c --GlobalMaxPool--> d --Add(d, d)--> y
// Pools of one element, which give it: no two steps become one.
void add_chain(GraphView& graph) {
    const std::vector<int64_t> shape = {1, 4, 1};
    const int32_t x = graph.input("x", kFloat32, shape);
    const int32_t a = graph.value("a", kFloat32, shape);
    const int32_t b = graph.value("b", kFloat32, shape);
    const int32_t c = graph.value("c", kFloat32, shape);
    const int32_t d = graph.value("d", kFloat32, shape);
    const int32_t y = graph.value("y", kFloat32, shape);
    graph.node("Neg", {x}, {a});
    graph.node("GlobalMaxPool", {a}, {b});
    graph.node("Relu", {b}, {c});
    graph.node("GlobalMaxPool", {c}, {d});
    graph.node("Add", {d, d}, {y});
    graph.output(y);
}

TEST_F(VulkanGraph, OrdersTransientsThatShareMemory) {
    GraphView graph;
    add_chain(graph);
    compile(graph);
    PluginError error;
    ASSERT_EQ(link({0, 256, 0, 256}, error), kLeatOk) << error.text();
    const LeatBinding y = bound({0, 0, 0, 0});
    for (int run = 0; run < 20; ++run) {
        const auto low = float(-run - 1);
        ASSERT_EQ(execute({bound({low, 2, -3, 4})}, {y}), kLeatOk);
        EXPECT_EQ(read(y), (Floats{-2 * low, 0, 6, 0}));
    }
}

TEST_F(VulkanGraph, RefusesPlacesThatItCannotUse) {
    GraphView graph;
    add_chain(graph);
    compile(graph);
    PluginError error;
    EXPECT_EQ(link({0, 256, 0}, error), kLeatInvalidArgument) << "a place is missing";
    EXPECT_EQ(link({0, 4, 0, 256}, error), kLeatInvalidArgument) << "not aligned";
    EXPECT_EQ(link({0, 4096, 0, 256}, error), kLeatInvalidArgument) << "outside of the slab";
    ASSERT_EQ(link({0, 256, 0, 256}, error), kLeatOk) << error.text();
    const LeatBinding x = bound({1, 2, 3, 4});
    const LeatBinding y = bound({0, 0, 0, 0});
    EXPECT_EQ(execute({{x.slab, 4, 12, nullptr}}, {y}), kLeatInvalidArgument);
    EXPECT_EQ(execute({{nullptr, 0, 16, nullptr}}, {y}), kLeatInvalidArgument);
}

// x is an output, and so is what Relu makes of it, twice.
TEST_F(VulkanGraph, CopiesOutputsThatNoStepWrites) {
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Relu", {x}, {y});
    graph.output(x);
    graph.output(y);
    graph.output(y);
    compile(graph);
    PluginError error;
    ASSERT_EQ(link({}, error), kLeatOk) << error.text();
    const std::vector<LeatBinding> outputs = {bound({0, 0, 0, 0}), bound({0, 0, 0, 0}),
                                              bound({0, 0, 0, 0})};
    ASSERT_EQ(execute({bound({-1, 2, -3, 4})}, outputs), kLeatOk);
    EXPECT_EQ(read(outputs[0]), (Floats{-1, 2, -3, 4}));
    EXPECT_EQ(read(outputs[1]), (Floats{0, 2, 0, 4}));
    EXPECT_EQ(read(outputs[2]), (Floats{0, 2, 0, 4}));
}

// k = Neg(constant) is known before the run; y = x + k reads it on the device, and k is an output.
TEST_F(VulkanGraph, ReadsValuesThatAreKnownBeforeTheRun) {
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {2});
    const int32_t constant = graph.constant("constant", {2}, {10, 20});
    const int32_t k = graph.value("k", kFloat32, {2});
    const int32_t y = graph.value("y", kFloat32, {2});
    graph.node("Neg", {constant}, {k});
    graph.node("Add", {x, k}, {y});
    graph.output(k);
    graph.output(y);
    compile(graph);
    PluginError error;
    ASSERT_EQ(link({}, error), kLeatOk) << error.text();
    const std::vector<LeatBinding> outputs = {bound({0, 0}), bound({0, 0})};
    ASSERT_EQ(execute({bound({1, 2})}, outputs), kLeatOk);
    EXPECT_EQ(read(outputs[0]), (Floats{-10, -20}));
    EXPECT_EQ(read(outputs[1]), (Floats{-9, -18}));
}

// Runs of two instances that wait for each other on the device, without a look at the host.
TEST_F(VulkanGraph, RunsInTheOrderOfItsWaits) {
    GraphView graph;
    add_chain(graph);
    compile(graph);
    PluginError error;
    ASSERT_EQ(link({0, 256, 0, 256}, error), kLeatOk) << error.text();
    LeatInstance* first = std::exchange(instance_, nullptr);
    ASSERT_EQ(link({0, 256, 0, 256}, error), kLeatOk) << error.text();
    const LeatBinding x = bound({-1, -2, -3, -4});
    const LeatBinding y = bound({0, 0, 0, 0});
    const LeatBinding z = bound({0, 0, 0, 0});
    const int32_t queue = context_->compute_queue();
    const LeatSubmission one = context_->submission(queue);
    const LeatSubmission two = context_->submission(queue, {one.signal});
    ASSERT_EQ(context_->api().execute(context_->backend(), first, &one, &x, &y, nullptr), kLeatOk);
    ASSERT_EQ(context_->api().execute(context_->backend(), instance_, &two, &y, &z, nullptr),
              kLeatOk);
    EXPECT_EQ(context_->wait(two.signal), kLeatOk);
    EXPECT_EQ(context_->poll(one.signal), kLeatOk);
    EXPECT_EQ(read(y), (Floats{2, 4, 6, 8}));
    EXPECT_EQ(read(z), (Floats{0, 0, 0, 0}));
    context_->api().free_instance(context_->backend(), first);
}

// Patterns of every size at odd places, and from slab to slab: by the host, and by commands.
TEST_F(VulkanGraph, FillsAndCopiesBetweenSlabs) {
    for (const char* staging : {"auto", "always"}) {
        context_->stop();
        context_->start({{"staging", staging}});
        LeatSlab* from = context_->slab(64);
        LeatSlab* to = context_->slab(64);
        uint64_t signal = context_->fill(context_->compute_queue(), {from, 0}, 64, 0).value;
        std::vector<uint8_t> needed(64, 0);
        for (const int64_t pattern_bytes : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}}) {
            auto fill = plugin::made<LeatFill>();
            fill.to = {from, 3 * pattern_bytes};
            fill.bytes = 5 * pattern_bytes;
            fill.pattern = 0x1122334455667788;
            fill.pattern_bytes = int32_t(pattern_bytes);
            const LeatSubmission submission = context_->submission(context_->compute_queue());
            ASSERT_EQ(context_->api().submit_fill(context_->backend(), &submission, &fill, nullptr),
                      kLeatOk);
            for (int64_t i = 0; i < fill.bytes; ++i) {
                const int64_t shift = 8 * (i % pattern_bytes);
                needed[size_t(fill.to.offset_bytes + i)] = uint8_t(fill.pattern >> shift);
            }
            signal = submission.signal.value;
        }
        auto copy = plugin::made<LeatCopy>();
        copy.from = {from, 3};
        copy.to = {to, 5};
        copy.bytes = 59;
        const int32_t queue = context_->other_queue();
        const LeatSubmission submission =
            context_->submission(queue, {{context_->compute_queue(), signal}});
        ASSERT_EQ(context_->api().submit_copy(context_->backend(), &submission, &copy, nullptr),
                  kLeatOk);
        context_->wait_ok(submission.signal);
        const std::vector<uint8_t> found = context_->bytes_of({to, 5}, 59);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), needed.begin() + 3)) << staging;
    }
}

// Why the device refuses the one node of the graph; empty if it takes it.
std::string refusal_of(Context& context, GraphView& graph) {
    return capabilities_of(context, graph)[0].reason;
}

TEST_F(VulkanGraph, CapabilitiesNameFeaturesThatTheDeviceLacks) {
    constexpr int32_t kFloat64 = 11;
    GraphView relu;
    relu.node("Relu", {relu.input("x", kFloat64, {4})}, {relu.value("y", kFloat64, {4})});
    GraphView roots;  // as many rows as the run brings
    const int32_t rows = roots.symbol("rows", 1, 64);
    roots.node("Sqrt", {roots.input("x", kFloat64, {rows, 4})},
               {roots.value("y", kFloat64, {rows, 4})});
    GraphView sums;  // an axis that the run brings
    sums.node("CumSum", {sums.input("x", kInt64, {4}), sums.input("axis", kInt64, {})},
              {sums.value("y", kInt64, {4})});
    GraphView copy;
    copy.node("Transpose", {copy.input("x", kInt64, {4, 2})}, {copy.value("y", kInt64, {2, 4})});
    const auto float64 = ::testing::StartsWith("the device lacks shaderFloat64, which kernel '");
    const auto int64 = ::testing::StartsWith("the device lacks shaderInt64, which kernel 'cumsum'");

    EXPECT_EQ(refusal_of(*context_, relu), "");
    context_->stop();
    context_->start({{"lack_features", "shaderFloat64"}});
    EXPECT_THAT(refusal_of(*context_, relu), float64);
    EXPECT_THAT(refusal_of(*context_, roots), float64);
    EXPECT_EQ(refusal_of(*context_, copy), "");
    context_->stop();
    context_->start({{"lack_features", "shaderInt64,shaderInt8"}});
    EXPECT_THAT(refusal_of(*context_, sums), int64);
    EXPECT_EQ(refusal_of(*context_, copy), "");
}

TEST_F(VulkanGraph, NamesSettingsThatItDoesNotTake) {
    const HostServices host;
    auto opened = LoadedPlugin::open(target_.file, host);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    for (const BackendSettings& wrong :
         {BackendSettings{{"precision", "low"}}, BackendSettings{{"staging", "never"}},
          BackendSettings{{"submit_budget_ms", "0"}}, BackendSettings{{"fence_mode", "yes"}},
          BackendSettings{{"lack_features", "shaderFloat64,shaderFloat65"}}}) {
        const Status status = (*opened)->start(wrong);
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        EXPECT_NE(status.message().find(wrong.begin()->first), std::string::npos)
            << status.message();
    }
}

}  // namespace
}  // namespace leat::contract
