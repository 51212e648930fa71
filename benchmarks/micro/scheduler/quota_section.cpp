// Throughput under a quota of one CPU: with the threads that thread_budget() chooses, over the best
// number tried by hand. Needs a cgroup hierarchy with the cpu controller that this process may
// write; without one it says so.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "bench.h"
#include "leat/scheduler/topology.h"
#include "table.h"

namespace leat::micro {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPeriodUs = 100'000;

bool write_text(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

// The calling process is in a cgroup of its own with the time of one CPU while this lives.
class OneCpuQuota {
  public:
    OneCpuQuota() {
        const std::string name = fmt::format("leat-quota-{}", ::getpid());
        if (enter("/sys/fs/cgroup/cpu", name, "cpu.cfs_quota_us", std::to_string(kPeriodUs))) {
            return;
        }
        enter("/sys/fs/cgroup", name, "cpu.max", fmt::format("{0} {0}", kPeriodUs));
    }
    ~OneCpuQuota() {
        if (is_set_) {
            write_text(folder_.parent_path() / "cgroup.procs", std::to_string(::getpid()));
            std::error_code ignored;
            fs::remove(folder_, ignored);
        }
    }
    OneCpuQuota(const OneCpuQuota&) = delete;
    OneCpuQuota& operator=(const OneCpuQuota&) = delete;

    bool is_set() const { return is_set_; }

  private:
    bool enter(const fs::path& mount,
               const std::string& name,
               const char* file,
               const std::string& quota) {
        folder_ = mount / name;
        std::error_code error;
        if (!fs::exists(mount / "cgroup.procs") || !fs::create_directory(folder_, error)) {
            return false;
        }
        is_set_ = fs::exists(folder_ / file) && write_text(folder_ / file, quota) &&
                  write_text(folder_ / "cgroup.procs", std::to_string(::getpid()));
        if (!is_set_) {
            fs::remove(folder_, error);
        }
        return is_set_;
    }

    fs::path folder_;
    bool is_set_ = false;
};

// Runs a second, an amount that the quota's period does not show in.
double tasks_per_s(PreparedGraph& graph, int32_t nodes, int64_t duration_ns) {
    const int64_t begin = now_ns();
    int64_t runs = 0;
    int64_t passed = 0;
    while (passed < duration_ns) {
        graph.run();
        ++runs;
        passed = now_ns() - begin;
    }
    return double(runs) * double(nodes) * 1e9 / double(passed);
}

struct Candidate {
    std::string name;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<PreparedGraph> graph;
    std::vector<double> rates;
};

}  // namespace

void measure_quota(Bench& bench) {
    const OneCpuQuota quota;
    if (!quota.is_set()) {
        fmt::print(bench.out, "\nquota: no cgroup with a cpu controller may be made here\n");
        return;
    }
    const scheduler::ThreadBudget budget = scheduler::thread_budget(scheduler::read_topology(), 0);
    fmt::print(bench.out, "\nquota of one CPU: {} thread(s) by {}\n", budget.threads,
               budget.source);
    const Graph graph = make_named_graph("random4", bench.options.quick ? 640 : 6'400);
    BusyWork work;
    work.set_length_ns(10'000, measure_ns_per_iteration());
    const std::vector<float> costs(graph.predecessor_count.size(), 10'000);
    Table table({"executor", "threads", "tasks/s", "chosen / best"});
    for (const ExecutorEntry& entry : bench.entries) {
        if (entry.serial_only || entry.family != Family::kLeat) {
            continue;
        }
        std::vector<Candidate> candidates;
        for (const int threads : {1, 2}) {
            Candidate candidate;
            candidate.executor = entry.make({threads, false});
            candidate.graph = candidate.executor->prepare({&graph, work.body(), costs});
            candidates.push_back(std::move(candidate));
        }
        interleave(candidates.size(), bench.options.rounds_or(5, 1), [&](size_t i, int) {
            candidates[i].rates.push_back(
                tasks_per_s(*candidates[i].graph, graph.node_count(), 1'000'000'000));
        });
        const double one = spread_of(candidates[0].rates).median;
        const double two = spread_of(candidates[1].rates).median;
        const double share = (budget.threads == 1 ? one : two) / std::max(one, two);
        bench.results.add(
            {"quota", "share of best", std::string(entry.name), "random4", "10us", budget.threads},
            spread_of({share}), "x");
        table.add({std::string(entry.name), "1", fmt::format("{:.0f}", one),
                   budget.threads == 1 ? fmt::format("{:.3f}", share) : ""});
        table.add({std::string(entry.name), "2", fmt::format("{:.0f}", two),
                   budget.threads == 2 ? fmt::format("{:.3f}", share) : ""});
    }
    table.print(bench.out);
}

}  // namespace leat::micro
