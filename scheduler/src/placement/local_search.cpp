#include "placement/local_search.h"

#include <algorithm>

#include "placement/infinity.h"

namespace leat::scheduler {
namespace {

// Share of lane changes that come in pairs. 0, 0.1, 0.2 and 0.35 find 94.6, 95.5, 93.9 and 94.5 %
// of the optima of 1,800 graphs of 12 tasks.
constexpr double kPairShare = 0.1;

}  // namespace

SequenceSearch::SequenceSearch(const PlacementModel& model, uint64_t seed)
    : model_(model),
      random_(seed),
      times_(model),
      best_ns_(kInfinity),
      position_(size_t(model.tasks) + size_t(model.values) * size_t(model.domains), kAbsent),
      needed_(position_.size(), 0) {}

void SequenceSearch::start_from(const Sequence& sequence) {
    std::fill(position_.begin(), position_.end(), kAbsent);
    candidate_ = sequence;
    ops_ = sequence.ops;
    current_ns_ = times_.evaluate(candidate_);
    load_ns_ = times_.loads(candidate_);
    index_positions(0);
    collect_critical_path();
    if (current_ns_ < best_ns_) {
        best_ns_ = current_ns_;
        best_ = candidate_;
    }
}

void SequenceSearch::step(double margin) {
    old_lanes_.clear();
    old_loads_.clear();
    if (!propose()) {
        return take_back();
    }
    const double limit_ns = current_ns_ * (1 + margin * quantiles_.draw(random_));
    const double ns = times_.try_change(candidate_, first_, load_ns_, limit_ns);
    if (ns == kInfinity) {
        return take_back();
    }
    times_.keep(candidate_);
    take_operations();
    current_ns_ = ns;
    collect_critical_path();
    if (ns < best_ns_) {
        best_ns_ = ns;
        best_.lane_of_task = lane_of_task();
        best_.ops = ops_;
    }
}

void SequenceSearch::take_back() {
    for (; !old_lanes_.empty(); old_lanes_.pop_back()) {
        candidate_.lane_of_task[size_t(old_lanes_.back().task)] = old_lanes_.back().lane;
    }
    for (; !old_loads_.empty(); old_loads_.pop_back()) {
        load_ns_[old_loads_.back().group] = old_loads_.back().ns;
    }
}

void SequenceSearch::index_positions(size_t first) {
    for (size_t i = first; i < ops_.size(); ++i) {
        position_[size_t(ops_[i])] = int32_t(i);
    }
}

// Operations of the candidate become those of the current sequence.
void SequenceSearch::take_operations() {
    for (const int32_t removed : removed_) {
        position_[size_t(ops_[size_t(removed)])] = kAbsent;
    }
    ops_.resize(candidate_.ops.size());
    std::copy(candidate_.ops.begin() + int64_t(first_), candidate_.ops.end(),
              ops_.begin() + int64_t(first_));
    index_positions(first_);
}

// Right after ops_ became the sequence of times_.
void SequenceSearch::collect_critical_path() {
    critical_.clear();
    blocked_.clear();
    blocker_.clear();
    int32_t position = times_.last_task();
    while (position != SequenceTimes::kNone) {
        const int32_t op = ops_[size_t(position)];
        critical_.push_back(op);
        const int32_t parent = critical_parent(position);
        if (parent != SequenceTimes::kNone && parent == times_.at(position).before) {
            blocked_.push_back(op);
            blocker_.push_back(ops_[size_t(parent)]);
        }
        position = parent;
    }
}

// Position of an operation that ends when this one starts and has to be finished by then; kNone if
// it starts at 0. Prefers the resource to the inputs.
int32_t SequenceSearch::critical_parent(int32_t position) const {
    const SequenceTimes::OpTimes& times = times_.at(position);
    if (times.start_ns <= 0) {
        return SequenceTimes::kNone;
    }
    if (times.before != SequenceTimes::kNone &&
        times_.at(times.before).finish_ns >= times.start_ns) {
        return times.before;
    }
    const int32_t op = ops_[size_t(position)];
    if (!is_task(model_, op)) {
        return position_[size_t(model_.producer[size_t(value_of(model_, op))])];
    }
    const int32_t domain = domain_of(op);
    for (const int32_t value : model_.inputs[op]) {
        if (times_.arrival(value, domain) >= times.start_ns) {
            const int32_t producer = model_.producer[size_t(value)];
            return position_[size_t(needs_transfer(model_, domain_of(producer), domain)
                                        ? transfer_op(model_, value, domain)
                                        : producer)];
        }
    }
    return SequenceTimes::kNone;
}

// Fills candidate_ from first_ on; false if the change drawn changes nothing or cannot be made.
bool SequenceSearch::propose() {
    if (critical_.empty()) {
        return false;
    }
    const int32_t kind = random_.below(model_.pools > 1 ? 8 : 4);
    removed_.clear();
    if (kind < 3 && !blocked_.empty()) {
        const auto i = size_t(random_.below(int32_t(blocked_.size())));
        return propose_earlier(blocked_[i], blocker_[i]);
    }
    if (kind == 3) {
        return propose_shift();
    }
    int32_t task = 0;
    if (kind == 7) {
        task = random_.below(model_.tasks);
    } else {
        task = critical_[size_t(random_.below(int32_t(critical_.size())))];
        if (!is_task(model_, task)) {
            task = model_.producer[size_t(value_of(model_, task))];
        }
    }
    if (!propose_lane(task)) {
        return false;
    }
    if (random_.unit() < kPairShare) {
        propose_second(task);
    }
    return true;
}

// A change on top of the proposed one: the lane of another task, of a neighbour half the time.
void SequenceSearch::propose_second(int32_t task) {
    int32_t other = random_.below(model_.tasks);
    const auto inputs = model_.inputs[task];
    const auto outputs = model_.outputs[task];
    const int32_t kind = random_.below(4);
    if (kind == 0 && !inputs.empty()) {
        other = model_.producer[size_t(inputs[size_t(random_.below(int32_t(inputs.size())))])];
    } else if (kind == 1 && !outputs.empty()) {
        const auto readers =
            model_.readers[outputs[size_t(random_.below(int32_t(outputs.size())))]];
        if (!readers.empty()) {
            other = readers[size_t(random_.below(int32_t(readers.size())))];
        }
    }
    // The second change is drawn as if the first were made.
    saved_ = ops_;
    const size_t first = first_;
    take_operations();
    removed_.clear();
    const bool is_changed = random_.below(4) == 0 ? propose_shift() : propose_lane(other);
    if (!is_changed || first < first_) {
        copy_current(first, is_changed ? first_ : ops_.size());
        candidate_.ops.resize(is_changed ? candidate_.ops.size() : ops_.size());
        first_ = first;
    }
    for (size_t i = first_; i < ops_.size(); ++i) {
        position_[size_t(ops_[i])] = kAbsent;
    }
    ops_ = saved_;
    index_positions(first_);
    removed_.clear();
    for (size_t i = first_; i < ops_.size(); ++i) {
        removed_.push_back(int32_t(i));
    }
}

// Fills candidate_ with the current operations [begin, end).
void SequenceSearch::copy_current(size_t begin, size_t end) {
    candidate_.ops.resize(std::max(candidate_.ops.size(), end));
    std::copy(ops_.begin() + int64_t(begin), ops_.begin() + int64_t(end),
              candidate_.ops.begin() + int64_t(begin));
}

// Another place for an operation among those that neither bring its inputs nor need it.
bool SequenceSearch::propose_shift() {
    const auto from = random_.below(int32_t(ops_.size()));
    const int32_t op = ops_[size_t(from)];
    ++mark_;
    need_inputs(op);
    int32_t first = from;
    while (first > 0 && needed_[size_t(ops_[size_t(first) - 1])] != mark_) {
        --first;
    }
    int32_t last = from;
    const auto count = int32_t(ops_.size());
    while (last + 1 < count && !reads(ops_[size_t(last) + 1], op)) {
        ++last;
    }
    if (first == last) {
        return false;
    }
    int32_t to = first + random_.below(last - first);
    to += to >= from ? 1 : 0;
    first_ = size_t(std::min(from, to));
    candidate_.ops.resize(ops_.size());
    copy_current(first_, ops_.size());
    auto& ops = candidate_.ops;
    if (to < from) {
        std::rotate(ops.begin() + to, ops.begin() + from, ops.begin() + from + 1);
    } else {
        std::rotate(ops.begin() + from, ops.begin() + from + 1, ops.begin() + to + 1);
    }
    return true;
}

// Whether operation `reader` has to come after `op`.
bool SequenceSearch::reads(int32_t reader, int32_t op) const {
    if (!is_task(model_, reader)) {
        return model_.producer[size_t(value_of(model_, reader))] == op;
    }
    const auto inputs = model_.inputs[reader];
    if (!is_task(model_, op)) {
        return to_domain_of(model_, op) == domain_of(reader) &&
               std::binary_search(inputs.begin(), inputs.end(), value_of(model_, op));
    }
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](int32_t value) { return model_.producer[size_t(value)] == op; });
}

