#include "backends/vulkan/memory/arena.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

constexpr VkExternalMemoryHandleTypeFlagBits kHostPointer =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT |
    VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT;

VkMemoryRequirements requirements_of(const Device& device, VkBuffer buffer) {
    VkMemoryRequirements requirements{};
    device.calls().GetBufferMemoryRequirements(device.handle(), buffer, &requirements);
    return requirements;
}

bool is_aligned(uint64_t value, int64_t alignment) {
    return value % uint64_t(alignment) == 0;
}

std::vector<Joining> ways_of_joining(const Device& device, Joining asked) {
    if (asked != Joining::kAny) {
        return {asked};
    }
    std::vector<Joining> ways;
    if (device.info().kind == DeviceKind::kCpu && device.can_import_host_memory()) {
        ways.push_back(Joining::kImported);
    }
    if (device.can_bind_sparse()) {
        ways.push_back(Joining::kSparse);
    }
    ways.push_back(Joining::kNone);
    return ways;
}

bool is_mapped_for(const Device& device, const ArenaOptions& options) {
    return options.use != MemoryUse::kDevice ||
           (is_unified(device.info()) && !options.is_never_mapped);
}

uint64_t address_of(const Device& device, VkBuffer buffer) {
    VkBufferDeviceAddressInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    info.buffer = buffer;
    return device.calls().GetBufferDeviceAddress(device.handle(), &info);
}

Result<std::byte*> map(const Device& device, VkDeviceMemory memory) {
    void* mapped = nullptr;
    LEAT_RETURN_IF_ERROR(device.checked(
        device.calls().MapMemory(device.handle(), memory, 0, VK_WHOLE_SIZE, 0, &mapped),
        "MapMemory"));
    return static_cast<std::byte*>(mapped);
}

Status bind(const Device& device, const Arena::Segment& segment) {
    return device.checked(device.calls().BindBufferMemory(device.handle(), segment.buffer.get(),
                                                          segment.memory.get(), 0),
                          "BindBufferMemory");
}

// With addresses, for all queues of the device.
Result<OwnedBuffer> make_buffer(const Device& device,
                                int64_t size_bytes,
                                VkBufferCreateFlags flags = 0,
                                const void* next = nullptr) {
    const QueueFamilies& families = device.families();
    const uint32_t shared_by[] = {families.compute, families.transfer.value_or(families.compute)};
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = next;
    info.flags = flags;
    info.size = VkDeviceSize(size_bytes);
    info.usage = kUsage;
    if (families.transfer) {
        info.sharingMode = VK_SHARING_MODE_CONCURRENT;
        info.queueFamilyIndexCount = 2;
        info.pQueueFamilyIndices = shared_by;
    }
    const DeviceCalls& vk = device.calls();
    return device.make_owned(vk.CreateBuffer, info, vk.DestroyBuffer, "CreateBuffer");
}

Result<uint32_t> memory_type_of(const Device& device, uint32_t allowed, MemoryUse use) {
    const std::optional<uint32_t> type = choose_memory_type(device.info(), allowed, use);
    if (!type) {
        return unsupported("Vulkan device '{}' has no suitable type of memory", device.info().name);
    }
    return *type;
}

// `next`: of the allocation, or null.
Result<OwnedMemory> allocate_addressed(const Device& device,
                                       VkDeviceSize size_bytes,
                                       uint32_t type,
                                       const void* next = nullptr) {
    VkMemoryAllocateFlagsInfo flags{};
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.pNext = next;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.pNext = &flags;
    info.allocationSize = size_bytes;
    info.memoryTypeIndex = type;
    const DeviceCalls& vk = device.calls();
    return device.make_owned(vk.AllocateMemory, info, vk.FreeMemory, "AllocateMemory");
}

}  // namespace

int64_t allocation_limit_bytes(const Device& device, const ArenaOptions& options) {
    const uint64_t allocation = device.info().properties11.maxMemoryAllocationSize;
    const uint64_t buffer = device.info().properties13.maxBufferSize;
    const auto wished = uint64_t(std::max<int64_t>(0, options.allocation_bytes));
    const uint64_t limit = std::min({allocation, buffer, wished});
    return int64_t(limit) / kArenaAlignmentBytes * kArenaAlignmentBytes;
}

Result<Arena> Arena::allocate(const std::shared_ptr<const Device>& device,
                              int64_t size_bytes,
                              ArenaOptions options) {
    const int64_t limit = allocation_limit_bytes(*device, options);
    if (size_bytes <= 0 || limit <= 0) {
        return invalid_argument("an arena of {} bytes in allocations of {}", size_bytes, limit)
            .with_needed("a positive size, and allocations of 256 bytes or more");
    }
    const Joining asked = size_bytes <= limit ? Joining::kNone : options.joining;
    Status refused;
    for (const Joining way : ways_of_joining(*device, asked)) {
        Arena arena(device);
        refused = arena.add_segments(way, size_bytes, limit, options);
        if (refused.ok()) {
            return arena;
        }
        if (refused.code() == StatusCode::kOutOfMemory) {
            return std::move(refused).with_needed(
                fmt::format("{} bytes in allocations of at most {}, of which {} were allocated",
                            size_bytes, limit, arena.size_bytes_));
        }
    }
    return refused;
}

