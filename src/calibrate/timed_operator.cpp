#include "calibrate/timed_operator.h"

#include <algorithm>
#include <utility>

#include "backends/plugin/plugin_answers.h"
#include "base/error.h"
#include "base/monotonic_clock.h"
#include "base/round_up.h"
#include "leat/plugin_backend.h"
#include "machine/device_flight.h"
#include "run/compiled_graph_impl.h"

namespace leat {
namespace {

class HostOperator final : public TimedOperator {
  public:
    HostOperator(IsolatedNode node, bool is_one_thread)
        : node_(std::move(node)), is_one_thread_(is_one_thread) {}

    Status make(const std::shared_ptr<Runtime::Impl>& runtime, const Backend& backend) {
        auto compiled =
            std::make_shared<CompiledGraph::Impl>(runtime, Graph(std::move(node_.graph)));
        compiled->placed.host = &backend;
        const GraphData& data = compiled->graph;
        std::vector<Shape> shapes;
        shapes.reserve(node_.inputs.size());
        for (const Tensor& input : node_.inputs) {
            shapes.push_back(input.shape());
        }
        LEAT_RETURN_IF_ERROR(compiled->prepare(shapes));
        const CompiledGraph owner(compiled);
        LEAT_ASSIGN_OR_RETURN(Request request, owner.make_request());
        for (size_t i = 0; i < node_.inputs.size(); ++i) {
            LEAT_RETURN_IF_ERROR(request.bind(data.value(data.inputs[i]).name, node_.inputs[i]));
        }
        for (size_t i = 0; i < node_.outputs.size(); ++i) {
            LEAT_RETURN_IF_ERROR(request.bind_output(data.output_names[i], node_.outputs[i]));
        }
        request_.emplace(std::move(request));
        return {};
    }

    Result<OperatorRun> run() override {
        if (!is_one_thread_) {
            const int64_t begin = monotonic_ns();
            LEAT_RETURN_IF_ERROR(request_->run());
            return OperatorRun{double(monotonic_ns() - begin), 0};
        }
        LEAT_ASSIGN_OR_RETURN(const std::vector<StepTime> steps, request_->profile());
        OperatorRun run;
        for (const StepTime& step : steps) {
            run.ns += step.within.empty() ? double(step.time_ns) : 0;
        }
        return run;
    }

  private:
    IsolatedNode node_;  // without its graph
    bool is_one_thread_;
    std::optional<Request> request_;
};

// Owns what a part needs to run: memory for transients, inputs and outputs, and an instance.
class DeviceOperator final : public TimedOperator {
  public:
    explicit DeviceOperator(IsolatedNode node) : node_(std::move(node)) {}
    ~DeviceOperator() override {
        if (instance_ != nullptr) {
            api().free_instance(backend(), instance_);
        }
    }

    Status make(const DevicePlace& place) {
        PluginConstants constants;
        LEAT_ASSIGN_OR_RETURN(part_, DevicePart::compile(place, *node_.graph, {}, constants));
        if (part_->info().host_inputs_low != 0) {
            return unsupported("{} reads values of an input before the run", place.label);
        }
        const auto shape = plugin::made<LeatRunShape>();
        const LeatRequirements* table = nullptr;
        PluginError error;
        LEAT_RETURN_IF_ERROR(error.status(
            api().requirements(backend(), part_->executable(), &shape, &table, error.get()),
            "plan an operator"));
        Status status = check_requirements(*table, int32_t(node_.outputs.size()));
        if (status.ok()) {
            status = place_memory(*table);
        }
        step_times_.resize(size_t(std::max(table->step_count, 1)));
        api().free_requirements(backend(), table);
        LEAT_RETURN_IF_ERROR(std::move(status));
        LEAT_ASSIGN_OR_RETURN(instance_, part_->link(shape, transients_, "link an operator"));
        flight_.emplace(place.backend, 1);
        LEAT_RETURN_IF_ERROR(upload());
        LeatClockSample clock = plugin::made<LeatClockSample>();
        LEAT_RETURN_IF_ERROR(
            error.status(api().clock_correlation(backend(), place.number, &clock, error.get()),
                         "compare clocks"));
        ns_per_tick_ = clock.ns_per_tick;
        return {};
    }

    Result<OperatorRun> run() override {
        auto profile = plugin::made<LeatProfile>();
        profile.capacity = int32_t(step_times_.size());
        profile.steps = step_times_.data();
        const auto execute = [&](LeatSubmission& submission, LeatError* error) {
            submission.profile = &profile;
            return api().execute(backend(), instance_, &submission, inputs_.data(), outputs_.data(),
                                 error);
        };
        const int64_t begin = monotonic_ns();
        LEAT_RETURN_IF_ERROR(flight_->fly_and_wait("run an operator", [&] {
            return flight_->submit(part_->queue(), {}, "start an operator", execute).error();
        }));
        const double wall_ns = double(monotonic_ns() - begin);
        const double ns = time_of_steps(profile);
        return ns < 0 ? OperatorRun{wall_ns, 0} : OperatorRun{ns, std::max(0.0, wall_ns - ns)};
    }

