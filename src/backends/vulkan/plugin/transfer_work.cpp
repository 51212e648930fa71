#include "backends/vulkan/plugin/transfer_work.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/queues/transfer.h"
#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/record/command_pool.h"

namespace leat::vulkan {
namespace {

// A fill that no command of the device does is copied from a block of this size.
constexpr int64_t kFillBlockBytes = int64_t{1} << 20;
constexpr int64_t kFillUnitBytes = 4;

// Records with `record`, submits and waits. On the queue's thread, so nobody else waits for it.
template <class Record>
void run_commands(Queue& queue, Record&& record) {
    const Device& device = *queue.device();
    const OwnedCommandPool pool = value_or_throw(make_command_pool(device, queue.family()));
    const VkCommandBuffer commands = value_or_throw(allocate_commands(device, pool.get()));
    constexpr VkAccessFlags2 kAny = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT;
    constexpr StageMasks kBefore{VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, kAny};
    constexpr StageMasks kAfter{VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
                                kAny};
    throw_if(begin_commands(device, commands));
    record_barrier(device.calls(), commands, kBefore, kBefore);
    record(device.calls(), commands);
    record_barrier(device.calls(), commands, kBefore, kAfter);
    throw_if(end_commands(device, commands));
    const uint64_t point = value_or_throw(queue.submit(std::span(&commands, 1)));
    throw_if(queue.wait(point, std::numeric_limits<int64_t>::max()).error());
}

std::byte* host_address(const TransferEnd& end) {
    return end.slab == nullptr ? end.host : end.slab->host_address(end.offset_bytes);
}

TransferEnd advanced(TransferEnd end, int64_t bytes) {
    end.offset_bytes += bytes;
    end.host = end.host == nullptr ? nullptr : end.host + bytes;
    return end;
}

int64_t bytes_together(const TransferEnd& end) {
    return end.slab == nullptr ? std::numeric_limits<int64_t>::max()
                               : end.slab->bytes_together(end.offset_bytes);
}

class CopyWork final : public VulkanWork {
  public:
    CopyWork(LazyDevice& device,
             QueueRole role,
             const TransferEnd& from,
             const TransferEnd& to,
             int64_t bytes)
        : device_(device), role_(role), from_(from), to_(to), bytes_(bytes) {}

    uint64_t run(std::span<const Queue::Wait> /*waits*/) override {
        while (bytes_ > 0) {
            const int64_t part = std::min({bytes_, bytes_together(from_), bytes_together(to_)});
            copy_part(part);
            from_ = advanced(from_, part);
            to_ = advanced(to_, part);
            bytes_ -= part;
        }
        return 0;
    }

  private:
    void copy_part(int64_t bytes) {
        DeviceQueue& own = device_.open().queue_of(role_);
        std::byte* from = host_address(from_);
        std::byte* to = host_address(to_);
        if (from != nullptr && to != nullptr) {
            std::memmove(to, from, size_t(bytes));
        } else if (from != nullptr) {
            const uint64_t point = value_or_throw(
                own.ring->upload({from, size_t(bytes)}, to_.slab->arena(), to_.offset_bytes));
            throw_if(own.queue->wait(point, std::numeric_limits<int64_t>::max()).error());
        } else if (to != nullptr) {
            throw_if(
                own.ring->download(from_.slab->arena(), from_.offset_bytes, {to, size_t(bytes)}));
        } else {
            copy_on_device(*own.queue, bytes);
        }
    }

    void copy_on_device(Queue& queue, int64_t bytes) const {
        const BufferPart from = from_.slab->arena().buffer_at(from_.offset_bytes);
        const BufferPart to = to_.slab->arena().buffer_at(to_.offset_bytes);
        run_commands(queue, [&](const DeviceCalls& vk, VkCommandBuffer commands) {
            const VkBufferCopy region{VkDeviceSize(from.offset), VkDeviceSize(to.offset),
                                      VkDeviceSize(bytes)};
            vk.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
        });
    }

    LazyDevice& device_;
    QueueRole role_;
    TransferEnd from_;
    TransferEnd to_;
    int64_t bytes_;
};

class FillWork final : public VulkanWork {
  public:
    FillWork(LazyDevice& device, QueueRole role, const VulkanSlab& slab, const LeatFill& fill)
        : device_(device), role_(role), slab_(slab), fill_(fill) {}

