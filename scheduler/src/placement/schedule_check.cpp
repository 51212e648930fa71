// check_schedule: reads only the problem and the schedule, so that it cannot share a mistake with
// the placer.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "leat/scheduler/placement.h"

namespace leat::scheduler {
namespace {

struct Busy {
    double start_ns = 0;
    double finish_ns = 0;
    int32_t what = 0;  // task, or index of a transfer
};

class ScheduleCheck {
  public:
    ScheduleCheck(const PlacementProblem& problem, const Schedule& schedule)
        : problem_(problem),
          schedule_(schedule),
          slack_ns_(1e-9 * std::max(1.0, schedule.makespan_ns)) {}

    Status run() {
        LEAT_RETURN_IF_ERROR(check_sizes());
        LEAT_RETURN_IF_ERROR(check_tasks());
        LEAT_RETURN_IF_ERROR(check_lanes());
        LEAT_RETURN_IF_ERROR(check_transfers());
        LEAT_RETURN_IF_ERROR(check_links());
        LEAT_RETURN_IF_ERROR(check_uses());
        return check_makespan();
    }

  private:
    int32_t domain_of(int32_t task) const {
        return problem_.domain_of_lane[size_t(schedule_.lane_of_task[size_t(task)])];
    }

    Status check_sizes() const {
        const auto tasks = size_t(problem_.task_count);
        if (schedule_.lane_of_task.size() != tasks || schedule_.start_ns.size() != tasks ||
            schedule_.finish_ns.size() != tasks) {
            return invalid_argument("the schedule has {} lanes, {} starts and {} finishes",
                                    schedule_.lane_of_task.size(), schedule_.start_ns.size(),
                                    schedule_.finish_ns.size())
                .with_needed(fmt::format("one for each of {} tasks", tasks));
        }
        if (schedule_.order_of_lane.size() != problem_.domain_of_lane.size()) {
            return invalid_argument("the schedule orders {} lanes", schedule_.order_of_lane.size())
                .with_needed(fmt::format("{} lanes", problem_.lane_count()));
        }
        return {};
    }

    Status check_tasks() const {
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            const int32_t lane = schedule_.lane_of_task[size_t(task)];
            if (lane < 0 || lane >= problem_.lane_count()) {
                return invalid_argument("task {} is on lane {}", task, lane)
                    .with_needed(fmt::format("a lane in [0, {})", problem_.lane_count()));
            }
            const double cost =
                problem_.cost_ns[size_t(task) * size_t(problem_.lane_count()) + size_t(lane)];
            const double start = schedule_.start_ns[size_t(task)];
            const double took = schedule_.finish_ns[size_t(task)] - start;
            if (!(start >= 0) || !(std::abs(took - cost) <= slack_ns_)) {
                return invalid_argument("task {} starts at {} ns and takes {} ns on lane {}", task,
                                        start, took, lane)
                    .with_needed(fmt::format("a start of at least 0 and {} ns", cost));
            }
        }
        return {};
    }

    Status check_lanes() const {
        std::vector<int32_t> times_run(size_t(problem_.task_count), 0);
        for (size_t lane = 0; lane < schedule_.order_of_lane.size(); ++lane) {
            double free_ns = 0;
            for (const int32_t task : schedule_.order_of_lane[lane]) {
                if (task < 0 || task >= problem_.task_count ||
                    schedule_.lane_of_task[size_t(task)] != int32_t(lane)) {
                    return invalid_argument("lane {} lists task {}, which is not on it", lane,
                                            task);
                }
                if (schedule_.start_ns[size_t(task)] < free_ns - slack_ns_) {
                    return invalid_argument("task {} starts at {} ns, lane {} is busy until {} ns",
                                            task, schedule_.start_ns[size_t(task)], lane, free_ns);
                }
                free_ns = schedule_.finish_ns[size_t(task)];
                ++times_run[size_t(task)];
            }
        }
        for (size_t task = 0; task < times_run.size(); ++task) {
            if (times_run[task] != 1) {
                return invalid_argument("task {} is listed {} times", task, times_run[task])
                    .with_needed("once");
            }
        }
        return {};
    }

    Status check_transfers() {
        for (size_t i = 0; i < schedule_.transfers.size(); ++i) {
            const Transfer& transfer = schedule_.transfers[i];
            const auto domains = problem_.domain_count;
            if (transfer.value < 0 || transfer.value >= int32_t(problem_.values.size()) ||
                transfer.from_domain < 0 || transfer.from_domain >= domains ||
                transfer.to_domain < 0 || transfer.to_domain >= domains) {
                return invalid_argument("transfer {} is of value {} from domain {} to {}", i,
                                        transfer.value, transfer.from_domain, transfer.to_domain)
                    .with_needed("an existing value and existing domains");
            }
            LEAT_RETURN_IF_ERROR(check_transfer(transfer));
            const bool is_first =
                arrival_.emplace(std::pair(transfer.value, transfer.to_domain), transfer.finish_ns)
                    .second;
            if (!is_first) {
                return invalid_argument("value {} travels to domain {} twice", transfer.value,
                                        transfer.to_domain);
            }
        }
        return {};
    }

