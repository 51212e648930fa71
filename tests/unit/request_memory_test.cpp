// RequestMemory: when slabs are made anew, and how much of them is touched.
#include "run/request_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "memory/domains/page_placement.h"

namespace leat {
namespace {

using ::testing::Each;

constexpr int kWorkers = 3;

// One domain of memory, which every worker is at home in. `limit_bytes` holds where it is not 0.
std::shared_ptr<MemoryDomains> one_domain(int64_t limit_bytes = 0) {
    MemoryDomainOptions options;
    options.limit_bytes = limit_bytes;
    options.is_strict = limit_bytes > 0;
    return std::make_shared<MemoryDomains>(std::vector<MemoryDomain>{MemoryDomain{}}, options);
}

RequestMemory memory_in(std::shared_ptr<MemoryDomains> domains,
                        SpareRoom spare = SpareRoom::kQuarter) {
    return {std::move(domains), MemoryDomainId{0},
            std::vector<MemoryDomainId>(kWorkers, MemoryDomainId{0}), spare};
}

int64_t resident_bytes(const RequestMemory& memory) {
    NumaMaps maps;
    const PageCounts pages =
        count_pages(memory.arena()->data(), memory.arena()->mapped_bytes(), {}, maps);
    return (pages.there + pages.elsewhere) * page_bytes();
}

// How often slabs are made for sizes from first_bytes on, each a page larger.
int slabs_made(SpareRoom spare, int64_t first_pages, int64_t last_pages, bool is_scratch) {
    RequestMemory memory = memory_in(one_domain(), spare);
    int made = 0;
    for (int64_t pages = first_pages; pages <= last_pages; ++pages) {
        const int64_t bytes = pages * page_bytes();
        const Result<bool> is_new =
            memory.reserve(is_scratch ? RequestRoom{0, bytes} : RequestRoom{bytes, 0});
        EXPECT_TRUE(is_new.ok());
        made += *is_new ? 1 : 0;
        // All of it may be used.
        std::memset(memory.arena()->data(), 1, size_t(bytes));
        std::memset(memory.scratch()[kWorkers - 1], 1, size_t(is_scratch ? bytes : 0));
    }
    return made;
}

// 1.25^19 < 100 < 1.25^21, and the first one is exact.
TEST(RequestMemory, GrowsByAQuarterAtLeast) {
    EXPECT_EQ(slabs_made(SpareRoom::kNone, 10, 1000, false), 991);
    EXPECT_LE(slabs_made(SpareRoom::kQuarter, 10, 1000, false), 22);
    EXPECT_LE(slabs_made(SpareRoom::kQuarter, 10, 1000, true), 22);
}

TEST(RequestMemory, MakesTheFirstSlabsAsLargeAsNeeded) {
    RequestMemory memory = memory_in(one_domain());
    EXPECT_TRUE(*memory.reserve({1000, 64}));
    EXPECT_EQ(memory.arena()->size_bytes(), 1000 + kWorkers * 64);
    EXPECT_FALSE(*memory.reserve({1000, 64}));
    EXPECT_FALSE(*memory.reserve({10, 0}));
    EXPECT_EQ(memory.scratch()[1], memory.arena()->data() + 1000 + 64);
}

// What does not need to grow stays as large as it is.
TEST(RequestMemory, GrowsWhatIsTooSmall) {
    const int64_t page = page_bytes();
    RequestMemory memory = memory_in(one_domain());
    ASSERT_TRUE(memory.reserve({8 * page, 4 * page}).ok());
    EXPECT_TRUE(*memory.reserve({8 * page, 4 * page + 1}));
    EXPECT_EQ(memory.arena()->size_bytes(), (8 + kWorkers * 5) * page);
    EXPECT_TRUE(*memory.reserve({8 * page + 1, 0}));
    EXPECT_EQ(memory.arena()->size_bytes(), (10 + kWorkers * 5) * page);
    EXPECT_TRUE(*memory.reserve({100 * page, 0}));
    EXPECT_EQ(memory.arena()->size_bytes(), (100 + kWorkers * 5) * page);
}

TEST(RequestMemory, TouchesNoSpareRoomUntilItIsNeeded) {
    const int64_t page = page_bytes();
    RequestMemory memory = memory_in(one_domain());
    ASSERT_TRUE(memory.reserve({40 * page, 8 * page}).ok());
    if (resident_bytes(memory) == 0) {
        GTEST_SKIP() << "neither move_pages nor numa_maps tells where pages are";
    }
    EXPECT_EQ(resident_bytes(memory), (40 + kWorkers * 8) * page);
    EXPECT_TRUE(*memory.reserve({41 * page, 9 * page}));
    EXPECT_EQ(memory.arena()->size_bytes(), (50 + kWorkers * 10) * page);
    EXPECT_EQ(resident_bytes(memory), (41 + kWorkers * 9) * page);
    // What is there stays as it is.
    std::memset(memory.arena()->data(), 1, size_t(41 * page));
    for (std::byte* scratch : memory.scratch()) {
        std::memset(scratch, 2, size_t(9 * page));
    }
    EXPECT_FALSE(*memory.reserve({45 * page + 7, 9 * page + 5}));
    EXPECT_EQ(resident_bytes(memory), (46 + kWorkers * 10) * page);
    EXPECT_THAT(std::vector<std::byte>(memory.arena()->data(), memory.arena()->data() + 41 * page),
                Each(std::byte{1}));
    for (const std::byte* scratch : memory.scratch()) {
        EXPECT_THAT(std::vector<std::byte>(scratch, scratch + 9 * page), Each(std::byte{2}));
    }
    memory.trim();
    EXPECT_EQ(resident_bytes(memory), 0);
    EXPECT_FALSE(*memory.reserve({48 * page, 0}));
    EXPECT_EQ(resident_bytes(memory), 0);
    memory.touch_if_trimmed();
    EXPECT_EQ(resident_bytes(memory), (48 + kWorkers * 10) * page);
}

// Old and new slabs are there at a time.
TEST(RequestMemory, GrowsByWhatFitsItsDomain) {
    const int64_t page = page_bytes();
    const auto size_after = [page](int64_t limit_pages, int64_t pages) {
        RequestMemory memory = memory_in(one_domain(limit_pages * page));
        EXPECT_TRUE(memory.reserve({160 * page, 0}).ok());
        const Status status = memory.reserve({pages * page, 0}).error();
        EXPECT_TRUE(status.ok() || status.code() == StatusCode::kOutOfMemory);
        return memory.arena()->size_bytes() / page;
    };
    EXPECT_EQ(size_after(400, 161), 200);  // a quarter
    EXPECT_EQ(size_after(359, 161), 180);  // an eighth
    EXPECT_EQ(size_after(339, 161), 170);  // a sixteenth
    EXPECT_EQ(size_after(329, 161), 161);  // what is needed
    EXPECT_EQ(size_after(320, 161), 160);  // nothing: the old slab stays
}

TEST(RequestMemory, NamesWhatIsNeededWhereThatDoesNotFit) {
    const int64_t page = page_bytes();
    RequestMemory memory = memory_in(one_domain(20 * page));
    ASSERT_TRUE(memory.reserve({10 * page, 0}).ok());
    const Status status = memory.reserve({11 * page, 0}).error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), ::testing::HasSubstr(std::to_string(11 * page) + " bytes"));
    EXPECT_FALSE(*memory.reserve({10 * page, 0}));
}

}  // namespace
}  // namespace leat
