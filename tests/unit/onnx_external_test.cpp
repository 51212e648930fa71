// External data: where it may lie and what its offsets may be.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/descriptor.h"
#include "graph/graph_data.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::AllOf;
using testing::bytes;
using testing::f32_info;
using ::testing::HasSubstr;
using testing::ModelParts;
using testing::node;
using testing::number;
using testing::TemporaryFolder;

ModelParts external_model(const std::string& location,
                          const std::string& offset,
                          const std::string& length) {
    const auto entry = [](const std::string& key, const std::string& value) {
        return bytes(13, bytes(1, key) + bytes(2, value));
    };
    ModelParts parts;
    parts.nodes = {node("Add", {"x", "w"}, {"y"})};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    parts.initializers = {testing::tensor(
        "w", DType::kFloat32, {2},
        entry("location", location) + (offset.empty() ? "" : entry("offset", offset)) +
            (length.empty() ? "" : entry("length", length)) + number(14, 1))};
    return parts;
}

std::string error_of(const TemporaryFolder& folder,
                     const std::string& location,
                     const std::string& offset = "0",
                     const std::string& length = "8") {
    const Result<Graph> graph = folder.load(external_model(location, offset, length));
    return graph.ok() ? "no error" : graph.error().message();
}

TEST(OnnxExternalData, IsAViewOfTheFileBesideTheModel) {
    TemporaryFolder folder;
    std::filesystem::create_directory(folder.path() / "sub");
    folder.write("sub/w.bin", "...." + testing::raw_bytes<float>({3, 4}));
    for (const char* length : {"8", ""}) {
        Result<Graph> graph = folder.load(external_model("sub/w.bin", "4", length));
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        EXPECT_EQ(graph->parameter_bytes(), 8);
        const Tensor& w = *graph->data().values[0].constant;
        EXPECT_EQ(w.data<float>()[1], 4.0F);
    }
}

TEST(OnnxExternalData, LocationsThatLeaveTheFolderAreErrors) {
    TemporaryFolder outside;
    const std::filesystem::path secret = outside.write("secret", std::string(64, 's'));
    TemporaryFolder folder;
    folder.write("w.bin", std::string(64, 'w'));
    EXPECT_EQ(error_of(folder, "w.bin"), "no error");
    EXPECT_THAT(error_of(folder, secret.string()), HasSubstr("absolute"));
    const std::string up = "../" + outside.path().filename().string() + "/secret";
    EXPECT_THAT(error_of(folder, up), HasSubstr("'..'"));
    EXPECT_THAT(error_of(folder, "./a/../" + up), HasSubstr("'..'"));
    std::filesystem::create_symlink(secret, folder.path() / "link");
    EXPECT_THAT(error_of(folder, "link"),
                AllOf(HasSubstr("leads out of the model's folder"), HasSubstr(secret.string())));
    std::filesystem::create_directory_symlink(outside.path(), folder.path() / "dir");
    EXPECT_THAT(error_of(folder, "dir/secret"), HasSubstr("leads out of"));
    // A folder whose name only begins like that of the model's.
    const std::filesystem::path neighbour = folder.path().string() + "2";
    std::filesystem::create_directory(neighbour);
    std::filesystem::copy_file(secret, neighbour / "secret");
    std::filesystem::create_symlink(neighbour / "secret", folder.path() / "near");
    EXPECT_THAT(error_of(folder, "near"), HasSubstr("leads out of"));
    std::filesystem::remove_all(neighbour);
    // Links in a circle.
    std::filesystem::create_symlink("circle", folder.path() / "circle");
    EXPECT_THAT(error_of(folder, "circle"), HasSubstr("cannot open the external data"));
    EXPECT_THAT(error_of(folder, ""), HasSubstr("no path"));
    EXPECT_THAT(error_of(folder, "."), HasSubstr("not a regular file"));
    std::filesystem::create_directory(folder.path() / "plain");
    EXPECT_THAT(error_of(folder, "plain"), HasSubstr("not a regular file"));
}

// blobs/1: the model, blobs/2: its data
// snapshots/a/onnx/model.onnx -> blobs/1, snapshots/a/onnx/w.bin -> blobs/2
class Cache {
  public:
    Cache() {
        const std::filesystem::path folder = folder_.path() / "snapshots/a/onnx";
        std::filesystem::create_directories(folder);
        std::filesystem::create_directory(folder_.path() / "blobs");
        folder_.write("blobs/1", model_bytes(external_model("w.bin", "0", "8")));
        folder_.write("blobs/2", testing::raw_bytes<float>({3, 4}));
        model_ = folder / "model.onnx";
        std::filesystem::create_symlink("../../../blobs/1", model_);
        std::filesystem::create_symlink("../../../blobs/2", folder / "w.bin");
    }
    const std::filesystem::path& path() const { return folder_.path(); }
    const std::filesystem::path& model() const { return model_; }

  private:
    TemporaryFolder folder_;
    std::filesystem::path model_;
};

std::string error_of(const Result<Graph>& graph) {
    return graph.ok() ? "no error" : graph.error().message();
}

float second_weight(const Graph& graph) {
    return graph.data().values[0].constant->data<float>()[1];
}

