// Compiled graphs that are saved and loaded: equal results, no search, refusals, damaged files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::random_tensor;
using testing_support::seal;
using testing_support::without_numa;

//  x -- Conv -- Relu -- Conv -- Add(x1) -- GlobalAveragePool -- Flatten -- MatMul -- Softmax -- y
Graph network() {
    Graph graph("network");
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 3, 16, 16});
    const Attributes same = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    const ValueId w1 = graph.constant("w1", random_tensor({16, 3, 3, 3}, 1));
    const ValueId b1 = graph.constant("b1", random_tensor({16}, 2));
    const ValueId w2 = graph.constant("w2", random_tensor({16, 16, 3, 3}, 3));
    const ValueId w3 = graph.constant("w3", random_tensor({16, 10}, 4));
    const ValueId first = graph.add("Relu", {graph.add("Conv", {x, w1, b1}, same)}, {}, "first");
    const ValueId sum = graph.add("Add", {graph.add("Conv", {first, w2}, same), first});
    const ValueId flat = graph.add("Flatten", {graph.add("GlobalAveragePool", {sum})});
    graph.output("y", graph.add("Softmax", {graph.add("MatMul", {flat, w3})}));
    graph.output("sum", sum);
    return graph;
}

NamedTensors images(int64_t batch) {
    return {{"x", random_tensor({batch, 3, 16, 16}, 77)}};
}

CompileOptions at_batch(int64_t batch) {
    CompileOptions options;
    options.dims["batch"] = batch;
    return options;
}

