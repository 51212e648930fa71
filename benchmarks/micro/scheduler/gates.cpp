#include "gates.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "machine_json.h"
#include "ratios.h"
#include "table.h"

namespace leat::micro {
namespace {

// Absolute times are promised for two classes of machine: Zen 5 and later; others, Cascade Lake
// being the one that they were measured on.
struct Bound {
    double fast = 0;
    double other = 0;
    double here() const { return is_fast_machine() ? fast : other; }
};

class GateList {
  public:
    explicit GateList(const Bench& bench) : bench_(bench) {}
    std::vector<Gate> take() { return std::move(gates_); }

    void at_most(const std::string& name, std::optional<double> value, double bound) {
        add(name, value, bound, true);
    }
    void at_least(const std::string& name, std::optional<double> value, double bound) {
        add(name, value, bound, false);
    }
    // Gates that follow need `threads` real cores in the series of `section`.
    void require_cores(const std::string& section, int threads) {
        const std::vector<Measurement>& all = bench_.results.all();
        is_valid_ = std::none_of(all.begin(), all.end(), [&](const Measurement& m) {
            return m.key.section == section && m.key.threads == threads && !m.is_parallel;
        });
    }
    std::optional<double> median(const Key& key) const { return bench_.results.median(key); }
    const Bench& bench() const { return bench_; }

