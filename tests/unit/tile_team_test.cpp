// Threads that share the tiles of a kernel: each tile once, and failures that end on any of them.
#include "backends/host_device/tile_team.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <new>
#include <stdexcept>

namespace leat::host_device {
namespace {

using ::testing::HasSubstr;

constexpr int kWorkers = 4;
constexpr int64_t kTiles = 64;

// Counts its tiles, and throws where it comes to a chosen one.
template <class Exception>
class ThrowingKernel final : public HostKernel {
  public:
    explicit ThrowingKernel(int64_t bad_tile) : bad_tile_(bad_tile) { tile_count = kTiles; }
    Status run(const KernelArgs& /*args*/, int64_t begin, int64_t end) const override {
        for (int64_t tile = begin; tile < end; ++tile) {
            if (tile == bad_tile_) {
                throw Exception();
            }
            ++runs[size_t(tile)];
        }
        return {};
    }
    mutable std::array<std::atomic<int>, kTiles> runs{};

  private:
    int64_t bad_tile_;
};

struct Broken : std::runtime_error {
    Broken() : std::runtime_error("broken") {}
};

TEST(TileTeam, RunsEachTileOnce) {
    TileTeam team(kWorkers);
    const ThrowingKernel<std::bad_alloc> kernel(-1);
    EXPECT_TRUE(team.run(kernel, {}, 0).ok());
    for (const std::atomic<int>& runs : kernel.runs) {
        EXPECT_EQ(runs.load(), 1);
    }
}

TEST(TileTeam, MakesAnErrorOfWhatAKernelThrows) {
    TileTeam team(kWorkers);
    for (int64_t tile = 0; tile < kTiles; ++tile) {
        const ThrowingKernel<std::bad_alloc> starved(tile);
        EXPECT_EQ(team.run(starved, {}, 0).code(), StatusCode::kOutOfMemory);
        const ThrowingKernel<Broken> broken(tile);
        const Status status = team.run(broken, {}, 0);
        EXPECT_EQ(status.code(), StatusCode::kUserException);
        EXPECT_THAT(status.message(), HasSubstr("broken"));
    }
    const ThrowingKernel<Broken> whole(-1);
    EXPECT_TRUE(team.run(whole, {}, 0).ok());
}

TEST(TileTeam, MakesAnErrorOfItOnOneThreadToo) {
    TileTeam team(1);
    const ThrowingKernel<std::bad_alloc> starved(0);
    EXPECT_EQ(team.run(starved, {}, 0).code(), StatusCode::kOutOfMemory);
}

}  // namespace
}  // namespace leat::host_device
