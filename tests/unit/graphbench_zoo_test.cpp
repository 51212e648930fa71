// The zoo's networks: published sizes, specs and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "graph/graph_data.h"
#include "zoo/suggestion.h"
#include "zoo/zoo.h"

namespace leat::zoo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// As the publications count: everything learned by gradient. Constants of the computation
// ("const.") and BatchNormalization's running statistics are not.
int64_t learned_parameters(const Graph& graph) {
    int64_t count = 0;
    for (const ValueData& value : graph.data().values) {
        bool learned = value.constant && value.name.compare(0, 6, "const.") != 0 &&
                       !ends_with(value.name, ".running_mean") &&
                       !ends_with(value.name, ".running_var");
        count += learned ? value.constant->element_count() : 0;
    }
    return count;
}

int64_t learned_parameters_of(const std::string& spec) {
    Result<Graph> graph = make_network(spec);
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    return graph.ok() ? learned_parameters(*graph) : 0;
}

TEST(Zoo, HasPublishedParameterCounts) {
    EXPECT_EQ(learned_parameters_of("resnet50"), 25'557'032);
    EXPECT_EQ(learned_parameters_of("mobilenet_v2"), 3'504'872);
    EXPECT_EQ(learned_parameters_of("squeezenet1_1"), 1'235'496);
    EXPECT_EQ(learned_parameters_of("vit_b16"), 86'567'656);
    EXPECT_EQ(learned_parameters_of("bert_base"), 109'482'240);
    EXPECT_EQ(learned_parameters_of("gpt2"), 124'439'808);
    EXPECT_EQ(learned_parameters_of("gpt2_decode"), 124'439'808);
}

TEST(Zoo, EveryNetworkVerifies) {
    for (const char* spec :
         {"resnet50?size=64", "mobilenet_v2?size=64,batch=2", "squeezenet1_1?size=64",
          "vit_b16?size=32,layers=1,batch=2", "bert_base?layers=1,tokens=8,batch=2,vocab=100",
          "gpt2?layers=2,width=128,tokens=8,vocab=100",
          "gpt2_decode?layers=1,width=96,heads=4,cached=5,vocab=100", "resnet50?size=64,batch=0",
          "vit_b16?size=32,layers=1,batch=0", "bert_base?layers=1,tokens=8,batch=0,vocab=100",
          "gpt2?layers=1,width=128,tokens=8,batch=0,vocab=100"}) {
        Result<Graph> graph = make_network(spec);
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        Status status = graph->verify();
        EXPECT_TRUE(status.ok()) << spec << ": " << status.message();
    }
}

TEST(Zoo, SameSpecGivesSameWeights) {
    auto weights = [](const std::string& spec) {
        Graph graph = make_network(spec).value();
        for (const ValueData& value : graph.data().values) {
            if (value.name == "fc.weight") {
                auto elements = value.constant->data<float>();
                return std::vector<float>(elements.begin(), elements.end());
            }
        }
        return std::vector<float>();
    };
    std::vector<float> first = weights("resnet50?size=64");
    EXPECT_EQ(first.size(), 2'048'000U);
    EXPECT_EQ(first, weights("resnet50?size=128,batch=2"));
    EXPECT_NE(first, weights("resnet50?size=64,seed=1"));
}

TEST(Zoo, UnknownNetworkNamesTheClosestAndAll) {
    Status status = make_network("resnet5").error();
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("did you mean 'resnet50'"), HasSubstr("gpt2_decode")));
}

TEST(Zoo, BadParametersAreNamed) {
    EXPECT_THAT(make_network("gpt2?token=8").error().message(), HasSubstr("did you mean 'tokens'"));
    EXPECT_THAT(make_network("resnet50?size=4").error().message(), HasSubstr("from 32 to 4096"));
    EXPECT_THAT(make_network("resnet50?size=abc").error().message(), HasSubstr("'abc'"));
    EXPECT_THAT(make_network("vit_b16?size=100").error().message(), HasSubstr("multiple of 16"));
    EXPECT_THAT(make_network("bert_base?width=70,heads=4").error().message(),
                HasSubstr("not a multiple of heads"));
    EXPECT_THAT(make_network("bert_base?tokens=513").error().message(), HasSubstr("512 positions"));
}

TEST(Zoo, FullSpecListsEveryParameter) {
    EXPECT_EQ(full_spec("resnet50?batch=2").value(), "resnet50?batch=2,size=224,seed=0");
}

TEST(Suggestion, FindsTheClosestName) {
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("ab", "ba"), 1);
    EXPECT_EQ(closest_name("threds", {"threads", "rate"}), "threads");
    EXPECT_EQ(closest_name("zzzzz", {"threads", "rate"}), "");
}

}  // namespace
}  // namespace leat::zoo
