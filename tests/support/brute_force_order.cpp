#include "brute_force_order.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace leat {
namespace {

class Lifetimes {
  public:
    Lifetimes(const OrderProblem& problem, const std::vector<int32_t>& order)
        : problem_(problem),
          place_(order.size()),
          first_(problem.buffers.size()),
          last_(problem.buffers.size()),
          storage_(problem.buffers.size()) {
        for (size_t i = 0; i < order.size(); ++i) {
            place_[size_t(order[i])] = int32_t(i);
        }
        for (size_t b = 0; b < storage_.size(); ++b) {
            const OrderedBuffer& buffer = problem.buffers[b];
            first_[b] = last_[b] = place_[size_t(buffer.writer)];
            for (const int32_t reader : buffer.readers) {
                last_[b] = std::max(last_[b], place_[size_t(reader)]);
            }
        }
        std::iota(storage_.begin(), storage_.end(), size_t{0});
        for (const int32_t step : order) {
            join_in_place(step);
        }
    }

    int64_t peak() const {
        int64_t peak = 0;
        for (int32_t place = 0; place < int32_t(place_.size()); ++place) {
            std::vector<uint8_t> is_alive(storage_.size(), 0);
            for (size_t b = 0; b < storage_.size(); ++b) {
                if (first_[b] <= place && (place <= last_[b] || problem_.buffers[b].is_kept)) {
                    is_alive[storage_[b]] = 1;
                }
            }
            int64_t bytes = 0;
            for (size_t b = 0; b < storage_.size(); ++b) {
                bytes += is_alive[b] != 0 ? problem_.buffers[b].size_bytes : 0;
            }
            peak = std::max(peak, bytes);
        }
        return peak;
    }

  private:
    void join_in_place(int32_t step) {
        for (const InPlaceChoice& choice : problem_.in_place) {
            const auto input = size_t(choice.input_buffer);
            if (choice.step == step && !problem_.buffers[input].is_kept &&
                last_[input] == place_[size_t(step)]) {
                storage_[size_t(choice.output_buffer)] = storage_[input];
                return;
            }
        }
    }

    const OrderProblem& problem_;
    std::vector<int32_t> place_;  // by step
    std::vector<int32_t> first_;  // by buffer
    std::vector<int32_t> last_;
    std::vector<size_t> storage_;  // by buffer: the one whose bytes it has
};

class EveryOrder {
  public:
    explicit EveryOrder(const OrderProblem& problem) : problem_(problem) {
        for (const OrderedBuffer& buffer : problem.buffers) {
            for (const int32_t reader : buffer.readers) {
                if (reader != buffer.writer) {
                    edges_.emplace_back(buffer.writer, reader);
                }
            }
        }
        edges_.insert(edges_.end(), problem.extra_edges.begin(), problem.extra_edges.end());
    }

    int64_t smallest() {
        extend();
        return smallest_;
    }

  private:
    bool is_done(int32_t step) const {
        return std::find(order_.begin(), order_.end(), step) != order_.end();
    }
    bool is_ready(int32_t step) const {
        return !is_done(step) && std::all_of(edges_.begin(), edges_.end(), [&](const auto& edge) {
            return edge.second != step || is_done(edge.first);
        });
    }
    void extend() {
        if (int32_t(order_.size()) == problem_.step_count) {
            smallest_ = std::min(smallest_, peak_by_lifetimes(problem_, order_));
            return;
        }
        for (int32_t step = 0; step < problem_.step_count; ++step) {
            if (is_ready(step)) {
                order_.push_back(step);
                extend();
                order_.pop_back();
            }
        }
    }

    const OrderProblem& problem_;
    std::vector<std::pair<int32_t, int32_t>> edges_;
    std::vector<int32_t> order_;
    int64_t smallest_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

int64_t peak_by_lifetimes(const OrderProblem& problem, const std::vector<int32_t>& order) {
    return Lifetimes(problem, order).peak();
}

int64_t smallest_peak_by_trying(const OrderProblem& problem) {
    return EveryOrder(problem).smallest();
}

}  // namespace leat
