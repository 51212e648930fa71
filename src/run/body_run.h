// BodyRun: a plan of a body with addresses: states of steps, and one or two sets of addresses,
// which are numbered from 0. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/scheduler/executor.h"
#include "plan/regions/region.h"
#include "run/device_states.h"
#include "run/plan_addresses.h"

namespace leat {

// Whoever drives a body asks about every 10 us whether the run is to end.
inline constexpr double kBetweenQuestionsNs = 10'000;

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

class BodyRun {
  public:
    // The plan outlives this. sets: of addresses, 1 or 2.
    BodyRun(const BodyPlan& body, int sets);

    // Once, before link().
    Status make_states();
    // Lets it work in this memory, with scratch_bytes for each worker.
    void link(std::byte* arena, std::byte* scratch, int64_t scratch_bytes);
    PlanAddresses& addresses(int set) { return sets_[size_t(set)].values; }
    const Plan& plan() const { return *body_.plan; }
    bool moves(int32_t output) const { return body_.moves[size_t(output)]; }
    std::string_view key() const { return body_.key; }

    // With the addresses of that set. Errors name the step.
    Status run(int set, scheduler::TaskScope* scope);
    // As RegionState says.
    void set_timing(bool is_on) noexcept;
    Status add_times(const std::string& around, std::vector<StepTime>& rows) const;
    void clear_trace() noexcept;
    void add_trace(const std::string& around, std::vector<scheduler::TraceRow>& rows) const;

  private:
    void make_calls(BodyAddresses& set);
    Status run_steps(scheduler::TaskScope* scope);
    Status run_timed();
    static bool run_task(void* self, scheduler::TaskId id, scheduler::TaskScope& scope);
    void trace(int32_t call, int64_t begin_ns);
    size_t index_of(const PlanStep& step) const { return size_t(&step - plan().work.steps.data()); }

    const BodyPlan& body_;
    scheduler::ProgramState state_;
    std::vector<BodyAddresses> sets_;
    StepStates states_;
    std::vector<KernelState*> host_states_;  // of these, what kernels made
    // Numbers of calls with kernels of the reference: these ask whether the run is to end.
    std::vector<size_t> long_calls_;
    BodyAddresses* running_ = nullptr;
    bool is_timed_ = false;
    std::vector<int64_t> times_ns_;  // by step, of timed runs
    int64_t runs_ = 0;               // that were timed
    std::vector<BodySpan> spans_;    // as many as there is room for
    std::byte* scratch_ = nullptr;
    int64_t scratch_bytes_ = 0;
};

}  // namespace leat
