#include "local_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leat::scheduler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int32_t kAbsent = -1;
// Share of lane changes that come in pairs. 12 tasks: 0, 0.2 and 0.5 find 90, 95 and 90 % optima.
constexpr double kPairShare = 0.2;

}  // namespace

LocalSearch::LocalSearch(const PlacementModel& model, uint64_t seed)
    : model_(model),
      random_(seed),
      times_(model),
      best_ns_(kInfinity),
      position_(size_t(model.tasks) + size_t(model.values) * size_t(model.domains), kAbsent),
      needed_(position_.size(), 0) {}

void LocalSearch::start_from(const Sequence& sequence) {
    current_ = sequence;
    current_ns_ = times_.evaluate(current_, kInfinity);
    std::fill(position_.begin(), position_.end(), kAbsent);
    index_positions();
    collect_critical_path();
    if (current_ns_ < best_ns_) {
        best_ns_ = current_ns_;
        best_ = current_;
    }
}

void LocalSearch::step(double margin) {
    if (!propose()) {
        return;
    }
    const double ns =
        times_.evaluate(candidate_, current_ns_ * (1 - margin * std::log(1 - random_.unit())));
    if (ns == kInfinity) {
        return;
    }
    take_candidate();
    current_ns_ = ns;
    collect_critical_path();
    if (ns < best_ns_) {
        best_ns_ = ns;
        best_ = current_;
    }
}

void LocalSearch::index_positions() {
    for (size_t i = 0; i < current_.ops.size(); ++i) {
        position_[size_t(current_.ops[i])] = int32_t(i);
    }
}

// Right after evaluate(current_): later proposals overwrite the times.
void LocalSearch::collect_critical_path() {
    critical_.clear();
    blocked_.clear();
    blocker_.clear();
    int32_t op = times_.last_task();
    while (op != SequenceTimes::kNone) {
        critical_.push_back(op);
        const int32_t parent = times_.critical_parent(current_, op);
        if (parent != SequenceTimes::kNone && parent == times_.before_on_resource(op)) {
            blocked_.push_back(op);
            blocker_.push_back(parent);
        }
        op = parent;
    }
}

