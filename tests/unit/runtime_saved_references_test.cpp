// Compiled graphs whose files leave constants in the model's own files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "leat/leat.h"
#include "support/onnx_bytes.h"
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
constexpr int64_t kConstantBytes = kExtent * kExtent * int64_t{sizeof(float)};

//  x[2,256] -- MatMul(a) -- Relu -- MatMul(b) -- y
Graph network() {
    Graph graph("network");
    const ValueId x = graph.input("x", DType::kFloat32, {2, kExtent});
    const ValueId a = graph.constant("a", random_tensor({kExtent, kExtent}, 1));
    const ValueId b = graph.constant("b", random_tensor({kExtent, kExtent}, 2));
    const ValueId relu = graph.add("Relu", {graph.add("MatMul", {x, a})});
    graph.output("y", graph.add("MatMul", {relu, b}));
    return graph;
}

const NamedTensors kInputs = {{"x", random_tensor({2, kExtent}, 3)}};

class SavedReferences : public ::testing::Test {
  protected:
    // The file then refers to the model's, unless `save` says otherwise; the model's results.
    std::string save_network(const SaveOptions& save = {.saves_packed_weights = false,
                                                        .refers_to_model = true}) {
        EXPECT_TRUE(save_onnx(network(), model_).ok());
        const Result<Graph> graph = load_onnx(model_);
        EXPECT_TRUE(graph.ok());
        const Result<CompiledGraph> compiled = runtime_.compile(*graph);
        EXPECT_TRUE(compiled.ok());
        const Status saved = compiled->save(file_, save);
        EXPECT_TRUE(saved.ok()) << saved.message();
        return output_bytes(*compiled, kInputs)->at("y");
    }
    void expect_y(const fs::path& file, const std::string& wanted) {
        const auto loaded = runtime_.load(file);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        const auto found = output_bytes(*loaded, kInputs);
        ASSERT_TRUE(found.ok()) << found.error().message();
        EXPECT_EQ(found->at("y"), wanted);
    }
    void expect_refused(StatusCode code, const std::string& reason, const LoadOptions& how = {}) {
        const auto loaded = runtime_.load(file_, how);
        ASSERT_FALSE(loaded.ok());
        EXPECT_EQ(loaded.error().code(), code) << loaded.error().message();
        EXPECT_THAT(loaded.error().message(), HasSubstr("model.onnx"));
        EXPECT_THAT(loaded.error().message(), HasSubstr(reason));
    }
    // A byte in the middle of the constants.
    void change_model() {
        std::string bytes = contents_of(model_);
        char& byte = bytes[bytes.size() / 2];
        byte = char(byte ^ 1);
        write_contents(model_, bytes);
    }
    void touch_model() {
        fs::last_write_time(model_, fs::last_write_time(model_) + std::chrono::seconds(7));
    }

    ScratchFolder folder_;
    const fs::path model_ = folder_.path() / "model.onnx";
    const fs::path file_ = folder_.path() / "network.leat";
    const Runtime runtime_{testing_support::without_numa(1)};
};

TEST_F(SavedReferences, GiveTheSameBitsFromASmallerFile) {
    const std::string wanted = save_network();
    const auto with_references = int64_t(fs::file_size(file_));
    expect_y(file_, wanted);
    save_network({.saves_packed_weights = false});
    EXPECT_GE(int64_t(fs::file_size(file_)), with_references + 2 * kConstantBytes - (64 << 10));
    expect_y(file_, wanted);
}

TEST_F(SavedReferences, AreOnlyMadeIfAskedFor) {
    const std::string wanted = save_network({});
    fs::remove(model_);
    expect_y(file_, wanted);
}

TEST_F(SavedReferences, KeepPackedConstantsInTheirFile) {
    const std::string wanted = save_network({.refers_to_model = true});
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_GE(loaded->report().mapped_weight_bytes, 2 * kConstantBytes);
    EXPECT_EQ(loaded->report().packed_weight_bytes, 0);
    expect_y(file_, wanted);
}

TEST_F(SavedReferences, MoveWithTheModelBesideThem) {
    const std::string wanted = save_network();
    const ScratchFolder other;
    fs::rename(model_, other.path() / "model.onnx");
    fs::rename(file_, other.path() / "network.leat");
    expect_y(other.path() / "network.leat", wanted);
}

TEST_F(SavedReferences, FindAModelElsewhereByItsAbsolutePath) {
    const ScratchFolder other;
    const std::string wanted = save_network();
    fs::create_directory(folder_.path() / "saved");
    const fs::path file = folder_.path() / "saved" / "network.leat";
    ASSERT_TRUE(runtime_.compile(*load_onnx(model_))->save(file, {.refers_to_model = true}).ok());
    const fs::path moved = other.path() / "network.leat";
    fs::rename(file, moved);
    expect_y(moved, wanted);
}

TEST_F(SavedReferences, AreRefusedWhereTheModelIsGone) {
    save_network();
    fs::remove(model_);
    expect_refused(StatusCode::kNotFound, "cannot open");
}

TEST_F(SavedReferences, AreRefusedWhereTheModelIsShorter) {
    save_network();
    fs::resize_file(model_, fs::file_size(model_) - 1);
    expect_refused(StatusCode::kVersionMismatch, "was changed");
}

