#include "measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <random>

#include "base/error.h"
#include "interruption.h"
#include "progress.h"
#include "team.h"

namespace leat::bench {
namespace {

// The intended starts of an open loop; a stream takes the next one when it is free. Thread-safe.
class Arrivals {
  public:
    explicit Arrivals(const MeasureOptions& options)
        : gap_ns_(1e9 / options.rate_per_s), poisson_(options.poisson) {}

    void restart() {
        const std::lock_guard lock(mutex_);
        last_ns_ = now_ns();
    }

    int64_t next_ns() {
        const std::lock_guard lock(mutex_);
        last_ns_ += whole_nanoseconds(poisson_ ? gap_ns_ * spread_(random_) : gap_ns_);
        return last_ns_;
    }

  private:
    const double gap_ns_;
    const bool poisson_;
    std::mutex mutex_;
    std::mt19937_64 random_{1};
    std::exponential_distribution<double> spread_{1};
    int64_t last_ns_ = 0;
};

struct Sample {
    int64_t end_ns = 0;
    double latency_ns = 0;
};

// Requests under measurement, used by one thread at a time.
struct alignas(64) Stream {
    RequestQueue* queue = nullptr;
    std::deque<int64_t> starts_ns;  // of those in flight, the oldest first
    std::vector<Sample> samples;
    int64_t warmup_runs = 0;
    int64_t missed_deadlines = 0;
    int64_t spent_ns = 0;
    Status error;
    std::vector<char> swept;  // what --cold-cache writes before each run

    bool keeps_several() const { return queue->depth() > 1; }
    bool is_full() const { return int(starts_ns.size()) == queue->depth(); }
};

// A single request runs when it is taken: what is timed then is Request::run.
Status submit(Stream& stream, int64_t start_ns, const RunOptions& options) {
    LEAT_RETURN_IF_ERROR(stream.keeps_several() ? stream.queue->submit(options) : Status());
    stream.starts_ns.push_back(start_ns);
    return {};
}

Status take_oldest(Stream& stream, const RunOptions& options) {
    stream.starts_ns.pop_front();
    if (!stream.keeps_several()) {
        return stream.queue->next().run(options);
    }
    const Result<Request*> taken = stream.queue->take();
    return taken.ok() ? Status() : taken.error();
}

// One session under measurement: its streams, each on its own thread of the team.
class Runner {
  public:
    Runner(Session& session, const MeasureOptions& options, Team& team)
        : options_(options), team_(team), arrivals_(options), streams_(session.streams.size()) {
        if (options.deadline_ns > 0) {
            run_options_.deadline = std::chrono::nanoseconds(options.deadline_ns);
        }
        constexpr size_t kReserved = size_t{1} << 16;
        for (size_t i = 0; i < streams_.size(); ++i) {
            streams_[i].queue = &session.streams[i];
            streams_[i].samples.reserve(kReserved / streams_.size());
            if (options.cold_cache) {
                // Beyond the last-level cache of one core.
                constexpr size_t kSweptBytes = size_t{64} << 20;
                streams_[i].swept.resize(kSweptBytes);
            }
        }
    }

    void warm_up() {
        team_.run(
            [this](int i) {
                warm_up(streams_[size_t(i)]);
                end_warm_up(streams_[size_t(i)]);
            },
            [] {});
    }

    bool finished() const {
        return std::all_of(streams_.begin(), streams_.end(),
                           [this](const Stream& stream) { return finished(stream); });
    }

    // Of the work, in [0, 1], when its turn has lasted for `turn_ns`.
    double share_done(int64_t turn_ns) const {
        auto runs = double(begun_.load(std::memory_order_relaxed));
        if (options_.exact_runs > 0) {
            return std::min(1.0, runs / double(options_.exact_runs));
        }
        double by_time =
            double(spent_ns_ + turn_ns) / double(std::max<int64_t>(1, options_.min_time_ns));
        return std::min({1.0, by_time, runs / double(std::max<int64_t>(1, options_.min_runs))});
    }

