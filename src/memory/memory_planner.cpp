#include "memory/memory_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/round_up.h"
#include "base/same_value.h"
#include "base/sort_unique.h"
#include "memory/newest_members.h"
#include "memory/ordered_problem.h"

namespace leat {
namespace {

// Values that are not placed take part in hazards at addresses above any arena.
constexpr int64_t kOutsideAddress = int64_t{1} << 60;

// Where sizes grow with a batch, the order of ends changes with their padding: it comes back with
// every fourth batch or so.
constexpr size_t kMostKnownWaits = 4;

bool same_structure(const MemoryProblem& a, const MemoryProblem& b) {
    const auto same_flags = [](const MemoryValue& x, const MemoryValue& y) {
        return x.is_placed == y.is_placed && x.is_kept == y.is_kept;
    };
    const auto same_ends = [](const ValueView& x, const ValueView& y) {
        return x.part == y.part && x.whole == y.whole;
    };
    const auto same_views = [&](const std::vector<ValueView>& x, const std::vector<ValueView>& y) {
        return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_ends);
    };
    const auto same_step = [&](const MemoryStep& x, const MemoryStep& y) {
        return x.reads == y.reads && x.writes == y.writes && x.in_place == y.in_place &&
               same_views(x.views, y.views) && have_same_value(x.inside, y.inside);
    };
    return a.alignment_bytes == b.alignment_bytes && same_views(a.views, b.views) &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                      same_flags) &&
           std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(), same_step);
}

// The plan of these places; whether buffers overlap is for the proof to say.
Result<MemoryPlan> solved_plan(const MemoryLayout& layout, const SolvedLayout& solved) {
    constexpr int64_t kMostBytes = int64_t{1} << 60;
    MemoryPlan plan;
    plan.offsets.assign(layout.buffers.size(), -1);
    for (const auto& [value, offset] : solved.offsets) {
        const bool is_value = value >= 0 && size_t(value) < layout.places.size();
        const ValuePlace place = is_value ? layout.places[size_t(value)] : ValuePlace{-1, 0, -1};
        if (place.buffer < 0 || place.root != value || offset < 0 || offset > kMostBytes) {
            return parse_error("the saved place {} of value {} is none", offset, value);
        }
        const int64_t size_bytes = layout.buffers[size_t(place.buffer)].size_bytes;
        if (size_bytes > kMostBytes - plan.unplanned_bytes) {
            return parse_error("the values need more than {} bytes", kMostBytes);
        }
        plan.offsets[size_t(place.buffer)] = offset;
        plan.unplanned_bytes += size_bytes;
        plan.height_bytes = std::max(plan.height_bytes, size_bytes > 0 ? offset + size_bytes : 0);
    }
    if (std::count(plan.offsets.begin(), plan.offsets.end(), -1) > 0) {
        return parse_error("the saved places are {}", solved.offsets.size())
            .with_needed(fmt::format("one for each of {} buffers", layout.buffers.size()));
    }
    plan.lower_bound_bytes = std::clamp<int64_t>(solved.lower_bound_bytes, 0, plan.height_bytes);
    plan.proved_bytes = std::clamp<int64_t>(solved.proved_bytes, 0, plan.height_bytes);
    plan.algorithm = solved.algorithm;
    return plan;
}

}  // namespace

MemoryPlanner::MemoryPlanner(MemoryProblem problem)
    : problem_(std::move(problem)), groups_(problem_) {
    join_views();
    choose_order(choose_views());
}

MemoryPlanner::MemoryPlanner(MemoryProblem problem, const MemoryPlanner& former)
    : problem_(std::move(problem)), groups_(problem_) {
    if (!same_structure(problem_, former.problem_) || !join_views_as(former)) {
        groups_ = ValueGroups(problem_);
        join_views();
        choose_order(choose_views());
        return;
    }
    steps_ = former.steps_;
    peak_bytes_ = peak_of_order();
}

Result<std::shared_ptr<const MemoryPlanner>> MemoryPlanner::restore(MemoryProblem problem,
                                                                    const SolvedLayout& solved) {
    std::shared_ptr<MemoryPlanner> planner(new MemoryPlanner(std::move(problem), Unordered()));
    LEAT_RETURN_IF_ERROR(planner->take_solved_order(solved));
    return std::shared_ptr<const MemoryPlanner>(std::move(planner));
}