TEST_F(SavedReferences, AreRefusedWhereTheModelHasOtherElements) {
    save_network();
    change_model();
    touch_model();
    expect_refused(StatusCode::kVersionMismatch, "other elements");
}

TEST_F(SavedReferences, AreTakenFromACopyWithTheSameElements) {
    const std::string wanted = save_network();
    touch_model();
    expect_y(file_, wanted);
}

// Size and time are as they were: only who reads the elements can tell.
TEST_F(SavedReferences, AreComparedIfAskedTo) {
    save_network();
    const fs::file_time_type then = fs::last_write_time(model_);
    change_model();
    fs::last_write_time(model_, then);
    EXPECT_TRUE(runtime_.load(file_).ok());
    expect_refused(StatusCode::kVersionMismatch, "other elements", {.verifies_weights = true});
}

TEST_F(SavedReferences, AreOfTheModelAlsoWhenSavedAgain) {
    const std::string wanted = save_network();
    const CompiledGraph loaded = *runtime_.load(file_);
    const fs::path again = folder_.path() / "again.leat";
    const fs::path copy = folder_.path() / "copy.leat";
    ASSERT_TRUE(loaded.save(again, {.refers_to_model = true}).ok());
    ASSERT_TRUE(loaded.save(copy).ok());
    fs::remove(file_);
    expect_y(again, wanted);
    fs::remove(model_);
    EXPECT_EQ(runtime_.load(again).error().code(), StatusCode::kNotFound);
    expect_y(copy, wanted);
}

// The constants of a loaded graph lie in a file that a second one may replace.
TEST_F(SavedReferences, AreNeverOfACompiledGraph) {
    const std::string wanted = save_network({});
    const CompiledGraph loaded = *runtime_.load(file_);
    ASSERT_TRUE(loaded.save(file_, {.refers_to_model = true}).ok());
    fs::remove(model_);
    expect_y(file_, wanted);
}

TEST_F(SavedReferences, AreCopiesWhereTheModelWasReplacedSince) {
    ASSERT_TRUE(save_onnx(network(), model_).ok());
    const CompiledGraph compiled = *runtime_.compile(*load_onnx(model_));
    const std::string wanted = output_bytes(compiled, kInputs)->at("y");
    const fs::path other = folder_.path() / "other.onnx";
    write_contents(other, "another model");
    fs::rename(other, model_);
    ASSERT_TRUE(compiled.save(file_, {.refers_to_model = true}).ok());
    expect_y(file_, wanted);
}

TEST_F(SavedReferences, DoNotReplaceTheirModel) {
    save_network();
    const Status saved =
        runtime_.compile(*load_onnx(model_))->save(model_, {.refers_to_model = true});
    EXPECT_EQ(saved.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(load_onnx(model_).ok());
}

//  w (external) --> Add(x) --> y
TEST_F(SavedReferences, AreOfExternalDataToo) {
    constexpr int64_t kElements = 2048;
    const Tensor w = random_tensor({kElements}, 4);
    const std::string elements(reinterpret_cast<const char*>(w.bytes()), size_t(w.byte_count()));
    write_contents(folder_.path() / "w.bin", "head" + elements);
    const auto entry = [](const std::string& key, const std::string& value) {
        return testing::bytes(13, testing::bytes(1, key) + testing::bytes(2, value));
    };
    testing::ModelParts parts;
    parts.nodes = {testing::node("Add", {"x", "w"}, {"y"})};
    parts.inputs = {testing::f32_info("x", {kElements})};
    parts.outputs = {testing::f32_info("y", {kElements})};
    parts.initializers = {testing::tensor(
        "w", DType::kFloat32, {kElements},
        entry("location", "w.bin") + entry("offset", "4") + testing::number(14, 1))};
    write_contents(model_, testing::model_bytes(parts));
    const auto compiled = runtime_.compile(*load_onnx(model_));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_TRUE(compiled->save(file_, {.refers_to_model = true}).ok());
    const NamedTensors inputs = {{"x", random_tensor({kElements}, 5)}};
    const auto wanted = output_bytes(*compiled, inputs);
    fs::remove(model_);  // needs its external data only
    const auto loaded = runtime_.load(file_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(*output_bytes(*loaded, inputs), *wanted);
    fs::remove(folder_.path() / "w.bin");  // the mapped one stays whole
    write_contents(folder_.path() / "w.bin", "head");
    EXPECT_EQ(runtime_.load(file_).error().code(), StatusCode::kVersionMismatch);
}

// As SavedGraph.SurvivesFilesWithTrueHashes: here the list of files and the places of blobs.
TEST_F(SavedReferences, SurviveFilesWithTrueHashes) {
    save_network();
    const std::string good = contents_of(file_);
    const auto record = size_t(testing_support::number_at(good, testing_support::kRecordBytesAt));
    constexpr int kChanges[] = {0x01, 0x80, 0xff};
    int refused = 0;
    for (size_t at = record; at < testing_support::body_bytes(good); ++at) {
        for (const int change : kChanges) {
            refused += int(testing_support::is_refused_with_change(runtime_, file_, good, at,
                                                                   change, kInputs));
        }
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace leat