    Status check_transfer(const Transfer& transfer) const {
        const PlacementValue& value = problem_.values[size_t(transfer.value)];
        const int32_t link = link_of(transfer.from_domain, transfer.to_domain);
        if (transfer.link != link || link == PlacementProblem::kNoLink) {
            return invalid_argument("value {} travels from domain {} to {} over link {}",
                                    transfer.value, transfer.from_domain, transfer.to_domain,
                                    transfer.link)
                .with_needed(fmt::format("link {}", link));
        }
        if (domain_of(value.producer) != transfer.from_domain ||
            transfer.start_ns < schedule_.finish_ns[size_t(value.producer)] - slack_ns_) {
            return invalid_argument("value {} leaves domain {} at {} ns", transfer.value,
                                    transfer.from_domain, transfer.start_ns)
                .with_needed(fmt::format("domain {}, not before {} ns", domain_of(value.producer),
                                         schedule_.finish_ns[size_t(value.producer)]));
        }
        const PlacementLink& over = problem_.links[size_t(link)];
        const double needed = over.latency_ns + double(value.bytes) / over.bytes_per_s * 1e9;
        const double took = transfer.finish_ns - transfer.start_ns;
        if (!(std::abs(took - needed) <= slack_ns_)) {
            return invalid_argument("value {} travels for {} ns", transfer.value, took)
                .with_needed(fmt::format("{} ns", needed));
        }
        return {};
    }

    int32_t link_of(int32_t from, int32_t to) const {
        if (from == to || problem_.link_between.empty()) {
            return PlacementProblem::kNoLink;
        }
        return problem_.link_between[size_t(from) * size_t(problem_.domain_count) + size_t(to)];
    }

    Status check_links() const {
        std::vector<std::vector<Busy>> busy(problem_.links.size());
        for (const Transfer& transfer : schedule_.transfers) {
            if (problem_.links[size_t(transfer.link)].is_exclusive) {
                busy[size_t(transfer.link)].push_back(
                    {transfer.start_ns, transfer.finish_ns, transfer.value});
            }
        }
        for (size_t link = 0; link < busy.size(); ++link) {
            auto& transfers = busy[link];
            std::sort(transfers.begin(), transfers.end(), [](const Busy& a, const Busy& b) {
                return a.start_ns != b.start_ns ? a.start_ns < b.start_ns
                                                : a.finish_ns < b.finish_ns;
            });
            for (size_t i = 1; i < transfers.size(); ++i) {
                if (transfers[i].start_ns < transfers[i - 1].finish_ns - slack_ns_) {
                    return invalid_argument("values {} and {} are on link {} at {} ns",
                                            transfers[i - 1].what, transfers[i].what, link,
                                            transfers[i].start_ns)
                        .with_needed("one transfer at a time");
                }
            }
        }
        return {};
    }

    Status check_uses() const {
        for (const PlacementUse& use : problem_.uses) {
            const int32_t producer = problem_.values[size_t(use.value)].producer;
            const int32_t to = domain_of(use.reader);
            double arrival = schedule_.finish_ns[size_t(producer)];
            if (link_of(domain_of(producer), to) != PlacementProblem::kNoLink) {
                const auto transfer = arrival_.find(std::pair(use.value, to));
                if (transfer == arrival_.end()) {
                    return invalid_argument(
                        "task {} reads value {} in domain {}, where it never "
                        "arrives",
                        use.reader, use.value, to);
                }
                arrival = transfer->second;
            }
            if (schedule_.start_ns[size_t(use.reader)] < arrival - slack_ns_) {
                return invalid_argument("task {} starts at {} ns, value {} arrives at {} ns",
                                        use.reader, schedule_.start_ns[size_t(use.reader)],
                                        use.value, arrival);
            }
        }
        return {};
    }

    Status check_makespan() const {
        double last = 0;
        for (const double finish : schedule_.finish_ns) {
            last = std::max(last, finish);
        }
        if (!(std::abs(last - schedule_.makespan_ns) <= slack_ns_)) {
            return invalid_argument("the makespan is {} ns", schedule_.makespan_ns)
                .with_needed(fmt::format("{} ns, when the last task finishes", last));
        }
        return {};
    }

    const PlacementProblem& problem_;
    const Schedule& schedule_;
    double slack_ns_;
    std::map<std::pair<int32_t, int32_t>, double> arrival_;  // (value, domain) -> ns
};

}  // namespace

Status check_schedule(const PlacementProblem& problem, const Schedule& schedule) {
    return ScheduleCheck(problem, schedule).run();
}

}  // namespace leat::scheduler
