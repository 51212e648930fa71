// Program::compile: checks, placement, choice of the gear, lists.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "gears/program_impl.h"
#include "placement/list_placement.h"

namespace leat::scheduler {
namespace {

// So few tasks of unknown cost are run where they are.
constexpr int32_t kMostInlineUnknown = 8;

Status check_options(const CompactDag& dag, const CompileOptions& options) {
    if (options.workers < 1 || options.workers > CompileOptions::kMaxWorkers) {
        return invalid_argument("a program for {} workers", options.workers)
            .with_needed(fmt::format("1 to {}", CompileOptions::kMaxWorkers));
    }
    if (options.gear && *options.gear > Gear::kDynamic) {
        return invalid_argument("a program in a gear that there is not")
            .with_found(fmt::format("{}", int(*options.gear)))
            .with_needed("one of Gear");
    }
    if (!options.worker_domains.empty() &&
        options.worker_domains.size() != size_t(options.workers)) {
        return invalid_argument("{} domains for {} workers", options.worker_domains.size(),
                                options.workers)
            .with_needed("one for each worker, or none");
    }
    if (options.lanes.empty() && options.starts_ns.empty()) {
        return {};
    }
    const auto count = size_t(dag.task_count());
    if (options.lanes.size() != count || options.starts_ns.size() != count) {
        return invalid_argument("a placement of {} lanes and {} start times for {} tasks",
                                options.lanes.size(), options.starts_ns.size(), count)
            .with_needed("one of each for every task");
    }
    for (size_t task = 0; task < count; ++task) {
        const int32_t lane = options.lanes[task];
        if (lane < 0 || lane >= options.workers || !std::isfinite(options.starts_ns[task])) {
            return invalid_argument("task {} is placed on lane {} at {} ns", task, lane,
                                    options.starts_ns[task])
                .with_needed(fmt::format("a lane in [0, {}) and a finite time", options.workers));
        }
        for (const int32_t pred : dag.predecessors(int32_t(task))) {
            if (options.starts_ns[size_t(pred)] > options.starts_ns[task]) {
                return invalid_argument("task {} is placed before task {}, which it follows", task,
                                        pred);
            }
        }
    }
    return {};
}

ListPlacement place_lists(const CompactDag& dag, const CompileOptions& options) {
    if (!options.lanes.empty()) {
        return place_as_given(dag, options.lanes, options.starts_ns);
    }
    if (options.workers == 1) {
        return place_on_one(dag);
    }
    const bool has_tiles =
        std::any_of(dag.special.begin(), dag.special.end(),
                    [](const auto& task) { return task.second.tile_count != 1; });
    return options.keeps_order || has_tiles
               ? place_in_order(dag, options.workers, options.worker_domains)
               : place_by_levels(dag, options.workers, options.worker_domains);
}

Gear choose_gear(const CompactDag& dag, const ListPlacement& placement) {
    const bool has_unknown =
        std::any_of(dag.costs_ns.begin(), dag.costs_ns.end(), [](float cost) { return cost < 0; });
    const double gain_ns = placement.serial_ns - placement.parallel_ns;
    if (has_unknown) {
        const bool is_small = dag.task_count() <= kMostInlineUnknown || gain_ns <= 0;
        return is_small && dag.point_count == 0 ? Gear::kInline : Gear::kDynamic;
    }
    // Helpers pay off from twice what waking them takes.
    return gain_ns < 2 * kWakeCostNs ? Gear::kInline : Gear::kCompiled;
}

int64_t bytes_of(const CompactDag& dag) {
    return int64_t(dag.costs_ns.capacity() * sizeof(float) +
                   (dag.pred_begin.capacity() + dag.preds.capacity() + dag.order.capacity()) *
                       sizeof(int32_t) +
                   dag.special.capacity() * sizeof(dag.special[0]) +
                   dag.point_waits.capacity() * sizeof(TaskDag::PointWait));
}

}  // namespace

std::string_view name_of(Gear gear) {
    switch (gear) {
        case Gear::kInline:
            return "inline";
        case Gear::kCompiled:
            return "compiled";
        default:
            return "dynamic";
    }
}

// Fills everything but the graph itself.
Status Program::Impl::compile(const CompileOptions& wanted) {
    LEAT_RETURN_IF_ERROR(check_options(dag, wanted));
    worker_domains.assign(wanted.worker_domains.begin(), wanted.worker_domains.end());
    options = wanted;
    options.lanes = {};
    options.starts_ns = {};
    options.worker_domains = worker_domains;
    const ListPlacement placement = place_lists(dag, wanted);
    stats.tasks = dag.task_count();
    stats.edges = int64_t(dag.preds.size());
    stats.serial_ns = placement.serial_ns;
    stats.parallel_ns = placement.parallel_ns;
    stats.gear = wanted.gear.value_or(choose_gear(dag, placement));
    const bool is_inline = stats.gear == Gear::kInline;
    // One list that waits for signals is the compiled gear's business.
    if (is_inline && dag.point_count > 0) {
        stats.gear = Gear::kCompiled;
    }
    stats.workers = is_inline ? 1 : wanted.workers;
    if (stats.gear == Gear::kDynamic) {
        dynamic = DynamicProgram::make(dag, worker_domains);
        stats.bytes = bytes_of(dag) + dynamic.bytes();
        return {};
    }
    lists = is_inline ? CompiledProgram::make(dag, place_on_one(dag), 1)
                      : CompiledProgram::make(dag, placement, wanted.workers);
    stats.waits = lists.waits;
    stats.publishes = lists.publishes;
    stats.bytes = bytes_of(dag) + lists.bytes();
    return {};
}

Program::Program() {
    auto impl = std::make_shared<Impl>();
    impl->lists = CompiledProgram::make(impl->dag, place_on_one(impl->dag), 1);
    impl_ = std::move(impl);
}
Program::Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Program> Program::compile(const TaskDag& dag, const CompileOptions& options) {
    return catch_bad_alloc("compile a program", [&]() -> Result<Program> {
        auto impl = std::make_shared<Impl>();
        LEAT_ASSIGN_OR_RETURN(impl->dag, CompactDag::make(dag));
        LEAT_RETURN_IF_ERROR(impl->compile(options));
        return Program(std::move(impl));
    });
}

Result<Program> Program::recompile(std::span<const double> times_ns) const {
    if (int64_t(times_ns.size()) != task_count()) {
        return invalid_argument("{} times for a program of {} tasks", times_ns.size(),
                                task_count());
    }
    return catch_bad_alloc("compile a program", [&] { return impl_->recompile(times_ns); });
}

Result<Program> Program::Impl::recompile(std::span<const double> times_ns) const {
    auto impl = std::make_shared<Impl>();
    impl->dag = dag;
    for (size_t task = 0; task < times_ns.size(); ++task) {
        if (!std::isfinite(times_ns[task])) {
            return invalid_argument("task {} took {} ns", task, times_ns[task])
                .with_needed("a finite time");
        }
        if (times_ns[task] >= 0) {
            impl->dag.costs_ns[task] = TaskDag::kept_cost_ns(times_ns[task]);
        }
    }
    CompileOptions again = options;
    again.gear.reset();
    LEAT_RETURN_IF_ERROR(impl->compile(again));
    return Program(std::move(impl));
}

Gear Program::gear() const {
    return impl_->stats.gear;
}
int64_t Program::task_count() const {
    return impl_->stats.tasks;
}
const ProgramStats& Program::stats() const {
    return impl_->stats;
}

}  // namespace leat::scheduler
