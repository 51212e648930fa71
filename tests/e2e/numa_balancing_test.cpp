// Pages that leat has bound stay where they are while the kernel balances (numa_balancing), under
// whoever reads them: see numa_test.sh. The kernel is told to look for pages to move a hundred
// times as often as it does by itself.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "numa_cell.h"
#include "numa_process.h"

namespace leat::numa_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kBalanced{10};
constexpr std::chrono::seconds kUnbalanced{1};
constexpr std::chrono::seconds kMostForControl{20};
constexpr int64_t kPageBytes = 4096;

void write_file(const std::string& path, int value) {
    std::ofstream file(path);
    file << value;
    file.close();
    EXPECT_TRUE(file.good()) << path;
}

int64_t vmstat(const std::string& name) {
    std::ifstream file("/proc/vmstat");
    std::string key;
    for (int64_t value = 0; file >> key >> value;) {
        if (key == name) {
            return value;
        }
    }
    return -1;
}

void run_on_cpu(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(size_t(cpu), &mask);
    ASSERT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
}

void run_on_all_cpus() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int cpu = 0; cpu < 4; ++cpu) {
        CPU_SET(size_t(cpu), &mask);
    }
    ASSERT_EQ(::sched_setaffinity(0, sizeof mask, &mask), 0);
}

// The node of each page, as the kernel says; negative: not resident.
std::vector<int> nodes_of_pages(const void* begin, int64_t bytes) {
    auto* const first = static_cast<char*>(const_cast<void*>(begin));
    const int64_t before = int64_t(reinterpret_cast<uintptr_t>(begin) % uintptr_t(kPageBytes));
    std::vector<void*> pages;
    pages.reserve(size_t((before + bytes) / kPageBytes) + 1);
    for (int64_t at = -before; at < bytes; at += kPageBytes) {
        pages.push_back(first + at);
    }
    std::vector<int> nodes(pages.size(), -1);
    EXPECT_EQ(::syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0),
              0);
    return nodes;
}

// A request that is run again and again, and where its pages were before.
class Watched {
  public:
    Watched(RequestSpan span, int node, int maker_cpu) {
        RuntimeOptions options;
        options.numa.requests = span;
        runtime_.emplace(options);
        compiled_.emplace(*runtime_->compile(doubling_graph(false, kManyDoublings)));
        run_on_cpu(maker_cpu);
        request_.emplace(*compiled_->make_request({.numa_node = node}));
        run_on_all_cpus();
        EXPECT_TRUE(request_->bind("x", Value(cell_input({32, 32}, 0))).ok());
        run();
        bits_ = bits_of(output());
        output_nodes_ = nodes_of_output();
        report_ = request_->placement_report();
    }
    void run() {
        const Status status = request_->run();
        EXPECT_TRUE(status.ok()) << status.message();
        ++runs;
    }
    void expect_as_before() const {
        EXPECT_EQ(bits_of(output()), bits_);
        EXPECT_EQ(nodes_of_output(), output_nodes_);
        const PlacementReport report = request_->placement_report();
        ASSERT_EQ(report.memory.size(), report_.memory.size());
        for (size_t i = 0; i < report.memory.size(); ++i) {
            const PagePlacement& now = report.memory[i];
            EXPECT_EQ(now.there_pages, report_.memory[i].there_pages) << now.memory;
            EXPECT_EQ(now.elsewhere_pages, 0) << now.memory;
            EXPECT_TRUE(now.is_confirmed) << now.memory;
        }
    }
    // Resident ones, where they are wanted.
    int64_t pages() const {
        int64_t sum = 0;
        for (const PagePlacement& part : report_.memory) {
            sum += part.there_pages;
        }
        return sum;
    }
    bool is_balanced_by_system() const {
        return request_->placement_report().is_balanced_by_system;
    }

    int runs = 0;

  private:
    std::span<const float> output() const { return request_->get<float>("y"); }
    std::vector<int> nodes_of_output() const {
        return nodes_of_pages(output().data(), int64_t(output().size_bytes()));
    }

