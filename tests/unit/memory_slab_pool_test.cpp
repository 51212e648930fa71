#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "memory/slab_pool.h"

namespace leat {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kKib = 1024;
using Block = std::shared_ptr<std::byte>;

Block allocate(SlabPool& pool, int64_t bytes) {
    return *pool.allocate(bytes);
}

// A slab full of 16 blocks.
std::vector<Block> fill_slab(SlabPool& pool) {
    std::vector<Block> blocks;
    blocks.reserve(16);
    for (int i = 0; i < 16; ++i) {
        blocks.push_back(allocate(pool, SlabPool::kChunkBytes / 16));
    }
    return blocks;
}

// Neighbours are given back in all orders in which a range can join others.
TEST(SlabPool, JoinsNeighboursThatAreGivenBack) {
    for (const std::vector<size_t>& order :
         {std::vector<size_t>{4, 5, 6}, {6, 5, 4}, {4, 6, 5}, {5, 4, 6}}) {
        SlabPool pool(nullptr, {});
        std::vector<Block> blocks = fill_slab(pool);
        const std::byte* place = blocks[4].get();
        for (const size_t i : order) {
            blocks[i].reset();
        }
        const Block joined = allocate(pool, 3 * SlabPool::kChunkBytes / 16);
        EXPECT_EQ(joined.get(), place);
        EXPECT_THAT(pool.slabs(), SizeIs(1));
    }
}

TEST(SlabPool, GivesSlabsWithoutBlocksBack) {
    SlabPool pool(nullptr, {});
    std::vector<Block> blocks = fill_slab(pool);
    blocks.push_back(allocate(pool, 1));
    blocks.push_back(allocate(pool, SlabPool::kOwnSlabBytes));
    EXPECT_THAT(pool.slabs(), SizeIs(3));
    blocks.resize(16);
    EXPECT_THAT(pool.slabs(), SizeIs(1));
    blocks.clear();
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

// Every block is zeroed and nobody else's, whatever came and went before.
TEST(SlabPool, BlocksAreZeroedAndApart) {
    std::mt19937 random(1);
    SlabPool pool(nullptr, {});
    std::vector<std::pair<Block, size_t>> held;
    const auto holds_only = [](const std::pair<Block, size_t>& block, std::byte value) {
        return std::all_of(block.first.get(), block.first.get() + block.second,
                           [value](std::byte byte) { return byte == value; });
    };
    for (int step = 0; step < 3000; ++step) {
        if (random() % 100 < 52) {
            const size_t bytes = 1 + random() % (random() % 8 == 0 ? 200 * kKib : 2 * kKib);
            held.emplace_back(allocate(pool, int64_t(bytes)), bytes);
            EXPECT_TRUE(holds_only(held.back(), std::byte{0}));
            std::memset(held.back().first.get(), int(bytes % 255) + 1, bytes);
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            EXPECT_TRUE(holds_only(held.back(), std::byte(held.back().second % 255 + 1)));
            held.pop_back();
        }
    }
    EXPECT_THAT(pool.slabs(), ::testing::Not(IsEmpty()));
    held.clear();
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

}  // namespace
}  // namespace leat
