// Which values share memory, and which memory that is.
//
// Values joined by views and in-place operators form a group; a group becomes one arena buffer, one
// string buffer, a graph input or a constant.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/inference.h"
#include "runtime/plan.h"

namespace leat {

class ValueStorage {
  public:
    // A group for each value. Step of a group's last read: kNever until it is read.
    explicit ValueStorage(int value_count);

    int32_t find(ValueId value) const;
    // Both values share memory from now on.
    void join(ValueId a, ValueId b);

    // The group's origin; kNone until set: then it becomes an arena or string buffer.
    void set_origin(ValueId value, Storage origin) { origin_[size_t(find(value))] = origin; }
    Storage origin(ValueId value) const { return origin_[size_t(find(value))]; }

    void note_write(ValueId value, int32_t step, int64_t bytes);
    void note_read(ValueId value, int32_t step);
    int32_t last_read(ValueId value) const { return last_read_[size_t(find(value))]; }
    int64_t bytes(ValueId value) const { return bytes_[size_t(find(value))]; }
    int32_t first_write(ValueId value) const { return first_write_[size_t(find(value))]; }

  private:
    mutable std::vector<int32_t> parent_;
    std::vector<Storage> origin_;
    std::vector<int32_t> first_write_;
    std::vector<int32_t> last_read_;
    std::vector<int64_t> bytes_;
};

}  // namespace leat
