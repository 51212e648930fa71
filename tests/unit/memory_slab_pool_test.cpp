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

TEST(SlabPool, ReservedBlocksOfAllSizesLieInOneSlab) {
    SlabPool pool(nullptr, {});
    const auto room = pool.reserve(4 * kMib);
    ASSERT_NE(room, nullptr);
    EXPECT_THAT(pool.slabs(), SizeIs(1));
    const Block small = allocate(pool, 100);
    const Block none = allocate(pool, 0);
    const Block large = allocate(pool, 3 * kMib);
    const Block last = allocate(pool, kMib - 192);
    EXPECT_EQ(none.get(), small.get() + 128);
    EXPECT_EQ(large.get(), small.get() + 192);
    EXPECT_EQ(last.get(), large.get() + 3 * kMib);
    EXPECT_EQ(pool.slabs().front()->data(), small.get());
    EXPECT_THAT(pool.slabs(), SizeIs(1));
    const Block beyond = allocate(pool, kMib);  // nothing is left
    EXPECT_THAT(pool.slabs(), SizeIs(2));
}

// Smaller blocks still fit after one that did not.
TEST(SlabPool, BlocksThatDoNotFitWhatIsReservedAreElsewhere) {
    SlabPool pool(nullptr, {});
    const auto room = pool.reserve(2 * kMib);
    const Block first = allocate(pool, kMib);
    const Block beyond = allocate(pool, 2 * kMib);
    const Block fits = allocate(pool, kMib);
    EXPECT_EQ(fits.get(), first.get() + kMib);
    std::memset(beyond.get(), 1, size_t(2 * kMib));
    EXPECT_EQ(fits.get()[0], std::byte{0});
}

TEST(SlabPool, ReservesOnlyWhileTheReservationLives) {
    SlabPool pool(nullptr, {});
    auto room = pool.reserve(2 * kMib);
    const Block first = allocate(pool, kMib);
    room.reset();
    const Block second = allocate(pool, kMib);
    EXPECT_NE(second.get(), first.get() + kMib);
    EXPECT_THAT(pool.slabs(), SizeIs(2));
}

TEST(SlabPool, ReservedSlabLivesAsLongAsABlockInIt) {
    Block last;
    {
        SlabPool pool(nullptr, {});
        auto room = pool.reserve(2 * kMib);
        Block first = allocate(pool, kMib);
        last = allocate(pool, kMib);
        std::memset(last.get(), 7, size_t(kMib));
        room.reset();
        first.reset();
        EXPECT_THAT(pool.slabs(), SizeIs(1));
        EXPECT_TRUE(std::all_of(last.get(), last.get() + kMib,
                                [](std::byte byte) { return byte == std::byte{7}; }));
        last.reset();
        EXPECT_THAT(pool.slabs(), IsEmpty());
        const auto next = pool.reserve(2 * kMib);
        last = allocate(pool, kMib);
    }
    std::memset(last.get(), 1, size_t(kMib));  // the pool is gone
}

// The limit counts what blocks have, no more: neither what nobody took nor what has gone.
TEST(SlabPool, GivesReservedMemoryBackThatNoBlockHas) {
    constexpr int64_t kLimitBytes = 8 * kMib;
    const auto domains = two_domains({.limit_bytes = kLimitBytes});
    SlabPool pool = pool_in(domains);
    const auto left = [&] { return domains->budget(kDomain).bytes; };
    auto room = pool.reserve(4 * kMib);
    EXPECT_EQ(left(), 4 * kMib);
    Block first = allocate(pool, kMib);
    Block second = allocate(pool, kMib + 64);
    std::memset(first.get(), 1, size_t(kMib));
    std::memset(second.get(), 2, size_t(kMib));
    room.reset();
    EXPECT_EQ(left(), kLimitBytes - 2 * kMib - page_bytes());
    first.reset();
    EXPECT_EQ(left(), kLimitBytes - kMib - page_bytes());
    EXPECT_EQ(second.get()[kMib - 1], std::byte{2});
    second.reset();
    EXPECT_EQ(left(), kLimitBytes);
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

// Nobody is told, and blocks go where they went without: in their domain as long as there is room.
TEST(SlabPool, ReservesNothingBeyondTheLimit) {
    std::vector<std::string> told;
    const auto domains = two_domains(
        {.limit_bytes = 2 * kMib, .tell = [&](const std::string& text) { told.push_back(text); }});
    told.clear();  // of what this machine does not let us do
    SlabPool pool = pool_in(domains);
    EXPECT_EQ(pool.reserve(2 * kMib + 1), nullptr);
    EXPECT_THAT(pool.slabs(), IsEmpty());
    EXPECT_THAT(told, IsEmpty());
    EXPECT_EQ(domains->budget(kDomain).bytes, 2 * kMib);
    const Block fits = allocate(pool, 2 * kMib);
    EXPECT_THAT(told, IsEmpty());
    const Block beyond = allocate(pool, kMib);
    EXPECT_THAT(told, SizeIs(1));
}

TEST(SlabPool, ReservesNothingBeyondAStrictLimit) {
    const auto domains = two_domains({.limit_bytes = 2 * kMib, .is_strict = true});
    SlabPool pool = pool_in(domains);
    EXPECT_EQ(pool.reserve(3 * kMib), nullptr);
    const Block fits = allocate(pool, 2 * kMib);
    const Result<Block> beyond = pool.allocate(kMib);
    ASSERT_FALSE(beyond.ok());
    EXPECT_EQ(beyond.error().code(), StatusCode::kOutOfMemory);
}

TEST(SlabPool, ReservesNothingForFewBytesAndImpossiblyMany) {
    SlabPool pool(nullptr, {});
    for (const int64_t bytes :
         {int64_t{-1}, int64_t{0}, SlabPool::kChunkBytes - 1, int64_t{1} << 62, INT64_MAX}) {
        EXPECT_EQ(pool.reserve(bytes), nullptr) << bytes;
    }
    EXPECT_THAT(pool.slabs(), IsEmpty());
}

}  // namespace
}  // namespace leat
