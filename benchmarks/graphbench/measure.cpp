#include "measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <random>
#include <thread>

#include "base/error.h"
#include "progress.h"

namespace leat::bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_interrupt(int) {
    interrupted = 1;
}

class InterruptGuard {
  public:
    InterruptGuard() {
        interrupted = 0;
        previous_ = std::signal(SIGINT, on_interrupt);
    }
    ~InterruptGuard() { std::signal(SIGINT, previous_); }
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    void (*previous_)(int) = nullptr;
};

// One session under measurement.
class Runner {
  public:
    Runner(Session& session, const MeasureOptions& options) : session_(session), options_(options) {
        if (options.deadline_ns > 0) {
            run_options_.deadline = std::chrono::nanoseconds(options.deadline_ns);
        }
        if (options.cold_cache) {
            constexpr size_t kSweptBytes = size_t{64}
                                           << 20;  // beyond the last-level cache of one core
            sweep_.resize(kSweptBytes);
        }
    }

    Measurement& result() { return result_; }

    void warm_up() {
        const std::string& mode = options_.warmup;
        if (mode == "auto") {
            warm_until_settled();
        } else if (mode.size() > 2 && mode.substr(mode.size() - 2) == "ms") {
            int64_t end =
                now_ns() + parse_integer(mode.substr(0, mode.size() - 2)).value_or(0) * 1'000'000;
            while (now_ns() < end && warm_run()) {
            }
        } else {
            int64_t runs = parse_integer(mode).value_or(0);
            while (result_.warmup_runs < runs && warm_run()) {
            }
        }
    }

    bool finished() const {
        auto runs = int64_t(result_.samples_ns.size()) + result_.missed_deadlines;
        if (!result_.error.ok() || interrupted != 0 || spent_ns_ >= options_.max_time_ns) {
            return true;
        }
        if (options_.exact_runs > 0) {
            return runs >= options_.exact_runs;
        }
        return runs >= options_.min_runs && spent_ns_ >= options_.min_time_ns;
    }

    double share_done() const {
        auto runs = double(result_.samples_ns.size());
        if (options_.exact_runs > 0) {
            return runs / double(options_.exact_runs);
        }
        double by_time = double(spent_ns_) / double(std::max<int64_t>(1, options_.min_time_ns));
        return std::min(by_time, runs / double(std::max<int64_t>(1, options_.min_runs)));
    }

    // Runs until finished or `slice_ns` have passed; at least once.
    void measure_slice(int64_t slice_ns) {
        int64_t begin = now_ns();
        next_start_ns_ = begin;
        do {
            timed_run();
            const int64_t now = now_ns();
            spent_ns_ += now - begin;
            result_.timed_ns += now - begin;
            slice_ns -= now - begin;
            begin = now;
        } while (slice_ns > 0 && !finished());
    }

  private:
    bool warm_run() {
        if (interrupted != 0 || !result_.error.ok()) {
            return false;
        }
        Status status = session_.request.run();
        ++result_.warmup_runs;
        if (!status.ok()) {
            result_.error = status;
        }
        return status.ok();
    }

    // Until the median of the last 10 runs is within 2 % of that of the 10 before; at most 2 s.
    void warm_until_settled() {
        constexpr size_t kWindow = 10;
        constexpr int64_t kCapNs = 2'000'000'000;
        std::vector<double> times;
        int64_t begin = now_ns();
        while (now_ns() - begin < kCapNs) {
            int64_t start = now_ns();
            if (!warm_run()) {
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

    // The intended start of an open-loop run: sleeps to just before it, then spins.
    int64_t wait_for_start() {
        if (options_.rate_per_s <= 0) {
            return now_ns();
        }
        double gap = 1e9 / options_.rate_per_s;
        if (options_.poisson) {
            gap *= std::exponential_distribution<double>(1)(random_);
        }
        next_start_ns_ += int64_t(gap);
        constexpr int64_t kSpinNs = 100'000;
        if (int64_t left = next_start_ns_ - now_ns(); left > kSpinNs) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(left - kSpinNs));
        }
        while (now_ns() < next_start_ns_) {
        }
        return next_start_ns_;
    }

    void timed_run() {
        for (size_t i = 0; i < sweep_.size(); i += 64) {
            sweep_[i] = char(sweep_[i] + 1);
        }
        int64_t start = wait_for_start();
        Status status = session_.request.run(run_options_);
        int64_t end = now_ns();
        if (status.ok()) {
            result_.samples_ns.push_back(double(end - start));
        } else if (status.code() == StatusCode::kTimeout) {
            ++result_.missed_deadlines;
        } else {
            result_.error = status;
        }
        if (options_.think_ns > 0) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(options_.think_ns));
        }
    }

    Session& session_;
    const MeasureOptions& options_;
    RunOptions run_options_;
    Measurement result_;
    std::vector<char> sweep_;
    std::mt19937_64 random_{1};
    int64_t spent_ns_ = 0;
    int64_t next_start_ns_ = 0;
};

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
    measure.min_time_ns = int64_t(options.number("min-time") * 1e9);
    measure.max_time_ns = std::max(measure.min_time_ns, int64_t(options.number("max-time") * 1e9));
    measure.min_runs = options.integer("min-runs");
    measure.exact_runs = options.integer("runs");
    measure.rate_per_s = options.number("rate");
    measure.poisson = options.text("arrival") == "poisson";
    measure.think_ns = int64_t(options.number("think") * 1e6);
    measure.deadline_ns = int64_t(options.number("deadline") * 1e6);
    measure.cold_cache = options.text("cold-cache") == "all";
    measure.progress = options.text("progress") != "never" && !options.flag("quiet");
    return measure;
}

std::vector<Measurement> measure(std::vector<Session*> sessions, const MeasureOptions& options) {
    // A turn must be long against a cache refill and short against drift of the machine's speed.
    constexpr int64_t kTurnNs = 200'000'000;
    InterruptGuard guard;
    std::vector<Runner> runners;
    for (Session* session : sessions) {
        runners.emplace_back(*session, options);
        runners.back().result().samples_ns.reserve(1 << 16);
    }
    Progress progress("measuring", options.progress);
    for (Runner& runner : runners) {
        runner.warm_up();
    }
    CpuUsage before = cpu_usage();
    bool working = true;
    while (working) {
        working = false;
        double share = 0;
        for (size_t i = 0; i < runners.size(); ++i) {
            if (!runners[i].finished()) {
                runners[i].measure_slice(kTurnNs);
                working = true;
            }
            share += std::min(1.0, runners[i].share_done()) / double(runners.size());
            progress.update(share, sessions[i]->name);
        }
    }
    CpuUsage usage = cpu_usage() - before;
    std::vector<Measurement> results;
    for (Runner& runner : runners) {
        runner.result().usage = usage;
        runner.result().interrupted = interrupted != 0;
        results.push_back(std::move(runner.result()));
    }
    return results;
}

}  // namespace leat::bench
