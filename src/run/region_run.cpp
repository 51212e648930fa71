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
#include "base/out_of_memory.h"
#include "graph/bodies.h"
#include "ops/control_flow/control_flow.h"
#include "run/body_run.h"

namespace leat {
namespace {

using scheduler::TaskScope;

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

// Whether a run is to end, asked in every iteration: looks at the clock once in some 5 us. Where
// iterations differ, the next ones may take the longest time, whatever those before took, which
// limits how many pass between two looks.
class EndOfRun {
  public:
    // longest_ns: of an iteration; 0: all take the same time.
    explicit EndOfRun(double longest_ns)
        : most_between_(longest_ns > 0
                            ? int64_t(std::clamp(
                                  kBetweenQuestionsNs / longest_ns, 1.0, double(kMostIterations)))
                            : kMostIterations) {}

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
    static constexpr int64_t kMostIterations = 1024;

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
        : RegionRun(region), loop_(region.loop()), end_(region.longest_body_ns()) {}

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
                const TensorArg& whole = args_->outputs[size_t(stack.whole)];
                grown(stack).begin(whole.dtype, whole.shape, stack.part_bytes());
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

}  // namespace

void link_regions(const Plan& plan, const StepStates& states, std::byte* arena) {
    for_each_region(plan, states, [&](const PlanStep& step, RegionState& region) {
        region.link(plan.work.own_memory_of(step, arena));
    });
}

Status make_host_states(const Plan& plan,
                        StepStates& states,
                        std::vector<KernelState*>& of_kernels) {
    for (size_t s = 0; s < states.size(); ++s) {
        const PlanStep& step = plan.work.steps[s];
        if (step.region != nullptr) {
            LEAT_ASSIGN_OR_RETURN(states[s], make_region_state(*step.region));
            continue;
        }
        states[s] = step.kernel->make_host_state();
        if (states[s] != nullptr) {
            of_kernels.push_back(states[s].get());
        }
    }
    return {};
}

}  // namespace leat
