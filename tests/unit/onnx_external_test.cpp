// External data: where it may lie and what its offsets may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_data.h"
#include "onnx_bytes.h"

namespace leat {
namespace {

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
    EXPECT_THAT(error_of(folder, "link"), HasSubstr("symbolic link"));
    std::filesystem::create_directory_symlink(outside.path(), folder.path() / "dir");
    EXPECT_THAT(error_of(folder, "dir/secret"), HasSubstr("symbolic link"));
    std::filesystem::create_hard_link(secret, folder.path() / "hard");
    EXPECT_THAT(error_of(folder, "hard"), HasSubstr("hard link"));
    EXPECT_THAT(error_of(folder, ""), HasSubstr("no path"));
    EXPECT_THAT(error_of(folder, "."), HasSubstr("folder"));
    std::filesystem::create_directory(folder.path() / "plain");
    EXPECT_THAT(error_of(folder, "plain"), HasSubstr("not a regular file"));
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
