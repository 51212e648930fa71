#include "placement/load_balance.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "placement/infinity.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {
namespace {

// Besides the busiest resource of a window the others count a little: less work is better.
constexpr double kOtherLoads = 0.05;

}  // namespace

LoadBalance::LoadBalance(const PlacementModel& model,
                         std::vector<int32_t> tasks_in_order,
                         int32_t tasks_per_window,
                         std::span<const int32_t> domain_of_task)
    : model_(model),
      domains_(size_t(model.domains)),
      resources_(domains_ + model.links.size() + 1),
      task_of_rank_(std::move(tasks_in_order)) {
    const size_t windows = std::max<size_t>(1, task_of_rank_.size() / size_t(tasks_per_window));
    std::vector<int32_t> rank_of_task(task_of_rank_.size());
    for (size_t rank = 0; rank < task_of_rank_.size(); ++rank) {
        const int32_t task = task_of_rank_[rank];
        rank_of_task[size_t(task)] = int32_t(rank);
        window_of_rank_.push_back(std::min(windows - 1, rank / size_t(tasks_per_window)) *
                                  resources_);
        domain_.push_back(domain_of_task[size_t(task)]);
    }
    number_values(rank_of_task);
    copy_costs();
    load_ns_.assign(windows * resources_, 0);
    window_ns_.assign(load_ns_.size(), 0);
    count_loads();
}

// Values in order of their producers, and the uses of tasks in these numbers.
void LoadBalance::number_values(const std::vector<int32_t>& rank_of_task) {
    std::vector<int32_t> number(size_t(model_.values));
    for (const int32_t task : task_of_rank_) {
        outputs_begin_.push_back(int32_t(producer_.size()));
        for (const int32_t value : model_.outputs[task]) {
            number[size_t(value)] = int32_t(producer_.size());
            producer_.push_back(rank_of_task[size_t(task)]);
        }
    }
    outputs_begin_.push_back(int32_t(producer_.size()));
    size_t most_changes = 0;
    for (const int32_t task : task_of_rank_) {
        inputs_begin_.push_back(int32_t(inputs_.size()));
        for (const int32_t value : model_.inputs[task]) {
            inputs_.push_back(number[size_t(value)]);
        }
        const size_t uses = model_.inputs[task].size() + model_.outputs[task].size() * domains_ + 1;
        most_changes = std::max(most_changes, 2 * uses);
    }
    inputs_begin_.push_back(int32_t(inputs_.size()));
    changes_.resize(most_changes);
    touched_.resize(most_changes);
}

void LoadBalance::copy_costs() {
    std::vector<double> lanes_in(domains_, 0);
    for (const int32_t domain : model_.domain_of_lane) {
        lanes_in[size_t(domain)] += 1;
    }
    load_of_task_.assign(task_of_rank_.size() * domains_, kInfinity);
    transfer_ns_.assign(producer_.size() * domains_ * domains_, 0);
    for (const int32_t link : model_.link_between) {
        const bool is_booked =
            link != PlacementProblem::kNoLink && model_.links[size_t(link)].is_exclusive;
        link_slot_.push_back(is_booked ? domains_ + size_t(link) : resources_ - 1);
    }
    size_t cell = 0;
    for (size_t rank = 0; rank < task_of_rank_.size(); ++rank) {
        const int32_t task = task_of_rank_[rank];
        for (int32_t lane = 0; lane < model_.lanes; ++lane) {
            const auto domain = size_t(model_.domain_of_lane[size_t(lane)]);
            double& least = load_of_task_[rank * domains_ + domain];
            least = std::min(least, model_.cost(task, lane) / lanes_in[domain]);
        }
        for (const int32_t value : model_.outputs[task]) {
            const double* from = &model_.transfer_ns[size_t(value) * domains_ * domains_];
            for (size_t pair = 0; pair < domains_ * domains_; ++pair, ++cell) {
                transfer_ns_[cell] = link_slot_[pair] == resources_ - 1 ? 0 : from[pair];
            }
        }
    }
}

void LoadBalance::count_loads() {
    reader_count_.assign(producer_.size() * domains_, 0);
    for (size_t rank = 0; rank < task_of_rank_.size(); ++rank) {
        const auto domain = size_t(domain_[rank]);
        load_ns_[window_of(rank) + domain] += load_of_task_[rank * domains_ + domain];
        for (int32_t i = inputs_begin_[rank]; i < inputs_begin_[rank + 1]; ++i) {
            ++reader_count_[size_t(inputs_[size_t(i)]) * domains_ + domain];
        }
    }
    for (size_t value = 0; value < producer_.size(); ++value) {
        const auto producer = size_t(producer_[value]);
        const size_t row = size_t(domain_[producer]) * domains_;
        for (size_t to = 0; to < domains_; ++to) {
            if (reader_count_[value * domains_ + to] > 0) {
                load_ns_[window_of(producer) + link_slot_[row + to]] +=
                    transfer_ns_[value * domains_ * domains_ + row + to];
            }
        }
    }
    for (size_t window = 0; window < load_ns_.size(); window += resources_) {
        window_ns_[window] = window_estimate(window);
    }
}

