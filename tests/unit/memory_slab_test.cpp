#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "memory/slab.h"

namespace leat {
namespace {

TEST(Slab, IsZeroedAndAlignedToHugePagesWhenLarge) {
    Result<Slab> slab = Slab::make(3 * Slab::kHugePageBytes + 5);
    ASSERT_TRUE(slab.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(slab->data()) % uintptr_t(Slab::kHugePageBytes), 0U);
    slab->touch();
    EXPECT_EQ(slab->data()[slab->size_bytes() - 1], std::byte{0});
}

TEST(Slab, OfZeroBytesMapsNothing) {
    Result<Slab> slab = Slab::make(0);
    ASSERT_TRUE(slab.ok());
    EXPECT_EQ(slab->size_bytes(), 0);
    slab->touch();
}

TEST(Slab, MoveLeavesTheSourceEmpty) {
    Result<Slab> first = Slab::make(100);
    Slab second = std::move(first).value();
    Slab third;
    third = std::move(second);
    EXPECT_EQ(third.size_bytes(), 100);
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    EXPECT_EQ(second.data(), nullptr);
}

TEST(Slab, ReturnsOutOfMemoryWhenTheSystemRefuses) {
    for (const int64_t bytes : {int64_t{1} << 62, INT64_MAX}) {
        Result<Slab> slab = Slab::make(bytes);
        ASSERT_FALSE(slab.ok());
        EXPECT_EQ(slab.error().code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(slab.error().message(), testing::HasSubstr(std::to_string(bytes)));
    }
}

}  // namespace
}  // namespace leat
