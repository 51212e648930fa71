// Kernels of a few thousand elements whose last axis is short, as bodies of loops have them: alone,
// and as the only step of a prepared run, beside a loop written by hand for that shape.
//
//   short_rows [--rounds N] [TEXT...]      # cases whose name contains one of the texts
//
// One thread, operands in L1 and L2. Each round times, in turn, 200 calls of the loop, of the
// kernel and of the run; medians of all rounds in us.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "graphbench/statistics.h"
#include "kernel_run.h"
#include "leat/leat.h"
#include "short_rows_limit.h"

namespace leat::micro {
namespace {

constexpr int kCalls = 200;

struct Case {
    std::string name;
    std::string op_type;
    std::vector<Shape> inputs;
    Shape output;
    Limit limit = nullptr;
    Attributes attributes = {};
    std::string step = {};  // an operator on the result and the last input, in the epilogue
};

std::vector<Case> cases() {
    std::vector<Case> all;
    const auto add = [&all](std::string op, std::vector<Shape> inputs, Shape output,
                            Limit limit = nullptr, Attributes attributes = {}) {
        std::string name = op;
        for (const Shape& shape : inputs) {
            name += " " + shape.to_string();
        }
        all.push_back({std::move(name), std::move(op), std::move(inputs), output, limit,
                       std::move(attributes)});
    };
    for (const int64_t n : {2, 3, 4, 8, 10, 16, 24, 32, 64}) {
        add("Mul", {{256, 1}, {256, n}}, {256, n}, column_limit(n));
    }
    for (const int64_t n : {3, 8, 16, 32}) {
        add("Mul", {{n}, {256, n}}, {256, n}, row_limit(n));
    }
    add("Mul", {{256, 16}, {256, 16}}, {256, 16}, whole_limit(16));
    add("Add", {{256, 16}, {256, 1}}, {256, 16});
    add("Sub", {{256, 16}, {16}}, {256, 16});
    add("Mul", {{256, 1}, {16}}, {256, 16});
    add("Div", {{4, 64, 1}, {4, 64, 16}}, {4, 64, 16});
    add("Add", {{4, 1, 16}, {4, 64, 16}}, {4, 64, 16});
    add("Max", {{256, 1}, {256, 16}, {16}}, {256, 16});
    add("Pow", {{256, 16}, {256, 1}}, {256, 16});
    add("Mul", {{1000, 1000}, {1000, 1000}}, {1000, 1000});
    add("Mul", {{1000, 1000}, {1000, 1}}, {1000, 1000});
    add("MatMul", {{256, 16}, {16}}, {256}, matrix_vector_limit());
    add("MatMul", {{256, 16}, {16, 1}}, {256, 1}, matrix_vector_limit());
    add("MatMul", {{4, 64, 16}, {16}}, {4, 64});
    add("MatMul", {{4, 64, 16}, {4, 16, 1}}, {4, 64, 1});
    add("MatMul", {{256, 3}, {3}}, {256});
    add("MatMul", {{256, 7}, {7}}, {256});
    add("MatMul", {{250, 30}, {30}}, {250});
    add("MatMul", {{16}, {16, 256}}, {256});
    add("MatMul", {{1, 16}, {16, 256}}, {1, 256});
    add("Gemm", {{1, 16}, {256, 16}}, {1, 256}, nullptr, {{"transB", int64_t{1}}});
    add("Gemm", {{16, 256}, {16, 1}}, {256, 1}, nullptr, {{"transA", int64_t{1}}});
    add("MatMul", {{1024, 1024}, {1024}}, {1024});
    add("MatMul", {{64, 4096}, {4096}}, {64});
    const auto add_with_step = [&](const char* step, const Shape& operand) {
        for (const Shape& b : {Shape{16, 16}, Shape{16, 1}}) {
            add("MatMul", {{256, 16}, b, operand}, {256, b[1]});
            all.back().step = step;
            all.back().name =
                fmt::format("MatMul 256x16 {}, {} {}", b.to_string(), step, operand.to_string());
        }
    };
    add_with_step("Mul", {256, 1});
    add_with_step("Mul", {1, 1});
    return all;
}

template <class Call>
double microseconds(const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) {
        call();
    }
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
               .count() /
           kCalls;
}

Tensor ones(const Shape& shape) {
    return *Tensor::from<float>(shape, std::vector<float>(size_t(shape.element_count()), 1));
}

// The case alone.
Graph graph_of(const Case& measured) {
    Graph graph("short_rows");
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < measured.inputs.size(); ++i) {
        const Shape& shape = measured.inputs[i];
        inputs.push_back(graph.input(fmt::format("x{}", i), DType::kFloat32,
                                     std::vector<DimSpec>(shape.begin(), shape.end())));
    }
    std::vector<ValueId> own = inputs;
    if (!measured.step.empty()) {
        own.pop_back();
    }
    ValueId y = graph.add(measured.op_type, own, measured.attributes);
    if (!measured.step.empty()) {
        y = graph.add(measured.step, {y, inputs.back()});
    }
    graph.output("y", y);
    return graph;
}