std::vector<int32_t> LoadBalance::domain_of_task() const {
    std::vector<int32_t> domain_of_task(task_of_rank_.size());
    for (size_t rank = 0; rank < task_of_rank_.size(); ++rank) {
        domain_of_task[size_t(task_of_rank_[rank])] = domain_[rank];
    }
    return domain_of_task;
}

void LoadBalance::anneal(int64_t trials,
                         double temperature_ns,
                         const ExponentialQuantiles& quantiles,
                         SplitMix& random) {
    if (domains_ < 2 || task_of_rank_.empty()) {
        return;
    }
    const double cooling = temperature_ns / double(trials);
    size_t rank = 0;
    for (int64_t trial = 0; trial < trials; ++trial) {
        const auto from = size_t(domain_[rank]);
        size_t to = domains_ == 2 ? 0 : size_t(random.below(int32_t(domains_) - 1));
        to += to >= from ? 1 : 0;
        if (load_of_task_[rank * domains_ + to] != kInfinity) {
            const double change = try_move(rank, to);
            const double heat = temperature_ns - cooling * double(trial);
            // Threshold accepting with an exponential threshold is the rule of Metropolis.
            if (change <= 0 || change < heat * quantiles.draw(random)) {
                keep_move(rank, to);
            } else {
                take_back();
            }
        }
        rank = rank + 1 < task_of_rank_.size() ? rank + 1 : 0;
    }
}

// Changes the loads as if the task were in `to`; returns by how much the estimate grows.
double LoadBalance::try_move(size_t rank, size_t to) {
    collect_changes(rank, to);
    for (size_t i = 0; i < change_count_; ++i) {
        double& load = load_ns_[changes_[i].slot];
        changes_[i].ns = std::exchange(load, load + changes_[i].ns);
    }
    double growth = 0;
    for (size_t i = 0; i < touched_count_; ++i) {
        touched_[i].estimate_ns = window_estimate(touched_[i].window);
        growth += touched_[i].estimate_ns - window_ns_[touched_[i].window];
    }
    return growth;
}

void LoadBalance::collect_changes(size_t rank, size_t to) {
    const auto from = size_t(domain_[rank]);
    const size_t window = window_of(rank);
    change_count_ = 0;
    touched_count_ = 0;
    add_change(window, from, -load_of_task_[rank * domains_ + from]);
    add_change(window, to, load_of_task_[rank * domains_ + to]);
    for (int32_t i = inputs_begin_[rank]; i < inputs_begin_[rank + 1]; ++i) {
        const auto value = size_t(inputs_[size_t(i)]);
        const auto producer = size_t(producer_[value]);
        const size_t row = size_t(domain_[producer]) * domains_;
        const double* ns = &transfer_ns_[value * domains_ * domains_ + row];
        const int32_t* readers = &reader_count_[value * domains_];
        const double saved = readers[from] == 1 ? ns[from] : 0;
        const double spent = readers[to] == 0 ? ns[to] : 0;
        if (saved != 0) {
            add_change(window_of(producer), link_slot_[row + from], -saved);
        }
        if (spent != 0) {
            add_change(window_of(producer), link_slot_[row + to], spent);
        }
    }
    for (int32_t i = outputs_begin_[rank]; i < outputs_begin_[rank + 1]; ++i) {
        const auto value = size_t(i);
        const double* ns = &transfer_ns_[value * domains_ * domains_];
        for (size_t domain = 0; domain < domains_; ++domain) {
            if (reader_count_[value * domains_ + domain] == 0) {
                continue;
            }
            if (domain != from) {
                const size_t pair = from * domains_ + domain;
                add_change(window, link_slot_[pair], -ns[pair]);
            }
            if (domain != to) {
                const size_t pair = to * domains_ + domain;
                add_change(window, link_slot_[pair], ns[pair]);
            }
        }
    }
}

void LoadBalance::add_change(size_t window, size_t resource, double ns) {
    changes_[change_count_++] = {window + resource, ns};
    for (size_t i = 0; i < touched_count_; ++i) {
        if (touched_[i].window == window) {
            return;
        }
    }
    touched_[touched_count_++].window = window;
}

void LoadBalance::take_back() {
    while (change_count_ > 0) {
        --change_count_;
        load_ns_[changes_[change_count_].slot] = changes_[change_count_].ns;
    }
}

// Puts the task into `to`, whose loads are changed already.
void LoadBalance::keep_move(size_t rank, size_t to) {
    for (int32_t i = inputs_begin_[rank]; i < inputs_begin_[rank + 1]; ++i) {
        int32_t* readers = &reader_count_[size_t(inputs_[size_t(i)]) * domains_];
        --readers[domain_[rank]];
        ++readers[to];
    }
    domain_[rank] = int32_t(to);
    for (size_t i = 0; i < touched_count_; ++i) {
        window_ns_[touched_[i].window] = touched_[i].estimate_ns;
    }
}

double LoadBalance::window_estimate(size_t window) const {
    const double* load = &load_ns_[window];
    double powers = 0;
    double sum = 0;
    for (size_t resource = 0; resource + 1 < resources_; ++resource) {
        const double square = load[resource] * load[resource];
        const double fourth = square * square;
        powers += fourth * fourth;
        sum += load[resource];
    }
    return std::sqrt(std::sqrt(std::sqrt(powers))) + kOtherLoads * sum;
}

}  // namespace leat::scheduler
