#include "run/region_run.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/grown_tensor.h"
#include "base/monotonic_clock.h"
#include "base/out_of_memory.h"
#include "graph/bodies.h"
#include "ops/control_flow/control_flow.h"
#include "run/device_states.h"
#include "run/device_trace.h"
#include "run/plan_addresses.h"
#include "run/step_times.h"
#include "run/task_stop.h"

namespace leat {
namespace {

using scheduler::TaskScope;

// Whoever drives a body asks about as often whether the run is to end.
constexpr double kBetweenQuestionsNs = 10'000;

// What a trace shows of a body at most: a long loop would fill any memory.
constexpr size_t kMostTracedSpans = 8192;

// Of a traced run: a run of the body, or of one of its calls.
struct BodySpan {
    int32_t call = -1;  // -1: the body
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};

// A step of a body that one worker carries out.
struct BodyCall {
    const PlanStep* step = nullptr;
    KernelArgs args;
    int64_t tiles_at_a_time = 0;  // between two questions
    bool asks = false;            // before the step: those before it have taken so long
};

// One set of addresses of a body's plan.
struct BodyAddresses {
    explicit BodyAddresses(const Plan& plan) : values(plan) {}
    PlanAddresses values;
    std::vector<BodyCall> calls;  // in the order of the program
};

// A plan of a body in memory of its region: states of steps, and one or two sets of addresses.
class BodyRun {
  public:
    BodyRun(const BodyPlan& body, int sets) : body_(body), state_(body.plan->program.compiled) {
        for (int i = 0; i < sets; ++i) {
            sets_.emplace_back(*body.plan);
        }
    }

    Status make_states() {
        states_.resize(plan().work.steps.size());
        times_ns_.resize(states_.size());
        spans_.reserve(plan().program.is_traced ? kMostTracedSpans : 0);
        for (size_t s = 0; s < states_.size(); ++s) {
            const PlanStep& step = plan().work.steps[s];
            if (step.region != nullptr) {
                LEAT_ASSIGN_OR_RETURN(states_[s], make_region_state(*step.region));
            } else if ((states_[s] = step.kernel->make_host_state()) != nullptr) {
                host_states_.push_back(states_[s].get());
            }
        }
        LEAT_RETURN_IF_ERROR(make_device_states(plan(), states_));
        for (BodyAddresses& set : sets_) {
            double since_question_ns = 0;
            for (const StepTask& task : plan().program.tasks) {
                if (task.kind == StepTask::Kind::kFinish) {
                    continue;  // the call waits for the device
                }
                const PlanStep& step = plan().work.steps[size_t(task.step)];
                const bool asks = since_question_ns > kBetweenQuestionsNs;
                since_question_ns = (asks ? 0 : since_question_ns) + step.cost_ns;
                if (&set == &sets_[0] && step.kernel->is_reference) {
                    long_calls_.push_back(set.calls.size());
                }
                set.calls.push_back({&step,
                                     {set.values.inputs_of(step),
                                      set.values.outputs_of(step),
                                      nullptr,
                                      states_[size_t(task.step)].get(),
                                      {}},
                                     tiles_between_questions(step),
                                     asks});
            }
        }
        return {};
    }

    void link(std::byte* arena, std::byte* scratch, int64_t scratch_bytes) {
        scratch_ = scratch;
        scratch_bytes_ = scratch_bytes;
        for (BodyAddresses& set : sets_) {
            set.values.link(arena);
            for (BodyCall& call : set.calls) {
                call.args.scratch = scratch;
                call.args.shared = own_memory_of(*call.step, arena);
            }
        }
        for (const PlanStep& step : plan().work.steps) {
            if (step.region != nullptr) {
                Region::state_of(*states_[index_of(step)]).link(own_memory_of(step, arena));
            }
        }
    }

    PlanAddresses& addresses(int set) { return sets_[size_t(set)].values; }
    const Plan& plan() const { return *body_.plan; }
    bool moves(int32_t output) const { return body_.moves[size_t(output)]; }
    std::string_view key() const { return body_.key; }

