#include "plan/regions/region.h"

#include <algorithm>
#include <utility>

#include "base/round_up.h"
#include "graph/bodies.h"
#include "graph/inference.h"
#include "graph/node_twins.h"
#include "ops/control_flow/control_flow.h"

namespace leat {
namespace {

constexpr int64_t kRegionAlignmentBytes = 64;
// A run of several workers takes so much longer to start and to end than one that nobody shares.
constexpr double kSharedRunNs = 1'000;
// What an iteration takes beside its steps, about.
constexpr double kIterationNs = 20;

bool holds_plain_bytes(DType dtype) {
    return dtype != DType::kUndefined && dtype != DType::kString && bits_of(dtype) % 8 == 0;
}

bool are_plain(std::span<const TensorArg> args) {
    return std::all_of(args.begin(), args.end(), [](const TensorArg& arg) {
        return !arg.present() || (holds_plain_bytes(arg.dtype) && arg.is_row_major());
    });
}

// False where the plan is made anew, which says what is wrong: but memory that there was none of
// may be there by then.
Result<bool> not_after(const Status& error) {
    return error.code() == StatusCode::kOutOfMemory ? Result<bool>(error) : Result<bool>(false);
}

// Whether a plan of the body for inputs of these facts would be this one. All values are inferred
// again: what is proved of an index may hold for one limit and not for another.
Result<bool> holds_for(const Plan& plan, const GraphData& body, std::span<const ValueFact> given) {
    static const NodeTwins kNoTwins;
    InferenceOptions options;
    options.checks_extents = false;
    const Result<SharedFacts> facts =
        infer_graph_again(body, given, options, {plan.facts.values.list(), kNoTwins});
    if (!facts.ok()) {
        return not_after(facts.error());
    }
    for (ValueId id{0}; size_t(id.index) < facts->size(); ++id.index) {
        const auto& now = (*facts)[size_t(id.index)];
        const auto& before = plan.facts.values[id];
        if (now != before &&
            (now == nullptr || before == nullptr || !same_but_extents(*now, *before))) {
            return false;
        }
    }
    const auto fact_of = [&facts](ValueId id) -> const ValueFact& {
        return *(*facts)[size_t(id.index)];
    };
    for (const PlanStep& step : plan.work.steps) {
        if (step.region == nullptr) {
            continue;
        }
        const Result<BodyInputs> inner =
            infer_body_inputs(*step.node, operand_facts(*step.node, fact_of));
        if (!inner.ok()) {
            return not_after(inner.error());
        }
        for (const BodyPlan& own : step.region->bodies()) {
            const auto own_inputs = inner->find(own.key);
            if (own_inputs == inner->end()) {
                return false;
            }
            LEAT_ASSIGN_OR_RETURN(const bool holds, holds_for(*own.plan, *step.node->body(own.key),
                                                              own_inputs->second));
            if (!holds) {
                return false;
            }
        }
    }
    return true;
}

double step_costs(const Plan& plan) {
    double sum_ns = 0;
    for (const PlanStep& step : plan.work.steps) {
        sum_ns += step.cost_ns;
    }
    return sum_ns;
}

bool has_bodies(const Plan& plan) {
    return std::any_of(plan.work.steps.begin(), plan.work.steps.end(),
                       [](const PlanStep& step) { return step.region != nullptr; });
}

// By output: it has a buffer of its own, which no output before it has.
std::vector<bool> outputs_that_move(const Plan& plan) {
    std::vector<bool> moves;
    std::vector<int32_t> seen;
    for (const PlanOutput& output : plan.storage.outputs) {
        const int32_t buffer = output.storage.index;
        moves.push_back(output.fills_buffer &&
                        std::find(seen.begin(), seen.end(), buffer) == seen.end());
        if (output.fills_buffer) {
            seen.push_back(buffer);
        }
    }
    return moves;
}

}  // namespace

class RegionMaker {
  public:
    RegionMaker(const PlanContext& context,
                const PrepareContext& prepare,
                const Backend& host,
                const Region* former)
        : context_(context),
          prepare_(prepare),
          node_(prepare.node),
          host_(host),
          former_(former),
          region_(new Region(prepare.node)) {}

    using Made = Result<std::unique_ptr<Region>>;