Status Arena::add_segments(Joining way,
                           int64_t size_bytes,
                           int64_t limit,
                           const ArenaOptions& options) {
    switch (way) {
        case Joining::kImported:
            return add_pieces(size_bytes, limit, is_mapped_for(*device_, options));
        case Joining::kSparse:
            return add_sparse(size_bytes, limit, options);
        case Joining::kAny:
        case Joining::kNone:
            break;
    }
    is_joined_ = size_bytes <= limit;
    while (size_bytes_ < size_bytes) {
        LEAT_RETURN_IF_ERROR(add_allocated(std::min(limit, size_bytes - size_bytes_), options));
    }
    return Status();
}

Status Arena::add_allocated(int64_t size_bytes, const ArenaOptions& options) {
    Segment segment;
    segment.bytes = {size_bytes_, size_bytes_ + size_bytes};
    LEAT_ASSIGN_OR_RETURN(segment.buffer, make_buffer(*device_, size_bytes));
    const VkMemoryRequirements requirements = requirements_of(*device_, segment.buffer.get());
    LEAT_ASSIGN_OR_RETURN(const uint32_t type,
                          memory_type_of(*device_, requirements.memoryTypeBits, options.use));
    LEAT_ASSIGN_OR_RETURN(segment.memory, allocate_addressed(*device_, requirements.size, type));
    LEAT_RETURN_IF_ERROR(bind(*device_, segment));
    segment.address = address_of(*device_, segment.buffer.get());
    if (is_mapped_for(*device_, options)) {
        LEAT_ASSIGN_OR_RETURN(segment.mapped, map(*device_, segment.memory.get()));
        if (device_->info().kind == DeviceKind::kCpu) {
            advise_huge_pages({segment.mapped, size_t(size_bytes)});
        }
    }
    size_bytes_ += size_bytes;
    segments_.push_back(std::move(segment));
    return Status();
}

// Where a device computes in the process's memory, its addresses are the process's own, so that
// pieces that lie side by side have addresses that run on. That is checked, not believed.
Status Arena::add_pieces(int64_t size_bytes, int64_t limit, bool is_mapped) {
    const int64_t alignment = device_->info().host_import_alignment_bytes;
    if (!device_->can_import_host_memory() || alignment == 0 || limit < alignment) {
        return unsupported("Vulkan device '{}' cannot import {} bytes in pieces of {}",
                           device_->info().name, size_bytes, limit);
    }
    const int64_t piece_bytes = limit / alignment * alignment;
    LEAT_ASSIGN_OR_RETURN(pages_, HostPages::make(round_up(size_bytes, alignment), alignment));
    std::span<std::byte> left = pages_.bytes();
    segments_.reserve(size_t(divide_up(int64_t(left.size()), piece_bytes)));
    while (!left.empty()) {
        const size_t bytes = std::min(left.size(), size_t(piece_bytes));
        LEAT_RETURN_IF_ERROR(add_imported(left.first(bytes)));
        left = left.subspan(bytes);
        Segment& added = segments_.back();
        if (added.address != segments_.front().address + uint64_t(added.bytes.begin)) {
            return unsupported("addresses of Vulkan device '{}' do not run on over imports",
                               device_->info().name);
        }
        added.mapped = is_mapped ? added.mapped : nullptr;
    }
    return Status();
}

