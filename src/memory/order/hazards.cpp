#include "memory/order/hazards.h"

#include <algorithm>

namespace leat {
namespace {

constexpr int32_t kNobody = -1;

}  // namespace

void StepHazards::wait_for(int32_t other) {
    if (other == kNobody || other == step_ || waited_by_[size_t(other)] == step_) {
        return;
    }
    waited_by_[size_t(other)] = step_;
    waits_.push_back(other);
}

// Makes `position` a border between segments. Returns the index of the first one from there on.
size_t StepHazards::split_at(int64_t position) {
    const auto above =
        std::lower_bound(segments_.begin(), segments_.end(), position,
                         [](const Segment& segment, int64_t at) { return segment.begin < at; });
    const auto index = size_t(above - segments_.begin());
    if (index > 0 && segments_[index - 1].end > position) {
        Segment upper = segments_[index - 1];
        upper.begin = position;
        segments_[index - 1].end = position;
        segments_.insert(above, upper);
    }
    return index;
}

// The step reads the segment.
void StepHazards::touch(Segment& segment) {
    wait_for(segment.writer);
    if (segment.reader < 0 || readers_[size_t(segment.reader)].step != step_) {
        readers_.push_back({step_, segment.reader});
        segment.reader = int32_t(readers_.size()) - 1;
    }
}

// The range's former writers are waited for.
void StepHazards::read(ByteRange range) {
    if (range.begin >= range.end) {
        return;
    }
    size_t index = split_at(range.begin);
    split_at(range.end);
    for (int64_t cursor = range.begin; cursor < range.end; ++index) {
        const bool is_above = index < segments_.size() && segments_[index].begin > cursor;
        if (index == segments_.size() || is_above) {
            const int64_t end = is_above ? std::min(segments_[index].begin, range.end) : range.end;
            segments_.insert(segments_.begin() + ptrdiff_t(index),
                             Segment{cursor, end, kNobody, kNobody});
        }
        touch(segments_[index]);
        cursor = segments_[index].end;
    }
}

// The range's former writers and readers are waited for, and forgotten.
void StepHazards::write(ByteRange range) {
    if (range.begin >= range.end) {
        return;
    }
    const size_t first = split_at(range.begin);
    const size_t last = split_at(range.end);
    for (size_t index = first; index < last; ++index) {
        // Readers waited for the writer already, except this step and where there are none.
        wait_for(segments_[index].writer);
        for (int32_t at = segments_[index].reader; at >= 0; at = readers_[size_t(at)].next) {
            wait_for(readers_[size_t(at)].step);
        }
    }
    const Segment own{range.begin, range.end, step_, kNobody};
    const auto begin = segments_.begin() + ptrdiff_t(first);
    if (first == last) {
        segments_.insert(begin, own);
    } else {
        *begin = own;
        segments_.erase(begin + 1, segments_.begin() + ptrdiff_t(last));
    }
}

std::vector<int32_t> StepHazards::end_step() {
    std::sort(waits_.begin(), waits_.end());
    std::vector<int32_t> waits(waits_.begin(), waits_.end());
    waits_.clear();
    waited_by_.push_back(kNobody);
    ++step_;
    return waits;
}

}  // namespace leat
