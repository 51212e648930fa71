// SequenceSearch: a task changes its pool of lanes. Its inputs and outputs travel another way then:
// transfers leave the sequence and others enter it.
#include <algorithm>

#include "placement/local_search.h"

namespace leat::scheduler {

bool SequenceSearch::propose_lane(int32_t task) {
    const int32_t old_lane = lane_of_task()[size_t(task)];
    const int32_t old_pool = model_.pool_of_lane[size_t(old_lane)];
    int32_t pool = random_.below(std::max(model_.pools - 1, 1));
    pool += pool >= old_pool ? 1 : 0;
    if (pool >= model_.pools) {
        return false;
    }
    const int32_t lane = model_.lanes_of_pool[pool].front();
    if (model_.cost(task, lane) == PlacementProblem::kCannotRun) {
        return false;
    }
    const int32_t from = model_.domain_of_lane[size_t(old_lane)];
    const int32_t to = model_.domain_of_lane[size_t(lane)];
    insertions_.clear();
    if (from != to) {
        move_inputs(task, from, to);
        move_outputs(task, from, to);
    }
    add_load(old_pool, -model_.cost(task, old_lane));
    add_load(pool, model_.cost(task, lane));
    old_lanes_.push_back({task, old_lane});
    candidate_.lane_of_task[size_t(task)] = lane;
    first_ = size_t(position(task));
    build_candidate();
    return true;
}

void SequenceSearch::add_load(int32_t group, double ns) {
    old_loads_.push_back({size_t(group), load_ns_[size_t(group)]});
    load_ns_[size_t(group)] += ns;
}

void SequenceSearch::count_transfer(int32_t value, int32_t from, int32_t to, double sign) {
    const int32_t link = model_.link(from, to);
    if (model_.links[size_t(link)].is_exclusive) {
        add_load(model_.pools + link, sign * model_.transfer(value, from, to));
    }
}

void SequenceSearch::move_inputs(int32_t task, int32_t from, int32_t to) {
    for (const int32_t value : model_.inputs[task]) {
        const int32_t producer = model_.producer[size_t(value)];
        const int32_t written = domain_of(producer);
        if (needs_transfer(model_, written, from) && !is_read_elsewhere(value, from, task)) {
            remove(transfer_op(model_, value, from));
            count_transfer(value, written, from, -1);
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
        } else {
            count_transfer(value, written, to, 1);
        }
        const bool is_eager = random_.below(2) == 0;
        insert(is_eager ? position(producer) + 1 : position(task), transfer);
    }
}

void SequenceSearch::move_outputs(int32_t task, int32_t from, int32_t to) {
    for (const int32_t value : model_.outputs[task]) {
        for (int32_t domain = 0; domain < model_.domains; ++domain) {
            const bool had = needs_transfer(model_, from, domain);
            const bool needs = needs_transfer(model_, to, domain);
            const int32_t reader = had || needs ? first_reader(value, domain) : kAbsent;
            if (reader == kAbsent) {
                continue;
            }
            const int32_t transfer = transfer_op(model_, value, domain);
            if (had) {
                count_transfer(value, from, domain, -1);
            }
            if (needs) {
                count_transfer(value, to, domain, 1);
            }
            if (had && !needs) {
                remove(transfer);
            }
            if (had) {
                continue;
            }
            const bool is_eager = random_.below(2) == 0;
            insert(is_eager ? position(task) + 1 : position(reader), transfer);
        }
    }
}

bool SequenceSearch::is_read_elsewhere(int32_t value, int32_t domain, int32_t except) const {
    const auto readers = model_.readers[value];
    return std::any_of(readers.begin(), readers.end(), [&](int32_t reader) {
        return reader != except && domain_of(reader) == domain;
    });
}

// The reader in `domain` that stands first in the sequence.
int32_t SequenceSearch::first_reader(int32_t value, int32_t domain) const {
    int32_t first = kAbsent;
    for (const int32_t reader : model_.readers[value]) {
        if (domain_of(reader) == domain &&
            (first == kAbsent || position(reader) < position(first))) {
            first = reader;
        }
    }
    return first;
}

void SequenceSearch::remove(int32_t op) {
    removed_.push_back(position(op));
}

// Keeps insertions_ in order of position, equal ones in order of arrival.
void SequenceSearch::insert(int32_t before, int32_t op) {
    auto place = insertions_.end();
    while (place != insertions_.begin() && (place - 1)->before > before) {
        --place;
    }
    insertions_.insert(place, {before, op});
}

// first_ is the place of the task that moves; insertions and removals may lie before it.
void SequenceSearch::build_candidate() {
    std::sort(removed_.begin(), removed_.end());
    if (!removed_.empty()) {
        first_ = std::min(first_, size_t(removed_.front()));
    }
    if (!insertions_.empty()) {
        first_ = std::min(first_, size_t(insertions_.front().before));
    }
    candidate_.ops.resize(ops_.size() + insertions_.size() - removed_.size());
    size_t copied = first_;
    auto out = candidate_.ops.begin() + int64_t(first_);
    const auto copy_to = [&](int32_t end) {
        out = std::copy(ops_.begin() + int64_t(copied), ops_.begin() + end, out);
        copied = size_t(end);
    };
    size_t next = 0;
    for (const int32_t position : removed_) {
        for (; next < insertions_.size() && insertions_[next].before <= position; ++next) {
            copy_to(insertions_[next].before);
            *out++ = insertions_[next].op;
        }
        copy_to(position);
        copied = size_t(position) + 1;
    }
    for (; next < insertions_.size(); ++next) {
        copy_to(insertions_[next].before);
        *out++ = insertions_[next].op;
    }
    copy_to(int32_t(ops_.size()));
}

}  // namespace leat::scheduler
