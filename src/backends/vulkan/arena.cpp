#include "arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace leat::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHostPointer =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT;

VkMemoryAllocateFlagsInfo with_address() {
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    return flags;
}

VkMemoryRequirements requirements_of(const Device& device, VkBuffer buffer) {
    VkMemoryRequirements requirements{};
    device.calls().GetBufferMemoryRequirements(device.handle(), buffer, &requirements);
    return requirements;
}

Result<OwnedMemory> allocate_memory(const Device& device, const VkMemoryAllocateInfo& info) {
    VkDeviceMemory memory = nullptr;
    LEAT_RETURN_IF_ERROR(device.checked(
        device.calls().AllocateMemory(device.handle(), &info, nullptr, &memory), "AllocateMemory"));
    return OwnedMemory(device.handle(), memory, device.calls().FreeMemory);
}

bool is_aligned(uint64_t value, int64_t alignment) {
    return value % uint64_t(alignment) == 0;
}

// Memory of a CPU device is pages of this process, which its driver leaves small. The first touch
// of huge ones costs a fraction (docs/measurements/vulkan.md). Advice: where it is refused, small
// pages do.
void advise_huge_pages(std::byte* begin, int64_t size_bytes) {
    constexpr uintptr_t kHugePageBytes = uintptr_t{2} << 20;
    const auto address = reinterpret_cast<uintptr_t>(begin);
    const uintptr_t to_first = -address % kHugePageBytes;
    const uintptr_t end = (address + uintptr_t(size_bytes)) / kHugePageBytes * kHugePageBytes;
    if (address + to_first < end) {
        (void)::madvise(begin + to_first, end - address - to_first, MADV_HUGEPAGE);
    }
}

}  // namespace

int64_t segment_limit_bytes(const Device& device, const ArenaOptions& options) {
    const uint64_t allocation = device.info().properties11.maxMemoryAllocationSize;
    const uint64_t buffer = device.info().properties13.maxBufferSize;
    const auto wished = uint64_t(std::max<int64_t>(0, options.segment_bytes));
    const uint64_t limit = std::min({allocation, buffer, wished});
    return int64_t(limit) / kArenaAlignmentBytes * kArenaAlignmentBytes;
}

Result<Arena> Arena::allocate(std::shared_ptr<const Device> device,
                              int64_t size_bytes,
                              ArenaOptions options) {
    const int64_t limit = segment_limit_bytes(*device, options);
    if (size_bytes <= 0 || limit <= 0) {
        return invalid_argument("an arena of {} bytes in segments of {}", size_bytes, limit)
            .with_needed("a positive size, and segments of 256 bytes or more");
    }
    Arena arena(std::move(device));
    arena.segments_.reserve(size_t((size_bytes + limit - 1) / limit));
    while (arena.size_bytes_ < size_bytes) {
        const int64_t next_bytes = std::min(limit, size_bytes - arena.size_bytes_);
        Status status = arena.add_segment(next_bytes, options);
        if (!status.ok()) {
            return std::move(status).with_needed(
                fmt::format("{} bytes in segments of at most {}, of which {} were allocated",
                            size_bytes, limit, arena.size_bytes_));
        }
    }
    return arena;
}

Result<Arena> Arena::import_host(std::shared_ptr<const Device> device,
                                 std::span<std::byte> memory) {
    const int64_t alignment = device->info().host_import_alignment_bytes;
    if (!device->can_import_host_memory() || alignment == 0) {
        return unsupported("Vulkan device '{}' cannot import host memory", device->info().name);
    }
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    if (memory.empty() || !is_aligned(begin, alignment) || !is_aligned(memory.size(), alignment)) {
        return invalid_argument("host memory for Vulkan device '{}'", device->info().name)
            .with_found(fmt::format("{} bytes at {:#x}", memory.size(), begin))
            .with_needed(fmt::format("begin and size in multiples of {}", alignment));
    }
    Arena arena(std::move(device));
    LEAT_RETURN_IF_ERROR(arena.add_imported(memory));
    return arena;
}

Status Arena::make_buffer(Segment& segment, int64_t size_bytes, const void* next) const {
    const QueueFamilies& families = device_->families();
    const uint32_t shared_by[] = {families.compute, families.transfer.value_or(families.compute)};
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = next;
    info.size = VkDeviceSize(size_bytes);
    info.usage = kUsage;
    if (families.transfer) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = 2;
        info.pQueueFamilyIndices = shared_by;
    }
    VkBuffer buffer = nullptr;
    LEAT_RETURN_IF_ERROR(device_->checked(
        device_->calls().CreateBuffer(device_->handle(), &info, nullptr, &buffer), "CreateBuffer"));
    segment.buffer = OwnedBuffer(device_->handle(), buffer, device_->calls().DestroyBuffer);
    segment.bytes = {size_bytes_, size_bytes_ + size_bytes};
    return Status();
}

