// When the first and the second task of a run start after a pause: two independent tasks of 300 us
// on two threads, after run() is called, and the first also after the pause should have ended,
// which adds the machine's own wake from idle. The same of the first of two tasks of 1 us, which no
// wake-up of another thread goes before. Beside them, in the same rounds: a plain function call
// after the same pause, and a raw futex wake.
#include <fmt/core.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <optional>

#include "bench.h"
#include "capacity.h"
#include "futex_pair.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr int kThreads = 2;
constexpr double kTaskNs = 300'000;
constexpr double kShortTaskNs = 1'000;

struct Pause {
    std::string_view name;
    int64_t length_ns = 0;
};
// The middle one stays, with the timer's slack, below 1 ms.
constexpr std::array<Pause, 3> kPauses = {
    {{"20 ms idle", 20'000'000}, {"0.8 ms idle", 800'000}, {"back to back", 0}}};

struct Stamps {
    std::array<int64_t, 2> started_ns{};
    BusyWork work;

    static bool visit(void* context, int32_t node) {
        auto& stamps = *static_cast<Stamps*>(context);
        stamps.started_ns[size_t(node)] = now_ns();
        multiply_chain(stamps.work.iterations, uint64_t(node));
        return true;
    }
};

struct Samples {
    std::vector<double> first_ns;
    std::vector<double> second_ns;
    std::vector<double> since_pause_ns;  // of the first task
    std::vector<double> short_since_pause_ns;
};

class WakeTest {
  public:
    explicit WakeTest(Bench& bench) : bench_(bench), contestants_(bench.contestants(kThreads)) {
        for (const ExecutorEntry& entry : bench.entries) {
            if (entry.has_latency_mode) {
                contestants_.push_back({entry, std::string(entry.name) + " latency",
                                        entry.make({.threads = kThreads, .latency_mode = true})});
            }
        }
        costs_.fill(float(kTaskNs));
        short_costs_.fill(float(kShortTaskNs));
        for (Contestant& contestant : contestants_) {
            const auto prepare = [&](std::span<const float> costs) {
                return contestant.executor->prepare(
                    {.graph = &graph_, .body = {Stamps::visit, &stamps_}, .costs_ns = costs});
            };
            prepared_.push_back(prepare(costs_));
            short_prepared_.push_back(prepare(short_costs_));
        }
    }

    void measure(const Pause& pause) {
        samples_.assign(contestants_.size(), {});
        plain_ = {};
        futex_ns_.clear();
        stamps_.work.set_length_ns(kTaskNs, measure_ns_per_iteration());
        short_work_.set_length_ns(kShortTaskNs, measure_ns_per_iteration());
        cores_ = effective_cores(kThreads);
        // The two last indices are the yardsticks.
        interleave(contestants_.size() + 2, bench_.options.rounds_or(20, 5), [&](size_t i, int) {
            if (i < contestants_.size()) {
                measure_executor(i, pause.length_ns);
            } else if (i == contestants_.size()) {
                measure_plain(pause.length_ns);
            } else {
                measure_futex(pause.length_ns);
            }
        });
        report(pause);
    }

  private:
    static constexpr int kRunsPerRound = 3;

    // Returns when the pause should have ended: waking from it is the machine's part.
    static int64_t pause_for(int64_t length_ns) {
        const int64_t end_ns = now_ns() + length_ns;
        if (length_ns > 0) {
            sleep_until_ns(end_ns);
        }
        return end_ns;
    }

    void measure_executor(size_t i, int64_t pause_ns) {
        const ActiveScope active(*contestants_[i].executor);
        prepared_[i]->run();
        for (int run = 0; run < kRunsPerRound; ++run) {
            const int64_t pause_end = pause_for(pause_ns);
            const int64_t begin = now_ns();
            prepared_[i]->run();
            const auto [first, second] = std::minmax(stamps_.started_ns[0], stamps_.started_ns[1]);
            samples_[i].first_ns.push_back(double(first - begin));
            samples_[i].second_ns.push_back(double(second - begin));
            samples_[i].since_pause_ns.push_back(double(first - pause_end));
        }
        std::swap(stamps_.work, short_work_);
        short_prepared_[i]->run();
        for (int run = 0; run < kRunsPerRound; ++run) {
            const int64_t pause_end = pause_for(pause_ns);
            short_prepared_[i]->run();
            const int64_t first = std::min(stamps_.started_ns[0], stamps_.started_ns[1]);
            samples_[i].short_since_pause_ns.push_back(double(first - pause_end));
        }
        std::swap(stamps_.work, short_work_);
    }

    void measure_plain(int64_t pause_ns) {
        bool (*volatile call)(void*, int32_t) = Stamps::visit;
        call(&stamps_, 0);
        for (int run = 0; run < kRunsPerRound; ++run) {
            const int64_t pause_end = pause_for(pause_ns);
            const int64_t begin = now_ns();
            call(&stamps_, 0);
            plain_.first_ns.push_back(double(stamps_.started_ns[0] - begin));
            plain_.since_pause_ns.push_back(double(stamps_.started_ns[0] - pause_end));
        }
    }

    void measure_futex(int64_t pause_ns) {
        constexpr int64_t kFallAsleepNs = 200'000;
        FutexPair pair;
        sleep_ns(kFallAsleepNs);
        pair.wake_ns();
        for (int run = 0; run < kRunsPerRound; ++run) {
            pause_for(std::max(pause_ns, kFallAsleepNs));
            futex_ns_.push_back(double(pair.wake_ns()));
            multiply_chain(stamps_.work.iterations, 0);
        }
    }

    void report(const Pause& pause) {
        const std::string name(pause.name);
        const auto add = [&](const std::string& executor, const char* metric,
                             const std::vector<double>& samples, const char* body = "300us") {
            bench_.results.add({"wake", metric, executor, name, body, kThreads}, spread_of(samples),
                               "ns", cores_, cores_ >= kParallelCores);
            return spread_of(samples);
        };
        const auto text = [](const Spread& spread) {
            return fmt::format("{} ({})", format_number(spread.median / 1e3),
                               format_number(spread.p90 / 1e3));
        };
        Table table({"executor", "first task", "second task", "first, from the pause's end",
                     "the same, short tasks"});
        table.add({"plain call", text(add("plain call", "first", plain_.first_ns)), "-",
                   text(add("plain call", "first since pause", plain_.since_pause_ns)), "-"});
        table.add({"futex wake", "-", text(add("futex wake", "second", futex_ns_)), "-", "-"});
        for (size_t i = 0; i < contestants_.size(); ++i) {
            const std::string& executor = contestants_[i].name;
            table.add({executor, text(add(executor, "first", samples_[i].first_ns)),
                       text(add(executor, "second", samples_[i].second_ns)),
                       text(add(executor, "first since pause", samples_[i].since_pause_ns)),
                       text(add(executor, "first since pause", samples_[i].short_since_pause_ns,
                                "1us"))});
        }
        fmt::print(bench_.out, "\nwake: us after run(), median (90th percentile), {}\n", name);
        table.print(bench_.out);
        if (cores_ < kParallelCores) {
            fmt::print(bench_.out, "{:.2f} effective cores: second tasks say nothing\n", cores_);
        }
    }

    Bench& bench_;
    std::vector<Contestant> contestants_;
    Graph graph_ = make_independent(2);
    std::array<float, 2> costs_{};
    std::array<float, 2> short_costs_{};
    Stamps stamps_;
    BusyWork short_work_;
    std::vector<std::unique_ptr<PreparedGraph>> prepared_;
    std::vector<std::unique_ptr<PreparedGraph>> short_prepared_;
    std::vector<Samples> samples_;
    Samples plain_;
    std::vector<double> futex_ns_;
    double cores_ = 0;  // before the rounds
};

}  // namespace

void measure_wake(Bench& bench) {
    prctl(PR_SET_TIMERSLACK, 1);  // ns: pauses end when they should
    WakeTest test(bench);
    for (const Pause& pause : kPauses) {
        test.measure(pause);
    }
}

}  // namespace leat::micro