    // Errors name the step.
    Status run(int set, TaskScope* scope) {
        running_ = &sets_[size_t(set)];
        for (const size_t call : long_calls_) {
            running_->calls[call].args.stop = stop_of(scope);
        }
        for (KernelState* const state : host_states_) {
            state->begin_run();
        }
        if (is_timed_) {
            return run_timed();
        }
        if (plan().program.is_traced) {
            const int64_t begin_ns = monotonic_ns();
            Status status = run_steps(scope);
            trace(-1, begin_ns);
            return status;
        }
        return run_steps(scope);
    }

    void clear_trace() noexcept {
        spans_.clear();
        for (size_t s = 0; s < states_.size(); ++s) {
            if (plan().work.steps[s].region != nullptr) {
                Region::state_of(*states_[s]).clear_trace();
            }
        }
    }

    void add_trace(const std::string& around, std::vector<scheduler::TraceRow>& rows) const {
        scheduler::TraceRow runs{around, {}, false};
        scheduler::TraceRow steps{"steps of " + around, {}, false};
        for (const BodySpan& span : spans_) {
            if (span.call < 0) {
                runs.spans.push_back(
                    {fmt::format("run {}", runs.spans.size()), span.begin_ns, span.end_ns});
            } else {
                const NodeData& node = *sets_[0].calls[size_t(span.call)].step->node;
                steps.spans.push_back({trace_name(node), span.begin_ns, span.end_ns});
            }
        }
        for (scheduler::TraceRow* row : {&runs, &steps}) {
            if (!row->spans.empty()) {
                rows.push_back(std::move(*row));
            }
        }
        for (size_t s = 0; s < states_.size(); ++s) {
            if (plan().work.steps[s].region != nullptr) {
                Region::state_of(*states_[s]).add_trace(around, rows);
            }
        }
    }

    void set_timing(bool is_on) noexcept {
        is_timed_ = is_on;
        if (is_on) {
            std::fill(times_ns_.begin(), times_ns_.end(), 0);
            runs_ = 0;
        }
        for (size_t s = 0; s < states_.size(); ++s) {
            if (plan().work.steps[s].region != nullptr) {
                Region::state_of(*states_[s]).set_timing(is_on);
            }
        }
    }

    Status add_times(const std::string& around, std::vector<StepTime>& rows) const {
        for (size_t s = 0; s < times_ns_.size(); ++s) {
            const PlanStep& step = plan().work.steps[s];
            LEAT_ASSIGN_OR_RETURN(rows.emplace_back(), step_time(plan().work, step, runs_));
            rows.back().time_ns = times_ns_[s];
            rows.back().within = around;
            if (step.region != nullptr) {
                LEAT_RETURN_IF_ERROR(Region::state_of(*states_[s]).add_times(around, rows));
            }
        }
        return {};
    }

  private:
    Status run_steps(TaskScope* scope) {
        if (!body_.is_inline && scope != nullptr) {
            return scope->run(state_, {run_task, this});
        }
        const bool is_traced = plan().program.is_traced;
        for (const BodyCall& call : running_->calls) {
            const int64_t begin_ns = is_traced ? monotonic_ns() : 0;
            LEAT_RETURN_IF_ERROR(run_call(call, scope));
            if (is_traced) {
                trace(int32_t(&call - running_->calls.data()), begin_ns);
            }
        }
        return {};
    }

    void trace(int32_t call, int64_t begin_ns) {
        if (spans_.size() < spans_.capacity()) {
            spans_.push_back({call, begin_ns, monotonic_ns()});
        }
    }

    Status run_timed() {
        ++runs_;
        for (const BodyCall& call : running_->calls) {
            const int64_t begin_ns = monotonic_ns();
            Status status = run_call(call, nullptr);
            times_ns_[index_of(*call.step)] += monotonic_ns() - begin_ns;
            LEAT_RETURN_IF_ERROR(status);
        }
        return {};
    }

    static int64_t tiles_between_questions(const PlanStep& step) {
        const auto tiles = double(step.kernel->tile_count);
        return std::max<int64_t>(
            int64_t(tiles * std::min(1.0, kBetweenQuestionsNs / std::max(step.cost_ns, 1.0))), 1);
    }

