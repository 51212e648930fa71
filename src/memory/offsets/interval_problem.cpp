#include "memory/offsets/interval_problem.h"

#include <algorithm>
#include <numeric>

#include "base/round_up.h"

namespace leat {

IntervalProblem::IntervalProblem(std::span<const PlannedBuffer> buffers) {
    add_buffers(buffers);
    add_sections(buffers);
}

int64_t IntervalProblem::peak_bytes() const {
    int64_t peak = 0;
    for (const std::vector<int32_t>& alive : alive_) {
        int64_t bytes = 0;
        for (const int32_t buffer : alive) {
            bytes += buffers_[size_t(buffer)].size;
        }
        peak = std::max(peak, bytes);
    }
    return peak;
}

void IntervalProblem::add_buffers(std::span<const PlannedBuffer> buffers) {
    int64_t alignment = 1;
    for (const PlannedBuffer& buffer : buffers) {
        if (buffer.size_bytes > 0) {
            alignment = std::max(alignment, buffer.alignment_bytes);
            buffers_.push_back({int32_t(&buffer - buffers.data()), buffer.size_bytes, {}});
        }
    }
    std::stable_sort(
        buffers_.begin(), buffers_.end(), [&](const PackedBuffer& a, const PackedBuffer& b) {
            return buffers[size_t(a.index)].begin_step < buffers[size_t(b.index)].begin_step;
        });
    unit_ = 0;
    for (PackedBuffer& buffer : buffers_) {
        const int64_t padded = round_up(buffer.size, alignment);
        is_exact_ = is_exact_ && padded == buffer.size;
        buffer.size = padded;
        unit_ = std::gcd(unit_, buffer.size);
    }
}

// Each time a buffer ends after one has begun, what is alive just before is a section.
void IntervalProblem::add_sections(std::span<const PlannedBuffer> buffers) {
    std::vector<int32_t> alive;
    const auto end_of = [&](int32_t buffer) {
        return buffers[size_t(buffers_[size_t(buffer)].index)].end_step;
    };
    const auto close_section = [&] {
        const int32_t section = sections();
        for (const int32_t buffer : alive) {
            SectionRange& range = buffers_[size_t(buffer)].alive;
            range.begin = range.end == 0 ? section : range.begin;
            range.end = section + 1;
        }
        alive_.push_back(alive);
    };
    bool has_begun = false;
    for (int32_t next = 0; next < int32_t(buffers_.size()); ++next) {
        const int32_t now = buffers[size_t(buffers_[size_t(next)].index)].begin_step;
        const auto ended = std::partition(alive.begin(), alive.end(),
                                          [&](int32_t buffer) { return end_of(buffer) > now; });
        if (ended != alive.end()) {
            if (has_begun) {
                close_section();
            }
            alive.erase(ended, alive.end());
        }
        alive.push_back(next);
        has_begun = true;
    }
    if (has_begun) {
        close_section();
    }
    first_.assign(size_t(sections()) + 1, int32_t(buffers_.size()));
    for (auto buffer = int32_t(buffers_.size()); buffer-- > 0;) {
        first_[size_t(buffers_[size_t(buffer)].alive.begin)] = buffer;
    }
    for (int32_t section = sections(); section-- > 0;) {
        first_[size_t(section)] = std::min(first_[size_t(section)], first_[size_t(section) + 1]);
    }
}

}  // namespace leat