class SavedGraph : public ::testing::Test {
  protected:
    // What is loaded gives the bits of what was saved.
    void expect_same(const Graph& graph,
                     const CompileOptions& options,
                     const NamedTensors& inputs) {
        const auto compiled = runtime_.compile(graph, options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const auto wanted = output_bytes(*compiled, inputs);
        ASSERT_TRUE(wanted.ok()) << wanted.error().message();
        const Status saved = compiled->save(file_);
        ASSERT_TRUE(saved.ok()) << saved.message();
        const auto loaded = runtime_.load(file_, {.verifies_weights = true});
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        const auto found = output_bytes(*loaded, inputs);
        ASSERT_TRUE(found.ok()) << found.error().message();
        EXPECT_EQ(*wanted, *found);
        EXPECT_EQ(compiled->to_text(), loaded->to_text());
    }
    // A file of the network with a plan for batch 2.
    void save_network() {
        const auto compiled = runtime_.compile(network(), at_batch(2));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const Status saved = compiled->save(file_);
        ASSERT_TRUE(saved.ok()) << saved.message();
    }

    ScratchFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "network.leat";
    const Runtime runtime_{without_numa(2)};
};

TEST_F(SavedGraph, GivesTheSameBits) {
    expect_same(network(), at_batch(2), images(2));
}

TEST_F(SavedGraph, GivesTheSameBitsWhereStepsRunOneByOne) {
    CompileOptions options = at_batch(1);
    options.runs_serially = true;
    expect_same(network(), options, images(1));
    options.devices = "reference";
    expect_same(network(), options, images(1));
}

TEST_F(SavedGraph, KeepsAMemoryLimit) {
    CompileOptions options = at_batch(2);
    options.memory_limit_bytes = 1 << 20;
    expect_same(network(), options, images(2));
}

//  shape (i64[2]) decides the shape of y
TEST_F(SavedGraph, KeepsPlansOfValuesThatDecideShapes) {
    Graph graph("reshape");
    const ValueId x = graph.input("x", DType::kFloat32, {6});
    const ValueId shape = graph.input("shape", DType::kInt64, {2});
    graph.output("y", graph.add("Relu", {graph.add("Reshape", {x, shape})}));
    const NamedTensors inputs = {
        {"x", random_tensor({6}, 1)},
        {"shape", *Tensor::from<int64_t>({2}, std::vector<int64_t>{2, 3})}};
    const auto compiled = runtime_.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto wanted = output_bytes(*compiled, inputs);
    ASSERT_TRUE(wanted.ok() && compiled->save(file_).ok());
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(loaded->report().plans.size(), 1U);
    EXPECT_EQ(*output_bytes(*loaded, inputs), *wanted);
    EXPECT_EQ(loaded->report().plans.size(), 1U);
}

TEST_F(SavedGraph, KeepsStringsAndConstantsThatAreResults) {
    Graph graph("strings");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId texts = graph.constant(
        "texts", *Tensor::from<std::string>({2}, std::vector<std::string>{"a", "a longer text"}));
    graph.output("text", graph.add("Identity", {texts}));
    graph.output("y", graph.add("Neg", {x}));
    const CompiledGraph compiled = *runtime_.compile(graph);
    ASSERT_TRUE(compiled.save(file_).ok());
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    Request request = *loaded->make_request();
    ASSERT_TRUE(request.bind("x", random_tensor({2}, 1)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_EQ(request.get<std::string>("text")[1], "a longer text");
}

TEST_F(SavedGraph, KeepsThePlansAndTakesTheirPlaces) {
    const CompiledGraph compiled = *runtime_.compile(network(), at_batch(2));
    ASSERT_TRUE(compiled.prepare({{"x", {5, 3, 16, 16}}}).ok());
    ASSERT_TRUE(compiled.save(file_).ok());
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    const CompileReport before = compiled.report();
    const CompileReport after = loaded->report();
    ASSERT_EQ(after.plans.size(), 2U);
    for (size_t plan = 0; plan < 2; ++plan) {
        EXPECT_EQ(after.plans[plan].shapes, before.plans[plan].shapes);
        EXPECT_EQ(after.plans[plan].arena_bytes, before.plans[plan].arena_bytes);
        ASSERT_EQ(after.plans[plan].buffers.size(), before.plans[plan].buffers.size());
    }
    EXPECT_EQ(after.summary(), before.summary());
    EXPECT_EQ(after.node_count, before.node_count);
    EXPECT_GT(after.load_time_ns, 0);
}

TEST_F(SavedGraph, ReadsPackedConstantsWhereTheyAre) {
    save_network();
    const Runtime other(without_numa(2));
    const auto loaded = other.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_GT(loaded->report().mapped_weight_bytes, 0);
    EXPECT_EQ(loaded->report().packed_weight_bytes, 0);
}

TEST_F(SavedGraph, PacksAtLoadWhatWasLeftOut) {
    const CompiledGraph compiled = *runtime_.compile(network(), at_batch(2));
    ASSERT_TRUE(compiled.save(file_, {.saves_packed_weights = false}).ok());
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(loaded->report().mapped_weight_bytes, 0);
    EXPECT_EQ(*output_bytes(*loaded, images(2)), *output_bytes(compiled, images(2)));
}

TEST_F(SavedGraph, PlansShapesThatAreNotInTheFile) {
    save_network();
    const CompiledGraph compiled = *runtime_.compile(network(), at_batch(2));
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    const auto found = output_bytes(*loaded, images(7));
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(*found, *output_bytes(compiled, images(7)));
}

TEST_F(SavedGraph, IsSavedAndLoadedAgain) {
    save_network();
    const CompiledGraph first = *runtime_.load(file_);
    const auto wanted = output_bytes(first, images(2));
    const std::filesystem::path other = folder_.path() / "again.leat";
    ASSERT_TRUE(first.save(other).ok());
    const auto second = runtime_.load(other);
    ASSERT_TRUE(second.ok()) << second.error().message();
    EXPECT_EQ(*output_bytes(*second, images(2)), *wanted);
}

TEST_F(SavedGraph, OutlivesItsFile) {
    save_network();
    const CompiledGraph loaded = *runtime_.load(file_);
    std::filesystem::remove(file_);
    EXPECT_TRUE(output_bytes(loaded, images(2)).ok());
}

TEST_F(SavedGraph, IsRefusedByAnotherNumberOfThreads) {
    save_network();
    RuntimeOptions options = without_numa(2);
    options.threads = 1;
    const auto loaded = Runtime(options).load(file_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code(), StatusCode::kVersionMismatch);
    EXPECT_THAT(loaded.error().message(), HasSubstr("2 threads"));
    EXPECT_THAT(loaded.error().message(), HasSubstr("1 threads"));
}

TEST_F(SavedGraph, IsRefusedByAnotherCpu) {
    save_network();
    std::string bytes = contents_of(file_);
    const std::string& cpu = runtime_.host().cpu_name;
    ASSERT_FALSE(cpu.empty());
    const size_t at = bytes.find(cpu);
    ASSERT_NE(at, std::string::npos);
    bytes[at] = '#';
    seal(bytes);
    write_contents(file_, bytes);
    const auto loaded = runtime_.load(file_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code(), StatusCode::kVersionMismatch);
    EXPECT_THAT(loaded.error().message(), HasSubstr("another CPU"));
}

TEST_F(SavedGraph, IsRefusedByAnotherVersion) {
    save_network();
    const std::string good = contents_of(file_);
    constexpr size_t kFormatAt = 12;
    constexpr size_t kVersionAt = 16;
    for (const size_t at : {kFormatAt, kVersionAt}) {
        std::string bytes = good;
        ++bytes[at];
        seal(bytes);
        write_contents(file_, bytes);
        const auto loaded = runtime_.load(file_);
        ASSERT_FALSE(loaded.ok());
        EXPECT_EQ(loaded.error().code(), StatusCode::kVersionMismatch) << loaded.error().message();
    }
}

TEST_F(SavedGraph, SaysWhatIsNotThere) {
    EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kNotFound);
    write_contents(file_, "a text");
    EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kParse);
    const CompiledGraph compiled = *runtime_.compile(network());
    EXPECT_FALSE(compiled.save(folder_.path() / "no folder" / "x").ok());
}

TEST_F(SavedGraph, IsAnErrorWhereTheFileIsCutShort) {
    save_network();
    const std::string good = contents_of(file_);
    for (size_t bytes = 0; bytes < good.size(); bytes += 1 + good.size() / 97) {
        write_contents(file_, good.substr(0, bytes));
        EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kParse) << bytes;
    }
}

