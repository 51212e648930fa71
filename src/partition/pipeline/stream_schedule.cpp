#include "partition/pipeline/stream_schedule.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <tuple>
#include <utility>

namespace leat {
namespace {

// As many of all runs are followed as a bound on time.
constexpr int64_t kMostTaskRuns = 60'000;

// What happens to whom when a task comes to its lane, or ends.
struct Followers {
    explicit Followers(std::span<const StreamTask> tasks)
        : on_arrival(tasks.size()), on_end(tasks.size()) {
        for (int32_t task = 0; task < int32_t(tasks.size()); ++task) {
            for (const StreamTask::Wait& wait : tasks[size_t(task)].waits) {
                const bool follows = wait.follows && tasks[size_t(task)].lane != StreamTask::kNone;
                (follows ? on_arrival : on_end)[size_t(wait.rank)].push_back(task);
            }
        }
        std::vector<int32_t> last;  // by lane
        for (int32_t task = 0; task < int32_t(tasks.size()); ++task) {
            const int32_t lane = tasks[size_t(task)].lane;
            if (lane == StreamTask::kNone) {
                continue;
            }
            last.resize(std::max(last.size(), size_t(lane) + 1), StreamTask::kNone);
            if (last[size_t(lane)] != StreamTask::kNone) {
                on_arrival[size_t(last[size_t(lane)])].push_back(task);
            }
            last[size_t(lane)] = task;
        }
        lane_count = int32_t(last.size());
        arrival_waits.resize(tasks.size());
        for (const auto* lists : {&on_arrival, &on_end}) {
            for (const std::vector<int32_t>& later : *lists) {
                for (const int32_t task : later) {
                    ++arrival_waits[size_t(task)];
                }
            }
        }
    }

    int32_t lane_count = 0;
    // By task: who may come to a lane sooner for it.
    std::vector<std::vector<int32_t>> on_arrival;
    std::vector<std::vector<int32_t>> on_end;
    std::vector<int32_t> arrival_waits;  // by task
};

class Stream {
  public:
    Stream(std::span<const StreamTask> tasks, int32_t requests_in_flight)
        : tasks_(tasks),
          followers_(tasks),
          readers_(tasks.size()),
          slots_(size_t(requests_in_flight)),
          lanes_(size_t(followers_.lane_count)) {
        for (size_t task = 0; task < tasks.size(); ++task) {
            for (const StreamTask::Wait& wait : tasks[task].waits) {
                readers_[size_t(wait.rank)].push_back(int32_t(task));
            }
        }
    }

    // That of a circle, once what is in flight is as it was some runs before; of the second half of
    // so many runs where it never is.
    double period_ns(size_t most_runs) {
        for (int32_t slot = 0; slot < int32_t(slots_.size()); ++slot) {
            begin(slot);
        }
        for (;;) {
            while (taken_ns_.size() < most_runs && slots_[size_t(oldest_)].open == 0) {
                take();
                if (is_as_before()) {
                    return mean_since(known_count_);
                }
            }
            Lane* const next = taken_ns_.size() < most_runs ? next_to_end() : nullptr;
            if (next == nullptr) {
                return mean_since(taken_ns_.size() / 2);
            }
            now_ns_ = next->end_ns;
            const Job job = *std::exchange(next->job, std::nullopt);
            end(job);
            serve(tasks_[size_t(job.task)].lane);
        }
    }

  private:
    struct Job {
        int32_t slot = 0;
        int32_t task = 0;
        int64_t number = 0;  // in the order in which jobs come to their lanes
    };
    struct Slot {
        std::vector<int32_t> arrival_waits;
        std::vector<int32_t> end_waits;
        int32_t open = 0;  // tasks that have not ended
    };
    struct Lane {
        std::deque<Job> line;
        std::optional<Job> job;  // that it has begun
        double end_ns = 0;       // of that
    };

    void begin(int32_t slot) {
        Slot& own = slots_[size_t(slot)];
        own.arrival_waits = followers_.arrival_waits;
        own.end_waits.clear();
        own.open = int32_t(tasks_.size());
        for (const StreamTask& task : tasks_) {
            own.end_waits.push_back(int32_t(task.waits.size()));
        }
        std::vector<int32_t> arriving;
        for (int32_t task = 0; task < int32_t(tasks_.size()); ++task) {
            if (own.arrival_waits[size_t(task)] == 0) {
                arriving.push_back(task);
            }
        }
        arrive(slot, std::move(arriving));
    }

    // In this order, each with those that may come because it has. What needs no lane ends as soon
    // as it may.
    void arrive(int32_t slot, std::vector<int32_t> arriving) {
        for (size_t i = 0; i < arriving.size(); ++i) {
            const int32_t task = arriving[i];
            const int32_t lane = tasks_[size_t(task)].lane;
            release(slot, followers_.on_arrival[size_t(task)], arriving);
            if (lane != StreamTask::kNone) {
                lanes_[size_t(lane)].line.push_back({slot, task, ++arrivals_});
                serve(lane);
            } else if (slots_[size_t(slot)].end_waits[size_t(task)] == 0) {
                end_task(slot, task, arriving);
            }
        }
    }

