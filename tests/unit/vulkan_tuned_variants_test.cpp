// Choices that were measured: which problems share one, and what is kept on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/tuned_variants.h"
#include "support/scratch_folder.h"

namespace leat::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VulkanTunedVariants : public ::testing::Test {
  protected:
    TunedVariants make(TunedVariants::Measure measure, std::string device = "a device") {
        return {{"gemm", std::move(device), {"small", "large"}}, &disk_, std::move(measure)};
    }
    // Variant 1, noting for what.
    TunedVariants::Measure second() {
        return [this](const ProblemExtents& extents) {
            measured_.push_back(extents);
            return std::optional<uint32_t>(1);
        };
    }

    ScratchFolder folder_;
    std::vector<std::string> lines_;
    DiskCache disk_{folder_.path(), "a test",
                    [this](std::string_view line) { lines_.emplace_back(line); }};
    std::vector<ProblemExtents> measured_;
};

TEST_F(VulkanTunedVariants, AreMeasuredOnceForAClass) {
    const TunedVariants tuned = make(second());
    EXPECT_EQ(tuned.fastest("gemm", {1, 700, 5000}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {1, 1000, 1025}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {2, 512, 1024}), 1);
    EXPECT_THAT(measured_,
                ElementsAre(ProblemExtents{1, 1024, 1024}, ProblemExtents{2, 512, 1024}));
    EXPECT_EQ(tuned.fastest("conv", {1, 700, 5000}), std::nullopt);
}

TEST_F(VulkanTunedVariants, AreReadBackWithoutMeasuring) {
    EXPECT_EQ(make(second()).fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {50, 60, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {128, 64, 64}), std::nullopt) << "another class";
    EXPECT_EQ(make({}, "another device").fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanTunedVariants, LeaveTheShippedChoiceWhereNothingCanBeMeasured) {
    const auto none = [](const ProblemExtents&) { return std::optional<uint32_t>(); };
    EXPECT_EQ(make(none).fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_EQ(make(second()).fastest("gemm", {64, 64, 64}), 1) << "nothing was kept";
}

TEST_F(VulkanTunedVariants, WorkWithoutADisk) {
    const TunedVariants tuned({"gemm", "a device", {"small", "large"}}, nullptr, second());
    EXPECT_EQ(tuned.fastest("gemm", {64, 64, 64}), 1);
}

TEST_F(VulkanTunedVariants, SayThatAFileIsCorrupt) {
    EXPECT_EQ(make(second()).fastest("gemm", {64, 64, 64}), 1);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
        std::string contents = contents_of(entry.path());
        contents.back() ^= 1;
        write_contents(entry.path(), contents);
    }
    EXPECT_EQ(make({}).fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_THAT(lines_, ElementsAre(HasSubstr("checksum is wrong")));
}

TEST_F(VulkanTunedVariants, SayThatAFileNamesNoVariant) {
    const TunedVariants earlier({"gemm", "a device", {"tiny", "huge"}}, &disk_, second());
    EXPECT_EQ(earlier.fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_THAT(lines_, ElementsAre(HasSubstr("names no variant")));
}

}  // namespace
}  // namespace leat::vulkan
