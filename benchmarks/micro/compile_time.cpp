// compile_time: what it costs to load and compile large graphs; compile_time.py runs it.
//
//   compile_time write FAMILY NODES MODEL.onnx      FAMILY: chain, fan, ladder, recurrence
//   compile_time compile MODEL.onnx THREADS         one compile, in this process; prints JSON
//   compile_time orders THREADS                     bytes and waits of the networks of the zoo,
//   where
//                                                   plans rely on all orders between steps that
//                                                   hold, and as they do with many more steps
//
// user_s is CPU time of all threads in user mode from load_onnx to the end of compile, with the
// plan, as the system's ticks have it: a few milliseconds more or less. cpu_s is that with what the
// system does for it, exactly. peak_kib is by how much the peak of resident memory is above what
// there was before.
//
//   chain       Neg after Neg; every one may run in place.
//   fan         One value that half of the nodes read, and a tree that adds their results.
//   ladder      Two values; both nodes of a rung read both of the rung before.
//   recurrence  h = Tanh(h W + x[t]): Gather, MatMul, Add, Tanh; all steps share W.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "leat/leat.h"
#include "memory/order/step_order.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

constexpr int64_t kWidth = 8;

template <class T>
Tensor scalar(T value) {
    return Tensor::from<T>({}, std::vector<T>{value}).value();
}

ValueId chain(Graph& graph, int64_t nodes) {
    ValueId value = graph.input("x", DType::kFloat32, {kWidth});
    for (int64_t i = 0; i < nodes; ++i) {
        value = graph.add("Neg", {value});
    }
    return value;
}

ValueId fan(Graph& graph, int64_t nodes) {
    const ValueId hub = graph.input("x", DType::kFloat32, {kWidth});
    const int64_t leaves = (nodes + 1) / 2;
    std::vector<ValueId> level;
    for (int64_t i = 0; i < leaves; ++i) {
        const ValueId own = graph.constant(fmt::format("c{}", i), scalar(float(i)));
        level.push_back(graph.add("Add", {hub, own}));
    }
    while (level.size() > 1) {
        std::vector<ValueId> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2) {
            next.push_back(graph.add("Add", {level[i], level[i + 1]}));
        }
        if (level.size() % 2 == 1) {
            next.push_back(level.back());
        }
        level = std::move(next);
    }
    return level.front();
}

ValueId ladder(Graph& graph, int64_t nodes) {
    ValueId left = graph.input("x", DType::kFloat32, {kWidth});
    ValueId right = graph.add("Neg", {left});
    for (int64_t i = 1; i + 2 < nodes; i += 2) {
        const ValueId above = graph.add("Max", {left, right});
        right = graph.add("Min", {left, right});
        left = above;
    }
    return graph.add("Sub", {left, right});
}

ValueId recurrence(Graph& graph, int64_t nodes) {
    const int64_t steps = std::max<int64_t>(nodes / 4, 1);
    const ValueId inputs = graph.input("x", DType::kFloat32, {steps, 1, kWidth});
    const std::vector<float> weights(size_t(kWidth * kWidth), 0.125F);
    const ValueId matrix =
        graph.constant("w", Tensor::from<float>({kWidth, kWidth}, weights).value());
    ValueId state = graph.input("h", DType::kFloat32, {1, kWidth});
    for (int64_t step = 0; step < steps; ++step) {
        const ValueId index = graph.constant(fmt::format("t{}", step), scalar(step));
        const ValueId row = graph.add("Gather", {inputs, index}, {{"axis", int64_t{0}}});
        const ValueId product = graph.add("MatMul", {state, matrix});
        state = graph.add("Tanh", {graph.add("Add", {product, row})});
    }
    return state;
}

Status write(std::string_view family, int64_t nodes, const std::string& file) {
    struct Family {
        std::string_view name;
        ValueId (*build)(Graph&, int64_t);
    };
    constexpr Family kFamilies[] = {
        {"chain", chain}, {"fan", fan}, {"ladder", ladder}, {"recurrence", recurrence}};
    for (const Family& known : kFamilies) {
        if (known.name == family) {
            Graph graph;
            graph.output("y", known.build(graph, nodes));
            return save_onnx(graph, file);
        }
    }
    return invalid_argument("no family is called '{}'", family)
        .with_needed("chain, fan, ladder or recurrence");
}

double user_s() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return double(used.ru_utime.tv_sec) + double(used.ru_utime.tv_usec) / 1e6;
}

double cpu_s() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return double(used.tv_sec) + double(used.tv_nsec) / 1e9;
}

// Of /proc/self/status: rusage would count what ran before exec.
int64_t status_kib(std::string_view field) {
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word) {
        if (word == field) {
            int64_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    return 0;
}

Status compile(const std::string& file, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    const int64_t before_kib = status_kib("VmRSS:");
    const double cpu_before = cpu_s();
    const double start = user_s();
    LEAT_ASSIGN_OR_RETURN(const Graph graph, load_onnx(file));
    const double loaded = user_s();
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(graph));
    const double end = user_s();
    const double cpu = cpu_s() - cpu_before;
    const int64_t peak_kib = status_kib("VmHWM:") - before_kib;
    const CompileReport report = compiled.report();
    if (report.plans.size() != 1) {
        return internal_error("{} plans were made", report.plans.size()).with_needed("1");
    }
    const PlanReport& plan = report.plans.front();
    fmt::print(
        R"({{"nodes": {}, "threads": {}, "user_s": {:.4f}, "cpu_s": {:.4f}, "load_s": {:.4f}, )"
        R"("peak_kib": {}, "steps": {}, "arena_bytes": {}, "added_waits": {}}})"
        "\n",
        graph.node_count(), threads, end - start, cpu, loaded - start, peak_kib, plan.step_count,
        plan.arena_bytes, plan.added_waits);
    return {};
}

PlanReport plan_of(const Graph& graph, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    return Runtime(options).compile(graph).value().report().plans.front();
}

Status compare_orders(int threads) {
    fmt::print(
        "| network | steps | bytes | waits | run ahead | bytes of many | waits | run ahead |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (const zoo::NetworkInfo& network : zoo::networks()) {
        LEAT_ASSIGN_OR_RETURN(const Graph graph, zoo::make_network(network.name));
        const PlanReport whole = plan_of(graph, threads);
        const OrderLimitForTests limit(0);
        const PlanReport many = plan_of(graph, threads);
        fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} |\n", network.name, whole.step_count,
                   whole.arena_bytes, whole.added_waits, whole.run_ahead, many.arena_bytes,
                   many.added_waits, many.run_ahead);
    }
    return {};
}

// -1: it is no whole number.
int64_t number(std::string_view text) {
    int64_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

int run(std::span<const char* const> words) {
    const std::string_view command = words.size() > 1 ? words[1] : "";
    Status status;
    if (command == "write" && words.size() == 5 && number(words[3]) > 0) {
        status = write(words[2], number(words[3]), words[4]);
    } else if (command == "compile" && words.size() == 4 && number(words[3]) > 0) {
        status = compile(words[2], int(number(words[3])));
    } else if (command == "orders" && words.size() == 3 && number(words[2]) > 0) {
        status = compare_orders(int(number(words[2])));
    } else {
        fmt::print(stderr,
                   "usage: compile_time write FAMILY NODES MODEL.onnx\n"
                   "       compile_time compile MODEL.onnx THREADS\n"
                   "       compile_time orders THREADS\n");
        return 2;
    }
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.text());
    }
    return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) {
    try {
        return leat::run({argv, size_t(argc)});
    } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        return 1;
    }
}