// Steps that are not in the order have become views.
Status MemoryPlanner::take_solved_order(const SolvedLayout& solved) {
    join_views();
    std::vector<bool> is_left(problem_.steps.size(), false);
    for (const int32_t index : solved.order) {
        if (index < 0 || size_t(index) >= is_left.size() || is_left[size_t(index)]) {
            return parse_error("the saved order names step {} twice, or there is no such step",
                               index)
                .with_needed(fmt::format("each of {} steps once", is_left.size()));
        }
        is_left[size_t(index)] = true;
    }
    for (size_t index = 0; index < is_left.size(); ++index) {
        const std::vector<ValueView>& views = problem_.steps[index].views;
        if (!is_left[index] && (views.empty() || !groups_.join(views))) {
            return parse_error("the saved order leaves out step {}, which is needed", index);
        }
    }
    if (!take_order(solved.order)) {
        return parse_error("in the saved order a step reads what a later one writes");
    }
    peak_bytes_ = peak_of_order();
    least_bytes_ = solved.least_bytes;
    return {};
}

void MemoryPlanner::join_views() {
    for (const ValueView& view : problem_.views) {
        groups_.join({&view, 1});
    }
}

// False: some view that the former problem has cannot be.
bool MemoryPlanner::join_views_as(const MemoryPlanner& former) {
    join_views();
    std::vector<bool> is_left(problem_.steps.size(), false);
    for (const int32_t index : former.order()) {
        is_left[size_t(index)] = true;
    }
    for (size_t index = 0; index < problem_.steps.size(); ++index) {
        if (!is_left[index] && !groups_.join(problem_.steps[index].views)) {
            return false;
        }
    }
    return true;
}

// The steps that are left. A view keeps the whole value alive for the sake of a part, so it may
// also cost memory.
std::vector<int32_t> MemoryPlanner::choose_views() {
    std::vector<int32_t> all(problem_.steps.size());
    std::iota(all.begin(), all.end(), 0);
    ValueGroups with_views = groups_;
    std::vector<int32_t> left;
    for (const int32_t index : all) {
        const MemoryStep& step = problem_.steps[size_t(index)];
        if (step.views.empty() || !with_views.join(step.views)) {
            left.push_back(index);
        }
    }
    if (left.size() == all.size()) {
        return all;
    }
    const auto peak = [&](const ValueGroups& groups, const std::vector<int32_t>& order) {
        const StepMoments moments = moments_of(problem_, order);
        return peak_in_order(problem_, groups, order, moments,
                             users_by_moment_in(problem_, order, moments));
    };
    if (peak(with_views, left) > peak(groups_, all)) {
        return all;
    }
    groups_ = std::move(with_views);
    return left;
}

void MemoryPlanner::choose_order(const std::vector<int32_t>& left) {
    const StepSequence found = order_for_smallest_peak(order_problem(problem_, groups_, left));
    std::vector<int32_t> order;
    order.reserve(left.size());
    for (const int32_t position : found.steps) {
        order.push_back(left[size_t(position)]);
    }
    (void)take_order(std::move(order));
    peak_bytes_ = moments().is_plain() ? found.peak_bytes : peak_of_order();
    least_bytes_ = std::min(found.lower_bound_bytes, bound_with_parts());
}

// False, and nothing is taken, where a step reads what itself or a later one writes.
bool MemoryPlanner::take_order(std::vector<int32_t> order) {
    auto steps = std::make_shared<Steps>();
    steps->order = std::move(order);
    steps->users = users_in(problem_, steps->order);
    steps->moments = moments_of(problem_, steps->order);
    if (!steps->moments.is_plain()) {
        steps->moments_of_users = users_by_moment_in(problem_, steps->order, steps->moments);
    }
    StepWaits data_waits = data_waits_of(problem_, steps->order, groups_);
    for (size_t position = 0; position < data_waits.size(); ++position) {
        if (!data_waits[position].empty() && data_waits[position].back() >= int32_t(position)) {
            return false;
        }
    }
    StepOrder by_data(data_waits);
    steps->by_data =
        std::make_shared<const ProvedOrder>(ProvedOrder{std::move(data_waits), std::move(by_data)});
    steps_ = std::move(steps);
    return true;
}

int64_t MemoryPlanner::peak_of_order() const {
    return peak_in_order(problem_, groups_, order(), moments(), users_by_moment());
}

// The order search knows nothing of results that are written over a part of a group, and takes what
// steps do inside for one thing. Where there may be such, only what single steps touch is a bound.
int64_t MemoryPlanner::bound_with_parts() const {
    int64_t bound = 0;
    bool has_parts = !moments().is_plain();
    for (const int32_t index : order()) {
        const MemoryStep& step = problem_.steps[size_t(index)];
        bound = std::max(bound, bytes_of_step(step));
        for (const int32_t input : step.in_place) {
            has_parts |= !groups_.spans_group(input) || !groups_.spans_group(step.writes[0]);
        }
    }
    return has_parts ? bound : std::numeric_limits<int64_t>::max();
}

