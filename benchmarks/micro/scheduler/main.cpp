// What a task costs in the scheduler, against peers and against what the hardware allows.
//
// Each section measures one promise; all executors take turns in one process (interleaved rounds,
// rotating order), medians are shown, and the JSON adds the 10th and 90th percentiles.
//   overhead    wall ns a task (elapsed / tasks) on ten graphs; the cost a core on two threads is
//               twice that. Read the ratios: absolute times move with the machine.
//   metg        smallest task at which half of the time is work: METG(50 %) of Task Bench
//   efficiency  ideal over measured time with 1 us and 10 us bodies
//   tiny        run() of graphs of 1 to 10 nodes
//   wake        when tasks start after a pause, against a plain call and a raw futex wake
//   memory      bytes and nanoseconds a node to prepare a graph, in a fresh process
//   contention  total time while another process keeps one CPU busy
//   quota       throughput under a cgroup's quota of one CPU, over the best number of threads
//   idle        CPU time of a process that runs a graph ten times a second, and afterwards
// Executors named leat-* are this library, ref-* and seq the minimal ones of this folder (what is
// reachable), the others peers. Before times count, each must run every graph right. A series on
// two threads during which the machine gave fewer than 1.8 cores is repeated, and marked if that
// does not help.
#include <fmt/core.h>

#include <cstdio>

#include "bench.h"
#include "gates.h"
#include "machine_json.h"
#include "memory_child.h"

namespace leat::micro {
namespace {

struct Section {
    std::string_view name;
    void (*measure)(Bench&) = nullptr;
};

constexpr Section kSections[] = {
    {"overhead", measure_overhead},
    {"metg", measure_metg},
    {"efficiency", measure_efficiency},
    {"tiny", measure_tiny},
    {"wake", measure_wake},
    {"memory", measure_memory},
    {"contention", measure_contention},
    {"idle", measure_idle},
    {"quota", measure_quota},
};

bool write_json(const Bench& bench, const std::vector<Gate>& gates) {
    Json json = Json::object();
    json.set("schema", 1);
    json.set("machine", machine_json());
    json.set("executors", executors_json(bench.entries));
    json.set("quick", bench.options.quick);
    json.set("wrong_runs", bench.wrong_runs);
    json.set("results", bench.results.json());
    json.set("gates", gates_json(gates));
    const std::string text = json.dump() + "\n";
    if (bench.options.json_path == "-") {
        return std::fputs(text.c_str(), stdout) >= 0;
    }
    std::FILE* file = std::fopen(bench.options.json_path.c_str(), "w");
    if (file == nullptr) {
        fmt::print(stderr, "{} cannot be written\n", bench.options.json_path);
        return false;
    }
    const bool written = std::fputs(text.c_str(), file) >= 0;
    return std::fclose(file) == 0 && written;
}

int run(const Options& options) {
    Bench bench;
    bench.options = options;
    bench.out = options.json_path == "-" ? stderr : stdout;
    for (const ExecutorEntry& entry : executor_entries()) {
        if (options.has_executor(entry.name)) {
            bench.entries.push_back(entry);
        }
    }
    if (bench.entries.size() < options.executors.size()) {
        fmt::print(stderr, "--executors: this build has not all of them; it has");
        for (const ExecutorEntry& entry : executor_entries()) {
            fmt::print(stderr, " {}", entry.name);
        }
        fmt::print(stderr, "\n");
        return 2;
    }
    if (!options.memory_of.empty()) {
        return run_memory_child(bench);
    }
    print_machine(bench.out, bench.entries);
    std::fflush(bench.out);
    check_executors(bench);
    for (const Section& section : kSections) {
        if (options.has_section(section.name)) {
            section.measure(bench);
            std::fflush(bench.out);
        }
    }
    const std::vector<Gate> gates = evaluate_gates(bench);
    print_gates(bench.out, gates);
    const bool written = options.json_path.empty() || write_json(bench, gates);
    return bench.wrong_runs == 0 && written ? 0 : 1;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    const leat::Result<leat::micro::Options> options = leat::micro::parse_options(argc, argv);
    if (!options.ok()) {
        fmt::print(stderr, "{}\n", options.error().message());
        return 2;
    }
    if (options.value().help) {
        fmt::print("{}", leat::micro::usage());
        return 0;
    }
    return leat::micro::run(options.value());
}
