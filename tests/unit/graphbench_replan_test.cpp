// Networks planned for one batch after another: every plan answers as one made from nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"
#include "support/random_tensor.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

using testing_support::random_tensor;

// By name of the output.
using Answers = std::map<std::string, std::vector<float>>;

struct Batch {
    std::map<std::string, std::vector<int64_t>> tokens;  // by name of the input
    std::map<std::string, Tensor> numbers;
    std::map<std::string, Shape> shapes;
};

Batch make_batch(const CompiledGraph& compiled, int64_t extent) {
    Batch batch;
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : extent);
        }
        batch.shapes[input.name] = shape;
        if (input.dtype == DType::kFloat32) {
            batch.numbers[input.name] = random_tensor(shape, uint64_t(extent));
        } else {
            batch.tokens[input.name].assign(size_t(shape.element_count()), extent % 2);
        }
    }
    return batch;
}

Answers run(const CompiledGraph& compiled, const Batch& batch) {
    Request request = *compiled.make_request();
    for (const auto& [name, tokens] : batch.tokens) {
        const std::span<const int64_t> elements(tokens);
        EXPECT_TRUE(request.bind(name, batch.shapes.at(name), elements).ok());
    }
    for (const auto& [name, tensor] : batch.numbers) {
        EXPECT_TRUE(request.bind(name, tensor.shape(), tensor.data<float>()).ok());
    }
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    Answers answers;
    for (const ValueInfo& output : compiled.outputs()) {
        const auto elements = request.get<float>(output.name);
        answers[output.name] = {elements.begin(), elements.end()};
    }
    return answers;
}

void expect_same_bits(const Answers& answers, const Answers& expected) {
    ASSERT_EQ(answers.size(), expected.size());
    for (const auto& [name, elements] : expected) {
        const std::vector<float>& own = answers.at(name);
        ASSERT_EQ(own.size(), elements.size());
        EXPECT_EQ(std::memcmp(own.data(), elements.data(), own.size() * sizeof(float)), 0) << name;
    }
}

void expect_same_plan(const PlanReport& plan, const PlanReport& expected) {
    EXPECT_EQ(plan.step_count, expected.step_count);
    EXPECT_EQ(plan.tile_count, expected.tile_count);
    EXPECT_EQ(plan.serial_bound_bytes, expected.serial_bound_bytes);
    EXPECT_EQ(plan.unplanned_bytes, expected.unplanned_bytes);
}

class ReplanNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(ReplanNetwork, AnswersAsAFreshPlan) {
    const Graph graph = *zoo::make_network(GetParam());
    for (const int workers : {1, 2}) {
        SCOPED_TRACE(workers);
        RuntimeOptions options;
        options.threads = workers;
        const Runtime runtime(options);
        CompileOptions newest_alone;
        newest_alone.plan_cache_bytes = 1;
        const CompiledGraph again = *runtime.compile(graph, newest_alone);
        SplitMix random{uint64_t(workers)};
        for (int turn = 0; turn < 10; ++turn) {
            const Batch batch = make_batch(again, 1 + random.below(5));
            const CompiledGraph fresh = *runtime.compile(graph);
            const Answers expected = run(fresh, batch);
            expect_same_bits(run(again, batch), expected);
            expect_same_plan(again.report().plans.front(), fresh.report().plans.front());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo,
                         ReplanNetwork,
                         ::testing::Values("squeezenet1_1?size=32,batch=0",
                                           "mobilenet_v2?size=32,batch=0",
                                           "vit_b16?size=32,layers=2,batch=0",
                                           "bert_base?layers=2,tokens=5,batch=0,vocab=50",
                                           "gpt2?layers=2,width=128,tokens=5,batch=0,vocab=50"));

}  // namespace
}  // namespace leat
