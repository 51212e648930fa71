#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "leat/scheduler/machine_topology.h"
#include "leat/scheduler/topology.h"
#include "memory/domains/slab_pool.h"

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

// Two domains of the same node, where memory is placed as on two; the first test domain is 1.
std::shared_ptr<MemoryDomains> two_domains(MemoryDomainOptions options) {
    const std::vector<MemoryDomain> of_machine =
        make_memory_domains(scheduler::machine_topology(), scheduler::compute_domains());
    std::vector<MemoryDomain> domains(2);
    for (size_t i = 0; i < domains.size(); ++i) {
        domains[i].id = MemoryDomainId{int32_t(i)};
        domains[i].os_node = of_machine.empty() ? 0 : of_machine.front().os_node;
        domains[i].cpus = scheduler::affinity_cpus();
    }
    return std::make_shared<MemoryDomains>(domains, std::move(options));
}

constexpr MemoryDomainId kDomain{1};
constexpr int64_t kMib = 1024 * kKib;

SlabPool pool_in(const std::shared_ptr<MemoryDomains>& domains) {
    return SlabPool(domains, {MemoryPolicy::kBind, {kDomain}});
}

std::vector<Block> allocate_together(SlabPool& pool, const std::vector<int64_t>& sizes_bytes) {
    return *pool.allocate_together(sizes_bytes);
}

TEST(SlabPool, BlocksOfAllSizesLieInOneSlabTogether) {
    SlabPool pool(nullptr, {});
    const std::vector<Block> blocks = allocate_together(pool, {100, 0, 3 * kMib, kMib - 192});
    ASSERT_THAT(blocks, SizeIs(4));
    EXPECT_EQ(blocks[1].get(), blocks[0].get() + 128);
    EXPECT_EQ(blocks[2].get(), blocks[0].get() + 192);
    EXPECT_EQ(blocks[3].get(), blocks[2].get() + 3 * kMib);
    ASSERT_THAT(pool.slabs(), SizeIs(1));
    EXPECT_EQ(pool.slabs().front()->data(), blocks[0].get());
    EXPECT_EQ(pool.slabs().front()->size_bytes(), 4 * kMib);
    EXPECT_TRUE(std::all_of(blocks[0].get(), blocks[0].get() + 4 * kMib,
                            [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST(SlabPool, SlabOfSeveralBlocksLivesAsLongAsOneOfThem) {
    std::vector<Block> blocks;
    {
        SlabPool pool(nullptr, {});
        blocks = allocate_together(pool, {kMib, kMib});
        std::memset(blocks[1].get(), 7, size_t(kMib));
        blocks[0].reset();
        EXPECT_THAT(pool.slabs(), SizeIs(1));
        EXPECT_TRUE(std::all_of(blocks[1].get(), blocks[1].get() + kMib,
                                [](std::byte byte) { return byte == std::byte{7}; }));
        blocks[1].reset();
        EXPECT_THAT(pool.slabs(), IsEmpty());
        blocks = allocate_together(pool, {kMib, kMib});
        blocks[0].reset();
    }
    std::memset(blocks[1].get(), 1, size_t(kMib));  // the pool is gone
}

// The limit counts what blocks have, no more.
TEST(SlabPool, GivesPagesOfBlocksBackAsTheyGo) {
    constexpr int64_t kLimitBytes = 8 * kMib;
    const auto domains = two_domains({.limit_bytes = kLimitBytes});
    SlabPool pool = pool_in(domains);
    const auto left = [&] { return domains->budget(kDomain).bytes; };
    std::vector<Block> blocks = allocate_together(pool, {kMib, kMib + 64});
    EXPECT_EQ(left(), kLimitBytes - 2 * kMib - page_bytes());
    std::memset(blocks[0].get(), 1, size_t(kMib));
    std::memset(blocks[1].get(), 2, size_t(kMib));
    blocks[0].reset();
    EXPECT_EQ(left(), kLimitBytes - kMib - page_bytes());
    EXPECT_EQ(blocks[1].get()[kMib - 1], std::byte{2});
    blocks[1].reset();
    EXPECT_EQ(left(), kLimitBytes);
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

// Those that still fit are bound there, the others preferred, of which somebody is told once.
TEST(SlabPool, BlocksThatDoNotFitTogetherAreApart) {
    std::vector<std::string> told;
    const auto domains = two_domains(
        {.limit_bytes = 2 * kMib, .tell = [&](const std::string& text) { told.push_back(text); }});
    told.clear();  // of what this machine does not let us do
    SlabPool pool = pool_in(domains);
    const std::vector<Block> fits = allocate_together(pool, {kMib, kMib});
    EXPECT_THAT(pool.slabs(), SizeIs(1));
    EXPECT_THAT(told, IsEmpty());
    const std::vector<Block> beyond = allocate_together(pool, {kMib, kMib});
    EXPECT_THAT(beyond, SizeIs(2));
    EXPECT_THAT(pool.slabs(), SizeIs(3));
    EXPECT_THAT(told, SizeIs(1));
}

TEST(SlabPool, BlocksBeyondAStrictLimitAreAnError) {
    const auto domains = two_domains({.limit_bytes = 2 * kMib, .is_strict = true});
    SlabPool pool = pool_in(domains);
    const std::vector<int64_t> sizes_bytes = {kMib, kMib, kMib};
    const Result<std::vector<Block>> beyond = pool.allocate_together(sizes_bytes);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(pool.slabs(), IsEmpty());
    EXPECT_EQ(domains->budget(kDomain).bytes, 2 * kMib);
}

TEST(SlabPool, FewBytesTogetherAreInASlabOfOthers) {
    SlabPool pool(nullptr, {});
    const Block other = allocate(pool, 64);
    const std::vector<Block> blocks = allocate_together(pool, {64, SlabPool::kOwnSlabBytes - 64});
    EXPECT_EQ(blocks[0].get(), other.get() + 64);
    EXPECT_EQ(blocks[1].get(), other.get() + 128);
    EXPECT_THAT(allocate_together(pool, {}), IsEmpty());
    EXPECT_THAT(pool.slabs(), SizeIs(1));
}

TEST(SlabPool, ImpossiblyManyBytesTogetherAreOutOfMemory) {
    SlabPool pool(nullptr, {});
    for (const std::vector<int64_t>& sizes_bytes :
         {std::vector<int64_t>{64, int64_t{1} << 62},
          {int64_t{1} << 60, int64_t{1} << 60, int64_t{1} << 60},
          {INT64_MAX, INT64_MAX}}) {
        const Result<std::vector<Block>> blocks = pool.allocate_together(sizes_bytes);
        ASSERT_FALSE(blocks.ok()) << sizes_bytes.back();
        EXPECT_EQ(blocks.error().code(), StatusCode::kOutOfMemory);
    }
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

}  // namespace
}  // namespace leat
