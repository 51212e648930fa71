// Memory of the device: here the host's.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "leat/plugin_backend.h"

namespace my {

constexpr int64_t kAlignmentBytes = 64;  // of every slab and of every offset that is bound

class Slab final : public leat::plugin::Slab {
  public:
    explicit Slab(int64_t bytes) : bytes_(bytes) {
        const int64_t rounded = (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
        data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, size_t(rounded)));
        if (data_ == nullptr) {
            throw std::bad_alloc();  // the entry point makes it kLeatOutOfMemory
        }
    }
    ~Slab() override { std::free(data_); }

    std::byte* data() const { return data_; }
    void check_range(int64_t offset_bytes, int64_t bytes) const {
        if (offset_bytes < 0 || bytes < 0 || bytes > bytes_ || offset_bytes > bytes_ - bytes) {
            leat::plugin::invalid_argument("a range outside its slab");
        }
    }

  private:
    std::byte* data_ = nullptr;
    int64_t bytes_;
};

inline std::byte* address_of(LeatPlacement place, int64_t bytes) {
    if (place.slab == nullptr) {
        leat::plugin::invalid_argument("a range without a slab");
    }
    const auto& slab = static_cast<const Slab&>(leat::plugin::object_of(place.slab));
    slab.check_range(place.offset_bytes, bytes);
    return slab.data() + place.offset_bytes;
}

}  // namespace my
