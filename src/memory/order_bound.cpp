#include "memory/order_bound.h"

#include <algorithm>
#include <vector>

namespace leat {
namespace {

class SegmentBound {
  public:
    SegmentBound(const OrderGraph& graph, int32_t begin, int32_t end)
        : graph_(graph),
          begin_(begin),
          count_(size_t(end - begin)),
          words_((count_ + 63) / 64),
          after_(count_ * words_, 0),
          before_(count_ * words_, 0),
          bytes_(count_, 0) {
        add_relation();
        for (int32_t buffer = 0; buffer < graph.buffers(); ++buffer) {
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
        const bool is_read_past =
            graph_.is_kept(buffer) ||
            std::any_of(readers.begin(), readers.end(), [&](int32_t r) { return is_past(r); });
        const bool is_read =
            std::any_of(readers.begin(), readers.end(), [&](int32_t r) { return is_inside(r); });
        if (is_past(writer) || (!is_inside(writer) && !is_read && !is_read_past)) {
            return;
        }
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
                std::none_of(readers.begin(), readers.end(), [&](int32_t reader) {
                    return reader != step && (is_past(reader) || comes_after(reader, step));
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
    const int32_t begin_;
    const size_t count_;
    const size_t words_;
    std::vector<uint64_t> after_;   // [step][words]
    std::vector<uint64_t> before_;  // [step][words]
    std::vector<int64_t> bytes_;    // by step
};

}  // namespace

int64_t peak_bound_bytes(const OrderGraph& graph, int32_t begin, int32_t end) {
    return SegmentBound(graph, begin, end).value();
}

}  // namespace leat