    Made make(std::span<const ValueFact* const> facts) {
        const bool are_tensors = std::all_of(facts.begin(), facts.end(), [](const auto* fact) {
            return fact == nullptr || fact->type.is_tensor();
        });
        if (!are_tensors || !are_plain(prepare_.inputs) || !are_plain(prepare_.outputs)) {
            return none();
        }
        LEAT_ASSIGN_OR_RETURN(const BodyInputs inputs, infer_body_inputs(node_, facts));
        const bool is_if = node_.op_type == "If";
        for (const char* key : is_if ? std::span<const char* const>(kBranches) : kBody) {
            const auto given = inputs.find(key);
            if (given == inputs.end()) {
                return none();  // nobody runs it
            }
            Result<BodyPlan> body = plan_body(key, given->second);
            if (!body.ok()) {
                // A kernel of the node says what is wrong, if that body ever runs.
                return body.error().code() == StatusCode::kOutOfMemory ? Made(body.error())
                                                                       : Made(none());
            }
            LEAT_RETURN_IF_ERROR(check_clock(*body->plan));
            region_->bodies_.push_back(*std::move(body));
        }
        LEAT_ASSIGN_OR_RETURN(const bool is_fixed, is_if ? has_results_of_branches() : drive());
        if (!is_fixed) {
            return none();
        }
        arrange();
        return std::move(region_);
    }

  private:
    static std::unique_ptr<Region> none() { return nullptr; }

    static constexpr const char* kBranches[] = {"then_branch", "else_branch"};
    static constexpr const char* kBody[] = {"body"};

    Result<BodyPlan> plan_body(std::string_view key, std::span<const ValueFact> facts) {
        const GraphData& body = *node_.body(key);
        BodyPlan made;
        made.key = key;
        made.plan = former_plan(key);
        if (made.plan != nullptr) {
            LEAT_ASSIGN_OR_RETURN(const bool holds, holds_for(*made.plan, body, facts));
            made.is_new = !holds;
        }
        if (made.is_new) {
            LEAT_ASSIGN_OR_RETURN(made.plan, make_body_plan(key, body, facts, 1));
            if (may_be_worth_sharing(*made.plan)) {
                LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Plan> shared,
                                      make_body_plan(key, body, facts, context_.workers));
                made.plan = is_worth_sharing(*shared) ? std::move(shared) : std::move(made.plan);
            }
        }
        made.is_inline = !is_worth_sharing(*made.plan);
        made.moves = outputs_that_move(*made.plan);
        return made;
    }

    // A device's steps are waited for by who drives the body.
    bool may_be_worth_sharing(const Plan& alone) const {
        return context_.workers > 1 && alone.work.devices.memories.empty() &&
               alone.program.compiled.stats().serial_ns > kSharedRunNs;
    }
    static bool is_worth_sharing(const Plan& plan) {
        const scheduler::ProgramStats& stats = plan.program.compiled.stats();
        return plan.work.devices.memories.empty() && stats.gear != scheduler::Gear::kInline &&
               stats.serial_ns - stats.parallel_ns >= kSharedRunNs;
    }

    Result<std::shared_ptr<const Plan>> make_body_plan(std::string_view key,
                                                       const GraphData& body,
                                                       std::span<const ValueFact> facts,
                                                       int workers) const {
        const auto on_devices =
            context_.placed.bodies.find({id_of(context_.graph(), node_).index, std::string(key)});
        PlacedGraph on_host;
        on_host.host = &host_;
        const PlacedGraph& placed =
            on_devices == context_.placed.bodies.end() ? on_host : *on_devices->second;
        PlanKey shapes;
        for (const ValueFact& fact : facts) {
            shapes.shapes.push_back(fact.type.fixed_shape().value_or(Shape()));
        }
        PlanContext context{
            body, placed,  context_.options,   context_.weights,   context_.memory_limit,
            {},   workers, context_.numa_node, context_.is_shared, nullptr};
        if (const std::shared_ptr<const Plan> former = former_plan(key)) {
            context.seed = former.get();
        }
        context.is_body = true;
        return make_plan(context, shapes, facts);
    }

    // An observer forecasts devices from the program of the graph, which lacks those in bodies.
    Status check_clock(const Plan& body) const {
        if (context_.observer == nullptr || body.work.devices.memories.empty()) {
            return {};
        }
        return unsupported("bodies on devices have no forecast times")
            .with_node(node_.label())
            .with_hint("run them on a device that keeps real time, or list the host first");
    }