  private:
    const LeatBackendApi& api() const { return part_->place().backend->api(); }
    LeatBackend* backend() const { return part_->place().backend->handle(); }

    // From the begin of the first step to the end of the last; -1: the device tells none.
    double time_of_steps(const LeatProfile& profile) const {
        if (profile.count <= 0) {
            return -1;
        }
        int64_t begin = step_times_[0].begin_ticks;
        int64_t end = step_times_[0].end_ticks;
        for (int32_t i = 1; i < std::min(profile.count, profile.capacity); ++i) {
            begin = std::min(begin, step_times_[size_t(i)].begin_ticks);
            end = std::max(end, step_times_[size_t(i)].end_ticks);
        }
        return double(end - begin) * ns_per_tick_;
    }

    // One behind the other: a node has few transients, and no time depends on sharing their memory.
    Status place_memory(const LeatRequirements& table) {
        int64_t used_bytes = 0;
        const auto take = [&](int64_t bytes, int64_t alignment) {
            const int64_t offset =
                round_up(used_bytes, std::max(alignment, part_->domain().alignment_bytes));
            used_bytes = offset + std::max<int64_t>(bytes, 1);
            return offset;
        };
        std::vector<int64_t> transients;
        transients.reserve(size_t(table.transient_count));
        for (int32_t t = 0; t < table.transient_count; ++t) {
            transients.push_back(
                take(table.transients[t]->bytes, table.transients[t]->alignment_bytes));
        }
        for (const Tensor& input : node_.inputs) {
            inputs_.push_back({nullptr, take(input.byte_count(), 1), input.byte_count(), nullptr});
        }
        for (int32_t i = 0; i < table.output_count; ++i) {
            const int64_t bytes = table.output_bytes[i];
            outputs_.push_back({nullptr, take(bytes, 1), bytes, nullptr});
        }
        LEAT_ASSIGN_OR_RETURN(
            memory_, DeviceSlab::allocate(part_->place().backend, part_->domain(), used_bytes));
        for (const int64_t offset : transients) {
            transients_.push_back({memory_->handle(), offset});
        }
        for (std::vector<LeatBinding>* bindings : {&inputs_, &outputs_}) {
            for (LeatBinding& binding : *bindings) {
                binding.slab = memory_->handle();
            }
        }
        return {};
    }

    Status upload() {
        for (size_t i = 0; i < inputs_.size(); ++i) {
            const LeatBinding& binding = inputs_[i];
            auto copy = plugin::made<LeatCopy>();
            copy.from_host = node_.inputs[i].bytes();
            copy.to = {binding.slab, binding.offset_bytes};
            copy.bytes = binding.bytes;
            const auto submit_copy = [&](const LeatSubmission& submission, LeatError* error) {
                return api().submit_copy(backend(), &submission, &copy, error);
            };
            LEAT_RETURN_IF_ERROR(flight_->fly_and_wait("copy", [&] {
                return flight_->submit(part_->queue(), {}, "copy", submit_copy).error();
            }));
        }
        return {};
    }

    IsolatedNode node_;
    std::shared_ptr<const DevicePart> part_;
    std::shared_ptr<DeviceSlab> memory_;
    std::vector<LeatPlacement> transients_;
    std::vector<LeatBinding> inputs_;
    std::vector<LeatBinding> outputs_;
    LeatInstance* instance_ = nullptr;    // goes before its memory
    std::optional<DeviceFlight> flight_;  // has ended between calls
    std::vector<LeatStepTime> step_times_;
    double ns_per_tick_ = 1;
};

}  // namespace

Result<std::unique_ptr<TimedOperator>> time_on_host(const std::shared_ptr<Runtime::Impl>& runtime,
                                                    const Backend& backend,
                                                    IsolatedNode node) {
    auto timed = std::make_unique<HostOperator>(std::move(node), runtime->threads() == 1);
    LEAT_RETURN_IF_ERROR(timed->make(runtime, backend));
    return std::unique_ptr<TimedOperator>(std::move(timed));
}

Result<std::unique_ptr<TimedOperator>> time_on_device(const DevicePlace& place, IsolatedNode node) {
    auto timed = std::make_unique<DeviceOperator>(std::move(node));
    LEAT_RETURN_IF_ERROR(timed->make(place));
    return std::unique_ptr<TimedOperator>(std::move(timed));
}

std::vector<TimedRuns> run_in_turns(std::span<const std::unique_ptr<TimedOperator>> operators,
                                    std::span<const int> runs) {
    std::vector<TimedRuns> timed(operators.size());
    const int most = runs.empty() ? 0 : *std::max_element(runs.begin(), runs.end());
    for (int turn = -1; turn < most; ++turn) {
        for (size_t i = 0; i < operators.size(); ++i) {
            if (operators[i] == nullptr || !timed[i].problem.empty() || turn >= runs[i]) {
                continue;
            }
            Result<OperatorRun> run = operators[i]->run();
            if (!run.ok()) {
                timed[i] = {{}, run.error().message()};
            } else if (turn >= 0) {
                timed[i].runs.push_back(*run);
            }
        }
    }
    return timed;
}

}  // namespace leat