    // Every unfinished stream runs at least once, until it is finished or `slice_ns` have passed.
    void measure_slice(int64_t slice_ns, const std::function<void()>& on_wait) {
        arrivals_.restart();
        team_.run([this, slice_ns](int i) { measure_slice(streams_[size_t(i)], slice_ns); },
                  on_wait);
        for (const Stream& stream : streams_) {
            spent_ns_ = std::max(spent_ns_, stream.spent_ns);
        }
    }

    Measurement take_result() {
        Measurement result;
        std::vector<Sample> samples;
        for (Stream& stream : streams_) {
            samples.insert(samples.end(), stream.samples.begin(), stream.samples.end());
            result.warmup_runs += stream.warmup_runs;
            result.missed_deadlines += stream.missed_deadlines;
            result.timed_ns += stream.spent_ns;
            if (result.error.ok()) {
                result.error = stream.error;
            }
        }
        // A stream that ended a turn before the others was idle: the mean leaves that out.
        result.timed_ns /= int64_t(streams_.size());
        std::stable_sort(samples.begin(), samples.end(),
                         [](const Sample& a, const Sample& b) { return a.end_ns < b.end_ns; });
        result.samples_ns.reserve(samples.size());
        for (const Sample& sample : samples) {
            result.samples_ns.push_back(sample.latency_ns);
        }
        return result;
    }

  private:
    bool must_stop() const {
        return failed_.load(std::memory_order_relaxed) || interruption() != Interruption::kNone;
    }

    bool finished(const Stream& stream) const {
        if (must_stop() || stream.spent_ns >= options_.max_time_ns) {
            return true;
        }
        int64_t runs = begun_.load(std::memory_order_relaxed);
        if (options_.exact_runs > 0) {
            return runs >= options_.exact_runs;
        }
        return runs >= options_.min_runs && stream.spent_ns >= options_.min_time_ns;
    }

    void fail(Stream& stream, Status error) {
        stream.error = std::move(error);
        failed_ = true;
    }

    void warm_up(Stream& stream) {
        const std::string& mode = options_.warmup;
        if (mode == "auto") {
            warm_until_settled(stream);
        } else if (mode.size() > 2 && mode.substr(mode.size() - 2) == "ms") {
            const int64_t wanted_ms = parse_integer(mode.substr(0, mode.size() - 2)).value_or(0);
            const int64_t end = now_ns() + whole_nanoseconds(double(wanted_ms) * 1e6);
            while (now_ns() < end && warm_run(stream)) {
            }
        } else {
            int64_t runs = parse_integer(mode).value_or(0);
            while (stream.warmup_runs < runs && warm_run(stream)) {
            }
        }
    }

    bool warm_run(Stream& stream) {
        if (must_stop()) {
            return false;
        }
        Status status = submit(stream, now_ns(), {});
        ++stream.warmup_runs;
        if (status.ok() && stream.is_full()) {
            status = take_oldest(stream, {});
        }
        if (!status.ok()) {
            fail(stream, std::move(status));
            return false;
        }
        return true;
    }

    void end_warm_up(Stream& stream) {
        while (!stream.starts_ns.empty()) {
            if (Status status = take_oldest(stream, {}); !status.ok()) {
                fail(stream, std::move(status));
            }
        }
    }

    // Until the median of the last 10 runs is within 2 % of that of the 10 before; at most 2 s.
    void warm_until_settled(Stream& stream) {
        constexpr size_t kWindow = 10;
        constexpr int64_t kCapNs = 2'000'000'000;
        std::vector<double> times;
        int64_t begin = now_ns();
        while (now_ns() - begin < kCapNs) {
            int64_t start = now_ns();
            if (!warm_run(stream)) {
                return;
            }
            times.push_back(double(now_ns() - start));
            if (times.size() >= 2 * kWindow && times.size() % kWindow == 0) {
                auto middle = times.end() - int64_t(kWindow);
                double last = median({middle, times.end()});
                double before = median({middle - int64_t(kWindow), middle});
                if (std::fabs(last / before - 1) <= 0.02) {
                    return;
                }
            }
        }
    }