  private:
    void add(const std::string& name, std::optional<double> value, double bound, bool at_most) {
        if (value) {
            gates_.push_back({name, *value, bound, at_most, is_valid_});
        }
    }
    const Bench& bench_;
    std::vector<Gate> gates_;
    bool is_valid_ = true;
};

std::optional<double> quotient(std::optional<double> above, std::optional<double> below) {
    return above && below && *below > 0 ? std::optional(*above / *below) : std::nullopt;
}

// A gate on the geometric mean of all ten graphs says nothing about some of them.
bool has_all_graphs(const Options& options) {
    return options.graphs.empty() || options.graphs.size() == graph_names().size();
}

void overhead_gates(GateList& list) {
    const Bench& bench = list.bench();
    if (!has_all_graphs(bench.options)) {
        return;
    }
    struct Row {
        const char* executor = nullptr;
        int threads = 0;
        Bound wall_ns;
        double times_library = 0;
        double worst_graph = 0;  // 0: no gate
        double times_hand_made = 0;
        double of_reference = 0;  // 0: no gate
    };
    constexpr Row kRows[] = {{"leat-dynamic", 1, {7, 24}, 8, 3.5, 1.7, 1.2},
                             {"leat-dynamic", 2, {9.5, 25}, 6, 3, 1.7, 0},
                             {"leat-compiled", 2, {2, 3.5}, 30, 0, 8, 0}};
    for (const Row& row : kRows) {
        list.require_cores("overhead", row.threads);
        const std::string prefix = fmt::format("{}, {} thread{}: ", row.executor, row.threads,
                                               row.threads == 1 ? "" : "s");
        const Key key{"overhead", "wall", row.executor, "", "empty", row.threads};
        list.at_most(prefix + "ns a task",
                     bench.results.geometric_mean(key, chosen_graphs(bench.options)),
                     row.wall_ns.here());
        const LibraryRatio library = ratio_to_libraries(bench, row.executor, key);
        list.at_least(prefix + "x the best library", library.mean, row.times_library);
        if (row.worst_graph > 0) {
            list.at_least(prefix + "x the best library, worst graph", library.worst,
                          row.worst_graph);
        }
        list.at_least(prefix + "x the best hand-made scheme",
                      ratio_to_hand_made(bench, row.executor, key), row.times_hand_made);
        if (row.of_reference > 0) {
            list.at_most(prefix + "time / ref-dynamic",
                         share_of_reference(bench, row.executor, key), row.of_reference);
        }
    }
}

void metg_gates(GateList& list) {
    struct Row {
        const char* graph = nullptr;
        Bound bound_ns;
        double times_flow_graph = 0;
    };
    constexpr Row kRows[] = {{"stencil width 32", {26, 26}, 10},
                             {"stencil width 2", {165, 400}, 5}};
    list.require_cores("metg", 2);
    for (const Row& row : kRows) {
        const auto own = list.median({"metg", "metg", "leat-compiled", row.graph, "", 2});
        const auto flow = list.median({"metg", "metg", "tbb-flow", row.graph, "", 2});
        list.at_most(fmt::format("leat-compiled: METG(50 %), {}, ns", row.graph), own,
                     row.bound_ns.here());
        list.at_least(fmt::format("METG(50 %) of tbb-flow / leat-compiled, {}", row.graph),
                      quotient(flow, own), row.times_flow_graph);
    }
}

void efficiency_gates(GateList& list) {
    list.require_cores("efficiency", 2);
    for (const char* executor : {"leat-compiled", "leat-dynamic"}) {
        for (const char* graph : {"stencil", "random4", "wavefront"}) {
            list.at_least(fmt::format("{}: efficiency, 1 us bodies, {}", executor, graph),
                          list.median({"efficiency", "efficiency", executor, graph, "1us", 2}),
                          0.97);
        }
    }
}

// The gear that compile chooses for such graphs is the inline one.
void tiny_gates(GateList& list) {
    struct Row {
        const char* graph = nullptr;
        Bound bound_ns;
    };
    constexpr Row kRows[] = {
        {"1 node", {15, 20}}, {"chain of 10", {35, 45}}, {"1->8->1", {40, 50}}};
    for (const Row& row : kRows) {
        list.at_most(fmt::format("leat-inline: run() of {}, ns", row.graph),
                     list.median({"tiny", "run", "leat-inline", row.graph, "empty", 1}),
                     row.bound_ns.here());
    }
}

void wake_gates(GateList& list) {
    const auto value = [&list](const char* metric, const std::string& executor, const char* pause,
                               const char* body = "300us") {
        return list.median({"wake", metric, executor, pause, body, 2});
    };
    const auto plain = value("first since pause", "plain call", "20 ms idle");
    const auto futex = value("second", "futex wake", "20 ms idle");
    for (const char* executor : {"leat-compiled", "leat-dynamic"}) {
        // Short ones: before a task that is known to be long, helpers are woken.
        const auto first = value("first since pause", executor, "20 ms idle", "1us");
        list.at_most(fmt::format("{}: first task after 20 ms idle / plain call", executor),
                     quotient(first, plain), 1.2);
        list.at_most(fmt::format("{}: second thread after 20 ms idle / futex wake", executor),
                     quotient(value("second", executor, "20 ms idle"), futex), 1.3);
        list.at_most(fmt::format("{} latency: second thread after 0.8 ms, ns", executor),
                     value("second", std::string(executor) + " latency", "0.8 ms idle"), 1'000);
    }
}

void memory_gates(GateList& list) {
    struct Row {
        const char* executor = nullptr;
        double bytes = 0;
        Bound build_ns;
    };
    constexpr Row kRows[] = {{"leat-compiled", 96, {150, 250}}, {"leat-dynamic", 128, {350, 350}}};
    for (const Row& row : kRows) {
        const Key key{"memory", "resident", row.executor, "random4", "empty", 2};
        list.at_most(fmt::format("{}: resident bytes a node", row.executor), list.median(key),
                     row.bytes);
        Key build = key;
        build.metric = "build";
        list.at_most(fmt::format("{}: build ns a node", row.executor), list.median(build),
                     row.build_ns.here());
    }
}

void other_process_gates(GateList& list) {
    list.require_cores("contention", 2);
    for (const char* executor : {"leat-compiled", "leat-dynamic"}) {
        for (const char* graph : {"random4", "stencil"}) {
            list.at_most(
                fmt::format("{}: time / ideal beside a competitor, {}", executor, graph),
                list.median({"contention", "time over ideal", executor, graph, "10-100us", 2}),
                1.25);
        }
    }
    for (const char* executor : {"leat-compiled", "leat-dynamic"}) {
        list.at_least(fmt::format("{}: throughput under a quota of one CPU / best", executor),
                      list.median({"quota", "share of best", executor, "random4", "10us", 1}),
                      0.95);
    }
    list.require_cores("idle", 2);
    for (const char* executor : {"leat-compiled", "leat-dynamic"}) {
        Key key{"idle", "cpu share", executor, "random4", "empty", 2};
        list.at_most(fmt::format("{}: % of a core at 10 Hz", executor), list.median(key), 1);
        key.metric = "cpu 5 to 50 ms after";
        list.at_most(fmt::format("{}: ns of CPU, 5 to 50 ms after", executor), list.median(key),
                     250'000);
        key.metric = "slowdown";
        list.at_most(fmt::format("{}: time of other work in the process, x", executor),
                     list.median(key), 1.05);
    }
}

std::string verdict(const Gate& gate) {
    if (!gate.is_valid) {
        return "not parallel";
    }
    return gate.passes() ? "PASS" : "MISS";
}

}  // namespace

std::vector<Gate> evaluate_gates(const Bench& bench) {
    GateList list(bench);
    overhead_gates(list);
    metg_gates(list);
    efficiency_gates(list);
    list.require_cores("tiny", 1);
    tiny_gates(list);
    list.require_cores("wake", 2);
    wake_gates(list);
    memory_gates(list);
    other_process_gates(list);
    return list.take();
}

void print_gates(std::FILE* out, const std::vector<Gate>& gates) {
    if (gates.empty()) {
        return;
    }
    Table table({"gate", "value", "bound", "verdict"});
    for (const Gate& gate : gates) {
        table.add({gate.name, format_number(gate.value),
                   fmt::format("{} {}", gate.at_most ? "<=" : ">=", format_number(gate.bound)),
                   verdict(gate)});
    }
    fmt::print(out, "\ngates, absolute times for {}\n",
               is_fast_machine() ? "Zen 5 and later" : "machines of Cascade Lake's class");
    table.print(out);
}

Json gates_json(const std::vector<Gate>& gates) {
    Json list = Json::array();
    for (const Gate& gate : gates) {
        Json json = Json::object();
        json.set("gate", gate.name);
        json.set("value", gate.value);
        json.set("bound", gate.bound);
        json.set("at_most", gate.at_most);
        json.set("verdict", verdict(gate));
        list.push(std::move(json));
    }
    return list;
}

}  // namespace leat::micro