// Fills candidate_; false if the change drawn changes nothing or cannot be made.
bool LocalSearch::propose() {
    if (critical_.empty()) {
        return false;
    }
    const int32_t kind = random_.below(8);
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
void LocalSearch::propose_second(int32_t task) {
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
    saved_ = current_;
    take_candidate();
    const bool is_changed = random_.below(4) == 0 ? propose_shift() : propose_lane(other);
    if (!is_changed) {
        candidate_ = current_;
    }
    std::swap(current_, saved_);
    for (const int32_t op : saved_.ops) {
        position_[size_t(op)] = kAbsent;
    }
    index_positions();
}

void LocalSearch::take_candidate() {
    for (const int32_t op : current_.ops) {
        position_[size_t(op)] = kAbsent;
    }
    std::swap(current_, candidate_);
    index_positions();
}

// Another place for an operation among those that neither bring its inputs nor need it.
bool LocalSearch::propose_shift() {
    const auto from = random_.below(int32_t(current_.ops.size()));
    const int32_t op = current_.ops[size_t(from)];
    ++mark_;
    need_inputs(op);
    int32_t first = from;
    while (first > 0 && needed_[size_t(current_.ops[size_t(first) - 1])] != mark_) {
        --first;
    }
    int32_t last = from;
    const auto count = int32_t(current_.ops.size());
    while (last + 1 < count && !reads(current_.ops[size_t(last) + 1], op)) {
        ++last;
    }
    if (first == last) {
        return false;
    }
    int32_t to = first + random_.below(last - first);
    to += to >= from ? 1 : 0;
    candidate_ = current_;
    auto& ops = candidate_.ops;
    if (to < from) {
        std::rotate(ops.begin() + to, ops.begin() + from, ops.begin() + from + 1);
    } else {
        std::rotate(ops.begin() + from, ops.begin() + from + 1, ops.begin() + to + 1);
    }
    return true;
}

// Whether operation `reader` has to come after `op`.
bool LocalSearch::reads(int32_t reader, int32_t op) const {
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

bool LocalSearch::propose_lane(int32_t task) {
    const int32_t old_lane = current_.lane_of_task[size_t(task)];
    int32_t lane = random_.below(std::max(model_.lanes - 1, 1));
    lane += lane >= old_lane ? 1 : 0;
    if (lane >= model_.lanes || model_.cost(task, lane) == PlacementProblem::kCannotRun) {
        return false;
    }
    const int32_t from = model_.domain_of_lane[size_t(old_lane)];
    const int32_t to = model_.domain_of_lane[size_t(lane)];
    insertions_.clear();
    removed_.clear();
    if (from != to) {
        move_inputs(task, from, to);
        move_outputs(task, from, to);
    }
    candidate_.lane_of_task = current_.lane_of_task;
    candidate_.lane_of_task[size_t(task)] = lane;
    build_candidate();
    return true;
}

void LocalSearch::move_inputs(int32_t task, int32_t from, int32_t to) {
    for (const int32_t value : model_.inputs[task]) {
        const int32_t producer = model_.producer[size_t(value)];
        const int32_t written = domain_of(producer);
        if (needs_transfer(model_, written, from) && !is_read_elsewhere(value, from, task)) {
            remove(transfer_op(model_, value, from));
        }
        if (!needs_transfer(model_, written, to)) {
            continue;
        }
        const int32_t transfer = transfer_op(model_, value, to);
        if (position(transfer) != kAbsent && position(transfer) < position(task)) {
            continue;
        }
        if (position(transfer) != kAbsent) {
            remove(transfer);
        }
        const bool is_eager = random_.below(2) == 0;
        insert(is_eager ? position(producer) + 1 : position(task), transfer);
    }
}

void LocalSearch::move_outputs(int32_t task, int32_t from, int32_t to) {
    for (const int32_t value : model_.outputs[task]) {
        for (int32_t domain = 0; domain < model_.domains; ++domain) {
            const bool had = needs_transfer(model_, from, domain);
            const bool needs = needs_transfer(model_, to, domain);
            if (had == needs) {
                continue;
            }
            const int32_t reader = first_reader(value, domain);
            if (reader == kAbsent) {
                continue;
            }
            const int32_t transfer = transfer_op(model_, value, domain);
            if (had) {
                remove(transfer);
                continue;
            }
            const bool is_eager = random_.below(2) == 0;
            insert(is_eager ? position(task) + 1 : position(reader), transfer);
        }
    }
}

bool LocalSearch::is_read_elsewhere(int32_t value, int32_t domain, int32_t except) const {
    const auto readers = model_.readers[value];
    return std::any_of(readers.begin(), readers.end(), [&](int32_t reader) {
        return reader != except && domain_of(reader) == domain;
    });
}

// The reader in `domain` that stands first in the sequence.
int32_t LocalSearch::first_reader(int32_t value, int32_t domain) const {
    int32_t first = kAbsent;
    for (const int32_t reader : model_.readers[value]) {
        if (domain_of(reader) == domain &&
            (first == kAbsent || position(reader) < position(first))) {
            first = reader;
        }
    }
    return first;
}

void LocalSearch::remove(int32_t op) {
    removed_.push_back(position(op));
}

// Keeps insertions_ in order of position, equal ones in order of arrival.
void LocalSearch::insert(int32_t before, int32_t op) {
    auto place = insertions_.end();
    while (place != insertions_.begin() && (place - 1)->before > before) {
        --place;
    }
    insertions_.insert(place, {before, op});
}

void LocalSearch::build_candidate() {
    std::sort(removed_.begin(), removed_.end());
    candidate_.ops.clear();
    const auto& ops = current_.ops;
    size_t copied = 0;
    const auto copy_to = [&](int32_t end) {
        candidate_.ops.insert(candidate_.ops.end(), ops.begin() + int64_t(copied),
                              ops.begin() + end);
        copied = size_t(end);
    };
    size_t next = 0;
    for (const int32_t position : removed_) {
        for (; next < insertions_.size() && insertions_[next].before <= position; ++next) {
            copy_to(insertions_[next].before);
            candidate_.ops.push_back(insertions_[next].op);
        }
        copy_to(position);
        copied = size_t(position) + 1;
    }
    for (; next < insertions_.size(); ++next) {
        copy_to(insertions_[next].before);
        candidate_.ops.push_back(insertions_[next].op);
    }
    copy_to(int32_t(ops.size()));
}

// Puts `op`, and what it needs of the operations in between, in front of `before`.
bool LocalSearch::propose_earlier(int32_t op, int32_t before) {
    ++mark_;
    const int32_t begin = position(before);
    const int32_t end = position(op);
    needed_[size_t(op)] = mark_;
    for (int32_t i = end; i > begin; --i) {
        const int32_t other = current_.ops[size_t(i)];
        if (needed_[size_t(other)] == mark_) {
            need_inputs(other);
        }
    }
    if (needed_[size_t(before)] == mark_) {
        return false;
    }
    candidate_.lane_of_task = current_.lane_of_task;
    candidate_.ops = current_.ops;
    int32_t next = begin;
    for (const bool is_needed : {true, false}) {
        for (int32_t i = begin; i <= end; ++i) {
            const int32_t other = current_.ops[size_t(i)];
            if ((needed_[size_t(other)] == mark_) == is_needed) {
                candidate_.ops[size_t(next++)] = other;
            }
        }
    }
    return true;
}

void LocalSearch::need_inputs(int32_t op) {
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
