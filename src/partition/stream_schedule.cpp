#include "partition/stream_schedule.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <tuple>

namespace leat {
namespace {

// Runs that are followed for each that is in flight, and beside these; fewer where they have many
// tasks.
constexpr int64_t kRunsOfEach = 8;
constexpr int64_t kFurtherRuns = 32;
constexpr int64_t kMostTaskRuns = 60'000;
// Of a time: intervals that differ by less are the same.
constexpr double kSame = 1e-9;

// What happens to whom when a task comes to its lane, or ends.
struct Followers {
    explicit Followers(std::span<const StreamTask> tasks)
        : on_arrival(tasks.size()), on_end(tasks.size()) {
        for (int32_t task = 0; task < int32_t(tasks.size()); ++task) {
            for (const StreamTask::Wait& wait : tasks[size_t(task)].waits) {
                (wait.follows ? on_arrival : on_end)[size_t(wait.rank)].push_back(task);
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

    // When each of so many runs was taken.
    std::vector<double> run(int64_t runs) {
        for (int32_t slot = 0; slot < int32_t(slots_.size()); ++slot) {
            begin(slot);
        }
        while (int64_t(taken_ns_.size()) < runs && !events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            now_ns_ = event.time_ns;
            end(event.job);
        }
        return std::move(taken_ns_);
    }

  private:
    struct Job {
        int32_t slot = 0;
        int32_t task = 0;
    };
    struct Slot {
        std::vector<int32_t> arrival_waits;
        std::vector<int32_t> end_waits;
        int32_t open = 0;  // tasks that have not ended
        bool is_done = false;
    };
    struct Lane {
        std::deque<Job> line;
        bool is_busy = false;
    };
    struct Event {
        double time_ns = 0;
        int64_t number = 0;  // of equal times the one that was fixed first
        Job job;
        bool operator>(const Event& other) const {
            return std::tie(time_ns, number) > std::tie(other.time_ns, other.number);
        }
    };

    void begin(int32_t slot) {
        Slot& own = slots_[size_t(slot)];
        own.arrival_waits = followers_.arrival_waits;
        own.end_waits.clear();
        own.open = int32_t(tasks_.size());
        own.is_done = false;
        std::vector<Job> arriving;
        for (int32_t task = 0; task < int32_t(tasks_.size()); ++task) {
            own.end_waits.push_back(int32_t(tasks_[size_t(task)].waits.size()));
            if (own.arrival_waits[size_t(task)] == 0) {
                arriving.push_back({slot, task});
            }
        }
        arrive(std::move(arriving));
    }

    // In this order, each with those that may come because it has.
    void arrive(std::vector<Job> arriving) {
        for (size_t i = 0; i < arriving.size(); ++i) {
            const Job job = arriving[i];
            const int32_t lane = tasks_[size_t(job.task)].lane;
            if (lane != StreamTask::kNone) {
                lanes_[size_t(lane)].line.push_back(job);
                serve(lane);
            } else if (slots_[size_t(job.slot)].end_waits[size_t(job.task)] == 0) {
                add_end(job, 0);
            }
            release(job.slot, followers_.on_arrival[size_t(job.task)], arriving);
        }
    }

    void release(int32_t slot, const std::vector<int32_t>& later, std::vector<Job>& arriving) {
        for (const int32_t task : later) {
            if (--slots_[size_t(slot)].arrival_waits[size_t(task)] == 0) {
                arriving.push_back({slot, task});
            }
        }
    }

    // The first of the line, if it has what it needs.
    void serve(int32_t number) {
        Lane& lane = lanes_[size_t(number)];
        if (lane.is_busy || lane.line.empty()) {
            return;
        }
        const Job job = lane.line.front();
        if (slots_[size_t(job.slot)].end_waits[size_t(job.task)] == 0) {
            lane.is_busy = true;
            lane.line.pop_front();
            add_end(job, tasks_[size_t(job.task)].duration_ns);
        }
    }

    void add_end(Job job, double duration_ns) {
        events_.push({now_ns_ + duration_ns, event_count_++, job});
    }

    void end(Job job) {
        Slot& slot = slots_[size_t(job.slot)];
        const int32_t own_lane = tasks_[size_t(job.task)].lane;
        if (own_lane != StreamTask::kNone) {
            lanes_[size_t(own_lane)].is_busy = false;
        }
        for (const int32_t reader : readers_[size_t(job.task)]) {
            // It may have come before: then it stands in a line, or needs none.
            const int32_t lane = tasks_[size_t(reader)].lane;
            if (--slot.end_waits[size_t(reader)] > 0 || slot.arrival_waits[size_t(reader)] > 0) {
                continue;
            }
            if (lane != StreamTask::kNone) {
                serve(lane);
            } else {
                add_end({job.slot, reader}, 0);
            }
        }
        std::vector<Job> arriving;
        release(job.slot, followers_.on_end[size_t(job.task)], arriving);
        arrive(std::move(arriving));
        if (own_lane != StreamTask::kNone) {
            serve(own_lane);
        }
        if (--slot.open == 0) {
            slot.is_done = true;
            take();
        }
    }

    void take() {
        while (slots_[size_t(oldest_)].is_done) {
            taken_ns_.push_back(now_ns_);
            const int32_t slot = oldest_;
            oldest_ = (oldest_ + 1) % int32_t(slots_.size());
            begin(slot);
        }
    }

    const std::span<const StreamTask> tasks_;
    const Followers followers_;
    std::vector<std::vector<int32_t>> readers_;  // by task: who waits for its end at last
    std::vector<Slot> slots_;
    std::vector<Lane> lanes_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<double> taken_ns_;
    double now_ns_ = 0;
    int64_t event_count_ = 0;
    int32_t oldest_ = 0;  // slot
};

// The second half repeats itself after so many runs.
bool repeats_after(std::span<const double> taken_ns, size_t runs) {
    const double cycle_ns = taken_ns.back() - taken_ns[taken_ns.size() - 1 - runs];
    for (size_t i = taken_ns.size() / 2; i + runs < taken_ns.size(); ++i) {
        if (std::abs(taken_ns[i + runs] - taken_ns[i] - cycle_ns) > kSame * taken_ns.back()) {
            return false;
        }
    }
    return true;
}

}  // namespace

double stream_period_ns(std::span<const StreamTask> tasks, int32_t requests_in_flight) {
    if (tasks.empty()) {
        return 0;
    }
    const int64_t wanted = kRunsOfEach * requests_in_flight + kFurtherRuns;
    const int64_t runs = std::clamp<int64_t>(kMostTaskRuns / int64_t(tasks.size()),
                                             int64_t{2} * requests_in_flight + 2, wanted);
    const std::vector<double> taken_ns = Stream(tasks, requests_in_flight).run(runs);
    const size_t count = taken_ns.size();
    for (size_t cycle = 1; cycle <= count / 4; ++cycle) {
        if (repeats_after(taken_ns, cycle)) {
            return (taken_ns.back() - taken_ns[count - 1 - cycle]) / double(cycle);
        }
    }
    const size_t first = count / 2;
    return (taken_ns.back() - taken_ns[first]) / double(count - 1 - first);
}

}  // namespace leat