// Puts `op`, and what it needs of the operations in between, in front of `before`.
bool SequenceSearch::propose_earlier(int32_t op, int32_t before) {
    ++mark_;
    const int32_t begin = position(before);
    const int32_t end = position(op);
    needed_[size_t(op)] = mark_;
    for (int32_t i = end; i > begin; --i) {
        const int32_t other = ops_[size_t(i)];
        if (needed_[size_t(other)] == mark_) {
            need_inputs(other);
        }
    }
    if (needed_[size_t(before)] == mark_) {
        return false;
    }
    first_ = size_t(begin);
    candidate_.ops.resize(ops_.size());
    copy_current(size_t(end), ops_.size());
    int32_t next = begin;
    for (const bool is_needed : {true, false}) {
        for (int32_t i = begin; i <= end; ++i) {
            const int32_t other = ops_[size_t(i)];
            if ((needed_[size_t(other)] == mark_) == is_needed) {
                candidate_.ops[size_t(next++)] = other;
            }
        }
    }
    return true;
}

void SequenceSearch::need_inputs(int32_t op) {
    if (!is_task(model_, op)) {
        needed_[size_t(model_.producer[size_t(value_of(model_, op))])] = mark_;
        return;
    }
    for (const int32_t value : model_.inputs[op]) {
        const int32_t producer = model_.producer[size_t(value)];
        needed_[size_t(needs_transfer(model_, domain_of(producer), domain_of(op))
                           ? transfer_op(model_, value, domain_of(op))
                           : producer)] = mark_;
    }
}

}  // namespace leat::scheduler