    void measure_slice(Stream& stream, int64_t slice_ns) {
        int64_t begin = now_ns();
        while (slice_ns > 0 && !finished(stream)) {
            // Streams that look at the same time would otherwise run more than exact_runs.
            const int64_t run = begun_.fetch_add(1, std::memory_order_relaxed);
            if (options_.exact_runs > 0 && run >= options_.exact_runs) {
                break;
            }
            begin_run(stream);
            if (stream.is_full()) {
                end_oldest_run(stream);
            }
            const int64_t now = now_ns();
            stream.spent_ns += now - begin;
            slice_ns -= now - begin;
            begin = now;
        }
        while (!stream.starts_ns.empty()) {
            end_oldest_run(stream);
        }
        stream.spent_ns += now_ns() - begin;
    }

    // The intended start of an open-loop run: sleeps to just before it, then spins. nullopt when
    // interrupted before.
    std::optional<int64_t> wait_for_start() {
        if (options_.rate_per_s <= 0) {
            return now_ns();
        }
        constexpr int64_t kSpinNs = 100'000;
        const int64_t start_ns = arrivals_.next_ns();
        if (!sleep_until_ns(start_ns - kSpinNs)) {
            return std::nullopt;
        }
        while (now_ns() < start_ns) {
        }
        return start_ns;
    }

    void begin_run(Stream& stream) {
        for (size_t i = 0; i < stream.swept.size(); i += 64) {
            stream.swept[i] = char(stream.swept[i] + 1);
        }
        if (const std::optional<int64_t> start = wait_for_start()) {
            if (Status status = submit(stream, *start, run_options_); !status.ok()) {
                fail(stream, std::move(status));
            }
        }
    }

    void end_oldest_run(Stream& stream) {
        const int64_t start_ns = stream.starts_ns.front();
        Status status = take_oldest(stream, run_options_);
        const int64_t end_ns = now_ns();
        if (status.ok()) {
            stream.samples.push_back({end_ns, double(end_ns - start_ns)});
        } else if (status.code() == StatusCode::kTimeout) {
            ++stream.missed_deadlines;
        } else {
            fail(stream, std::move(status));
        }
        if (options_.think_ns > 0) {
            sleep_until_ns(now_ns() + options_.think_ns);
        }
    }

