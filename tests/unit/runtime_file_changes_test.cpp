// Files of models and compiled graphs that somebody cuts short while something of them lives: what
// was copied goes on, what is mapped is an error where leat looks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "leat/leat.h"
#include "onnx/save.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::random_tensor;

constexpr int64_t kExtent = 256;
constexpr int kShortBytes = 1000;  // less than any of the files

//  x[2,256] -- MatMul(a) -- Add(b) -- y
// Kernels read packed copies of a, and b where it is.
Graph network() {
    Graph graph("network");
    const ValueId x = graph.input("x", DType::kFloat32, {2, kExtent});
    const ValueId a = graph.constant("a", random_tensor({kExtent, kExtent}, 1));
    const ValueId b = graph.constant("b", random_tensor({2, kExtent}, 2));
    graph.output("y", graph.add("Add", {graph.add("MatMul", {x, a}), b}));
    return graph;
}

const NamedTensors kInputs = {{"x", random_tensor({2, kExtent}, 3)}};

class FileChanges : public ::testing::Test {
  protected:
    FileChanges() {
        EXPECT_TRUE(save_onnx(network(), model_).ok());
        // Its weights in a file of their own, as those of large models.
        EXPECT_TRUE(onnx::save_model(network().data(), divided_, 0).ok());
        wanted_ = *output_bytes(*runtime_.compile(network()), kInputs);
    }
    void save_compiled(const SaveOptions& options = {}) {
        EXPECT_TRUE(runtime_.compile(*load_onnx(model_))->save(compiled_, options).ok());
    }
    void expect_results(const CompiledGraph& compiled) {
        const auto found = output_bytes(compiled, kInputs);
        ASSERT_TRUE(found.ok()) << found.error().message();
        EXPECT_EQ(*found, wanted_);
    }
    static void expect_named(const Status& status, const std::string& file) {
        EXPECT_EQ(status.code(), StatusCode::kParse) << status.message();
        EXPECT_THAT(status.message(), HasSubstr(file));
        EXPECT_THAT(status.message(), HasSubstr("became shorter while it was mapped"));
    }

    const ScratchFolder folder_;
    const std::string model_ = folder_.path() / "model.onnx";
    const std::string divided_ = folder_.path() / "divided.onnx";
    const std::string data_ = folder_.path() / "divided.onnx.data";
    const std::string compiled_ = folder_.path() / "network.leat";
    const Runtime runtime_{testing_support::without_numa(1)};
    std::map<std::string, std::string> wanted_;
};

TEST_F(FileChanges, CopiedModelsGoOn) {
    for (const auto& [model, data] : {std::pair(model_, model_), std::pair(divided_, data_)}) {
        const Graph graph = *load_onnx(model, {.copies = true});
        fs::resize_file(data, kShortBytes);
        // Twice: the first one packs constants, and may not give their memory back.
        for (int i = 0; i < 2; ++i) {
            const auto compiled = runtime_.compile(graph);
            ASSERT_TRUE(compiled.ok()) << compiled.error().message();
            expect_results(*compiled);
            ASSERT_TRUE(compiled->save(compiled_, {.refers_to_model = true}).ok());
        }
        fs::remove(data);  // its constants are in the saved graph: it was another file already
        expect_results(*runtime_.load(compiled_));
    }
}

TEST_F(FileChanges, CopiedModelsAreReferredTo) {
    const auto compiled = runtime_.compile(*load_onnx(divided_, {.copies = true}));
    ASSERT_TRUE(compiled->save(compiled_, {.refers_to_model = true}).ok());
    expect_results(*runtime_.load(compiled_));
    fs::remove(data_);
    EXPECT_EQ(runtime_.load(compiled_).error().code(), StatusCode::kNotFound);
}

TEST_F(FileChanges, CopiesOfModelsWithOperatorsToo) {
    const Graph graph = *load_onnx(model_, runtime_.operators(), {.copies = true});
    fs::resize_file(model_, kShortBytes);
    expect_results(*runtime_.compile(graph));
}

TEST_F(FileChanges, MappedModelsAreErrorsOfCompile) {
    for (const auto& [model, data] : {std::pair(model_, model_), std::pair(divided_, data_)}) {
        const Graph graph = *load_onnx(model);
        fs::resize_file(data, kShortBytes);
        expect_named(runtime_.compile(graph).error(), data);
        const std::string copy = (folder_.path() / "copy.onnx").string();
        expect_named(save_onnx(graph, copy), data);
        EXPECT_FALSE(fs::exists(copy));
    }
}

TEST_F(FileChanges, MappedModelsAreErrorsOfWhatIsCompiled) {
    const CompiledGraph compiled = *runtime_.compile(*load_onnx(model_));
    expect_results(compiled);
    fs::resize_file(model_, kShortBytes);
    expect_named(compiled.make_request().error(), model_);
    expect_named(compiled.save(compiled_), model_);
    expect_named(compiled.recompile({}).error(), model_);
    EXPECT_FALSE(fs::exists(compiled_));
}

TEST_F(FileChanges, MappedModelsThatWereReplacedGoOn) {
    const Graph graph = *load_onnx(model_);
    ASSERT_TRUE(save_onnx(Graph("another"), model_).ok());
    expect_results(*runtime_.compile(graph));
}

TEST_F(FileChanges, CopiedCompiledGraphsGoOn) {
    save_compiled();
    const CompiledGraph loaded = *runtime_.load(compiled_, {.copies = true});
    fs::resize_file(compiled_, kShortBytes);
    expect_results(loaded);
    ASSERT_TRUE(loaded.save(compiled_).ok());
    expect_results(*runtime_.load(compiled_));
}

TEST_F(FileChanges, CopiedCompiledGraphsGoOnWithoutTheirModel) {
    save_compiled({.saves_packed_weights = false, .refers_to_model = true});
    const CompiledGraph loaded = *runtime_.load(compiled_, {.copies = true});
    fs::resize_file(model_, kShortBytes);
    fs::resize_file(compiled_, kShortBytes);
    expect_results(loaded);
}

TEST_F(FileChanges, MappedCompiledGraphsAreErrors) {
    save_compiled();
    const CompiledGraph loaded = *runtime_.load(compiled_);
    fs::resize_file(compiled_, kShortBytes);
    expect_named(loaded.make_request().error(), compiled_);
    expect_named(loaded.save(folder_.path() / "other.leat"), compiled_);
    EXPECT_EQ(runtime_.load(compiled_).error().code(), StatusCode::kParse);
}

TEST_F(FileChanges, ModelsOfMappedCompiledGraphsAreErrors) {
    save_compiled({.saves_packed_weights = false, .refers_to_model = true});
    const CompiledGraph loaded = *runtime_.load(compiled_);
    fs::resize_file(model_, kShortBytes);
    expect_named(loaded.make_request().error(), model_);
}

TEST_F(FileChanges, CopiedValuesStay) {
    const std::string file = folder_.path() / "value.pb";
    const Tensor tensor = random_tensor({kExtent, kExtent}, 4);
    ASSERT_TRUE(save_onnx_value(tensor, file).ok());
    const auto value = load_onnx_value(file, Value::Kind::kTensor, {.copies = true});
    fs::resize_file(file, kShortBytes);
    ASSERT_TRUE(value.ok()) << value.error().message();
    EXPECT_EQ(std::memcmp(value->tensor().bytes(), tensor.bytes(), size_t(tensor.byte_count())), 0);
}

}  // namespace
}  // namespace leat