    void release(int32_t slot, const std::vector<int32_t>& later, std::vector<int32_t>& arriving) {
        for (const int32_t task : later) {
            if (--slots_[size_t(slot)].arrival_waits[size_t(task)] == 0) {
                arriving.push_back(task);
            }
        }
    }

    // The first of the line, if it has what it needs.
    void serve(int32_t number) {
        Lane& lane = lanes_[size_t(number)];
        if (lane.job || lane.line.empty()) {
            return;
        }
        const Job job = lane.line.front();
        if (slots_[size_t(job.slot)].end_waits[size_t(job.task)] == 0) {
            lane.job = job;
            lane.end_ns = now_ns_ + tasks_[size_t(job.task)].duration_ns;
            lane.line.pop_front();
        }
    }

    // Null: no lane has begun anything.
    Lane* next_to_end() {
        Lane* next = nullptr;
        for (Lane& lane : lanes_) {
            if (lane.job && (next == nullptr || std::tie(lane.end_ns, lane.job->number) <
                                                    std::tie(next->end_ns, next->job->number))) {
                next = &lane;
            }
        }
        return next;
    }

    void end(Job job) {
        std::vector<int32_t> arriving;
        end_task(job.slot, job.task, arriving);
        arrive(job.slot, std::move(arriving));
    }

    // arriving: gets those that may come to a lane now.
    void end_task(int32_t slot, int32_t task, std::vector<int32_t>& arriving) {
        Slot& own = slots_[size_t(slot)];
        --own.open;
        for (const int32_t reader : readers_[size_t(task)]) {
            const int32_t lane = tasks_[size_t(reader)].lane;
            // It may have come before: then it stands in a line.
            if (--own.end_waits[size_t(reader)] == 0 && lane != StreamTask::kNone) {
                serve(lane);
            }
        }
        release(slot, followers_.on_end[size_t(task)], arriving);
    }

    void take() {
        taken_ns_.push_back(now_ns_);
        const int32_t slot = oldest_;
        oldest_ = (oldest_ + 1) % int32_t(slots_.size());
        begin(slot);
    }

    // All that decides how it goes on: what is equal goes on alike. Slots from the oldest on.
    void write_state(std::vector<double>& state) const {
        state.clear();
        const auto age_of = [this](int32_t slot) {
            const auto count = int32_t(slots_.size());
            return double((slot - oldest_ + count) % count);
        };
        for (size_t age = 0; age < slots_.size(); ++age) {
            const Slot& slot = slots_[(size_t(oldest_) + age) % slots_.size()];
            state.insert(state.end(), slot.arrival_waits.begin(), slot.arrival_waits.end());
            state.insert(state.end(), slot.end_waits.begin(), slot.end_waits.end());
            state.push_back(slot.open);
        }
        std::vector<std::pair<int64_t, double>> begun;  // number and lane
        for (size_t i = 0; i < lanes_.size(); ++i) {
            const Lane& lane = lanes_[i];
            state.push_back(double(lane.line.size()));
            for (const Job& job : lane.line) {
                state.insert(state.end(), {age_of(job.slot), double(job.task)});
            }
            if (lane.job) {
                state.insert(state.end(), {age_of(lane.job->slot), double(lane.job->task),
                                           lane.end_ns - now_ns_});
                begun.emplace_back(lane.job->number, double(i));
            }
        }
        std::sort(begun.begin(), begun.end());
        for (const auto& [number, lane] : begun) {
            state.push_back(lane);
        }
    }

    // As after some run before; those are kept after 1, 2, 4, 8, ... (Brent, BIT 20, 1980).
    bool is_as_before() {
        write_state(state_);
        if (state_ == known_state_) {
            return true;
        }
        if (taken_ns_.size() >= 2 * known_count_) {
            known_count_ = taken_ns_.size();
            known_state_.swap(state_);
        }
        return false;
    }

    // From the end of so many runs on.
    double mean_since(size_t count) const {
        const size_t first = std::max<size_t>(count, 1);
        return taken_ns_.size() <= first
                   ? 0
                   : (taken_ns_.back() - taken_ns_[first - 1]) / double(taken_ns_.size() - first);
    }

    const std::span<const StreamTask> tasks_;
    const Followers followers_;
    std::vector<std::vector<int32_t>> readers_;  // by task: who waits for its end at last
    std::vector<Slot> slots_;
    std::vector<Lane> lanes_;
    std::vector<double> taken_ns_;
    double now_ns_ = 0;
    int64_t arrivals_ = 0;
    int32_t oldest_ = 0;  // slot
    std::vector<double> state_;
    std::vector<double> known_state_;  // after so many runs
    size_t known_count_ = 0;
};

}  // namespace

double stream_period_ns(std::span<const StreamTask> tasks, int32_t requests_in_flight) {
    if (tasks.empty()) {
        return 0;
    }
    const int64_t most_runs = std::max<int64_t>(kMostTaskRuns / int64_t(tasks.size()),
                                                int64_t{2} * requests_in_flight + 2);
    return Stream(tasks, requests_in_flight).period_ns(size_t(most_runs));
}

}  // namespace leat
