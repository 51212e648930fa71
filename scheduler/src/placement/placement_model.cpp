// PlacementModel::make: checks of a placement problem and its indexes.
#include "placement/placement_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace leat::scheduler {
namespace {

bool is_in_range(int32_t index, int64_t count) {
    return index >= 0 && index < count;
}

Status check_sizes(const PlacementProblem& problem) {
    const int64_t lanes = problem.lane_count();
    const int64_t domains = problem.domain_count;
    if (problem.task_count < 0 || domains < 1 || lanes < 1) {
        return invalid_argument("a placement of {} tasks on {} lanes in {} domains",
                                problem.task_count, lanes, domains)
            .with_needed("at least one lane and one domain");
    }
    const int64_t costs = problem.task_count * lanes;
    if (int64_t(problem.cost_ns.size()) != costs) {
        return invalid_argument("cost_ns has {} entries", problem.cost_ns.size())
            .with_needed(fmt::format("{} tasks x {} lanes = {}", problem.task_count, lanes, costs));
    }
    const auto pairs = int64_t(problem.link_between.size());
    if (pairs != 0 && pairs != domains * domains) {
        return invalid_argument("link_between has {} entries", pairs)
            .with_needed(fmt::format("none, or {0} x {0} domains", domains));
    }
    if (problem.values.size() * size_t(domains) >= size_t(INT32_MAX - problem.task_count)) {
        return invalid_argument("{} values in {} domains", problem.values.size(), domains)
            .with_needed("fewer than 2^31 possible transfers");
    }
    return {};
}

Status check_lanes_and_links(const PlacementProblem& problem) {
    for (size_t lane = 0; lane < problem.domain_of_lane.size(); ++lane) {
        if (!is_in_range(problem.domain_of_lane[lane], problem.domain_count)) {
            return invalid_argument("lane {} is in domain {}", lane, problem.domain_of_lane[lane])
                .with_needed(fmt::format("a domain in [0, {})", problem.domain_count));
        }
    }
    for (size_t i = 0; i < problem.links.size(); ++i) {
        const PlacementLink& link = problem.links[i];
        if (!std::isfinite(link.latency_ns) || link.latency_ns < 0 || !(link.bytes_per_s > 0)) {
            return invalid_argument("link {} has latency {} ns and {} bytes/s", i, link.latency_ns,
                                    link.bytes_per_s)
                .with_needed("a finite latency of at least 0 and a rate above 0");
        }
    }
    for (const int32_t link : problem.link_between) {
        if (link != PlacementProblem::kNoLink &&
            !is_in_range(link, int64_t(problem.links.size()))) {
            return invalid_argument("link_between names link {}", link)
                .with_needed(fmt::format("kNoLink or a link in [0, {})", problem.links.size()));
        }
    }
    return {};
}

Status check_costs(const PlacementProblem& problem) {
    const int32_t lanes = problem.lane_count();
    for (int32_t task = 0; task < problem.task_count; ++task) {
        bool can_run = false;
        for (int32_t lane = 0; lane < lanes; ++lane) {
            const double cost = problem.cost_ns[size_t(task) * size_t(lanes) + size_t(lane)];
            if (std::isnan(cost) || cost < 0) {
                return invalid_argument("task {} costs {} ns on lane {}", task, cost, lane)
                    .with_needed("a cost of at least 0, or kCannotRun");
            }
            can_run = can_run || std::isfinite(cost);
        }
        if (!can_run) {
            return invalid_argument("task {} can run on none of {} lanes", task, lanes)
                .with_needed("a finite cost on at least one lane");
        }
    }
    return {};
}

Status check_values(const PlacementProblem& problem) {
    for (size_t i = 0; i < problem.values.size(); ++i) {
        const PlacementValue& value = problem.values[i];
        if (!is_in_range(value.producer, problem.task_count) || value.bytes < 0) {
            return invalid_argument("value {} has producer {} and {} bytes", i, value.producer,
                                    value.bytes)
                .with_needed(
                    fmt::format("a task in [0, {}) and a size of at least 0", problem.task_count));
        }
    }
    for (size_t i = 0; i < problem.uses.size(); ++i) {
        const PlacementUse& use = problem.uses[i];
        if (!is_in_range(use.value, int64_t(problem.values.size())) ||
            !is_in_range(use.reader, problem.task_count)) {
            return invalid_argument("use {} is of value {} by task {}", i, use.value, use.reader)
                .with_needed(fmt::format("a value in [0, {}) and a task in [0, {})",
                                         problem.values.size(), problem.task_count));
        }
    }
    return {};
}

void index_values(const PlacementProblem& problem, PlacementModel& model) {
    std::vector<IntRows::Entry> inputs;
    std::vector<IntRows::Entry> outputs;
    std::vector<IntRows::Entry> readers;
    outputs.reserve(problem.values.size());
    model.producer.reserve(problem.values.size());
    inputs.reserve(problem.uses.size());
    readers.reserve(problem.uses.size());
    for (size_t value = 0; value < problem.values.size(); ++value) {
        outputs.push_back({problem.values[value].producer, int32_t(value)});
        model.producer.push_back(problem.values[value].producer);
    }
    for (const PlacementUse& use : problem.uses) {
        inputs.push_back({use.reader, use.value});
        readers.push_back({use.value, use.reader});
    }
    model.inputs = IntRows(model.tasks, inputs);
    model.outputs = IntRows(model.tasks, outputs);
    model.readers = IntRows(model.values, readers);
}

// A lane joins the first pool whose first lane is its equal.
void pool_lanes(PlacementModel& model) {
    std::vector<int32_t> first_lane;
    std::vector<IntRows::Entry> lanes;
    const auto are_equal = [&](int32_t a, int32_t b) {
        if (model.domain_of_lane[size_t(a)] != model.domain_of_lane[size_t(b)]) {
            return false;
        }
        for (int32_t task = 0; task < model.tasks; ++task) {
            if (model.cost(task, a) != model.cost(task, b)) {
                return false;
            }
        }
        return true;
    };
    for (int32_t lane = 0; lane < model.lanes; ++lane) {
        const auto pool = std::find_if(first_lane.begin(), first_lane.end(),
                                       [&](int32_t first) { return are_equal(first, lane); });
        model.pool_of_lane.push_back(int32_t(pool - first_lane.begin()));
        lanes.push_back({model.pool_of_lane.back(), lane});
        if (pool == first_lane.end()) {
            first_lane.push_back(lane);
        }
    }
    model.pools = int32_t(first_lane.size());
    model.lanes_of_pool = IntRows(model.pools, lanes);
}

void fill_transfers(const PlacementProblem& problem, PlacementModel& model) {
    for (const PlacementValue& value : problem.values) {
        for (const int32_t index : model.link_between) {
            double ns = 0;
            if (index != PlacementProblem::kNoLink) {
                const PlacementLink& link = problem.links[size_t(index)];
                ns = link.latency_ns + double(value.bytes) * 1e9 / link.bytes_per_s;
            }
            model.transfer_ns.push_back(ns);
        }
    }
    model.transfers.reserve(size_t(model.values) * size_t(model.domains));
    for (int32_t value = 0; value < model.values; ++value) {
        for (int32_t domain = 0; domain < model.domains; ++domain) {
            model.transfers.push_back({value, domain});
        }
    }
}

// Kahn's algorithm; what is left over lies on a cycle or behind one.
Status order_tasks(PlacementModel& model) {
    std::vector<int32_t> missing(size_t(model.tasks), 0);
    for (int32_t task = 0; task < model.tasks; ++task) {
        missing[size_t(task)] = int32_t(model.inputs[task].size());
        if (missing[size_t(task)] == 0) {
            model.topological.push_back(task);
        }
    }
    for (size_t next = 0; next < model.topological.size(); ++next) {
        model.for_each_reader(model.topological[next], [&](int32_t reader) {
            if (--missing[size_t(reader)] == 0) {
                model.topological.push_back(reader);
            }
        });
    }
    if (int32_t(model.topological.size()) == model.tasks) {
        return {};
    }
    const auto stuck =
        std::find_if(missing.begin(), missing.end(), [](int32_t n) { return n > 0; });
    return invalid_argument("task {} lies on a cycle or behind one: {} of {} tasks can be ordered",
                            stuck - missing.begin(), model.topological.size(), model.tasks)
        .with_needed("uses without a cycle");
}

}  // namespace

