// ValueGroups: which values share bytes, and where in them each begins.
//
// A group is a value that contains all others of it; each lies at an offset within it. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/inline_vector.h"
#include "memory/memory_problem.h"

namespace leat {

class ValueGroups {
  public:
    // One for each value.
    explicit ValueGroups(const MemoryProblem& problem);

    // The value that contains the group.
    int32_t root(int32_t value) const { return root_[size_t(value)]; }
    // Of the value, in its root.
    int64_t offset_bytes(int32_t value) const { return offset_bytes_[size_t(value)]; }
    int64_t size_bytes(int32_t value) const { return values_[size_t(value)].size_bytes; }
    bool is_placed(int32_t value) const { return values_[size_t(root(value))].is_placed; }
    // The value has all bytes of its group.
    bool spans_group(int32_t value) const;
    bool overlap(int32_t a, int32_t b) const;
    // Of the value's group.
    std::span<const int32_t> members(int32_t value) const {
        const auto at = size_t(root(value));
        // A value alone is its own root, so that there is a list of it already.
        return members_[at].empty() ? std::span(root_).subspan(at, 1)
                                    : std::span<const int32_t>(members_[at]);
    }

    // Makes all the views true, or none of them and returns false: where a value would have to be
    // at two places at once, or not at a multiple of the alignment.
    bool join(std::span<const ValueView> views);

  private:
    struct Hung {
        int32_t group = 0;
        int32_t under = 0;
        int64_t offset_bytes = 0;
        ptrdiff_t members = 0;
    };

    bool join(const ValueView& view);
    void hang(int32_t group, int32_t under, int64_t offset_bytes);
    void take_down_hung();

    std::span<const MemoryValue> values_;
    int64_t alignment_bytes_;
    std::vector<int32_t> root_;
    std::vector<int64_t> offset_bytes_;
    std::vector<InlineVector<int32_t, 4>> members_;  // by root; empty: the value alone
    std::vector<Hung> hung_;                         // by the last join()
};

}  // namespace leat
