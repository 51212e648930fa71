// What `graphbench devices` says where the Vulkan backend cannot be asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "backends/plugin/find_plugin.h"
#include "graphbench/vulkan_devices.h"
#include "support/scratch_folder.h"

namespace leat::bench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class VulkanReportTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (find_plugin("vulkan").ok()) {
            GTEST_SKIP() << "the backend is installed";
        }
        write_contents(folder_.path() / "build.ninja", "");
        built_.folder = (folder_.path() / "plugins").string();
        built_.build_folder = folder_.path().string();
        built_.vulkan_target = "plugins/leat_vulkan.so";
    }

    // Of a report without devices.
    std::string reason(const std::string& backend_path) const {
        const VulkanReport report = vulkan_report(backend_path, built_);
        EXPECT_FALSE(report.json["available"].boolean(true));
        EXPECT_TRUE(report.json["devices"].is_array());
        EXPECT_EQ(report.json.members().size(), 3U);
        std::string reason = report.json["reason"].text();
        EXPECT_EQ(report.text, "\nVulkan     " + reason + "\n");
        return reason;
    }

    ScratchFolder folder_;
    BuiltBackends built_;
};

TEST_F(VulkanReportTest, HasTheCommandThatBuildsTheBackend) {
    EXPECT_THAT(reason(built_.folder),
                AllOf(HasSubstr("not found: nothing at " + built_.folder + "/leat_vulkan.so"),
                      HasSubstr("ninja -C " + built_.build_folder + " plugins/leat_vulkan.so")));
}

TEST_F(VulkanReportTest, HasNoCommandForABuildThatIsGone) {
    built_.build_folder = "/no/such/folder";
    EXPECT_THAT(reason(built_.folder), AllOf(HasSubstr("not found: nothing at " + built_.folder),
                                             Not(HasSubstr("ninja"))));
}

TEST_F(VulkanReportTest, SaysWhyTheBackendIsNotConfigured) {
    built_.vulkan_target = "";
    built_.vulkan_missing = "it was switched off (-Dvulkan=disabled)";
    EXPECT_EQ(reason(built_.folder), "not built: it was switched off (-Dvulkan=disabled)");
}

TEST_F(VulkanReportTest, LooksInTheBuildWhereThePathIsAnotherBackendsFile) {
    const std::string file = (folder_.path() / "leat_my.so").string();
    write_contents(file, "not a shared object");
    EXPECT_THAT(reason(file),
                AllOf(HasSubstr("not found: nothing at " + built_.folder), Not(HasSubstr(file))));
}

TEST_F(VulkanReportTest, SaysWhatIsWrongWithTheFile) {
    const std::string file = (folder_.path() / "leat_vulkan.so").string();
    write_contents(file, "not a shared object");
    EXPECT_THAT(reason(file), HasSubstr("no shared object that can be loaded: " + file));
}

}  // namespace
}  // namespace leat::bench
