#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "memory/arena.h"

namespace leat {
namespace {

TEST(Arena, IsZeroedAndAlignedToHugePagesWhenLarge) {
    Result<Arena> arena = Arena::make(3 * Arena::kHugePageBytes + 5);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % uintptr_t(Arena::kHugePageBytes), 0U);
    arena->pretouch(0, arena->size_bytes());
    EXPECT_EQ(arena->data()[arena->size_bytes() - 1], std::byte{0});
    arena->data()[arena->size_bytes() - 1] = std::byte{7};
    arena->pretouch(5, arena->size_bytes());
    EXPECT_EQ(arena->data()[arena->size_bytes() - 1], std::byte{7});
}

TEST(Arena, OfZeroBytesMapsNothing) {
    Result<Arena> arena = Arena::make(0);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(arena->size_bytes(), 0);
    arena->pretouch(0, 0);
}

TEST(Arena, MoveLeavesTheSourceEmpty) {
    Result<Arena> first = Arena::make(100);
    Arena second = std::move(first).value();
    Arena third;
    third = std::move(second);
    EXPECT_EQ(third.size_bytes(), 100);
    EXPECT_EQ(second.data(), nullptr);  // NOLINT(bugprone-use-after-move)
}

TEST(Arena, ReturnsOutOfMemoryWhenTheSystemRefuses) {
    for (const int64_t bytes : {int64_t{1} << 62, INT64_MAX}) {
        Result<Arena> arena = Arena::make(bytes);
        ASSERT_FALSE(arena.ok());
        EXPECT_EQ(arena.error().code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(arena.error().message(), testing::HasSubstr(std::to_string(bytes)));
    }
}

}  // namespace
}  // namespace leat