    // All of it by this thread.
    static Status run_call(const BodyCall& call, TaskScope* scope) {
        if (call.asks && scope != nullptr && scope->is_cancelled()) {
            return Status::bare(StatusCode::kCancelled);  // the run knows why
        }
        Status status = call.step->region != nullptr
                            ? Region::state_of(*call.args.state).run(call.args, scope)
                            : run_tiles(call, scope);
        return status.ok() ? Status() : std::move(status).with_node(call.step->node->label());
    }

    static Status run_tiles(const BodyCall& call, TaskScope* scope) {
        const HostKernel& kernel = *call.step->kernel;
        if (scope == nullptr || call.tiles_at_a_time >= kernel.tile_count) {
            return kernel.run(call.args, 0, kernel.tile_count);
        }
        for (int64_t tile = 0; tile < kernel.tile_count;) {
            if (tile > 0 && scope->is_cancelled()) {
                return Status::bare(StatusCode::kCancelled);
            }
            const int64_t end = std::min(tile + call.tiles_at_a_time, kernel.tile_count);
            LEAT_RETURN_IF_ERROR(kernel.run(call.args, tile, end));
            tile = end;
        }
        return {};
    }

    // Null: the step has none.
    std::byte* own_memory_of(const PlanStep& step, std::byte* arena) const {
        return step.own_memory < 0
                   ? nullptr
                   : arena + plan().work.own_memories[size_t(step.own_memory)].arena_offset;
    }

    size_t index_of(const PlanStep& step) const { return size_t(&step - plan().work.steps.data()); }

    static bool run_task(void* self, scheduler::TaskId id, TaskScope& scope) {
        const auto& run = *static_cast<const BodyRun*>(self);
        const BodyCall& call = run.running_->calls[size_t(id)];
        KernelArgs args = call.args;
        args.scratch = run.scratch_ + scope.worker() * run.scratch_bytes_;
        args.stop = stop_of(&scope);
        Status status = call.step->region != nullptr
                            ? Region::state_of(*args.state).run(args, &scope)
                            : call.step->kernel->run(args, scope.tile_begin(), scope.tile_end());
        return status.ok() || scope.fail(std::move(status).with_node(call.step->node->label()));
    }

    const BodyPlan& body_;
    scheduler::ProgramState state_;
    std::vector<BodyAddresses> sets_;
    StepStates states_;
    std::vector<KernelState*> host_states_;  // of these, what kernels made
    std::vector<size_t> long_calls_;  // whose kernels, the reference's, ask whether to stop
    BodyAddresses* running_ = nullptr;
    bool is_timed_ = false;
    std::vector<int64_t> times_ns_;  // by step, of timed runs
    int64_t runs_ = 0;               // that were timed
    std::vector<BodySpan> spans_;    // as many as there is room for
    std::byte* scratch_ = nullptr;
    int64_t scratch_bytes_ = 0;
};

void copy_bytes(const std::byte* from, std::byte* to, int64_t bytes) {
    if (from != to && bytes > 0) {
        std::memcpy(to, from, size_t(bytes));
    }
}

// Where results of bodies go that do not write them there.
void fetch_output(const BodyRun& body, PlanAddresses& from, int32_t output, std::byte* to) {
    const PlanOutput& own = body.plan().storage.outputs[size_t(output)];
    copy_bytes(from.output_data(output), to,
               storage_bytes(own.dtype, own.shape.element_count()).value_or(0));
}

// Whether a run is to end, asked in every iteration: looks at the clock once in some 5 us. The next
// iteration may take as long as the dearest branch, whatever those before took, which limits how
// many pass between two looks.
class EndOfRun {
  public:
    explicit EndOfRun(double iteration_ns)
        : most_between_(int64_t(std::clamp(kBetweenQuestionsNs / iteration_ns, 1.0, 1024.0))) {}

