#include "memory/order/order_bound.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace leat {
namespace {

class SegmentBound {
  public:
    // `lasting_bytes` are alive all the time; `buffers`: what else its steps read or write.
    SegmentBound(const OrderGraph& graph,
                 std::span<const int32_t> last_reader,
                 int32_t begin,
                 int32_t end,
                 int64_t lasting_bytes,
                 std::span<const int32_t> buffers)
        : graph_(graph),
          last_reader_(last_reader),
          begin_(begin),
          count_(size_t(end - begin)),
          words_((count_ + 63) / 64),
          after_(count_ * words_, 0),
          before_(count_ * words_, 0),
          bytes_(count_, lasting_bytes) {
        add_relation();
        for (const int32_t buffer : buffers) {
            add(buffer);
        }
    }

    int64_t value() const {
        int64_t bound = 0;
        for (size_t i = 0; i < count_; ++i) {
            bound = std::max(bound, bytes_[i] - most_overwritten(int32_t(i)));
        }
        return bound;
    }

  private:
    using Words = uint64_t*;
    bool is_inside(int32_t step) const { return begin_ <= step && size_t(step - begin_) < count_; }
    bool is_past(int32_t step) const { return step >= begin_ + int32_t(count_); }
    Words after(int32_t step) { return &after_[size_t(step - begin_) * words_]; }
    Words before(int32_t step) { return &before_[size_t(step - begin_) * words_]; }
    void set(Words words, int32_t step) const {
        words[size_t(step - begin_) / 64] |= uint64_t{1} << (size_t(step - begin_) % 64);
    }
    void unite(Words into, const uint64_t* with) const {
        for (size_t w = 0; w < words_; ++w) {
            into[w] |= with[w];
        }
    }

    // Of each step, those that come after it or before it in every order, and it.
    void add_relation() {
        const int32_t end = begin_ + int32_t(count_);
        for (int32_t step = begin_; step < end; ++step) {
            set(before(step), step);
            for (const int32_t other : graph_.predecessors(step)) {
                if (is_inside(other)) {
                    unite(before(step), before(other));
                }
            }
        }
        for (int32_t step = end - 1; step >= begin_; --step) {
            set(after(step), step);
            for (const int32_t other : graph_.successors(step)) {
                if (is_inside(other)) {
                    unite(after(step), after(other));
                }
            }
        }
    }

    void add(int32_t buffer) {
        const int32_t writer = graph_.writer(buffer);
        const auto readers = graph_.readers(buffer);
        const bool is_read_past = is_past(last_reader_[size_t(buffer)]);
        std::vector<uint64_t> alive(words_, is_read_past ? ~uint64_t{0} : 0);
        for (const int32_t reader : readers) {
            if (is_inside(reader)) {
                unite(alive.data(), before(reader));
            }
        }
        if (is_inside(writer)) {
            set(alive.data(), writer);
            for (size_t w = 0; w < words_; ++w) {
                alive[w] &= after(writer)[w];
            }
        }
        add_bytes(alive, graph_.size_bytes(buffer));
    }

    void add_bytes(const std::vector<uint64_t>& alive, int64_t size_bytes) {
        for (size_t i = 0; i < count_; ++i) {
            bytes_[i] += ((alive[i / 64] >> (i % 64)) & 1) != 0 ? size_bytes : 0;
        }
    }

    // By step number within the segment, the most that it may write over.
    int64_t most_overwritten(int32_t i) const {
        const int32_t step = begin_ + i;
        int64_t most = 0;
        for (const int32_t buffer : graph_.overwritable(step)) {
            const auto readers = graph_.readers(buffer);
            const bool may_be_last =
                !is_past(last_reader_[size_t(buffer)]) &&
                std::none_of(readers.begin(), readers.end(), [&](int32_t reader) {
                    return reader != step && comes_after(reader, step);
                });
            most = may_be_last ? std::max(most, graph_.size_bytes(buffer)) : most;
        }
        return most;
    }
    bool comes_after(int32_t reader, int32_t step) const {
        const auto bit = size_t(reader - begin_);
        return is_inside(reader) &&
               ((after_[size_t(step - begin_) * words_ + bit / 64] >> (bit % 64)) & 1) != 0;
    }

    const OrderGraph& graph_;
    const std::span<const int32_t> last_reader_;
    const int32_t begin_;
    const size_t count_;
    const size_t words_;
    std::vector<uint64_t> after_;   // [step][words]
    std::vector<uint64_t> before_;  // [step][words]
    std::vector<int64_t> bytes_;    // by step
};

}  // namespace

PeakBounds::PeakBounds(const OrderGraph& graph)
    : graph_(graph),
      last_reader_(size_t(graph.buffers()), -1),
      alive_before_(size_t(graph.steps()) + 1, 0) {
    for (int32_t buffer = 0; buffer < graph.buffers(); ++buffer) {
        int32_t& last = last_reader_[size_t(buffer)];
        for (const int32_t reader : graph.readers(buffer)) {
            last = std::max(last, reader);
        }
        last = graph.is_kept(buffer) ? graph.steps() : last;
        if (last > graph.writer(buffer)) {
            alive_before_[size_t(graph.writer(buffer)) + 1] += graph.size_bytes(buffer);
            if (last < graph.steps()) {
                alive_before_[size_t(last) + 1] -= graph.size_bytes(buffer);
            }
        }
    }
    std::partial_sum(alive_before_.begin(), alive_before_.end(), alive_before_.begin());
}

PeakBounds::Inside PeakBounds::inside(int32_t begin, int32_t end) const {
    Inside inside;
    inside.lasting_bytes = alive_before_[size_t(begin)];
    for (int32_t step = begin; step < end; ++step) {
        for (const int32_t buffer : graph_.written_by(step)) {
            inside.buffers.push_back(buffer);
        }
        for (const int32_t buffer : graph_.read_by(step)) {
            // What begins before and ends here is listed where its last reader is found.
            if (graph_.writer(buffer) < begin && last_reader_[size_t(buffer)] == step) {
                inside.buffers.push_back(buffer);
                inside.lasting_bytes -= graph_.size_bytes(buffer);
            }
        }
    }
    return inside;
}

int64_t PeakBounds::of_segment(int32_t begin, int32_t end) const {
    const Inside own = inside(begin, end);
    if (end - begin > kMostStepsInSets) {
        return of_operands(begin, end, own.lasting_bytes);
    }
    return SegmentBound(graph_, last_reader_, begin, end, own.lasting_bytes, own.buffers).value();
}

int64_t PeakBounds::of_operands(int32_t begin, int32_t end, int64_t lasting_bytes) const {
    int64_t bound = 0;
    for (int32_t step = begin; step < end; ++step) {
        int64_t bytes = lasting_bytes;
        for (const int32_t buffer : graph_.written_by(step)) {
            bytes += graph_.size_bytes(buffer);
        }
        for (const int32_t buffer : graph_.read_by(step)) {
            const bool is_lasting =
                graph_.writer(buffer) < begin && last_reader_[size_t(buffer)] >= end;
            bytes += is_lasting ? 0 : graph_.size_bytes(buffer);
        }
        int64_t most_overwritten = 0;
        for (const int32_t buffer : graph_.overwritable(step)) {
            most_overwritten = std::max(most_overwritten, graph_.size_bytes(buffer));
        }
        bound = std::max(bound, bytes - most_overwritten);
    }
    return bound;
}

}  // namespace leat