    // Null: the body had none.
    std::shared_ptr<const Plan> former_plan(std::string_view key) const {
        const std::span<const BodyPlan> bodies =
            former_ == nullptr ? std::span<const BodyPlan>() : former_->bodies();
        const auto own = std::find_if(bodies.begin(), bodies.end(),
                                      [key](const BodyPlan& body) { return body.key == key; });
        return own == bodies.end() ? nullptr : own->plan;
    }

    const Plan& body() const { return *region_->bodies_[0].plan; }

    bool has_results_of_branches() const {
        for (const BodyPlan& branch : region_->bodies_) {
            for (size_t i = 0; i < prepare_.outputs.size(); ++i) {
                const TensorArg& result = prepare_.outputs[i];
                if (result.present() && !gives(*branch.plan, i, result)) {
                    return false;
                }
            }
        }
        return true;
    }

    static bool gives(const Plan& plan, size_t output, const TensorArg& arg) {
        const PlanOutput& own = plan.storage.outputs[output];
        return own.dtype == arg.dtype && own.shape == arg.shape;
    }

    // False: something does not fit, which a kernel of the node says when it comes to it.
    Result<bool> drive() { return node_.op_type == "Loop" ? drive_loop() : drive_scan(); }

    bool drive_loop() {
        LoopPlan& loop = region_->loop_;
        const auto own = int32_t(node_.own_inputs());
        const auto carried = int32_t(carried_by_loop(node_));
        loop.trip_count = own > 0 && prepare_.inputs[0].present() ? 0 : -1;
        loop.first_condition = own > 1 && prepare_.inputs[1].present() ? 1 : -1;
        loop.number_input = 0;
        loop.condition_input = 1;
        loop.condition_output = 0;
        const PlanOutput& condition = body().storage.outputs[0];
        if (condition.dtype != DType::kBool || condition.shape.element_count() != 1) {
            return false;
        }
        for (int32_t c = 0; c < carried; ++c) {
            if (!add_carried(2 + c, c, 2 + c, 1 + c)) {
                return false;
            }
        }
        for (auto i = size_t(carried); i < prepare_.outputs.size(); ++i) {
            if (prepare_.outputs[i].present() && !add_stack(int32_t(i), int32_t(1 + i), 0, false)) {
                return false;
            }
        }
        return true;
    }

    Result<bool> drive_scan() {
        LEAT_ASSIGN_OR_RETURN(const ScanForm form, scan_form(node_));
        LoopPlan& loop = region_->loop_;
        for (int32_t c = 0; size_t(c) < form.states; ++c) {
            if (!add_carried(c, c, c, c)) {
                return false;
            }
        }
        for (size_t s = 0; s < form.sequences; ++s) {
            const size_t at = form.states + s;
            const TensorArg& whole = prepare_.inputs[at];
            LEAT_ASSIGN_OR_RETURN(const int axis,
                                  normalize_axis(form.input_axes[s], whole.shape.rank()));
            loop.sequences.push_back(
                parts_of(whole, int32_t(at), int32_t(at), axis, form.input_is_reversed[s]));
            if (s > 0 && whole.shape[axis] != loop.scan_length) {
                return false;
            }
            loop.scan_length = whole.shape[axis];
        }
        for (size_t k = 0; k < form.stacks; ++k) {
            const size_t at = form.states + k;
            if (at >= prepare_.outputs.size() || !prepare_.outputs[at].present()) {
                continue;
            }
            LEAT_ASSIGN_OR_RETURN(
                const int axis,
                normalize_axis(form.output_axes[k], prepare_.outputs[at].shape.rank()));
            if (!add_stack(int32_t(at), int32_t(at), axis, form.output_is_reversed[k])) {
                return false;
            }
        }
        return true;
    }

    bool add_carried(int32_t operand, int32_t result, int32_t input, int32_t output) {
        const TensorArg& initial = prepare_.inputs[size_t(operand)];
        const bool is_wanted =
            size_t(result) < prepare_.outputs.size() && prepare_.outputs[size_t(result)].present();
        const bool fits = gives(body(), size_t(output), initial) &&
                          (!is_wanted || prepare_.outputs[size_t(result)].shape == initial.shape);
        region_->loop_.carried.push_back(
            {operand, is_wanted ? result : -1, input, output, initial.byte_count()});
        return fits;
    }