    bool is_asked_for(const TaskScope* scope) {
        if (scope == nullptr || ++iterations_ < between_) {
            return false;
        }
        iterations_ = 0;
        const auto now = std::chrono::steady_clock::now();
        const auto passed = now - std::exchange(before_, now);
        if (passed < kShort) {
            between_ = std::min<int64_t>(2 * between_, most_between_);
        } else if (passed > kLong) {
            between_ = std::max<int64_t>(between_ / 2, 1);
        }
        return scope->is_cancelled();
    }

  private:
    static constexpr auto kShort = std::chrono::microseconds(3);
    static constexpr auto kLong = std::chrono::microseconds(7);

    const int64_t most_between_;
    int64_t iterations_ = 0;  // since the last look
    int64_t between_ = 1;     // two looks
    std::chrono::steady_clock::time_point before_;
};

class RegionRun : public RegionState {
  public:
    explicit RegionRun(const Region& region) : region_(region) {}

    Status make_bodies() {
        for (const BodyPlan& body : region_.bodies()) {
            bodies_.push_back(std::make_unique<BodyRun>(body, region_.is_loop() ? 2 : 1));
            LEAT_RETURN_IF_ERROR(bodies_.back()->make_states());
        }
        return {};
    }

    void link(std::byte* memory) override {
        memory_ = memory;
        for (size_t b = 0; b < bodies_.size(); ++b) {
            bodies_[b]->link(memory + region_.arena_offset(), memory + region_.scratch_offset(),
                             region_.scratch_bytes_of(region_.bodies()[b]));
        }
    }

    void set_timing(bool is_on) noexcept override {
        for (const std::unique_ptr<BodyRun>& body : bodies_) {
            body->set_timing(is_on);
        }
    }

    Status add_times(const std::string& around, std::vector<StepTime>& rows) const override {
        for (const std::unique_ptr<BodyRun>& body : bodies_) {
            LEAT_RETURN_IF_ERROR(
                body->add_times(body_path(region_.node(), body->key(), around), rows));
        }
        return {};
    }

    void clear_trace() noexcept override {
        for (const std::unique_ptr<BodyRun>& body : bodies_) {
            body->clear_trace();
        }
    }

    void add_trace(const std::string& around,
                   std::vector<scheduler::TraceRow>& rows) const override {
        for (const std::unique_ptr<BodyRun>& body : bodies_) {
            body->add_trace(body_path(region_.node(), body->key(), around), rows);
        }
    }

  protected:
    // Those behind the body's own inputs, of which there are `own`.
    void set_captures(BodyRun& body, int set, const KernelArgs& args) const {
        const auto first = size_t(region_.own_inputs());
        const size_t own = body.plan().key.shapes.size() - (args.inputs.size() - first);
        for (size_t i = first; i < args.inputs.size(); ++i) {
            body.addresses(set).set_input(int(own + i - first), args.inputs[i].data);
        }
    }

    const Region& region_;
    std::vector<std::unique_ptr<BodyRun>> bodies_;
    std::byte* memory_ = nullptr;
};

class BranchRun final : public RegionRun {
  public:
    using RegionRun::RegionRun;

    Status run(const KernelArgs& args, TaskScope* scope) override {
        BodyRun& body = *bodies_[condition_of(args.inputs[0]) ? 0 : 1];
        PlanAddresses& addresses = body.addresses(0);
        set_captures(body, 0, args);
        for (int32_t i = 0; size_t(i) < args.outputs.size(); ++i) {
            if (body.moves(i)) {
                addresses.set_output(i, args.outputs[size_t(i)].data);
            }
        }
        Status status = body.run(0, scope);
        if (!status.ok()) {
            return std::move(status).within(body_path(region_.node(), body.key()));
        }
        for (int32_t i = 0; size_t(i) < args.outputs.size(); ++i) {
            if (args.outputs[size_t(i)].present()) {
                fetch_output(body, addresses, i, args.outputs[size_t(i)].data);
            }
        }
        return {};
    }
};

class LoopRun final : public RegionRun {
  public:
    explicit LoopRun(const Region& region)
        : RegionRun(region), loop_(region.loop()), end_(region.body_ns()) {}

