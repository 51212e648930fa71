// WeightStore: packed copies of constants, shared by every plan and graph of a Runtime.
//
// Thread-safe. An entry lives as long as somebody holds its pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"  // drop_source_pages: the counterpart of get_or_pack
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

class WeightStore {
  public:
    WeightStore();
    ~WeightStore();
    WeightStore(const WeightStore&) = delete;
    WeightStore& operator=(const WeightStore&) = delete;

    // Memory of `bytes` (64-byte aligned, zeroed) that `pack` fills from `source`; the same pointer
    // for the same source memory, layout key and size while it lives. Callers of one entry wait
    // until it is packed; `pack` must not call the store. After packing, the pages of a source that
    // is a view of a mapped file are given back to the kernel.
    Result<std::shared_ptr<const std::byte>> get_or_pack(
        const Tensor& source,
        std::string_view layout_key,
        int64_t bytes,
        const std::function<void(const Tensor& source, std::byte* packed)>& pack);

    // Bytes of all living entries.
    int64_t packed_bytes() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;  // shared with the entries, which may outlive the store
};

}  // namespace leat