Status Arena::bind(Segment& segment, bool is_mapped) const {
    const DeviceCalls& vk = device_->calls();
    LEAT_RETURN_IF_ERROR(device_->checked(
        vk.BindBufferMemory(device_->handle(), segment.buffer.get(), segment.memory.get(), 0),
        "BindBufferMemory"));
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = segment.buffer.get();
    segment.address = vk.GetBufferDeviceAddress(device_->handle(), &info);
    if (!is_mapped) {
        return Status();
    }
    void* mapped = nullptr;
    LEAT_RETURN_IF_ERROR(device_->checked(
        vk.MapMemory(device_->handle(), segment.memory.get(), 0, VK_WHOLE_SIZE, 0, &mapped),
        "MapMemory"));
    segment.mapped = static_cast<std::byte*>(mapped);
    return Status();
}

Status Arena::add_segment(int64_t size_bytes, const ArenaOptions& options) {
    Segment segment;
    LEAT_RETURN_IF_ERROR(make_buffer(segment, size_bytes, nullptr));
    const VkMemoryRequirements requirements = requirements_of(*device_, segment.buffer.get());
    const std::optional<uint32_t> type =
        choose_memory_type(device_->info(), requirements.memoryTypeBits, options.use);
    if (!type) {
        return unsupported("Vulkan device '{}' has no suitable type of memory",
                           device_->info().name);
    }
    const VkMemoryAllocateFlagsInfo flags = with_address();
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &flags;
    info.allocationSize = requirements.size;
    info.memoryTypeIndex = *type;
    LEAT_ASSIGN_OR_RETURN(segment.memory, allocate_memory(*device_, info));
    const bool is_tensors = options.use == MemoryUse::kDevice;
    const bool is_mapped =
        is_tensors ? is_unified(device_->info()) && !options.is_never_mapped : true;
    LEAT_RETURN_IF_ERROR(bind(segment, is_mapped));
    if (is_mapped && device_->info().kind == DeviceKind::kCpu) {
        advise_huge_pages(segment.mapped, size_bytes);
    }
    size_bytes_ += size_bytes;
    segments_.push_back(std::move(segment));
    return Status();
}

Status Arena::add_imported(std::span<std::byte> memory) {
    VkMemoryHostPointerPropertiesEXT pointer{};
    pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
    LEAT_RETURN_IF_ERROR(
        device_->checked(device_->calls().GetMemoryHostPointerPropertiesEXT(
                             device_->handle(), kHostPointer, memory.data(), &pointer),
                         "GetMemoryHostPointerPropertiesEXT"));
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = kHostPointer;
    Segment segment;
    LEAT_RETURN_IF_ERROR(make_buffer(segment, int64_t(memory.size()), &external));
    const uint32_t allowed =
        pointer.memoryTypeBits & requirements_of(*device_, segment.buffer.get()).memoryTypeBits;
    const std::optional<uint32_t> type =
        choose_memory_type(device_->info(), allowed, MemoryUse::kReadback);
    if (!type) {
        return unsupported("Vulkan device '{}' has no type of memory for this host memory",
                           device_->info().name);
    }
    VkMemoryAllocateFlagsInfo flags = with_address();
    VkImportMemoryHostPointerInfoEXT import{};
    import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    import.pNext = &flags;
    import.handleType = kHostPointer;
    import.pHostPointer = memory.data();
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &import;
    info.allocationSize = memory.size();
    info.memoryTypeIndex = *type;
    LEAT_ASSIGN_OR_RETURN(segment.memory, allocate_memory(*device_, info));
    LEAT_RETURN_IF_ERROR(bind(segment, false));
    segment.mapped = memory.data();
    size_bytes_ = int64_t(memory.size());
    segments_.push_back(std::move(segment));
    return Status();
}

bool Arena::is_mapped() const {
    return !segments_.empty() && segments_.front().mapped != nullptr;
}

size_t Arena::segment_of(int64_t offset) const {
    // All segments but the last have the same size.
    const int64_t full_bytes = segments_.front().bytes.end;
    return std::min(size_t(offset / full_bytes), segments_.size() - 1);
}

Result<uint64_t> Arena::address(ByteRange range) const {
    if (range.begin < 0 || range.begin >= range.end || range.end > size_bytes_) {
        return invalid_argument("bytes {} to {} of an arena of {}", range.begin, range.end,
                                size_bytes_);
    }
    const Segment& segment = segments_[segment_of(range.begin)];
    if (range.end > segment.bytes.end) {
        return invalid_argument("bytes {} to {} cross the end of a segment at {}", range.begin,
                                range.end, segment.bytes.end);
    }
    return segment.address + uint64_t(range.begin - segment.bytes.begin);
}

}  // namespace leat::vulkan