    Status run(const KernelArgs& args, TaskScope* scope) override {
        args_ = &args;
        number() = 0;
        condition() = 1;
        const int64_t most = most_iterations();
        const bool has_condition = loop_.first_condition >= 0;
        bool goes_on = !has_condition || condition_of(args.inputs[size_t(loop_.first_condition)]);
        // The last iteration writes to the results of the node, unless a condition ends the loop.
        set_addresses(most == kEndless || most % 2 == 1 ? 0 : 1);
        begin_stacks();
        int64_t iteration = 0;
        for (; iteration < most && goes_on; ++iteration) {
            if (end_.is_asked_for(scope)) {
                return Status::bare(StatusCode::kCancelled);  // the run knows why
            }
            LEAT_RETURN_IF_ERROR(run_iteration(iteration, scope));
            if (loop_.condition_output >= 0) {
                condition() = std::to_integer<uint8_t>(
                    *body().addresses(set_of(iteration)).output_data(loop_.condition_output));
                goes_on = !has_condition || condition() != 0;
            }
        }
        return end_loop(iteration);
    }

  private:
    static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

    BodyRun& body() { return *bodies_[0]; }
    int64_t& number() { return *reinterpret_cast<int64_t*>(memory_ + region_.number_offset()); }
    uint8_t& condition() {
        return *reinterpret_cast<uint8_t*>(memory_ + region_.condition_offset());
    }
    int set_of(int64_t iteration) const { return int((first_set_ + iteration) % 2); }

    int64_t most_iterations() const {
        if (loop_.scan_length >= 0) {
            return loop_.scan_length;
        }
        return loop_.trip_count < 0 ? kEndless
                                    : trip_count_of(args_->inputs[size_t(loop_.trip_count)]);
    }

    // Set 0 writes what set 1 reads: the results of the node, where somebody wants them.
    std::byte* written_by(int set, const CarriedValue& value) const {
        return value.memory[size_t(set)] < 0 ? args_->outputs[size_t(value.result)].data
                                             : memory_ + value.memory[size_t(set)];
    }

    // All that no iteration changes. The first iteration gets what the node does.
    void set_addresses(int first_set) {
        first_set_ = first_set;
        for (int set = 0; set < 2; ++set) {
            PlanAddresses& addresses = body().addresses(set);
            set_captures(body(), set, *args_);
            if (loop_.number_input >= 0) {
                addresses.set_input(loop_.number_input, memory_ + region_.number_offset());
                addresses.set_input(loop_.condition_input, memory_ + region_.condition_offset());
            }
            for (const CarriedValue& value : loop_.carried) {
                addresses.set_input(value.input, set == first_set
                                                     ? args_->inputs[size_t(value.operand)].data
                                                     : written_by(1 - set, value));
                if (body().moves(value.output)) {
                    addresses.set_output(value.output, written_by(set, value));
                }
            }
        }
    }

    void begin_stacks() {
        for (const PartsOfWhole& stack : loop_.stacks) {
            if (stack.grows) {
                grown(stack).begin(args_->outputs[size_t(stack.whole)].dtype, stack.part_bytes());
            }
        }
    }

    GrownTensor& grown(const PartsOfWhole& stack) const {
        return *args_->outputs[size_t(stack.whole)].as<GrownTensor>();
    }

    // Before the iteration: room, and that what the body writes goes there.
    Status prepare_stacks(int64_t iteration, PlanAddresses& addresses) {
        for (const PartsOfWhole& stack : loop_.stacks) {
            std::byte* part = nullptr;
            if (stack.grows) {
                LEAT_ASSIGN_OR_RETURN(part, grown(stack).add_part());
            } else {
                LEAT_RETURN_IF_ERROR(check_stack(stack, iteration + 1));
                part = args_->outputs[size_t(stack.whole)].data +
                       stack.index_of(iteration) * stack.inner_bytes;
            }
            if (is_written_there(stack)) {
                addresses.set_output(stack.part, part);
            }
        }
        return {};
    }

