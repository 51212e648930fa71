// Constants of a device as bytes of the host, and back: a saved graph keeps packed ones, and what
// it has is copied to the device in place of packing; instances of a plan keep what it knows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/device_backend.h"

namespace leat {

// A packed constant as a file has it. Borrowed.
struct SavedConstant {
    uint64_t content_hash = 0;
    uint64_t layout_key = 0;
    std::span<const std::byte> bytes;

    // These are the bytes that packing would write.
    bool is_packed_of(const LeatPackedConstant& constant) const {
        return content_hash == constant.content_hash && layout_key == constant.layout_key &&
               int64_t(bytes.size()) == constant.bytes;
    }
};

// Copies between the host and constants of one device: at once where the host reaches the
// device's memory, else by a queue, all of them together. Used by one thread.
class ConstantCopies {
  public:
    ConstantCopies(std::shared_ptr<DeviceBackend> backend, int32_t queue)
        : backend_(std::move(backend)), queue_(queue) {}

    // The bytes outlive finish(), when they are there.
    Status upload(const PackedOnDevice& to, std::span<const std::byte> from);
    Status download(const PackedOnDevice& from, std::span<std::byte> to);
    // Waits. kUnsupported: the backend does not copy.
    Status finish();

  private:
    std::shared_ptr<DeviceBackend> backend_;
    int32_t queue_;
    std::vector<LeatCopy> waiting_;
};

}  // namespace leat
