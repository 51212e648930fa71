// Choices that were measured: which problems share one, and what is kept on the disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/shader/tuned_variants.h"
#include "support/scratch_folder.h"

namespace leat::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class VulkanTunedVariants : public ::testing::Test {
  protected:
    static std::vector<TunedKernel> kernels() {
        return {{"gemm", {"small", "large"}}, {"conv", {"small tile", "large tile"}}};
    }
    TunedVariants make(TunedVariants::Measure measure, std::string device = "a device") {
        return {std::move(device), kernels(), &disk_, std::move(measure)};
    }
    // Variant 1, noting for what.
    TunedVariants::Measure second() {
        return [this](std::string_view kernel, const ProblemExtents& extents) {
            measured_.emplace_back(kernel, extents);
            return std::optional<uint32_t>(1);
        };
    }

    ScratchFolder folder_;
    std::vector<std::string> lines_;
    DiskCache disk_{folder_.path(), "a test",
                    [this](std::string_view line) { lines_.emplace_back(line); }};
    std::vector<std::pair<std::string, ProblemExtents>> measured_;
};

TEST_F(VulkanTunedVariants, AreMeasuredOnceForAClass) {
    const TunedVariants tuned = make(second());
    EXPECT_EQ(tuned.fastest("gemm", {1, 700, 5000}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {1, 1000, 1024}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {2, 512, 1024}), 1);
    EXPECT_EQ(tuned.fastest("conv", {1, 700, 5000}), 1);
    EXPECT_EQ(tuned.fastest("pool", {1, 700, 5000}), std::nullopt);
    EXPECT_THAT(measured_, ElementsAre(Pair("gemm", ProblemExtents{1, 700, 1024}),
                                       Pair("gemm", ProblemExtents{2, 512, 1024}),
                                       Pair("conv", ProblemExtents{1, 700, 1024})));
}

TEST_F(VulkanTunedVariants, AreOfTheirOwnWhereRowsBeginWithinATexel) {
    const TunedVariants tuned = make(second());
    EXPECT_EQ(tuned.fastest("gemm", {64, 100, 64}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {64, 101, 64}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {64, 103, 64}), 1);
    EXPECT_EQ(tuned.fastest("gemm", {64, 64, 5003}), 1);
    EXPECT_THAT(measured_, ElementsAre(Pair("gemm", ProblemExtents{64, 100, 64}),
                                       Pair("gemm", ProblemExtents{64, 101, 64}),
                                       Pair("gemm", ProblemExtents{64, 64, 1027})));
}

// No look at the disk for each class: what another process adds later is not seen.
TEST_F(VulkanTunedVariants, AreReadOnce) {
    const TunedVariants early = make({});
    EXPECT_EQ(early.fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_EQ(make(second()).fastest("gemm", {128, 64, 64}), 1);
    EXPECT_EQ(early.fastest("gemm", {128, 64, 64}), std::nullopt);
}

TEST_F(VulkanTunedVariants, KeepThoseOfOtherProcesses) {
    const TunedVariants one = make(second());
    EXPECT_EQ(one.fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(make(second()).fastest("conv", {16, 16, 16}), 1);
    EXPECT_EQ(one.fastest("gemm", {32, 32, 32}), 1);
    const TunedVariants late = make({});
    EXPECT_EQ(late.fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(late.fastest("conv", {16, 16, 16}), 1);
    EXPECT_EQ(late.fastest("gemm", {32, 32, 32}), 1);
}

TEST_F(VulkanTunedVariants, AreReadBackWithoutMeasuring) {
    EXPECT_EQ(make(second()).fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {52, 60, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {128, 64, 64}), std::nullopt) << "another class";
    EXPECT_EQ(make({}, "another device").fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanTunedVariants, LeaveTheShippedChoiceWhereNothingCanBeMeasured) {
    const auto none = [](std::string_view, const ProblemExtents&) {
        return std::optional<uint32_t>();
    };
    EXPECT_EQ(make(none).fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_EQ(make(second()).fastest("gemm", {64, 64, 64}), 1) << "nothing was kept";
}

TEST_F(VulkanTunedVariants, WorkWithoutADisk) {
    const TunedVariants tuned("a device", kernels(), nullptr, second());
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
    const TunedVariants earlier("a device", {{"gemm", {"tiny", "huge"}}}, &disk_, second());
    EXPECT_EQ(earlier.fastest("gemm", {64, 64, 64}), 1);
    EXPECT_EQ(make({}).fastest("gemm", {64, 64, 64}), std::nullopt);
    EXPECT_THAT(lines_, ElementsAre(HasSubstr("names no variant")));
}

}  // namespace
}  // namespace leat::vulkan