Status Arena::add_sparse(int64_t size_bytes, int64_t limit, const ArenaOptions& options) {
    const VkPhysicalDeviceLimits& limits = device_->info().properties.limits;
    const uint64_t most =
        std::min(limits.sparseAddressSpaceSize, device_->info().properties13.maxBufferSize);
    if (!device_->can_bind_sparse() || uint64_t(size_bytes) > most) {
        return unsupported("Vulkan device '{}' cannot bind {} bytes in one sparse buffer",
                           device_->info().name, size_bytes);
    }
    LEAT_ASSIGN_OR_RETURN(sparse_,
                          make_buffer(*device_, size_bytes, VK_BUFFER_CREATE_SPARSE_BINDING_BIT));
    const VkMemoryRequirements requirements = requirements_of(*device_, sparse_.get());
    LEAT_ASSIGN_OR_RETURN(const uint32_t type,
                          memory_type_of(*device_, requirements.memoryTypeBits, options.use));
    const VkDeviceSize piece_bytes =
        uint64_t(limit) / requirements.alignment * requirements.alignment;
    if (piece_bytes == 0) {
        return unsupported("sparse memory of Vulkan device '{}' in pieces of {} bytes",
                           device_->info().name, limit)
            .with_needed(fmt::format("{} or more", requirements.alignment));
    }
    const auto count = size_t(divide_up(requirements.size, piece_bytes));
    segments_.reserve(count);
    std::vector<VkSparseMemoryBind> binds;
    binds.reserve(count);
    for (VkDeviceSize begin = 0; begin < requirements.size; begin += piece_bytes) {
        const VkDeviceSize bytes = std::min(piece_bytes, requirements.size - begin);
        Segment segment;
        segment.bytes = {size_bytes_, std::min(size_bytes_ + int64_t(bytes), size_bytes)};
        LEAT_ASSIGN_OR_RETURN(segment.memory, allocate_addressed(*device_, bytes, type));
        if (is_mapped_for(*device_, options)) {
            LEAT_ASSIGN_OR_RETURN(segment.mapped, map(*device_, segment.memory.get()));
        }
        binds.push_back({begin, bytes, segment.memory.get(), 0, 0});
        size_bytes_ = segment.bytes.end;
        segments_.push_back(std::move(segment));
    }
    LEAT_RETURN_IF_ERROR(device_->bind_sparse(sparse_.get(), binds));
    const uint64_t address = address_of(*device_, sparse_.get());
    for (Segment& segment : segments_) {
        segment.address = address + uint64_t(segment.bytes.begin);
    }
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
    segment.bytes = {size_bytes_, size_bytes_ + int64_t(memory.size())};
    LEAT_ASSIGN_OR_RETURN(segment.buffer,
                          make_buffer(*device_, int64_t(memory.size()), 0, &external));
    const uint32_t allowed =
        pointer.memoryTypeBits & requirements_of(*device_, segment.buffer.get()).memoryTypeBits;
    LEAT_ASSIGN_OR_RETURN(const uint32_t type,
                          memory_type_of(*device_, allowed, MemoryUse::kReadback));
    VkImportMemoryHostPointerInfoEXT import{};
    import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
    import.handleType = kHostPointer;
    import.pHostPointer = memory.data();
    LEAT_ASSIGN_OR_RETURN(segment.memory,
                          allocate_addressed(*device_, memory.size(), type, &import));
    LEAT_RETURN_IF_ERROR(bind(*device_, segment));
    segment.address = address_of(*device_, segment.buffer.get());
    segment.mapped = memory.data();
    size_bytes_ += int64_t(memory.size());
    segments_.push_back(std::move(segment));
    return Status();
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

Result<Arena> Arena::import_part(ByteRange range) const {
    if (range.begin < 0 || range.begin >= range.end || range.end > int64_t(pages_.bytes().size())) {
        return unsupported("bytes {} to {} of an arena of Vulkan device '{}' in one buffer",
                           range.begin, range.end, device_->info().name)
            .with_found(fmt::format("{} imported bytes", pages_.bytes().size()));
    }
    return import_host(
        device_, pages_.bytes().subspan(size_t(range.begin), size_t(range.end - range.begin)));
}

bool Arena::is_mapped() const {
    return !segments_.empty() && segments_.front().mapped != nullptr;
}

const Arena::Segment& Arena::segment_at(int64_t offset) const {
    // All segments but the last have the same size.
    const int64_t full_bytes = segments_.front().bytes.end;
    return segments_[std::min(size_t(offset / full_bytes), segments_.size() - 1)];
}

ByteRange Arena::addressable_around(int64_t offset) const {
    return is_joined_ ? ByteRange{0, size_bytes_} : segment_at(offset).bytes;
}

Result<uint64_t> Arena::address(ByteRange range) const {
    if (range.begin < 0 || range.begin >= range.end || range.end > size_bytes_) {
        return invalid_argument("bytes {} to {} of an arena of {}", range.begin, range.end,
                                size_bytes_);
    }
    const int64_t end = addressable_around(range.begin).end;
    if (range.end > end) {
        return unsupported("bytes {} to {} cross the end of an allocation at {}", range.begin,
                           range.end, end)
            .with_needed(fmt::format("sparse buffers, which Vulkan device '{}' lacks",
                                     device_->info().name));
    }
    const Segment& segment = segment_at(range.begin);
    return segment.address + uint64_t(range.begin - segment.bytes.begin);
}

BufferPart Arena::buffer_at(int64_t offset) const {
    if (sparse_) {
        return {sparse_.get(), offset, size_bytes_ - offset};
    }
    const Segment& segment = segment_at(offset);
    return {segment.buffer.get(), offset - segment.bytes.begin, segment.bytes.end - offset};
}

void Arena::write(int64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const std::span<std::byte> mapped = mapped_at(offset);
        const size_t part = std::min(bytes.size(), mapped.size());
        std::memcpy(mapped.data(), bytes.data(), part);
        bytes = bytes.subspan(part);
        offset += int64_t(part);
    }
}

std::span<std::byte> Arena::mapped_at(int64_t offset) const {
    if (!is_mapped()) {
        return {};
    }
    if (!pages_.bytes().empty()) {
        return pages_.bytes().subspan(size_t(offset));
    }
    const Segment& segment = segment_at(offset);
    return std::span(segment.mapped, size_t(segment.bytes.end - segment.bytes.begin))
        .subspan(size_t(offset - segment.bytes.begin));
}

}  // namespace leat::vulkan
