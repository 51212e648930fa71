#include "memory/hazards.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace leat {
namespace {

constexpr int32_t kNobody = -1;

// Who touched the bytes of a segment last.
struct Segment {
    int64_t end = 0;
    int32_t writer = kNobody;
    std::vector<int32_t> readers;  // since the write
};

// Disjoint segments by first byte; bytes that nobody touched are in none.
class AccessMap {
  public:
    // The range's former writers are waited for.
    void read(ByteRange range, int32_t step, std::vector<int32_t>& waits) {
        fill_holes(range);
        for (auto segment = segments_.find(range.begin);
             segment != segments_.end() && segment->first < range.end; ++segment) {
            add(waits, segment->second.writer, step);
            std::vector<int32_t>& readers = segment->second.readers;
            if (readers.empty() || readers.back() != step) {
                readers.push_back(step);
            }
        }
    }

    // The range's former writers and readers are waited for, and forgotten.
    void write(ByteRange range, int32_t step, std::vector<int32_t>& waits) {
        split_at(range.begin);
        split_at(range.end);
        const auto first = segments_.lower_bound(range.begin);
        const auto last = segments_.lower_bound(range.end);
        for (auto segment = first; segment != last; ++segment) {
            // Readers waited for the writer already, except this step and where there are none.
            add(waits, segment->second.writer, step);
            for (const int32_t reader : segment->second.readers) {
                add(waits, reader, step);
            }
        }
        segments_.erase(first, last);
        segments_.emplace(range.begin, Segment{range.end, step, {}});
    }

  private:
    static void add(std::vector<int32_t>& waits, int32_t other, int32_t step) {
        if (other != kNobody && other != step) {
            waits.push_back(other);
        }
    }

    // Makes `position` a border between segments.
    void split_at(int64_t position) {
        const auto above = segments_.lower_bound(position);
        if (above == segments_.begin()) {
            return;
        }
        const auto segment = std::prev(above);
        if (segment->second.end > position) {
            Segment upper = segment->second;
            segment->second.end = position;
            segments_.emplace_hint(above, position, std::move(upper));
        }
    }

    // Afterwards segments cover the range exactly.
    void fill_holes(ByteRange range) {
        split_at(range.begin);
        split_at(range.end);
        int64_t cursor = range.begin;
        auto next = segments_.lower_bound(range.begin);
        while (cursor < range.end) {
            if (next != segments_.end() && next->first == cursor) {
                cursor = next->second.end;
                ++next;
                continue;
            }
            const int64_t end =
                next != segments_.end() ? std::min(next->first, range.end) : range.end;
            segments_.emplace_hint(next, cursor, Segment{end, kNobody, {}});
            cursor = end;
        }
    }

    std::map<int64_t, Segment> segments_;
};

}  // namespace

std::vector<std::vector<int32_t>> hazard_waits(std::span<const StepAccess> steps) {
    std::vector<std::vector<int32_t>> waits(steps.size());
    AccessMap map;
    for (size_t i = 0; i < steps.size(); ++i) {
        const auto step = int32_t(i);
        for (const ByteRange& range : steps[i].reads) {
            if (range.begin < range.end) {
                map.read(range, step, waits[i]);
            }
        }
        for (const ByteRange& range : steps[i].writes) {
            if (range.begin < range.end) {
                map.write(range, step, waits[i]);
            }
        }
        std::sort(waits[i].begin(), waits[i].end());
        waits[i].erase(std::unique(waits[i].begin(), waits[i].end()), waits[i].end());
    }
    return waits;
}

}  // namespace leat