// That it touches at once, in any case.
int64_t MemoryPlanner::bytes_of_step(const MemoryStep& step) const {
    if (step.inside != nullptr) {
        std::vector<int64_t> bytes(step.inside->waits.size() + 1, 0);
        for (const InnerSteps::Use& use : step.inside->uses) {
            // Views of a value are counted with it.
            const bool is_counted =
                groups_.is_placed(use.value) && groups_.root(use.value) == use.value;
            for (const int32_t inner : use.steps) {
                bytes[size_t(inner)] += is_counted ? groups_.size_bytes(use.value) : 0;
            }
        }
        return *std::max_element(bytes.begin(), bytes.end());
    }
    int64_t bytes = 0;
    MemberRanges counted(groups_);
    for (const int32_t value : step.reads) {
        if (!counted.overlaps(value) && groups_.is_placed(value)) {
            bytes += groups_.size_bytes(value);
        }
        counted.add(value);
    }
    for (const int32_t value : step.writes) {
        bytes += groups_.is_placed(value) ? groups_.size_bytes(value) : 0;
    }
    return step.in_place.empty() ? bytes : bytes - groups_.size_bytes(step.writes[0]);
}

// `newest`: of the input's group. A value that was written over others is enough to look at: its
// writer came after all that used those bytes before it, and is one of its users.
bool MemoryPlanner::may_run_in_place(const ValueGroups& groups,
                                     NewestMembers& newest,
                                     const StepOrder& proved,
                                     int32_t position,
                                     int32_t input) const {
    const MemoryStep& step = problem_.steps[size_t(order()[size_t(position)])];
    const int32_t output = step.writes[0];
    if (!groups.is_placed(input) || !groups.is_placed(output) ||
        groups.root(input) == groups.root(output) ||
        groups.size_bytes(input) != groups.size_bytes(output)) {
        return false;
    }
    int reads = 0;
    for (const int32_t other : step.reads) {
        reads += int(groups.overlap(input, other));
    }
    const auto is_over = [&](int32_t value) {
        const std::vector<int32_t>& users = steps_->users[size_t(value)];
        return !problem_.values[size_t(value)].is_kept &&
               // The last is the first not to be over.
               std::all_of(users.rbegin(), users.rend(), [&](int32_t user) {
                   return user == position || proved.precedes(user, position);
               });
    };
    return reads == 1 && newest.all_overlapping(input, is_over);
}

void MemoryPlanner::join_in_place(ValueGroups& groups, const StepOrder& proved) const {
    NewestMembers newest(groups);
    for (int32_t position = 0; position < int32_t(order().size()); ++position) {
        const MemoryStep& step = problem_.steps[size_t(order()[size_t(position)])];
        for (const int32_t input : step.in_place) {
            if (may_run_in_place(groups, newest, proved, position, input) &&
                newest.write_over(input, step.writes[0])) {
                break;
            }
        }
    }
}

std::shared_ptr<const ProvedOrder> MemoryPlanner::by_moment(
    const std::shared_ptr<const ProvedOrder>& proved) const {
    if (moments().is_plain()) {
        return proved;
    }
    auto by_moment = std::make_shared<ProvedOrder>();
    by_moment->waits = moments().waits(proved->waits);
    by_moment->order = StepOrder(by_moment->waits);
    return by_moment;
}

// Without a limit the data alone orders steps.
std::shared_ptr<const ProvedOrder> MemoryPlanner::proved_order(RunAhead run_ahead) const {
    if (run_ahead == RunAhead::kUnlimited) {
        return steps_->by_data;
    }
    auto proved = std::make_shared<ProvedOrder>();
    if (run_ahead == RunAhead::kOneWorker) {
        proved->waits.resize(order().size());
        for (size_t position = 1; position < order().size(); ++position) {
            proved->waits[position] = {int32_t(position) - 1};
        }
    } else {
        proved->waits = waits_in_window(int32_t(run_ahead));
    }
    const bool is_line = run_ahead == RunAhead::kOneWorker || run_ahead == RunAhead::kSerial;
    proved->order = is_line ? StepOrder::serial(int32_t(order().size())) : StepOrder(proved->waits);
    return proved;
}