    uint64_t run(std::span<const Queue::Wait> /*waits*/) override {
        int64_t offset = fill_.to.offset_bytes;
        const int64_t end = offset + fill_.bytes;
        // Allocations end at multiples of 256, so no pattern is divided.
        while (offset < end) {
            const int64_t part = std::min(end - offset, slab_.bytes_together(offset));
            fill_part(offset, part);
            offset += part;
        }
        return 0;
    }

  private:
    void fill_part(int64_t offset, int64_t bytes) {
        if (std::byte* mapped = slab_.host_address(offset); mapped != nullptr) {
            queues::fill_bytes(mapped, bytes, fill_);
        } else if (is_fill_of_words(offset, bytes)) {
            fill_on_device(offset, bytes);
        } else {
            fill_by_copies(offset, bytes);
        }
    }

    // The pattern over 8 bytes.
    uint64_t repeated() const {
        uint64_t words = 0;
        queues::fill_bytes(reinterpret_cast<std::byte*>(&words), sizeof(words), fill_);
        return words;
    }

    bool is_fill_of_words(int64_t offset, int64_t bytes) const {
        const uint64_t words = repeated();
        return offset % kFillUnitBytes == 0 && bytes % kFillUnitBytes == 0 &&
               uint32_t(words) == uint32_t(words >> 32U);
    }

    void fill_on_device(int64_t offset, int64_t bytes) const {
        const BufferPart to = slab_.arena().buffer_at(offset);
        run_commands(*device_.open().queue_of(role_).queue,
                     [&](const DeviceCalls& vk, VkCommandBuffer commands) {
                         vk.CmdFillBuffer(commands, to.buffer, VkDeviceSize(to.offset),
                                          VkDeviceSize(bytes), uint32_t(repeated()));
                     });
    }

    void fill_by_copies(int64_t offset, int64_t bytes) const {
        DeviceQueue& own = device_.open().queue_of(role_);
        std::vector<std::byte> block(size_t(std::min(bytes, kFillBlockBytes)));
        queues::fill_bytes(block.data(), int64_t(block.size()), fill_);
        uint64_t point = 0;
        for (int64_t done = 0; done < bytes; done += int64_t(block.size())) {
            const auto part = size_t(std::min(bytes - done, int64_t(block.size())));
            point = value_or_throw(
                own.ring->upload(std::span(block).first(part), slab_.arena(), offset + done));
        }
        throw_if(own.queue->wait(point, std::numeric_limits<int64_t>::max()).error());
    }

    LazyDevice& device_;
    QueueRole role_;
    const VulkanSlab& slab_;
    LeatFill fill_;
};

TransferEnd end_of(LeatPlacement placement,
                   std::byte* host,
                   int64_t bytes,
                   const LazyDevice& device) {
    TransferEnd end;
    if (placement.slab != nullptr) {
        end.slab = &slab_of(placement, bytes, device);
        end.offset_bytes = placement.offset_bytes;
    } else if (host != nullptr) {
        end.host = host;
    } else {
        plugin::invalid_argument("a copy needs two ends");
    }
    return end;
}

}  // namespace

std::unique_ptr<VulkanWork> make_copy(LazyDevice& device, QueueRole role, const LeatCopy& copy) {
    queues::check_copy(copy);
    // Never written: only the other end is.
    auto* from_host = const_cast<std::byte*>(static_cast<const std::byte*>(copy.from_host));
    const TransferEnd from = end_of(copy.from, from_host, copy.bytes, device);
    const TransferEnd to =
        end_of(copy.to, static_cast<std::byte*>(copy.to_host), copy.bytes, device);
    return std::make_unique<CopyWork>(device, role, from, to, copy.bytes);
}

std::unique_ptr<VulkanWork> make_fill(LazyDevice& device, QueueRole role, const LeatFill& fill) {
    queues::check_fill(fill);
    return std::make_unique<FillWork>(device, role, slab_of(fill.to, fill.bytes, device), fill);
}

}  // namespace leat::vulkan
