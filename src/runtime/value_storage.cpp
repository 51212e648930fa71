#include "runtime/value_storage.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace leat {

ValueStorage::ValueStorage(int value_count)
    : parent_(size_t(value_count)),
      origin_(size_t(value_count)),
      first_write_(size_t(value_count), std::numeric_limits<int32_t>::max()),
      last_read_(size_t(value_count), -1),
      bytes_(size_t(value_count), 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
}

int32_t ValueStorage::find(ValueId value) const {
    int32_t at = value.index;
    while (parent_[size_t(at)] != at) {
        parent_[size_t(at)] = parent_[size_t(parent_[size_t(at)])];
        at = parent_[size_t(at)];
    }
    return at;
}

void ValueStorage::join(ValueId a, ValueId b) {
    const auto into = size_t(find(a));
    const auto from = size_t(find(b));
    if (into == from) {
        return;
    }
    parent_[from] = int32_t(into);
    if (origin_[into].kind == Storage::Kind::kNone) {
        origin_[into] = origin_[from];
    }
    first_write_[into] = std::min(first_write_[into], first_write_[from]);
    last_read_[into] = std::max(last_read_[into], last_read_[from]);
    bytes_[into] = std::max(bytes_[into], bytes_[from]);
}

void ValueStorage::note_write(ValueId value, int32_t step, int64_t bytes) {
    const auto group = size_t(find(value));
    first_write_[group] = std::min(first_write_[group], step);
    last_read_[group] = std::max(last_read_[group], step);
    bytes_[group] = std::max(bytes_[group], bytes);
}

void ValueStorage::note_read(ValueId value, int32_t step) {
    const auto group = size_t(find(value));
    last_read_[group] = std::max(last_read_[group], step);
}

}  // namespace leat
