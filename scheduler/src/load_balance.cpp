#include "load_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "placement_sequence.h"

namespace leat::scheduler {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Besides the busiest resource of a window the others count a little: less work is better.
constexpr double kOtherLoads = 0.05;

}  // namespace

LoadBalance::LoadBalance(const PlacementModel& model,
                         std::vector<int32_t> window_of_task,
                         int32_t window_count,
                         std::vector<int32_t> domain_of_task)
    : model_(model),
      resources_(model.domains + int32_t(model.links.size())),
      window_of_task_(std::move(window_of_task)),
      domain_of_task_(std::move(domain_of_task)),
      load_per_ns_(size_t(model.domains), 0),
      least_cost_ns_(size_t(model.tasks) * size_t(model.domains), kInfinity),
      reader_count_(size_t(model.values) * size_t(model.domains), 0),
      load_ns_(size_t(window_count) * size_t(resources_), 0),
      window_ns_(size_t(window_count), 0) {
    for (const int32_t domain : model.domain_of_lane) {
        load_per_ns_[size_t(domain)] += 1;
    }
    for (double& lanes : load_per_ns_) {
        lanes = 1 / std::max(lanes, 1.0);
    }
    for (int32_t task = 0; task < model.tasks; ++task) {
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            double& least = least_cost_ns_[size_t(task) * size_t(model.domains) +
                                           size_t(model.domain_of_lane[size_t(lane)])];
            least = std::min(least, model.cost(task, lane));
        }
        const int32_t domain = domain_of_task_[size_t(task)];
        add_load(window_of_task_[size_t(task)], domain,
                 least_cost_ns_[size_t(task) * size_t(model.domains) + size_t(domain)] *
                     load_per_ns_[size_t(domain)]);
    }
    for (int32_t value = 0; value < model.values; ++value) {
        const int32_t from = domain_of_task_[size_t(model.producer[size_t(value)])];
        for (const int32_t reader : model.readers[value]) {
            const int32_t to = domain_of_task_[size_t(reader)];
            if (reader_count_[size_t(value) * size_t(model.domains) + size_t(to)]++ == 0) {
                add_transfer(value, from, to, 1);
            }
        }
    }
    for (int32_t window = 0; window < window_count; ++window) {
        window_ns_[size_t(window)] = window_estimate(window);
    }
}

void LoadBalance::anneal(int64_t trials, double temperature_ns, SplitMix& random) {
    if (model_.domains < 2 || model_.tasks < 1) {
        return;
    }
    const double per_trial = 1 / double(trials);
    for (int64_t trial = 0; trial < trials; ++trial) {
        const int32_t task = random.below(model_.tasks);
        const int32_t from = domain_of_task_[size_t(task)];
        int32_t to = random.below(model_.domains - 1);
        to += to >= from ? 1 : 0;
        if (least_cost_ns_[size_t(task) * size_t(model_.domains) + size_t(to)] == kInfinity) {
            continue;
        }
        touched_.clear();
        changes_.clear();
        load_move(task, to);
        double change = 0;
        for (Touched& touched : touched_) {
            touched.estimate_ns = window_estimate(touched.window);
            change += touched.estimate_ns - window_ns_[size_t(touched.window)];
        }
        const double heat = temperature_ns * (1 - double(trial) * per_trial);
        // Threshold accepting with an exponential threshold is the rule of Metropolis.
        if (change <= 0 || change < -heat * std::log(1 - random.unit())) {
            count_move(task, to);
            for (const Touched& touched : touched_) {
                window_ns_[size_t(touched.window)] = touched.estimate_ns;
            }
        } else {
            for (size_t i = changes_.size(); i-- > 0;) {
                load_ns_[changes_[i].slot] = changes_[i].old_ns;
            }
        }
    }
}

// Changes the loads as if `task` were in `to`.
void LoadBalance::load_move(int32_t task, int32_t to) {
    const int32_t from = domain_of_task_[size_t(task)];
    const auto row = size_t(task) * size_t(model_.domains);
    const int32_t window = window_of_task_[size_t(task)];
    add_load(window, from, -least_cost_ns_[row + size_t(from)] * load_per_ns_[size_t(from)]);
    add_load(window, to, least_cost_ns_[row + size_t(to)] * load_per_ns_[size_t(to)]);
    for (const int32_t value : model_.inputs[task]) {
        const int32_t written = domain_of_task_[size_t(model_.producer[size_t(value)])];
        const int32_t* readers = reader_count_.data() + size_t(value) * size_t(model_.domains);
        if (readers[from] == 1) {
            add_transfer(value, written, from, -1);
        }
        if (readers[to] == 0) {
            add_transfer(value, written, to, 1);
        }
    }
    for (const int32_t value : model_.outputs[task]) {
        const int32_t* readers = reader_count_.data() + size_t(value) * size_t(model_.domains);
        for (int32_t domain = 0; domain < model_.domains; ++domain) {
            if (readers[domain] > 0) {
                add_transfer(value, from, domain, -1);
                add_transfer(value, to, domain, 1);
            }
        }
    }
}

// Puts `task` into `to`, whose loads are changed already.
void LoadBalance::count_move(int32_t task, int32_t to) {
    for (const int32_t value : model_.inputs[task]) {
        int32_t* readers = reader_count_.data() + size_t(value) * size_t(model_.domains);
        --readers[domain_of_task_[size_t(task)]];
        ++readers[to];
    }
    domain_of_task_[size_t(task)] = to;
}

void LoadBalance::add_transfer(int32_t value, int32_t from, int32_t to, double sign) {
    if (!needs_transfer(model_, from, to)) {
        return;
    }
    const int32_t link = model_.link(from, to);
    if (model_.links[size_t(link)].is_exclusive) {
        add_load(window_of_task_[size_t(model_.producer[size_t(value)])], model_.domains + link,
                 sign * model_.transfer(value, from, to));
    }
}

void LoadBalance::add_load(int32_t window, int32_t resource, double ns) {
    const size_t slot = size_t(window) * size_t(resources_) + size_t(resource);
    changes_.push_back({slot, load_ns_[slot]});
    load_ns_[slot] += ns;
    const auto is_same = [&](const Touched& touched) { return touched.window == window; };
    if (std::none_of(touched_.begin(), touched_.end(), is_same)) {
        touched_.push_back({window, 0});
    }
}

double LoadBalance::window_estimate(int32_t window) const {
    const double* load = load_ns_.data() + size_t(window) * size_t(resources_);
    double powers = 0;
    double sum = 0;
    for (int32_t resource = 0; resource < resources_; ++resource) {
        const double square = load[resource] * load[resource];
        powers += square * square * square * square;
        sum += load[resource];
    }
    return std::sqrt(std::sqrt(std::sqrt(powers))) + kOtherLoads * sum;
}

}  // namespace leat::scheduler
