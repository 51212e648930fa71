#include "memory/order/order_state.h"

#include "base/split_mix.h"

namespace leat {

OrderState::OrderState(const OrderGraph& graph, OrderDirection direction)
    : graph_(graph),
      direction_(direction),
      place_in_ready_(size_t(graph.steps()), 0),
      ready_since_(size_t(graph.steps()), 0),
      missing_(size_t(graph.steps()), 0),
      waiting_(size_t(graph.buffers()), 0),
      waiting_xor_(size_t(graph.buffers()), 0),
      growth_bytes_(size_t(graph.steps()), 0),
      output_bytes_(size_t(graph.steps()), 0) {
    for (int32_t buffer = 0; buffer < graph.buffers(); ++buffer) {
        output_bytes_[size_t(graph.writer(buffer))] += graph.size_bytes(buffer);
        waiting_[size_t(buffer)] = int32_t(graph.readers(buffer).size());
        for (const int32_t reader : graph.readers(buffer)) {
            waiting_xor_[size_t(buffer)] ^= reader;
        }
        if (is_backward()) {
            init_backward(buffer);
        } else {
            init_forward(buffer);
        }
    }
    init_ready();
}

void OrderState::init_forward(int32_t buffer) {
    const auto readers = graph_.readers(buffer);
    const int64_t size = graph_.size_bytes(buffer);
    if (graph_.is_kept(buffer) || !readers.empty()) {
        growth_bytes_[size_t(graph_.writer(buffer))] += size;
    }
    if (!graph_.is_kept(buffer) && readers.size() == 1) {
        growth_bytes_[size_t(readers[0])] -= size;
    }
}

void OrderState::init_backward(int32_t buffer) {
    const auto readers = graph_.readers(buffer);
    const int64_t size = graph_.size_bytes(buffer);
    if (graph_.is_kept(buffer) || !readers.empty()) {
        growth_bytes_[size_t(graph_.writer(buffer))] -= size;
    }
    if (graph_.is_kept(buffer)) {
        alive_bytes_ += size;
    } else {
        add_growth_of_others(-1, buffer, size);
    }
}

void OrderState::init_ready() {
    const auto steps = size_t(graph_.steps());
    ready_.reserve(steps);
    done_.reserve(steps);
    places_.reserve(steps);
    for (int32_t step = 0; step < graph_.steps(); ++step) {
        const auto before = is_backward() ? graph_.successors(step) : graph_.predecessors(step);
        missing_[size_t(step)] = int32_t(before.size());
        if (before.empty()) {
            place_in_ready_[size_t(step)] = int32_t(ready_.size());
            ready_.push_back(step);
        }
    }
}

int64_t OrderState::peak_bytes(int32_t step) const {
    int64_t bytes = alive_bytes_ + output_bytes_[size_t(step)];
    bytes += is_backward() ? growth_bytes_[size_t(step)] : 0;
    for (const int32_t buffer : graph_.overwritable(step)) {
        if (is_last_reader(step, buffer)) {
            return bytes - graph_.size_bytes(buffer);
        }
    }
    return bytes;
}

bool OrderState::is_last_reader(int32_t step, int32_t buffer) const {
    const int32_t waiting = waiting_[size_t(buffer)];
    return is_backward() ? waiting == int32_t(graph_.readers(buffer).size())
                         : waiting == 1 && waiting_xor_[size_t(buffer)] == step;
}

void OrderState::add_growth_of_others(int32_t step, int32_t buffer, int64_t bytes) {
    for (const int32_t reader : graph_.readers(buffer)) {
        growth_bytes_[size_t(reader)] += reader == step ? 0 : bytes;
    }
}

// A buffer dies with its last reader; backward, it comes to life with the first that is done.
void OrderState::count_reader(int32_t step, int32_t buffer) {
    int32_t& waiting = waiting_[size_t(buffer)];
    waiting_xor_[size_t(buffer)] ^= step;
    --waiting;
    if (graph_.is_kept(buffer)) {
        return;
    }
    const int64_t size = graph_.size_bytes(buffer);
    if (!is_backward() && waiting == 1) {
        growth_bytes_[size_t(waiting_xor_[size_t(buffer)])] -= size;
    } else if (is_backward() && waiting + 1 == int32_t(graph_.readers(buffer).size())) {
        add_growth_of_others(step, buffer, -size);
    }
}

// The opposite.
void OrderState::count_reader_again(int32_t step, int32_t buffer) {
    int32_t& waiting = waiting_[size_t(buffer)];
    const int64_t size = graph_.is_kept(buffer) ? 0 : graph_.size_bytes(buffer);
    if (!is_backward() && waiting == 1) {
        growth_bytes_[size_t(waiting_xor_[size_t(buffer)])] += size;
    } else if (is_backward() && waiting + 1 == int32_t(graph_.readers(buffer).size())) {
        add_growth_of_others(step, buffer, size);
    }
    ++waiting;
    waiting_xor_[size_t(buffer)] ^= step;
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
        count_reader(ready_step, buffer);
    }
    for (const int32_t next : next_of(ready_step)) {
        if (--missing_[size_t(next)] == 0) {
            place_in_ready_[size_t(next)] = int32_t(ready_.size());
            ready_since_[size_t(next)] = int32_t(done_.size());
            ready_.push_back(next);
        }
    }
}

void OrderState::undo() {
    const int32_t step = done_.back();
    for (const int32_t next : next_of(step)) {
        if (missing_[size_t(next)]++ == 0) {
            ready_.pop_back();
        }
    }
    for (const int32_t buffer : graph_.read_by(step)) {
        count_reader_again(step, buffer);
    }
    toggle(step);
    done_.pop_back();
    put_back_to_ready(step, places_.back());
    places_.pop_back();
    alive_bytes_ -= growth_bytes_[size_t(step)];
}

}  // namespace leat