// Also where the header agrees with what is left.
TEST_F(SavedGraph, IsAnErrorWhereTheFileEndsWithASection) {
    save_network();
    const std::string good = contents_of(file_);
    const std::vector<size_t> ends = testing_support::section_ends(good);
    ASSERT_GT(ends.size(), 8U);
    for (const size_t end : ends) {
        ASSERT_LT(end, good.size());
        std::string bytes = good.substr(0, end);
        write_contents(file_, bytes);
        EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kParse) << end;
        const auto size_bytes = int64_t(end);
        std::memcpy(bytes.data() + testing_support::kFileBytesAt, &size_bytes, sizeof(size_bytes));
        if (end < testing_support::kHeaderBytes + testing_support::body_bytes(good)) {
            write_contents(file_, bytes);  // the hashes are of what is not there
            EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kParse) << end;
            continue;
        }
        seal(bytes);
        write_contents(file_, bytes);
        const auto loaded = runtime_.load(file_);
        ASSERT_FALSE(loaded.ok()) << end;
        EXPECT_EQ(loaded.error().code(), StatusCode::kParse) << end;
    }
}

TEST_F(SavedGraph, NoticesAnyChangedByteBesideConstants) {
    save_network();
    const std::string good = contents_of(file_);
    const size_t body = testing_support::body_bytes(good);
    const size_t end = testing_support::kHeaderBytes + body;
    for (size_t at = 0; at < end; at += 1 + end / 199) {
        std::string bytes = good;
        bytes[at] = char(bytes[at] ^ 0x41);
        write_contents(file_, bytes);
        EXPECT_FALSE(runtime_.load(file_).ok()) << at;
    }
}

TEST_F(SavedGraph, NoticesChangedConstantsIfAskedTo) {
    save_network();
    std::string bytes = contents_of(file_);
    const auto first = size_t(testing_support::number_at(bytes, testing_support::kBlobsAt));
    bytes[first] = char(bytes[first] ^ 1);
    write_contents(file_, bytes);
    EXPECT_TRUE(runtime_.load(file_).ok());
    const auto verified = runtime_.load(file_, {.verifies_weights = true});
    ASSERT_FALSE(verified.ok());
    EXPECT_EQ(verified.error().code(), StatusCode::kParse);
}

TEST_F(SavedGraph, IsAnErrorWhereANodeHasAnAttributeThatItsOperatorLacks) {
    save_network();
    std::string bytes = contents_of(file_);
    const size_t end = testing_support::kHeaderBytes + testing_support::body_bytes(bytes);
    const std::string_view known = "pads";
    ASSERT_LT(bytes.find(known), end);
    for (size_t at = 0; (at = bytes.find(known, at)) < end;) {
        bytes[at] = 'b';
    }
    seal(bytes);
    write_contents(file_, bytes);
    EXPECT_THAT(runtime_.load(file_).error().message(),
                AllOf(HasSubstr("(Conv)"), HasSubstr("Conv has no attribute 'bads'"),
                      HasSubstr("one of: auto_pad (string)")));
}

// Hashes say nothing about whoever writes a file on purpose: then an error comes, or a graph that
// runs or says why not.
TEST_F(SavedGraph, SurvivesFilesWithTrueHashes) {
    save_network();
    const std::string good = contents_of(file_);
    const size_t body = testing_support::body_bytes(good);
    int refused = 0;
    constexpr int kChanges[] = {0x01, 0x80, 0xff};
    for (size_t at = 0; at < body; at += 5) {
        refused += int(testing_support::is_refused_with_change(runtime_, file_, good, at,
                                                               kChanges[at % 3], images(2)));
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace leat