    // What the body did not write into the stacks.
    void copy_to_stacks(int64_t iteration, const PlanAddresses& addresses) {
        for (const PartsOfWhole& stack : loop_.stacks) {
            if (is_written_there(stack)) {
                continue;
            }
            const std::byte* const part = addresses.output_data(stack.part);
            if (stack.grows) {
                copy_bytes(part, grown(stack).last_part(), stack.part_bytes());
            } else {
                copy_slice(stack.split, stack.inner_bytes, stack.index_of(iteration),
                           args_->outputs[size_t(stack.whole)].data, const_cast<std::byte*>(part),
                           true);
            }
        }
    }

    Status run_iteration(int64_t iteration, TaskScope* scope) {
        const int set = set_of(iteration);
        PlanAddresses& addresses = body().addresses(set);
        number() = iteration;
        if (iteration == 2) {
            for (const CarriedValue& value : loop_.carried) {
                addresses.set_input(value.input, written_by(1 - set, value));
            }
        }
        for (const PartsOfWhole& sequence : loop_.sequences) {
            addresses.set_input(sequence.part, part_of_sequence(sequence, iteration));
        }
        LEAT_RETURN_IF_ERROR(prepare_stacks(iteration, addresses));
        Status status = body().run(set, scope);
        if (!status.ok()) {
            return std::move(status).within(fmt::format(
                "{}, iteration {}", body_path(region_.node(), body().key()), iteration));
        }
        for (const CarriedValue& value : loop_.carried) {
            if (!body().moves(value.output)) {
                fetch_output(body(), addresses, value.output, written_by(set, value));
            }
        }
        copy_to_stacks(iteration, addresses);
        return {};
    }

    const std::byte* part_of_sequence(const PartsOfWhole& sequence, int64_t iteration) const {
        std::byte* const whole = args_->inputs[size_t(sequence.whole)].data;
        const int64_t index = sequence.index_of(iteration);
        if (sequence.memory < 0) {
            return whole + index * sequence.inner_bytes;
        }
        std::byte* const part = memory_ + sequence.memory;
        copy_slice(sequence.split, sequence.inner_bytes, index, whole, part, false);
        return part;
    }

    bool is_written_there(const PartsOfWhole& stack) {
        return stack.split.outer == 1 && body().moves(stack.part);
    }

    // For each iteration there is a part of the stack.
    Status check_stack(const PartsOfWhole& stack, int64_t iterations) const {
        if (iterations <= stack.split.extent) {
            return {};
        }
        return iteration_error(stack, fmt::format("{} iterations or more", iterations));
    }
    Status iteration_error(const PartsOfWhole& stack, std::string found) const {
        return unsupported("output {} has a part for each iteration", stack.whole)
            .with_found(std::move(found))
            .with_needed(fmt::format("{}, as inference found", stack.split.extent));
    }

    Status end_loop(int64_t iterations) {
        for (const PartsOfWhole& stack : loop_.stacks) {
            if (!stack.grows && stack.split.extent != iterations) {
                return iteration_error(stack, fmt::format("{} iterations", iterations));
            }
        }
        for (const CarriedValue& value : loop_.carried) {
            if (value.result >= 0) {
                const std::byte* const last = iterations == 0
                                                  ? args_->inputs[size_t(value.operand)].data
                                                  : written_by(set_of(iterations - 1), value);
                copy_bytes(last, args_->outputs[size_t(value.result)].data, value.bytes);
            }
        }
        return {};
    }

    const LoopPlan& loop_;
    EndOfRun end_;
    const KernelArgs* args_ = nullptr;  // of this run
    int64_t first_set_ = 0;
};

}  // namespace

Result<std::unique_ptr<RegionState>> make_region_state(const Region& region) {
    return catch_bad_alloc("make the addresses of bodies",
                           [&]() -> Result<std::unique_ptr<RegionState>> {
                               std::unique_ptr<RegionRun> run;
                               if (region.is_loop()) {
                                   run = std::make_unique<LoopRun>(region);
                               } else {
                                   run = std::make_unique<BranchRun>(region);
                               }
                               LEAT_RETURN_IF_ERROR(run->make_bodies());
                               return std::unique_ptr<RegionState>(std::move(run));
                           });
}

}  // namespace leat