    static PartsOfWhole parts_of(
        const TensorArg& whole, int32_t arg, int32_t part, int axis, bool is_reversed) {
        PartsOfWhole parts{arg, part, AxisSplit::make(whole.shape, axis)};
        parts.grows = whole.grows;
        parts.inner_bytes = parts.split.inner * (bits_of(whole.dtype) / 8);
        parts.is_reversed = is_reversed;
        return parts;
    }

    bool add_stack(int32_t result, int32_t output, int axis, bool is_reversed) {
        const TensorArg& whole = prepare_.outputs[size_t(result)];
        const PlanOutput& part = body().storage.outputs[size_t(output)];
        region_->loop_.stacks.push_back(parts_of(whole, result, output, axis, is_reversed));
        const AxisSplit& split = region_->loop_.stacks.back().split;
        return part.dtype == whole.dtype && part.shape.rank() + 1 == whole.shape.rank() &&
               part.shape.element_count() == split.outer * split.inner;
    }

    // Gives everything its place.
    void arrange() {
        Region& region = *region_;
        region.number_offset_ = take(2 * int64_t(sizeof(int64_t)));
        for (PartsOfWhole& sequence : region.loop_.sequences) {
            sequence.memory = sequence.split.outer > 1 ? take(sequence.part_bytes()) : -1;
        }
        for (CarriedValue& value : region.loop_.carried) {
            value.memory = {value.result < 0 ? take(value.bytes) : -1, take(value.bytes)};
        }
        int64_t scratch_bytes = 0;
        int64_t arena_bytes = 0;
        double cost_ns = 0;
        for (const BodyPlan& body : region.bodies_) {
            const int workers = body.is_inline ? 1 : context_.workers;
            scratch_bytes = std::max(scratch_bytes, region.scratch_bytes_of(body) * workers);
            arena_bytes = std::max(arena_bytes, body.plan->arena_bytes());
            const double own_ns = body.is_inline ? step_costs(*body.plan)
                                                 : body.plan->program.compiled.stats().parallel_ns;
            cost_ns = std::max(cost_ns, own_ns + kIterationNs);
            region.longest_body_ns_ = has_bodies(*body.plan) ? cost_ns : 0;
        }
        region.scratch_offset_ = take(scratch_bytes);
        region.arena_offset_ = take(arena_bytes);
        region.kernel_name = "region";
        region.names_node = true;
        region.cost_ns = cost_ns * double(std::max<int64_t>(expected_iterations(), 1));
    }

    // One where nobody knows.
    int64_t expected_iterations() const {
        const LoopPlan& loop = region_->loop_;
        if (loop.scan_length >= 0) {
            return loop.scan_length;
        }
        const Tensor* count = loop.trip_count < 0 ? nullptr : prepare_.constants[0];
        return count == nullptr ? 1 : std::min(trip_count_of(arg_of(*count)), kMostExpected);
    }
    // Of a loop that its condition ends, mostly.
    static constexpr int64_t kMostExpected = 1'000'000;

    int64_t take(int64_t bytes) {
        const int64_t offset = region_->shared_bytes;
        region_->shared_bytes += round_up(bytes, kRegionAlignmentBytes);
        return offset;
    }

    const PlanContext& context_;
    const PrepareContext& prepare_;
    const NodeData& node_;
    const Backend& host_;
    const Region* former_;
    std::unique_ptr<Region> region_;
};

Result<std::unique_ptr<Region>> Region::make(const PlanContext& context,
                                             const PrepareContext& prepare,
                                             std::span<const ValueFact* const> facts,
                                             const Backend& host,
                                             const Region* former) {
    return RegionMaker(context, prepare, host, former).make(facts);
}

Status Region::run(const KernelArgs& args, int64_t /*tile_begin*/, int64_t /*tile_end*/) const {
    return state_of(*args.state).run(args, nullptr);
}

int64_t Region::scratch_bytes_of(const BodyPlan& body) const {
    return round_up(body.plan->work.scratch_bytes, kRegionAlignmentBytes);
}

}  // namespace leat