TEST(OnnxExternalData, ACacheOfLinksLoads) {
    const Cache cache;
    const Result<Graph> graph = load_onnx(cache.model().string());
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(second_weight(*graph), 4.0F);
    // From the model's own folder, and through a link to that.
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(cache.model().parent_path());
    const std::string from_inside = error_of(load_onnx("model.onnx"));
    std::filesystem::current_path(before);
    EXPECT_EQ(from_inside, "no error");
    std::filesystem::create_directory_symlink("snapshots/a", cache.path() / "latest");
    // What is not there yet.
    std::filesystem::rename(cache.path() / "blobs/2", cache.path() / "blobs/2.incomplete");
    EXPECT_THAT(error_of(load_onnx(cache.model().string())),
                AllOf(HasSubstr("w.bin is a link to ../../../blobs/2"), HasSubstr("No such file")));
    std::filesystem::rename(cache.path() / "blobs/2.incomplete", cache.path() / "blobs/2");
    EXPECT_EQ(error_of(load_onnx((cache.path() / "latest/onnx/model.onnx").string())), "no error");
}

TEST(OnnxExternalData, IsFoundBesideTheTargetOfALinkToTheModel) {
    TemporaryFolder models;
    models.write("w.bin", testing::raw_bytes<float>({3, 4}));
    const auto model = models.write("m.onnx", model_bytes(external_model("w.bin", "0", "8")));
    TemporaryFolder home;
    std::filesystem::create_symlink(model, home.path() / "m.onnx");
    const Result<Graph> graph = load_onnx((home.path() / "m.onnx").string());
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(second_weight(*graph), 4.0F);
    // What lies beside the link goes first.
    home.write("w.bin", testing::raw_bytes<float>({5, 6}));
    EXPECT_EQ(second_weight(*load_onnx((home.path() / "m.onnx").string())), 6.0F);
}

TEST(OnnxExternalData, LinksMayLeadToFoldersThatTheCallerAllows) {
    TemporaryFolder store;
    const std::filesystem::path weights = store.write("w", testing::raw_bytes<float>({3, 4}));
    TemporaryFolder folder;
    std::filesystem::create_symlink(weights, folder.path() / "w.bin");
    const std::string model =
        folder.write("m.onnx", model_bytes(external_model("w.bin", "0", "8"))).string();
    const auto load_with = [&](const std::string& root) {
        return error_of(load_onnx(model, {.external_roots = {root}}));
    };
    EXPECT_THAT(error_of(load_onnx(model)), HasSubstr("external_roots"));
    EXPECT_EQ(load_with(store.path().string()), "no error");
    EXPECT_EQ(load_with(store.path().parent_path().string()), "no error");
    EXPECT_THAT(load_with("/usr"), HasSubstr("leads out of"));
    EXPECT_THAT(load_with("/no/such/folder"), HasSubstr("'/no/such/folder'"));
    EXPECT_THAT(load_with(weights.string()), HasSubstr("no folder"));
    EXPECT_THAT(load_with(""), HasSubstr("has no name"));
    // Roots are no places to look at: locations still may not leave the folder by themselves.
    const auto absolute = folder.write("a.onnx", model_bytes(external_model(weights, "0", "8")));
    EXPECT_THAT(error_of(load_onnx(absolute.string(), {.external_roots = {store.path().string()}})),
                HasSubstr("absolute"));
}

TEST(OnnxExternalData, SeveralHardLinksAreNoReasonToRefuseAFile) {
    TemporaryFolder folder;
    std::filesystem::create_hard_link(folder.write("copy.bin", testing::raw_bytes<float>({3, 4})),
                                      folder.path() / "w.bin");
    const Result<Graph> graph = folder.load(external_model("w.bin", "0", "8"));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(second_weight(*graph), 4.0F);
}

// A model without a name has no folder, and needs none.
TEST(OnnxExternalData, AModelOfADescriptorLoads) {
    TemporaryFolder folder;
    ModelParts parts;
    parts.nodes = {node("Relu", {"x"}, {"y"})};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    const std::filesystem::path file = folder.write("m.onnx", model_bytes(parts));
    const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::filesystem::remove(file);
    EXPECT_EQ(error_of(load_onnx(fmt::format("/proc/self/fd/{}", descriptor.value()))), "no error");
}

TEST(OnnxExternalData, MissingFileAndBadRangesAreErrors) {
    TemporaryFolder folder;
    folder.write("w.bin", std::string(64, 'w'));
    EXPECT_THAT(error_of(folder, "none.bin"), HasSubstr("none.bin"));
    EXPECT_THAT(error_of(folder, "w.bin", "60"), HasSubstr("within the file's 64 bytes"));
    EXPECT_THAT(error_of(folder, "w.bin", "9223372036854775807"), HasSubstr("outside its file"));
    EXPECT_THAT(error_of(folder, "w.bin", "-1"), HasSubstr("'-1'"));
    EXPECT_THAT(error_of(folder, "w.bin", "99999999999999999999"), HasSubstr("no number"));
    EXPECT_THAT(error_of(folder, "w.bin", "0", "4"), HasSubstr("4 bytes"));
    EXPECT_THAT(error_of(folder, "w.bin", "0", "x"), HasSubstr("'x'"));
}

}  // namespace
}  // namespace leat
