#include "memory/order_state.h"

#include "base/split_mix.h"

namespace leat {

OrderState::OrderState(const OrderGraph& graph)
    : graph_(graph),
      place_in_ready_(size_t(graph.steps()), 0),
      ready_since_(size_t(graph.steps()), 0),
      missing_(size_t(graph.steps()), 0),
      waiting_(size_t(graph.buffers()), 0),
      waiting_xor_(size_t(graph.buffers()), 0),
      growth_bytes_(size_t(graph.steps()), 0),
      output_bytes_(size_t(graph.steps()), 0) {
    for (int32_t buffer = 0; buffer < graph.buffers(); ++buffer) {
        const auto readers = graph.readers(buffer);
        const int64_t size = graph.size_bytes(buffer);
        waiting_[size_t(buffer)] = int32_t(readers.size());
        for (const int32_t reader : readers) {
            waiting_xor_[size_t(buffer)] ^= reader;
        }
        const auto writer = size_t(graph.writer(buffer));
        output_bytes_[writer] += size;
        if (graph.is_kept(buffer) || !readers.empty()) {
            growth_bytes_[writer] += size;
        }
        if (!graph.is_kept(buffer) && readers.size() == 1) {
            growth_bytes_[size_t(readers[0])] -= size;
        }
    }
    ready_.reserve(size_t(graph.steps()));
    done_.reserve(size_t(graph.steps()));
    places_.reserve(size_t(graph.steps()));
    for (int32_t step = 0; step < graph.steps(); ++step) {
        missing_[size_t(step)] = int32_t(graph.predecessors(step).size());
        if (missing_[size_t(step)] == 0) {
            place_in_ready_[size_t(step)] = int32_t(ready_.size());
            ready_.push_back(step);
        }
    }
}

int64_t OrderState::peak_bytes(int32_t step) const {
    int64_t bytes = alive_bytes_ + output_bytes_[size_t(step)];
    for (const int32_t buffer : graph_.overwritable(step)) {
        if (is_last_reader(step, buffer)) {
            return bytes - graph_.size_bytes(buffer);
        }
    }
    return bytes;
}

void OrderState::toggle(int32_t step) {
    const uint64_t low = mixed(2 * uint64_t(step) + 1);
    key_.low ^= low;
    key_.high ^= mixed(low + 0x9e3779b97f4a7c15);
}

void OrderState::take_from_ready(int32_t step) {
    const int32_t place = place_in_ready_[size_t(step)];
    const int32_t last = ready_.back();
    ready_[size_t(place)] = last;
    place_in_ready_[size_t(last)] = place;
    ready_.pop_back();
    places_.push_back(place);
}

// The opposite of take_from_ready().
void OrderState::put_back_to_ready(int32_t step, int32_t place) {
    ready_.push_back(step);
    if (size_t(place) + 1 < ready_.size()) {
        const int32_t moved = ready_[size_t(place)];
        ready_.back() = moved;
        place_in_ready_[size_t(moved)] = int32_t(ready_.size()) - 1;
        ready_[size_t(place)] = step;
    }
    place_in_ready_[size_t(step)] = place;
}

void OrderState::execute(int32_t ready_step) {
    alive_bytes_ += growth_bytes_[size_t(ready_step)];
    take_from_ready(ready_step);
    done_.push_back(ready_step);
    toggle(ready_step);
    for (const int32_t buffer : graph_.read_by(ready_step)) {
        waiting_xor_[size_t(buffer)] ^= ready_step;
        if (--waiting_[size_t(buffer)] == 1 && !graph_.is_kept(buffer)) {
            growth_bytes_[size_t(waiting_xor_[size_t(buffer)])] -= graph_.size_bytes(buffer);
        }
    }
    for (const int32_t next : graph_.successors(ready_step)) {
        if (--missing_[size_t(next)] == 0) {
            place_in_ready_[size_t(next)] = int32_t(ready_.size());
            ready_since_[size_t(next)] = int32_t(done_.size());
            ready_.push_back(next);
        }
    }
}

void OrderState::undo() {
    const int32_t step = done_.back();
    for (const int32_t next : graph_.successors(step)) {
        if (missing_[size_t(next)]++ == 0) {
            ready_.pop_back();
        }
    }
    for (const int32_t buffer : graph_.read_by(step)) {
        if (waiting_[size_t(buffer)]++ == 1 && !graph_.is_kept(buffer)) {
            growth_bytes_[size_t(waiting_xor_[size_t(buffer)])] += graph_.size_bytes(buffer);
        }
        waiting_xor_[size_t(buffer)] ^= step;
    }
    toggle(step);
    done_.pop_back();
    put_back_to_ready(step, places_.back());
    places_.pop_back();
    alive_bytes_ -= growth_bytes_[size_t(step)];
}

}  // namespace leat