IntRows::IntRows(int32_t row_count, std::span<const Entry> entries)
    : begin_(size_t(row_count) + 1, 0), items_(entries.size()) {
    for (const Entry& entry : entries) {
        ++begin_[size_t(entry.row) + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
    for (const Entry& entry : entries) {
        items_[size_t(next[size_t(entry.row)]++)] = entry.item;
    }
    // Rows move together where one held an item twice.
    auto kept = items_.begin();
    for (int32_t row = 0; row < row_count; ++row) {
        const auto first = items_.begin() + begin_[size_t(row)];
        const auto last = items_.begin() + next[size_t(row)];
        if (!std::is_sorted(first, last)) {
            std::sort(first, last);
        }
        begin_[size_t(row)] = int32_t(kept - items_.begin());
        for (auto item = first; item != last; ++item) {
            if (item == first || *item != *(kept - 1)) {
                *kept++ = *item;
            }
        }
    }
    begin_.back() = int32_t(kept - items_.begin());
    items_.erase(kept, items_.end());
}

Result<PlacementModel> PlacementModel::make(const PlacementProblem& problem) {
    LEAT_RETURN_IF_ERROR(check_sizes(problem));
    LEAT_RETURN_IF_ERROR(check_lanes_and_links(problem));
    LEAT_RETURN_IF_ERROR(check_costs(problem));
    LEAT_RETURN_IF_ERROR(check_values(problem));
    PlacementModel model;
    model.tasks = problem.task_count;
    model.lanes = problem.lane_count();
    model.domains = problem.domain_count;
    model.values = int32_t(problem.values.size());
    model.domain_of_lane = problem.domain_of_lane;
    model.cost_ns = problem.cost_ns;
    model.links = problem.links;
    model.link_between = problem.link_between;
    model.link_between.resize(size_t(model.domains) * size_t(model.domains),
                              PlacementProblem::kNoLink);
    for (int32_t domain = 0; domain < model.domains; ++domain) {
        model.link_between[size_t(domain) * size_t(model.domains + 1)] = PlacementProblem::kNoLink;
    }
    pool_lanes(model);
    index_values(problem, model);
    fill_transfers(problem, model);
    LEAT_RETURN_IF_ERROR(order_tasks(model));
    return model;
}

}  // namespace leat::scheduler