    std::optional<Runtime> runtime_;
    std::optional<CompiledGraph> compiled_;
    std::optional<Request> request_;
    uint64_t bits_ = 0;
    std::vector<int> output_nodes_;
    PlacementReport report_;
};

class NumaBalancing : public ::testing::Test {
  protected:
    void SetUp() override {
        LEAT_ON_MACHINE("balancing");
        (void)::mount("debugfs", "/sys/kernel/debug", "debugfs", 0, nullptr);
        const std::string folder = "/sys/kernel/debug/sched/numa_balancing/";
        write_file(folder + "scan_delay_ms", 10);
        write_file(folder + "scan_period_min_ms", 10);
        write_file(folder + "scan_period_max_ms", 20);
    }
    void TearDown() override { run_on_all_cpus(); }
    static void switch_balancing(int value) {
        write_file("/proc/sys/kernel/numa_balancing", value);
    }

    // Runs by turns for so long; once a second no page is elsewhere than before.
    static void expect_pages_to_stay(std::vector<Watched>& all, std::chrono::seconds time) {
        const int64_t scanned = vmstat("numa_pte_updates");
        const int64_t hinted = vmstat("numa_hint_faults");
        const int64_t migrated = vmstat("numa_pages_migrated");
        const Clock::time_point start = Clock::now();
        for (std::chrono::seconds passed{1}; passed <= time; ++passed) {
            while (Clock::now() < start + passed) {
                for (Watched& watched : all) {
                    watched.run();
                }
            }
            for (const Watched& watched : all) {
                watched.expect_as_before();
            }
        }
        // Of the whole system: memory that is not leat's may move.
        fmt::print("numa_balancing for {} s: {} pages scanned, {} faults, {} pages migrated\n",
                   time.count(), vmstat("numa_pte_updates") - scanned,
                   vmstat("numa_hint_faults") - hinted, vmstat("numa_pages_migrated") - migrated);
        for (const Watched& watched : all) {
            fmt::print("    {} runs, {} pages of leat's stayed\n", watched.runs, watched.pages());
        }
    }
};

// Memory that no policy binds is moved to its reader: the kernel balances here.
TEST_F(NumaBalancing, MovesWhatIsNotBound) {
    constexpr int64_t kBytes = 64 * kPageBytes;
    switch_balancing(1);
    run_on_cpu(2);  // on node 1
    void* const memory =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto* const bytes = static_cast<volatile char*>(memory);
    for (int64_t i = 0; i < kBytes; i += kPageBytes) {
        bytes[i] = 1;
    }
    EXPECT_THAT(nodes_of_pages(memory, kBytes), ::testing::Each(1));
    run_on_cpu(0);
    const int64_t migrated = vmstat("numa_pages_migrated");
    // A page that the kernel watches for its reader is not resident for move_pages.
    std::vector<int> nodes;
    const Clock::time_point end = Clock::now() + kMostForControl;
    while (std::count(nodes.begin(), nodes.end(), 0) == 0 && Clock::now() < end) {
        for (int turn = 0; turn < 1000; ++turn) {
            for (int64_t i = 0; i < kBytes; i += kPageBytes) {
                bytes[i] = char(bytes[i] + 1);
            }
        }
        nodes = nodes_of_pages(memory, kBytes);
    }
    EXPECT_THAT(nodes, ::testing::Contains(0));
    EXPECT_GT(vmstat("numa_pages_migrated"), migrated);
    ::munmap(memory, kBytes);
}

// One request keeps to node 1; the other is on node 0, and threads of both nodes use its memory.
TEST_F(NumaBalancing, LeavesWhatThePlanPlaced) {
    std::vector<Watched> all;
    all.reserve(2);
    all.emplace_back(RequestSpan::kOneNode, 1, 0);
    all.emplace_back(RequestSpan::kAllNodes, 0, 0);
    switch_balancing(1);
    EXPECT_TRUE(all[0].is_balanced_by_system());
    expect_pages_to_stay(all, kBalanced);
    switch_balancing(0);
    EXPECT_FALSE(all[0].is_balanced_by_system());
    expect_pages_to_stay(all, kUnbalanced);
}

}  // namespace
}  // namespace leat::numa_test
