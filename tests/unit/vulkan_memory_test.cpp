#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/memory/memory_types.h"
#include "backends/vulkan/memory/staging_ring.h"
#include "support/vulkan_machine.h"

namespace leat::vulkan {
namespace {

using ::testing::HasSubstr;

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr uint32_t kAllTypes = ~0U;
constexpr int64_t kMib = int64_t{1} << 20;

void add_type(DeviceInfo& info, uint32_t heap, VkMemoryPropertyFlags flags) {
    info.memory.memoryTypes[info.memory.memoryTypeCount++] = {flags, heap};
}

// As a driver for discrete cards lists its types: a heap of the card, the host's, and a small
// window of the card's memory that the host sees.
DeviceInfo card() {
    DeviceInfo info;
    info.kind = DeviceKind::kDiscrete;
    info.memory.memoryHeapCount = 3;
    info.memory.memoryHeaps[0] = {VkDeviceSize(8192 * kMib), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    info.memory.memoryHeaps[1] = {VkDeviceSize(32768 * kMib), 0};
    info.memory.memoryHeaps[2] = {VkDeviceSize(246 * kMib), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    add_type(info, 1, 0);
    add_type(info, 0, kLocal);
    add_type(info, 1, kVisible);
    add_type(info, 1, kVisible | kCached);
    add_type(info, 2, kLocal | kVisible);
    return info;
}

DeviceInfo chip() {
    DeviceInfo info;
    info.kind = DeviceKind::kIntegrated;
    info.memory.memoryHeapCount = 1;
    info.memory.memoryHeaps[0] = {VkDeviceSize(16384 * kMib), VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    add_type(info, 0, kLocal);
    add_type(info, 0, kLocal | kVisible);
    add_type(info, 0, kLocal | kVisible | kCached);
    add_type(info, 0, kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT);
    return info;
}

std::vector<std::byte> pattern(int64_t count, int seed) {
    std::vector<std::byte> bytes(static_cast<size_t>(count));
    for (size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = std::byte(uint8_t(i * 7 + i / 251 + size_t(seed)));
    }
    return bytes;
}

TEST(VulkanMemoryTypes, OfACard) {
    EXPECT_FALSE(is_unified(card()));
    EXPECT_EQ(choose_memory_type(card(), kAllTypes, MemoryUse::kDevice), 1U);
    EXPECT_EQ(choose_memory_type(card(), kAllTypes, MemoryUse::kParameters), 4U);
    EXPECT_EQ(choose_memory_type(card(), kAllTypes, MemoryUse::kUpload), 2U);
    EXPECT_EQ(choose_memory_type(card(), kAllTypes, MemoryUse::kReadback), 3U);
    EXPECT_EQ(choose_memory_type(card(), 0b00101, MemoryUse::kReadback), 2U);
    EXPECT_EQ(choose_memory_type(card(), 0b00001, MemoryUse::kUpload), std::nullopt);
}

TEST(VulkanMemoryTypes, OfAChipInTheHostsMemory) {
    EXPECT_TRUE(is_unified(chip()));
    EXPECT_EQ(choose_memory_type(chip(), kAllTypes, MemoryUse::kDevice), 2U);
    EXPECT_EQ(choose_memory_type(chip(), kAllTypes, MemoryUse::kReadback), 2U);
    EXPECT_EQ(choose_memory_type(chip(), kAllTypes, MemoryUse::kParameters), 1U);
    EXPECT_EQ(choose_memory_type(chip(), 0b1000, MemoryUse::kDevice), std::nullopt);
}

TEST(VulkanArena, IsSplitAtTheLimitOfAnAllocation) {
    LEAT_DEVICE_OR_SKIP(device);
    ArenaOptions options;
    options.allocation_bytes = kMib + 100;  // rounded down to 1 MiB
    options.joining = Joining::kNone;
    const auto arena = Arena::allocate(device, kMib * 5 / 2, options);
    ASSERT_TRUE(arena.ok()) << arena.error().message();
    ASSERT_EQ(arena->segments().size(), 3U);
    EXPECT_EQ(arena->segments()[2].bytes, (ByteRange{2 * kMib, kMib * 5 / 2}));
    EXPECT_EQ(arena->addressable_around(2 * kMib - 1), (ByteRange{kMib, 2 * kMib}));
    EXPECT_EQ(arena->buffer_at(kMib * 5 / 2 - 1).buffer, arena->segments()[2].buffer.get());
    EXPECT_EQ(arena->buffer_at(kMib + 16).bytes, kMib - 16);
    EXPECT_EQ(*arena->address({kMib, 2 * kMib}), arena->segments()[1].address);
    EXPECT_EQ(*arena->address({kMib + 16, kMib + 17}), arena->segments()[1].address + 16);
    const Status crossing = arena->address({kMib - 4, kMib + 4}).error();
    EXPECT_EQ(crossing.code(), StatusCode::kUnsupported);
    EXPECT_THAT(crossing.message(), HasSubstr("cross"));
    EXPECT_FALSE(arena->address({0, 3 * kMib}).ok());
}

// The ways in which the device makes one range of addresses of several allocations.
std::vector<Joining> ways_of(const Device& device) {
    std::vector<Joining> ways;
    if (device.can_import_host_memory() && device.info().kind == DeviceKind::kCpu) {
        ways.push_back(Joining::kImported);
    }
    if (device.can_bind_sparse()) {
        ways.push_back(Joining::kSparse);
    }
    return ways;
}

TEST(VulkanArena, JoinsAllocations) {
    LEAT_DEVICE_OR_SKIP(device);
    const std::vector<Joining> ways = ways_of(*device);
    if (ways.empty()) {
        GTEST_SKIP() << "this device joins no allocations";
    }
    for (const Joining way : ways) {
        ArenaOptions options;
        options.allocation_bytes = kMib;
        options.joining = way;
        const auto arena = Arena::allocate(device, kMib * 5 / 2 + 256, options);
        ASSERT_TRUE(arena.ok()) << arena.error().message();
        EXPECT_EQ(arena->segments().size(), 3U);
        EXPECT_GE(arena->size_bytes(), kMib * 5 / 2 + 256);
        EXPECT_EQ(arena->addressable_around(kMib), (ByteRange{0, arena->size_bytes()}));
        const uint64_t begin = *arena->address({0, arena->size_bytes()});
        EXPECT_EQ(*arena->address({kMib - 4, 2 * kMib + 4}), begin + uint64_t(kMib - 4));
        EXPECT_EQ(arena->segments()[2].address, begin + uint64_t(2 * kMib));
    }
}

TEST(VulkanArena, BindsAPartOfImportedMemoryAsOneBuffer) {
    LEAT_DEVICE_OR_SKIP(device);
    const int64_t alignment = device->info().host_import_alignment_bytes;
    ArenaOptions options;
    options.allocation_bytes = kMib;
    options.joining = Joining::kImported;
    const auto arena = Arena::allocate(device, 2 * kMib, options);
    if (!arena.ok()) {
        GTEST_SKIP() << arena.error().message();
    }
    const ByteRange across{kMib - alignment, kMib + alignment};
    const auto part = arena->import_part(across);
    ASSERT_TRUE(part.ok()) << part.error().message();
    EXPECT_EQ(part->buffer_at(0).bytes, 2 * alignment);
    EXPECT_EQ(part->segments()[0].address, *arena->address(across));
    EXPECT_EQ(arena->import_part({kMib, 3 * kMib}).error().code(), StatusCode::kUnsupported);
}

TEST(VulkanArena, TellsWhereADeviceCannotJoin) {
    LEAT_DEVICE_OR_SKIP(device);
    ArenaOptions options;
    options.allocation_bytes = kMib;
    options.joining = Joining::kSparse;
    if (!device->can_bind_sparse()) {
        const Status status = Arena::allocate(device, 2 * kMib, options).error();
        EXPECT_EQ(status.code(), StatusCode::kUnsupported);
        EXPECT_THAT(status.message(), HasSubstr("sparse"));
    }
    options.joining = Joining::kImported;
    options.allocation_bytes = 256;  // less than what can be imported
    const Status status = Arena::allocate(device, 2 * kMib, options).error();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("in pieces of 256"));
}

TEST(VulkanArena, IsMappedWhereMemoryIsTheHosts) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto arena = Arena::allocate(device, kMib);
    ASSERT_TRUE(arena.ok());
    EXPECT_EQ(arena->is_mapped(), is_unified(device->info()));
    ArenaOptions staged;
    staged.is_never_mapped = true;
    EXPECT_FALSE(Arena::allocate(device, kMib, staged)->is_mapped());
}

TEST(VulkanArena, TellsOfSizesThatCannotBe) {
    LEAT_DEVICE_OR_SKIP(device);
    EXPECT_EQ(Arena::allocate(device, 0).error().code(), StatusCode::kInvalidArgument);
    ArenaOptions tiny;
    for (const int64_t allocation_bytes : {100, 0, -1}) {
        tiny.allocation_bytes = allocation_bytes;
        EXPECT_EQ(Arena::allocate(device, kMib, tiny).error().code(), StatusCode::kInvalidArgument);
    }
}

int live_allocations = 0;
PFN_vkAllocateMemory real_allocate = nullptr;
PFN_vkFreeMemory real_free = nullptr;

VKAPI_ATTR VkResult VKAPI_CALL fail_third(VkDevice device,
                                          const VkMemoryAllocateInfo* info,
                                          const VkAllocationCallbacks* callbacks,
                                          VkDeviceMemory* memory) {
    if (live_allocations == 2) {
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    ++live_allocations;
    return real_allocate(device, info, callbacks, memory);
}
VKAPI_ATTR void VKAPI_CALL count_free(VkDevice device,
                                      VkDeviceMemory memory,
                                      const VkAllocationCallbacks* callbacks) {
    --live_allocations;
    real_free(device, memory, callbacks);
}

TEST(VulkanArena, GivesBackWhatItHasWhenMemoryRunsOut) {
    LEAT_DEVICE_OR_SKIP(device);
    real_allocate = device->calls().AllocateMemory;
    real_free = device->calls().FreeMemory;
    device->replaceable_calls().AllocateMemory = fail_third;
    device->replaceable_calls().FreeMemory = count_free;
    std::vector<Joining> ways = ways_of(*device);
    ways.push_back(Joining::kNone);
    for (const Joining way : ways) {
        ArenaOptions options;
        options.allocation_bytes = kMib;
        options.joining = way;
        const Status status = Arena::allocate(device, 4 * kMib, options).error();
        EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(status.message(), HasSubstr("VK_ERROR_OUT_OF_DEVICE_MEMORY"));
        EXPECT_THAT(status.message(), HasSubstr("of which 2097152 were allocated"));
        EXPECT_EQ(live_allocations, 0);
    }
    EXPECT_TRUE(device->lost().ok());
}

TEST(VulkanArena, ImportsAlignedHostMemoryOnly) {
    LEAT_DEVICE_OR_SKIP(device);
    const int64_t alignment = device->info().host_import_alignment_bytes;
    if (alignment == 0) {
        GTEST_SKIP() << "this device imports no host memory";
    }
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(size_t(alignment), size_t(4 * alignment))),
        &std::free);
    std::byte* const begin = memory.get();
    const auto arena = Arena::import_host(device, {begin, size_t(4 * alignment)});
    ASSERT_TRUE(arena.ok()) << arena.error().message();
    EXPECT_EQ(arena->segments().front().mapped, begin);
    EXPECT_NE(arena->segments().front().address, 0U);
    const Status odd = Arena::import_host(device, {begin + 64, size_t(alignment)}).error();
    EXPECT_EQ(odd.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(odd.message(), HasSubstr("in multiples of"));
    EXPECT_FALSE(Arena::import_host(device, {begin, size_t(alignment) + 1}).ok());
}

TEST(VulkanStaging, CarriesBytesThroughSlotsAndSegments) {
    for (const bool uses_fences : {false, true}) {
        LEAT_DEVICE_OR_SKIP(device, {}, OpenOptions{uses_fences});
        const auto queue = Queue::create(device, device->families().compute);
        ASSERT_TRUE(queue.ok());
        const auto ring = StagingRing::create(*queue, {98'304, 3});
        ASSERT_TRUE(ring.ok()) << ring.error().message();
        std::vector<Joining> ways = ways_of(*device);
        ways.push_back(Joining::kNone);
        for (const Joining way : ways) {
            ArenaOptions options;
            options.allocation_bytes = kMib / 4;
            options.joining = way;
            options.is_never_mapped = true;
            const auto arena = Arena::allocate(device, kMib, options);
            ASSERT_TRUE(arena.ok()) << arena.error().message();
            EXPECT_FALSE(arena->is_mapped());
            const std::vector<std::byte> sent = pattern(kMib - 1000, 3);
            const auto point = (*ring)->upload(sent, *arena, 999);
            ASSERT_TRUE(point.ok()) << point.error().message();
            std::vector<std::byte> received(sent.size());
            ASSERT_TRUE((*ring)->download(*arena, 999, received, *point).ok());
            EXPECT_TRUE(sent == received);
        }
    }
}

TEST(VulkanStaging, RefusesBytesOutsideTheArena) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto queue = Queue::create(device, device->families().compute);
    const auto ring = StagingRing::create(*queue, {4096, 1});
    const auto arena = Arena::allocate(device, 4096);
    std::vector<std::byte> bytes(100);
    EXPECT_EQ((*ring)->upload(bytes, *arena, 4000).error().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ((*ring)->download(*arena, -1, bytes).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(StagingRing::create(*queue, {0, 1}).error().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace leat::vulkan
