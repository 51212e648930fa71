#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "memory/domains/paged_copies.h"
#include "memory/domains/slab.h"

namespace leat {
namespace {

constexpr int64_t kPage = Slab::kHugePageBytes;

// Targets and sources of five huge pages.
struct Memory {
    Memory() : target(*Slab::make(5 * kPage)), source(size_t(5 * kPage)) {
        std::mt19937 random(1);
        for (std::byte& byte : source) {
            byte = std::byte(random() % 255 + 1);
        }
    }
    Copy copy(int64_t offset, int64_t bytes) const {
        return {source.data() + offset, target.data() + offset, bytes};
    }
    // [begin, end) of the target is as the source, and zero where it was not copied.
    bool is_copied(int64_t begin, int64_t end) const {
        return std::equal(target.data() + begin, target.data() + end, source.data() + begin);
    }
    bool is_zero(int64_t begin, int64_t end) const {
        return std::all_of(target.data() + begin, target.data() + end,
                           [](std::byte byte) { return byte == std::byte{0}; });
    }

    Slab target;
    std::vector<std::byte> source;
};

//  | 0       | 1       | 2       | 3       | 4       |
//     aaa bb bbbbbbbbbb bb cc                d
TEST(PagedCopies, FillOnlyThePagesThatAreAskedFor) {
    const Memory memory;
    const Copy a = memory.copy(1000, 500);
    const Copy b = memory.copy(kPage - 64, kPage + 128);
    const Copy c = memory.copy(2 * kPage + 64, 1);
    const Copy d = memory.copy(4 * kPage + 4096, kPage - 4096);
    const PagedCopies copies({c, a, d, b});
    ASSERT_EQ(copies.page_count(), 4);
    copies.copy(1, 2);
    EXPECT_TRUE(memory.is_zero(0, kPage));
    EXPECT_TRUE(memory.is_copied(kPage, 2 * kPage));
    EXPECT_TRUE(memory.is_zero(2 * kPage, 5 * kPage));
    copies.copy(2, 4);
    EXPECT_TRUE(memory.is_zero(0, kPage));
    EXPECT_TRUE(memory.is_copied(2 * kPage, 2 * kPage + 65));
    EXPECT_TRUE(memory.is_zero(2 * kPage + 65, 4 * kPage + 4096));
    EXPECT_TRUE(memory.is_copied(4 * kPage + 4096, 5 * kPage));
    copies.copy(0, 1);
    EXPECT_TRUE(memory.is_zero(0, 1000));
    EXPECT_TRUE(memory.is_copied(1000, 1500));
    EXPECT_TRUE(memory.is_zero(1500, kPage - 64));
    EXPECT_TRUE(memory.is_copied(kPage - 64, kPage));
}

TEST(PagedCopies, OfNothingHaveNoPages) {
    const Memory memory;
    EXPECT_EQ(PagedCopies({}).page_count(), 0);
    const PagedCopies empty({memory.copy(kPage, 0)});
    EXPECT_EQ(empty.page_count(), 0);
    empty.copy(0, 0);
}

// Neighbours of random sizes, pages in random order: all that was asked for, nothing else.
TEST(PagedCopies, OfAllPagesAreAllCopies) {
    for (uint32_t seed = 0; seed < 10; ++seed) {
        const Memory memory;
        std::mt19937 random(seed);
        std::vector<Copy> copies;
        std::vector<std::byte> expected(memory.source.size());
        for (int64_t offset = 0; offset < 5 * kPage;) {
            const int64_t bytes =
                std::min(1 + int64_t(random() % uint32_t(kPage / 2)), 5 * kPage - offset);
            if (random() % 4 != 0) {
                copies.push_back(memory.copy(offset, bytes));
                std::copy_n(memory.source.data() + offset, bytes, expected.data() + offset);
            }
            offset += bytes;
        }
        std::shuffle(copies.begin(), copies.end(), random);
        const PagedCopies paged(copies);
        std::vector<int64_t> pages(size_t(paged.page_count()));
        std::iota(pages.begin(), pages.end(), 0);
        std::shuffle(pages.begin(), pages.end(), random);
        for (const int64_t page : pages) {
            paged.copy(page, page + 1);
        }
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.target.data())) << seed;
    }
}

}  // namespace
}  // namespace leat
