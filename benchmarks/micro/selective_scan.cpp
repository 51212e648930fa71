// A Scan over a selective state space (Gu and Dao 2023, algorithm 2), discretization in the body,
// beside a loop that calls the same prepared kernels without a plan or a scheduler, and beside the
// recurrence in one loop written by hand.
//
//   selective_scan [--rounds N]
//
// One thread, 256 channels of 16 states, 1,024 steps. Each round times the three in turn; medians
// of all rounds in us a step.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "graphbench/statistics.h"
#include "kernel_run.h"
#include "leat/leat.h"
#include "selective_scan_limit.h"

namespace leat::micro {
namespace {

constexpr int64_t kSteps = 1024;
const Shape kState = {kChannels, kStates};

Tensor random_floats(const Shape& shape, float low, float high, uint32_t seed) {
    Tensor tensor = *Tensor::allocate(DType::kFloat32, shape);
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> any(low, high);
    for (float& x : tensor.mutable_data<float>()) {
        x = any(random);
    }
    return tensor;
}

struct Operands {
    // States decay, as those of a trained model do.
    Tensor a = random_floats(kState, -1, 0, 1);
    Tensor h = random_floats(kState, 0, 1, 2);
    Tensor delta = random_floats({kSteps, kChannels}, 0, 1, 3);
    Tensor x = random_floats({kSteps, kChannels}, 0, 1, 4);
    Tensor b = random_floats({kSteps, kStates}, 0, 1, 5);
    Tensor c = random_floats({kSteps, kStates}, 0, 1, 6);
};

const float* row_of(const Tensor& sequence, int64_t step) {
    return sequence.data<float>().data() + step * sequence.shape()[1];
}

Graph scan() {
    Graph graph("selective_scan");
    const auto input = [&graph](const char* name, const Shape& shape) {
        return graph.input(name, DType::kFloat32, {shape.begin(), shape.end()});
    };
    const ValueId a = input("a", kState);
    const ValueId h0 = input("h", kState);
    const std::vector<ValueId> sequences = {
        input("delta", {kSteps, kChannels}), input("x", {kSteps, kChannels}),
        input("b", {kSteps, kStates}), input("c", {kSteps, kStates})};
    Graph body("body");
    const ValueId h = body.input("h_in", DType::kFloat32, {kChannels, kStates});
    const ValueId delta = body.input("delta_row", DType::kFloat32, {kChannels});
    const ValueId x = body.input("x_row", DType::kFloat32, {kChannels});
    const ValueId b = body.input("b_row", DType::kFloat32, {kStates});
    const ValueId c = body.input("c_row", DType::kFloat32, {kStates});
    const ValueId last =
        body.constant("last", *Tensor::from<int64_t>({1}, std::vector<int64_t>{1}));
    const ValueId column = body.add("Unsqueeze", {delta, last});
    const ValueId decay = body.add("Exp", {body.add("Mul", {column, body.capture(graph, a)})});
    const ValueId weighted = body.add("Mul", {column, body.add("Unsqueeze", {x, last})});
    const ValueId next =
        body.add("Add", {body.add("Mul", {decay, h}), body.add("Mul", {weighted, b})});
    body.output("h_out", next);
    body.output("y", body.add("MatMul", {next, c}));
    const std::vector<ValueId> results = graph.scan({h0}, sequences, std::move(body));
    graph.output("hn", results[0]);
    graph.output("ys", results[1]);
    return graph;
}

// The kernels of a step, in memory that they share.
class KernelLoop {
  public:
    explicit KernelLoop(const Operands& operands) : operands_(operands) {
        scaled_.set_input(1, operands.a.data<float>().data());
        scaled_.set_output(decay_.data());
        exp_.set_input(0, decay_.data());
        exp_.set_output(decay_.data());
        weighted_.set_output(column_.data());
        input_.set_input(0, column_.data());
        input_.set_output(new_.data());
        kept_.set_input(0, decay_.data());
        kept_.set_output(decay_.data());
        sum_.set_input(0, decay_.data());
        sum_.set_input(1, new_.data());
        ys_.resize(size_t(kSteps) * kChannels);
    }

    void run() {
        const float* h = operands_.h.data<float>().data();
        for (int64_t step = 0; step < kSteps; ++step) {
            float* const next = states_[step % 2].data();
            const float* const delta = row_of(operands_.delta, step);
            scaled_.set_input(0, delta);
            weighted_.set_input(0, delta);
            weighted_.set_input(1, row_of(operands_.x, step));
            input_.set_input(1, row_of(operands_.b, step));
            kept_.set_input(1, h);
            sum_.set_output(next);
            product_.set_input(0, next);
            product_.set_input(1, row_of(operands_.c, step));
            product_.set_output(ys_.data() + step * kChannels);
            for (const KernelRun* kernel :
                 {&scaled_, &exp_, &weighted_, &input_, &kept_, &sum_, &product_}) {
                kernel->run_all();
            }
            h = next;
        }
    }

