#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "memory/divided_memory.h"
#include "memory/domains/slab.h"

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

std::vector<std::pair<int, int64_t>> parts_of(int64_t bytes, const std::vector<int>& readers) {
    std::vector<MemoryDomainId> ids;
    ids.reserve(readers.size());
    for (const int reader : readers) {
        ids.push_back(MemoryDomainId{reader});
    }
    std::vector<std::pair<int, int64_t>> parts;
    for (const SlabPart& part : divide_among(bytes, ids)) {
        parts.emplace_back(int(part.domain), part.bytes);
    }
    return parts;
}

TEST(DivideAmong, GivesEachReaderAnEqualPartToAPage) {
    using Parts = std::vector<std::pair<int, int64_t>>;
    const int64_t page = page_bytes();
    EXPECT_EQ(parts_of(8 * page, {0, 1}), (Parts{{0, 4 * page}, {1, 4 * page}}));
    EXPECT_EQ(parts_of(7 * page + 100, {0, 1}), (Parts{{0, 4 * page}, {1, 3 * page + 100}}));
    EXPECT_EQ(parts_of(8 * page, {0, 0, 0, 1}), (Parts{{0, 6 * page}, {1, 2 * page}}));
    EXPECT_EQ(parts_of(8 * page, {0, 1, 1, 0}),
              (Parts{{0, 2 * page}, {1, 4 * page}, {0, 2 * page}}));
    EXPECT_EQ(parts_of(100, {0, 1}), (Parts{{1, 100}}));  // the border is at the nearer page
    EXPECT_EQ(parts_of(page, {2}), (Parts{{2, page}}));
}

TEST(DivideAmong, PutsBordersOfLargePartsBetweenHugePages) {
    const int64_t huge = Slab::kHugePageBytes;
    const auto parts = parts_of(19 * huge + 100, {0, 1});
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].second, 10 * huge);
    EXPECT_EQ(parts[1].second, 9 * huge + 100);
}

TEST(Slab, AdjacentOnesAreOneRange) {
    const auto domains = std::make_shared<MemoryDomains>(std::vector<MemoryDomain>{MemoryDomain{}},
                                                         MemoryDomainOptions{});
    const int64_t page = page_bytes();
    const SlabPart parts[] = {
        {2 * page, MemoryDomainId{0}}, {page, MemoryDomainId{0}}, {10, MemoryDomainId{0}}};
    std::vector<Slab> slabs = *Slab::make_adjacent(parts, domains);
    ASSERT_EQ(slabs.size(), 3U);
    EXPECT_EQ(slabs[1].data(), slabs[0].data() + 2 * page);
    EXPECT_EQ(slabs[2].data(), slabs[1].data() + page);
    EXPECT_EQ(slabs[2].size_bytes(), 10);
    EXPECT_EQ(slabs[2].mapped_bytes(), page);
    std::memset(slabs[0].data(), 1, size_t(3 * page + 10));
    slabs.erase(slabs.begin() + 1);  // the others stay
    EXPECT_EQ(slabs[0].data()[2 * page - 1], std::byte{1});
    EXPECT_EQ(slabs[1].data()[9], std::byte{1});
}

TEST(Slab, ReturnsOutOfMemoryWhenTheSystemRefuses) {
    for (const int64_t bytes : {int64_t{1} << 62, INT64_MAX}) {
        Result<Slab> slab = Slab::make(bytes);
        ASSERT_FALSE(slab.ok());
        EXPECT_EQ(slab.error().code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(slab.error().message(), ::testing::HasSubstr(std::to_string(bytes)));
    }
}

}  // namespace
}  // namespace leat
