// IntervalProblem: buffers and the sections of time in which they meet, for interval_packing.cpp.
//
// A section is a set of buffers that are alive together and that no other section contains; each
// buffer has a half-open range of them. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/offsets/plan.h"

namespace leat {

// Half-open.
struct SectionRange {
    int32_t begin = 0;
    int32_t end = 0;

    bool contains(int32_t section) const { return begin <= section && section < end; }
    bool overlaps(const SectionRange& other) const {
        return begin < other.end && other.begin < end;
    }
};

struct PackedBuffer {
    int32_t index = 0;   // in the problem as given
    int64_t size = 0;    // bytes, a multiple of the alignment
    SectionRange alive;  // never empty
};

class IntervalProblem {
  public:
    // Buffers that take a place.
    explicit IntervalProblem(std::span<const PlannedBuffer> buffers);

    // Ascending by first section.
    const std::vector<PackedBuffer>& buffers() const { return buffers_; }
    int32_t sections() const { return int32_t(alive_.size()); }
    // Buffers of a section, by number in buffers().
    const std::vector<int32_t>& alive_in(int32_t section) const { return alive_[size_t(section)]; }
    // Buffers whose first section it is: [first_in(section), first_in(section + 1)).
    int32_t first_in(int32_t section) const { return first_[size_t(section)]; }
    // What every size, and so every offset of a packing without gaps, is a multiple of.
    int64_t unit() const { return unit_; }
    // The most bytes of a section.
    int64_t peak_bytes() const;
    // No size had to be padded, so that a packing found impossible is.
    bool is_exact() const { return is_exact_; }

  private:
    void add_buffers(std::span<const PlannedBuffer> buffers);
    void add_sections(std::span<const PlannedBuffer> buffers);

    std::vector<PackedBuffer> buffers_;
    std::vector<std::vector<int32_t>> alive_;
    std::vector<int32_t> first_;
    int64_t unit_ = 1;
    bool is_exact_ = true;
};

}  // namespace leat