    const std::vector<float>& ys() const { return ys_; }

  private:
    const Operands& operands_;
    KernelRun scaled_{"Mul", {{{kChannels, 1}}, {kState}}, {kState}, {}};
    KernelRun exp_{"Exp", {{kState}}, {kState}, {}};
    KernelRun weighted_{"Mul", {{{kChannels, 1}}, {{kChannels, 1}}}, {{kChannels, 1}}, {}};
    KernelRun input_{"Mul", {{{kChannels, 1}}, {{kStates}}}, {kState}, {}};
    KernelRun kept_{"Mul", {{kState}, {kState}}, {kState}, {}};
    KernelRun sum_{"Add", {{kState}, {kState}}, {kState}, {}};
    KernelRun product_{"MatMul", {{kState}, {{kStates}}}, {{kChannels}}, {}};
    std::vector<float> decay_ = std::vector<float>(size_t(kChannels) * kStates);
    std::vector<float> new_ = decay_;
    std::vector<float> states_[2] = {decay_, decay_};
    std::vector<float> column_ = std::vector<float>(kChannels);
    std::vector<float> ys_;
};

class HandLoop {
  public:
    explicit HandLoop(const Operands& operands)
        : operands_(operands), ys_(size_t(kSteps) * kChannels) {}

    void run() {
        const std::span<const float> h0 = operands_.h.data<float>();
        h_.assign(h0.begin(), h0.end());
        for (int64_t step = 0; step < kSteps; ++step) {
            selective_step(row_of(operands_.delta, step), row_of(operands_.x, step),
                           row_of(operands_.b, step), row_of(operands_.c, step),
                           operands_.a.data<float>().data(), h_.data(),
                           ys_.data() + step * kChannels);
        }
    }

    const std::vector<float>& ys() const { return ys_; }

  private:
    const Operands& operands_;
    std::vector<float> h_;
    std::vector<float> ys_;
};

template <class Call>
double microseconds_a_step(const Call& call) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
               .count() /
           kSteps;
}

float largest_difference(std::span<const float> a, std::span<const float> b) {
    float largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(a[i] - b[i]) / std::max(1.0F, std::abs(b[i])));
    }
    return largest;
}

Status measure(int rounds) {
    const Operands operands;
    KernelLoop kernels(operands);
    HandLoop by_hand(operands);
    const Runtime runtime({.threads = 1});
    const Result<CompiledGraph> compiled = runtime.compile(scan());
    if (!compiled.ok()) {
        return compiled.error();
    }
    Request request = *compiled->make_request();
    const std::pair<const char*, const Tensor*> inputs[] = {
        {"a", &operands.a}, {"h", &operands.h}, {"delta", &operands.delta},
        {"x", &operands.x}, {"b", &operands.b}, {"c", &operands.c}};
    for (const auto& [name, tensor] : inputs) {
        if (Status status = request.bind(name, *tensor); !status.ok()) {
            return status;
        }
    }
    std::vector<double> scan_us;
    std::vector<double> kernels_us;
    std::vector<double> hand_us;
    Status status;
    for (int round = 0; round < rounds && status.ok(); ++round) {
        scan_us.push_back(microseconds_a_step([&] { status = request.run(); }));
        kernels_us.push_back(microseconds_a_step([&] { kernels.run(); }));
        hand_us.push_back(microseconds_a_step([&] { by_hand.run(); }));
    }
    const double scan = bench::median(scan_us);
    const double loop = bench::median(kernels_us);
    const double hand = bench::median(hand_us);
    fmt::print(
        "{} rounds, medians in us a step\n"
        "Scan                 {:>8.3f}\n"
        "loop of its kernels  {:>8.3f}   Scan / loop {:.2f}\n"
        "written by hand      {:>8.3f}   Scan / by hand {:.2f}\n"
        "largest relative difference to the loop {:.1e}, to that by hand {:.1e}\n",
        rounds, scan, loop, scan / loop, hand, scan / hand,
        largest_difference(request.get<float>("ys"), kernels.ys()),
        largest_difference(request.get<float>("ys"), by_hand.ys()));
    return status;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    int rounds = 31;
    if (argc == 3 && std::string_view(argv[1]) == "--rounds") {
        const std::string_view text = argv[2];
        std::from_chars(text.data(), text.data() + text.size(), rounds);
    }
    const leat::Status status = leat::micro::measure(std::max(rounds, 1));
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.message());
        return 1;
    }
    return 0;
}
