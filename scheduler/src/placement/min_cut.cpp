#include "placement/min_cut.h"

#include <algorithm>
#include <cmath>

#include "base/max_flow.h"
#include "placement/infinity.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {
namespace {

// Flow is counted in whole units, so that it ends: this many for the sum of all finite times.
constexpr double kFlowUnits = double(int64_t{1} << 50);

// Tasks of `kept` (source side) and `taken` (sink side) choose between the two; the others stay.
class PairCut {
  public:
    PairCut(const PlacementModel& model, double units_per_ns)
        : model_(model), units_per_ns_(units_per_ns) {}

    void improve(std::vector<int32_t>& domain_of_task, int32_t kept, int32_t taken) {
        kept_ = kept;
        taken_ = taken;
        node_of_task_.assign(size_t(model_.tasks), kFixed);
        MaxFlow flow(2);
        for (int32_t task = 0; task < model_.tasks; ++task) {
            const int32_t domain = domain_of_task[size_t(task)];
            if (domain == kept || domain == taken) {
                node_of_task_[size_t(task)] = flow.add_node();
                // Cut away from the source, the task runs in `taken`.
                flow.add_arc(kSource, node_of_task_[size_t(task)], task_units(task, taken));
                flow.add_arc(node_of_task_[size_t(task)], kSink, task_units(task, kept));
            }
        }
        for (int32_t value = 0; value < model_.values; ++value) {
            add_value(flow, value, domain_of_task);
        }
        flow.solve(kSource, kSink);
        for (int32_t task = 0; task < model_.tasks; ++task) {
            const int32_t node = node_of_task_[size_t(task)];
            if (node != kFixed) {
                domain_of_task[size_t(task)] = flow.is_on_source_side(node) ? kept : taken;
            }
        }
    }

  private:
    static constexpr int32_t kSource = 0;
    static constexpr int32_t kSink = 1;
    static constexpr int32_t kFixed = -1;

    int64_t task_units(int32_t task, int32_t domain) const {
        double least = kInfinity;
        for (int32_t lane = 0; lane < model_.lanes; ++lane) {
            if (model_.domain_of_lane[size_t(lane)] == domain) {
                least = std::min(least, model_.cost(task, lane));
            }
        }
        return std::isfinite(least) ? std::llround(least * units_per_ns_) : MaxFlow::kUnbounded;
    }
    int64_t transfer_units(int32_t value, int32_t from, int32_t to) const {
        if (!needs_transfer(model_, from, to)) {
            return 0;
        }
        return std::llround(model_.transfer(value, from, to) * units_per_ns_);
    }

    void add_value(MaxFlow& flow, int32_t value, const std::vector<int32_t>& domain_of_task) {
        readers_.clear();
        fixed_domains_.assign(size_t(model_.domains), false);
        for (const int32_t reader : model_.readers[value]) {
            const int32_t node = node_of_task_[size_t(reader)];
            if (node != kFixed) {
                readers_.push_back(node);
            } else {
                fixed_domains_[size_t(domain_of_task[size_t(reader)])] = true;
            }
        }
        const int32_t producer = model_.producer[size_t(value)];
        const int32_t writer = node_of_task_[size_t(producer)];
        if (writer == kFixed) {
            const int32_t from = domain_of_task[size_t(producer)];
            pay_if_any(flow, kSource, transfer_units(value, from, taken_), false);
            pay_if_any(flow, kSink, transfer_units(value, from, kept_), true);
            return;
        }
        for (int32_t to = 0; to < model_.domains; ++to) {
            if (fixed_domains_[size_t(to)]) {
                flow.add_arc(kSource, writer, transfer_units(value, taken_, to));
                flow.add_arc(writer, kSink, transfer_units(value, kept_, to));
            }
        }
        pay_if_any(flow, writer, transfer_units(value, kept_, taken_), false);
        pay_if_any(flow, writer, transfer_units(value, taken_, kept_), true);
    }

    // `units` are cut where `writer` is on the source side and some reader on the sink side;
    // `is_mirrored`: the other way round.
    void pay_if_any(MaxFlow& flow, int32_t writer, int64_t units, bool is_mirrored) {
        if (units == 0 || readers_.empty()) {
            return;
        }
        const auto add_arc = [&](int32_t from, int32_t to, int64_t capacity) {
            is_mirrored ? flow.add_arc(to, from, capacity) : flow.add_arc(from, to, capacity);
        };
        if (readers_.size() == 1) {
            return add_arc(writer, readers_.front(), units);
        }
        const int32_t any = flow.add_node();
        add_arc(writer, any, units);
        for (const int32_t reader : readers_) {
            add_arc(any, reader, MaxFlow::kUnbounded);
        }
    }

    const PlacementModel& model_;
    double units_per_ns_;
    int32_t kept_ = 0;
    int32_t taken_ = 0;
    std::vector<int32_t> node_of_task_;
    std::vector<int32_t> readers_;     // nodes of the readers of the value at hand
    std::vector<bool> fixed_domains_;  // where readers of it stay
};

std::vector<int32_t> cheapest_domains(const PlacementModel& model) {
    std::vector<int32_t> domains;
    for (int32_t task = 0; task < model.tasks; ++task) {
        double least = kInfinity;
        int32_t best = 0;
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            const int32_t domain = model.domain_of_lane[size_t(lane)];
            const double cost = model.cost(task, lane);
            if (cost < least) {
                least = cost;
                best = domain;
            }
        }
        domains.push_back(best);
    }
    return domains;
}

// Sum of everything that a cut may have to count.
double time_sum(const PlacementModel& model) {
    double sum = 0;
    for (int32_t task = 0; task < model.tasks; ++task) {
        for (int32_t lane = 0; lane < model.lanes; ++lane) {
            const double cost = model.cost(task, lane);
            sum += std::isfinite(cost) ? cost : 0;
        }
    }
    for (const double ns : model.transfer_ns) {
        sum += ns;
    }
    return sum;
}

}  // namespace

std::vector<int32_t> min_cut_domains(const PlacementModel& model) {
    std::vector<int32_t> domains = cheapest_domains(model);
    const double sum = time_sum(model);
    PairCut cut(model, sum > 0 ? kFlowUnits / sum : 1.0);
    const int rounds = model.domains > 2 ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
        for (int32_t kept = 0; kept < model.domains; ++kept) {
            for (int32_t taken = kept + 1; taken < model.domains; ++taken) {
                cut.improve(domains, kept, taken);
            }
        }
    }
    return domains;
}

}  // namespace leat::scheduler