// Of steps that run at most `distance` places ahead.
StepWaits MemoryPlanner::waits_in_window(int32_t distance) const {
    StepWaits waits(order().size());
    for (int32_t position = 0; position < int32_t(waits.size()); ++position) {
        const std::vector<int32_t>& data = steps_->by_data->waits[size_t(position)];
        // Those further back are over before these began.
        const int32_t first = std::max(position - 2 * distance + 1, 0);
        const int32_t end = std::max(position - distance + 1, first);
        std::vector<int32_t>& own = waits[size_t(position)];
        own.reserve(data.size() + size_t(end - first));
        const auto at = std::lower_bound(data.begin(), data.end(), first);
        own.assign(data.begin(), at);
        for (int32_t before = first; before < end; ++before) {
            own.push_back(before);
        }
        own.insert(own.end(), std::lower_bound(at, data.end(), end), data.end());
    }
    return waits;
}

Result<MemoryLayout> MemoryPlanner::lay_out(const LayoutRequest& request) const {
    LEAT_ASSIGN_OR_RETURN(std::optional<MemoryLayout> layout, lay_out_if_small(request));
    return *std::move(layout);
}

Result<std::optional<MemoryLayout>> MemoryPlanner::lay_out_if_small(
    const LayoutRequest& request) const {
    const MemoryLayout* const former = request.former;
    LEAT_ASSIGN_OR_RETURN(
        std::optional<MemoryLayout> layout,
        place(former == nullptr ? proved_order(request.run_ahead) : former->proved, request));
    if (!layout) {
        return layout;
    }
    if (request.run_ahead == RunAhead::kUnlimited || request.run_ahead == RunAhead::kOneWorker) {
        layout->waits = {layout->proved, &layout->proved->waits};
    } else {
        add_waits(former, *layout);
    }
    return layout;
}

// Everything but the waits. Nothing, if the request allows for that.
Result<std::optional<MemoryLayout>> MemoryPlanner::place(std::shared_ptr<const ProvedOrder> proved,
                                                         const LayoutRequest& request) const {
    ValueGroups groups = groups_;  // gets the values that are written over others
    join_in_place(groups, proved->order);
    MemoryLayout layout;
    layout.moments = request.former == nullptr ? by_moment(proved) : request.former->moments;
    layout.proved = std::move(proved);
    if (request.former == nullptr || !place_values_as(*request.former, groups, layout)) {
        place_values(groups, layout);
    }
    LEAT_ASSIGN_OR_RETURN(std::optional<MemoryPlan> plan, plan_buffers(layout, request));
    if (!plan) {
        return std::optional<MemoryLayout>();
    }
    layout.plan = *std::move(plan);
    const std::shared_ptr<const StepWaits> waits(layout.moments, &layout.moments->waits);
    Result<std::shared_ptr<const PlanProof>> proof =
        prove_plan(layout.buffers, waits, layout.plan,
                   request.former == nullptr ? nullptr : request.former->proof);
    if (!proof.ok() && request.solved != nullptr) {
        return parse_error("the saved places are wrong: {}", proof.error().text());
    }
    LEAT_ASSIGN_OR_RETURN(layout.proof, std::move(proof));
    return std::optional<MemoryLayout>(std::move(layout));
}

Result<std::optional<MemoryPlan>> MemoryPlanner::plan_buffers(const MemoryLayout& layout,
                                                              const LayoutRequest& request) const {
    const StepOrder& order = layout.moments->order;
    std::optional<MemoryPlan> plan;
    if (request.solved != nullptr) {
        LEAT_ASSIGN_OR_RETURN(plan, solved_plan(layout, *request.solved));
    } else if (request.limit_bytes) {
        LEAT_ASSIGN_OR_RETURN(LimitAnswer answer,
                              plan_within(layout.buffers, order, *request.limit_bytes));
        plan = std::move(answer.plan);
    } else if (request.former != nullptr &&
               request.former->plan.offsets.size() == layout.buffers.size()) {
        LEAT_ASSIGN_OR_RETURN(plan, plan_offsets_again(layout.buffers, order, request.former->plan,
                                                       request.spare_bytes));
    } else {
        LEAT_ASSIGN_OR_RETURN(plan, plan_offsets_up_to(layout.buffers, order, request.most_bytes));
    }
    return plan;
}