Status measure(const Case& measured, int rounds) {
    std::vector<Operand> operands;
    std::vector<Tensor> tensors;
    for (const Shape& shape : measured.inputs) {
        operands.push_back({shape});
        tensors.push_back(ones(shape));
    }
    Tensor result = ones(measured.output);
    std::vector<EpilogueStep> epilogue;
    if (!measured.step.empty()) {
        epilogue.emplace_back();
        epilogue.back().op = find_op("", measured.step);
        epilogue.back().operand_input = int(operands.size()) - 1;
    }
    const KernelRun kernel(measured.op_type, operands, {measured.output}, measured.attributes,
                           epilogue, int(operands.size() - epilogue.size()));
    const Runtime runtime({.threads = 1});
    const Result<CompiledGraph> compiled = runtime.compile(graph_of(measured));
    if (!compiled.ok()) {
        return compiled.error();
    }
    Request request = *compiled->make_request();
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (Status status = request.bind(fmt::format("x{}", i), tensors[i]); !status.ok()) {
            return status;
        }
    }
    std::vector<double> limit_us;
    std::vector<double> kernel_us;
    std::vector<double> run_us;
    Status status;
    for (int round = 0; round < rounds && status.ok(); ++round) {
        if (measured.limit != nullptr) {
            limit_us.push_back(microseconds([&] {
                measured.limit(tensors[0].data<float>().data(), tensors[1].data<float>().data(),
                               result.mutable_data<float>().data());
            }));
        }
        kernel_us.push_back(microseconds([&] { kernel.run_all(); }));
        run_us.push_back(microseconds([&] { status = request.run(); }));
    }
    const std::string limit =
        limit_us.empty() ? "" : fmt::format("{:.3f}", bench::median(limit_us));
    fmt::print("{:<32} {:<20} {:>8} {:>8.3f} {:>8.3f}\n", measured.name,
               kernel.kernel().kernel_name, limit, bench::median(kernel_us), bench::median(run_us));
    return status;
}

int run(int rounds, const std::vector<std::string_view>& texts) {
    fmt::print("{} rounds, medians in us\n{:<32} {:<20} {:>8} {:>8} {:>8}\n", rounds, "case",
               "kernel", "by hand", "kernel", "run");
    for (const Case& measured : cases()) {
        const bool is_wanted =
            texts.empty() || std::any_of(texts.begin(), texts.end(), [&](auto t) {
                return measured.name.find(t) != std::string::npos;
            });
        if (!is_wanted) {
            continue;
        }
        if (const Status status = measure(measured, rounds); !status.ok()) {
            fmt::print(stderr, "{}: {}\n", measured.name, status.message());
            return 1;
        }
    }
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    int rounds = 31;
    std::vector<std::string_view> texts;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--rounds" && i + 1 < argc) {
            const std::string_view text = argv[++i];
            std::from_chars(text.data(), text.data() + text.size(), rounds);
        } else {
            texts.push_back(argument);
        }
    }
    return leat::micro::run(std::max(rounds, 1), texts);
}