    const MeasureOptions& options_;
    Team& team_;
    Arrivals arrivals_;
    RunOptions run_options_;
    std::vector<Stream> streams_;
    int64_t spent_ns_ = 0;           // of the stream that spent most; kept between turns
    std::atomic<int64_t> begun_{0};  // runs of all streams, missed deadlines among them
    std::atomic<bool> failed_{false};
};

// Pauses; returns `before` as it would be if the pause had not been.
CpuUsage cool_down(const CpuUsage& before, int64_t pause_ns) {
    const Activity activity("cooling down");
    const CpuUsage begin = cpu_usage();
    sleep_until_ns(now_ns() + pause_ns);
    return cpu_usage() - (begin - before);
}

bool all_finished(const std::deque<Runner>& runners) {
    return std::all_of(runners.begin(), runners.end(),
                       [](const Runner& runner) { return runner.finished(); });
}

// Of all sessions, when the turn of `running` has lasted for `turn_ns`.
double share_done(const std::deque<Runner>& runners, const Runner& running, int64_t turn_ns) {
    double share = 0;
    for (const Runner& runner : runners) {
        share += runner.share_done(&runner == &running ? turn_ns : 0);
    }
    return share / double(runners.size());
}

// Round after round until every runner is finished; what the process used meanwhile.
CpuUsage take_turns(std::deque<Runner>& runners,
                    const std::vector<Session*>& sessions,
                    const MeasureOptions& options) {
    // A turn must be long against a cache refill and short against drift of the machine's speed.
    // Several streams do not end their turns together: where nobody else waits, one turn is all.
    constexpr int64_t kTurnNs = 200'000'000;
    const bool alone = sessions.size() == 1;
    const int64_t turn_ns =
        alone && options.streams > 1 ? std::numeric_limits<int64_t>::max() : kTurnNs;
    Progress progress("measuring", options.progress);
    CpuUsage before = cpu_usage();
    for (bool is_first_round = true; !all_finished(runners); is_first_round = false) {
        if (!is_first_round && !alone && options.cool_down_ns > 0) {
            before = cool_down(before, options.cool_down_ns);
        }
        for (size_t i = 0; i < runners.size(); ++i) {
            if (runners[i].finished()) {
                continue;
            }
            const Activity activity(fmt::format("measuring '{}'", sessions[i]->name));
            const int64_t begin_ns = now_ns();
            auto show = [&] {
                progress.update(share_done(runners, runners[i], now_ns() - begin_ns),
                                sessions[i]->name);
            };
            runners[i].measure_slice(turn_ns, show);
            progress.update(share_done(runners, runners[i], 0), sessions[i]->name);
        }
    }
    return cpu_usage() - before;
}

}  // namespace

Result<MeasureOptions> measure_options(const Options& options) {
    MeasureOptions measure;
    measure.warmup = options.text("warmup");
    std::string_view digits = measure.warmup;
    if (digits.size() > 2 && digits.substr(digits.size() - 2) == "ms") {
        digits.remove_suffix(2);
    }
    if (measure.warmup != "auto" && !parse_integer(digits)) {
        return invalid_argument(
            "--warmup is '{}'; needed: auto, a number of runs, or milliseconds such as 200ms",
            measure.warmup);
    }
    measure.min_time_ns = options.nanoseconds("min-time", 1e9);
    measure.max_time_ns = options.nanoseconds("max-time", 1e9);
    if (measure.max_time_ns < measure.min_time_ns && options.given("min-time") &&
        options.given("max-time")) {
        return invalid_argument("--max-time is '{}', below --min-time, which is '{}'",
                                options.text("max-time"), options.text("min-time"));
    }
    // The default of one yields to the other, and to a number of runs.
    if (options.given("runs") && !options.given("max-time")) {
        measure.max_time_ns = std::numeric_limits<int64_t>::max();
    } else if (options.given("max-time")) {
        measure.min_time_ns = std::min(measure.min_time_ns, measure.max_time_ns);
    } else {
        measure.max_time_ns = std::max(measure.min_time_ns, measure.max_time_ns);
    }
    measure.min_runs = options.integer("min-runs");
    measure.exact_runs = options.integer("runs");
    int64_t streams = options.integer("streams");
    constexpr int64_t kMaxStreams = 1024;
    if (streams < 1 || streams > kMaxStreams) {
        return invalid_argument("--streams is '{}'; needed: 1 to {}", streams, kMaxStreams);
    }
    measure.streams = int(streams);
    measure.cool_down_ns = options.nanoseconds("cool-down", 1e9);
    measure.rate_per_s = options.number("rate");
    measure.poisson = options.text("arrival") == "poisson";
    measure.think_ns = options.nanoseconds("think", 1e6);
    measure.deadline_ns = options.nanoseconds("deadline", 1e6);
    measure.cold_cache = options.text("cold-cache") == "all";
    if (measure.cold_cache && streams > 1) {
        return invalid_argument(
            "--cold-cache all with --streams {}: what one stream sweeps hides in the others' runs; "
            "needed: one of both",
            streams);
    }
    measure.progress = options.text("progress") != "never" && !options.flag("quiet");
    return measure;
}

std::vector<Measurement> measure(const std::vector<Session*>& sessions,
                                 const MeasureOptions& options) {
    Team team;
    if (Status status = team.start(options.streams); !status.ok()) {
        std::vector<Measurement> failed(sessions.size());
        for (Measurement& measurement : failed) {
            measurement.error = status;
        }
        return failed;
    }
    std::deque<Runner> runners;
    for (Session* session : sessions) {
        runners.emplace_back(*session, options, team);
        const Activity activity(fmt::format("warming up '{}'", session->name));
        runners.back().warm_up();
    }
    CpuUsage usage = take_turns(runners, sessions, options);
    std::vector<Measurement> results;
    for (Runner& runner : runners) {
        results.push_back(runner.take_result());
        results.back().usage = usage;
        results.back().interrupted = interruption() != Interruption::kNone;
    }
    return results;
}

}  // namespace leat::bench