SolvedLayout MemoryPlanner::solution_of(const MemoryLayout& layout) const {
    SolvedLayout solved;
    solved.order = order();
    solved.least_bytes = least_bytes_;
    for (size_t value = 0; value < layout.places.size(); ++value) {
        const ValuePlace& place = layout.places[value];
        if (place.buffer >= 0 && place.root == int32_t(value)) {
            solved.offsets.emplace_back(place.root, layout.plan.offsets[size_t(place.buffer)]);
        }
    }
    solved.lower_bound_bytes = layout.plan.lower_bound_bytes;
    solved.proved_bytes = layout.plan.proved_bytes;
    solved.algorithm = layout.plan.algorithm;
    return solved;
}

// Fills places and buffers.
void MemoryPlanner::place_values(const ValueGroups& groups, MemoryLayout& layout) const {
    std::vector<int32_t> buffer_of(problem_.values.size(), -1);  // by root
    std::vector<UsedGroup> used = used_groups(problem_, groups, users_by_moment());
    layout.buffers.reserve(used.size());
    for (UsedGroup& group : used) {
        buffer_of[size_t(group.root)] = int32_t(layout.buffers.size());
        layout.buffers.push_back({round_up(groups.size_bytes(group.root), problem_.alignment_bytes),
                                  problem_.alignment_bytes, std::move(group.users), group.is_kept});
    }
    layout.places.reserve(problem_.values.size());
    for (int32_t value = 0; value < int32_t(problem_.values.size()); ++value) {
        const int32_t root = groups.root(value);
        layout.places.push_back({root, groups.offset_bytes(value), buffer_of[size_t(root)]});
    }
}

// The same where the same values share bytes as in the former layout: then the same steps use the
// buffers. Else false, and nothing is filled.
bool MemoryPlanner::place_values_as(const MemoryLayout& former,
                                    const ValueGroups& groups,
                                    MemoryLayout& layout) const {
    for (size_t value = 0; value < former.places.size(); ++value) {
        if (groups.root(int32_t(value)) != former.places[value].root) {
            return false;
        }
    }
    layout.places = former.places;
    layout.buffers = former.buffers;
    for (size_t value = 0; value < layout.places.size(); ++value) {
        ValuePlace& place = layout.places[value];
        place.offset_bytes = groups.offset_bytes(int32_t(value));
        if (place.buffer >= 0 && place.root == int32_t(value)) {
            layout.buffers[size_t(place.buffer)].size_bytes =
                round_up(groups.size_bytes(place.root), problem_.alignment_bytes);
        }
    }
    return true;
}

// The begin and the end of each value.
std::vector<int64_t> MemoryPlanner::ends_of_values(const MemoryLayout& layout) const {
    std::vector<int64_t> roots;  // addresses, by value
    roots.reserve(layout.places.size());
    int64_t outside = kOutsideAddress;
    for (size_t value = 0; value < layout.places.size(); ++value) {
        const int32_t buffer = layout.places[value].buffer;
        roots.push_back(buffer >= 0 ? layout.plan.offsets[size_t(buffer)] : outside);
        outside += problem_.values[value].size_bytes;
    }
    std::vector<int64_t> ends;
    ends.reserve(2 * layout.places.size());
    for (size_t value = 0; value < layout.places.size(); ++value) {
        const ValuePlace& place = layout.places[value];
        ends.push_back(roots[size_t(place.root)] + place.offset_bytes);
        ends.push_back(ends.back() + problem_.values[value].size_bytes);
    }
    return ends;
}

// Reads the waits off the bytes that steps share.
WaitsOfEnds MemoryPlanner::waits_of_ends(std::span<const int64_t> ends) const {
    WaitsOfEnds found{NumberOrder(ends), waits_of(problem_, order(), ends)};
    for (size_t position = 0; position < found.waits.size(); ++position) {
        for (const int32_t before : found.waits[position]) {
            found.added_waits +=
                int64_t(!steps_->by_data->order.precedes(before, int32_t(position)));
        }
    }
    return found;
}

void MemoryPlanner::add_waits(const MemoryLayout* former, MemoryLayout& layout) const {
    const std::vector<int64_t> ends = ends_of_values(layout);
    auto& known = layout.known_waits;
    if (former != nullptr) {
        known = former->known_waits;
    }
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const auto& waits) { return waits->ends.holds_for(ends); });
    if (found != known.end()) {
        std::rotate(known.begin(), found, found + 1);
    } else {
        known.insert(known.begin(), std::make_shared<const WaitsOfEnds>(waits_of_ends(ends)));
        known.resize(std::min(known.size(), kMostKnownWaits));
    }
    layout.waits = {known.front(), &known.front()->waits};
    layout.added_waits = known.front()->added_waits;
}

}  // namespace leat
