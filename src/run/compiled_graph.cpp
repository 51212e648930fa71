#include <algorithm>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/round_up.h"
#include "memory/domains/page_placement.h"
#include "plan/plan_report.h"
#include "run/batch_division.h"
#include "run/compiled_graph_impl.h"
#include "run/request_impl.h"

namespace leat {
namespace {

std::vector<std::byte> deciding_bytes(std::span<const int> deciding,
                                      std::span<const Tensor* const> values) {
    std::vector<std::byte> bytes;
    for (int input : deciding) {
        const Tensor& tensor = *values[size_t(input)];
        bytes.insert(bytes.end(), tensor.bytes(), tensor.bytes() + tensor.byte_count());
    }
    return bytes;
}

}  // namespace

Status CompiledGraph::Impl::check_is_whole(std::string_view action) const {
    if (segments == nullptr) {
        return {};
    }
    return unsupported("cannot {} a graph in segments", action)
        .with_file(graph.file)
        .with_found(
            fmt::format("{} steps, as {}", segments->steps.size(), segments->first_reason()))
        .with_needed("shapes that follow from the inputs' shapes and values");
}

Status CompiledGraph::Impl::check_shapes_decide() const {
    if (!deciding_inputs().empty()) {
        return invalid_argument("shapes depend on the values of inputs")
            .with_hint("bind them and call Request::prepare");
    }
    return {};
}

PlanContext CompiledGraph::Impl::plan_context(int group) const {
    const ThreadGroup& threads = runtime->groups[size_t(group)];
    const MemoryDomains& domains = *runtime->domains;
    // A limit counts every copy: then there is one.
    const bool has_one_copy =
        options.memory_limit_bytes > 0 && runtime->options.numa.weights == WeightPlacement::kAuto;
    const WeightTarget weights =
        has_one_copy ? runtime->weights.default_target() : runtime->weight_target(threads);
    const WeightTargets* others =
        has_one_copy || weight_targets.empty() ? nullptr : &weight_targets[size_t(group)];
    PlanContext context{
        graph,
        placed,
        options,
        PlacedWeights(runtime->weights, weights, others, mapped.get()),
        {options.memory_limit_bytes, base_report.weight_bytes, requests_at_a_time(options)},
        cost_factors,
        options.runs_serially ? 1 : threads.executor->worker_count(),
        threads.home && weights.domain == threads.home ? domains.at(*threads.home).os_node : -1,
        domains.places() && !threads.home,
        runtime->observer.get()};
    context.spare_arena_bytes = spare_arena_bytes;
    return context;
}

std::vector<ValueFact> CompiledGraph::Impl::input_facts(
    std::span<const Shape> shapes, std::span<const Tensor* const> values) const {
    std::vector<ValueFact> facts(graph.inputs.size());
    for (size_t i = 0; i < facts.size(); ++i) {
        const TypeInfo& declared = graph.value(graph.inputs[i]).type;
        facts[i].type =
            declared.is_tensor() ? TypeInfo::tensor(declared.dtype, shapes[i]) : declared;
    }
    for (const int input : deciding_inputs()) {
        facts[size_t(input)].value = *values[size_t(input)];
    }
    return facts;
}

Result<std::vector<MemoryTradeOff>> CompiledGraph::Impl::trade_offs(
    std::span<const Shape> shapes) const {
    Result<std::vector<MemoryTradeOff>> rows =
        leat::trade_offs(plan_context(0), input_facts(shapes, {}));
    if (!rows.ok()) {
        return std::move(rows).error().with_file(graph.file);
    }
    return rows;
}

Result<std::shared_ptr<const Plan>> CompiledGraph::Impl::plan_for(
    std::span<const Shape> shapes,
    std::span<const Tensor* const> values,
    int group,
    const WaitLimit& limit) {
    const PlanKey key{runtime->plan_group(group),
                      {shapes.begin(), shapes.end()},
                      deciding_bytes(deciding_inputs(), values)};
    return plans.find_or_make(key, limit, [&](const PlanCache::PlanPtr& former) {
        PlanContext context = plan_context(key.group);
        // A limit is answered by a plan of its own: the order of an earlier one may need more.
        if (former != nullptr && options.memory_limit_bytes <= 0) {
            context.seed = former.get();
        }
        return make_plan(context, key, input_facts(shapes, values));
    });
}

// Plans for devices are large. The first one, which is that of the upper bounds if there are any,
// arranges memory for others too.
std::vector<std::vector<ValueFact>> CompiledGraph::Impl::further_facts(const PlanContext& context,
                                                                       const PlanKey& key) const {
    const bool is_first = context.seed == &no_seed();
    const bool may_be_followed = deciding_inputs().empty() && options.memory_limit_bytes <= 0;
    const bool is_at_bounds =
        options.dim_bounds.empty() || key.shapes == shapes_at_bounds(graph, options);
    if (!is_first || !may_be_followed || !is_at_bounds || placed.parts.empty()) {
        return {};
    }
    std::vector<std::vector<ValueFact>> facts;
    for (const std::vector<Shape>& shapes : likely_shapes(graph, options, key.shapes)) {
        facts.push_back(input_facts(shapes, {}));
    }
    return facts;
}

Result<std::shared_ptr<const Plan>> CompiledGraph::Impl::make_plan(
    PlanContext& context, const PlanKey& key, std::span<const ValueFact> facts) const {
    LEAT_RETURN_IF_ERROR(files.check());
    const std::vector<std::vector<ValueFact>> further = further_facts(context, key);
    context.further_facts = further;
    Result<std::shared_ptr<const Plan>> plan = leat::make_plan(context, key, facts);
    if (!plan.ok()) {
        return std::move(plan).error().with_file(graph.file);
    }
    LEAT_RETURN_IF_ERROR(check_room(**plan));
    return plan;
}

Status CompiledGraph::Impl::restore_plan(const PlanKey& key, SolvedChoice choice) {
    const bool is_group = key.group >= 0 && size_t(key.group) < runtime->groups.size();
    if (!is_group || key.shapes.size() != graph.inputs.size()) {
        return parse_error("a plan is of {} shapes for thread group {}", key.shapes.size(),
                           key.group);
    }
    std::vector<Tensor> tensors(graph.inputs.size());
    std::vector<const Tensor*> values(graph.inputs.size());
    std::span<const std::byte> left(key.values);
    for (const int input : deciding_inputs()) {
        const DType dtype = graph.value(graph.inputs[size_t(input)]).type.dtype;
        const Shape& shape = key.shapes[size_t(input)];
        const std::optional<int64_t> wanted = storage_bytes(dtype, shape.element_count());
        if (dtype == DType::kString || !wanted || *wanted > int64_t(left.size())) {
            return parse_error("a plan has no elements of an input that decides shapes");
        }
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
        const auto bytes = size_t(*wanted);
        std::copy_n(left.begin(), bytes, tensor.mutable_bytes());
        left = left.subspan(bytes);
        tensors[size_t(input)] = std::move(tensor);
        values[size_t(input)] = &tensors[size_t(input)];
    }
    PlanContext context = plan_context(key.group);
    ReplanSeed seed;
    seed.solved = std::move(choice);
    context.seed = &seed;
    LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<const Plan> plan,
                          make_plan(context, key, input_facts(key.shapes, values)));
    plans.add(plan);
    return {};
}

Status CompiledGraph::Impl::prepare(std::span<const Shape> shapes) {
    if (runtime->divides_batches()) {
        LEAT_ASSIGN_OR_RETURN(const BatchDivision division,
                              divide_batch(*this, {shapes.begin(), shapes.end()}));
        if (division.is_divided()) {
            return {};
        }
    }
    for (size_t group = 0; group < runtime->groups.size(); ++group) {
        if (runtime->plan_group(int(group)) == int(group)) {
            LEAT_RETURN_IF_ERROR(plan_for(shapes, {}, int(group)).error());
        }
    }
    return {};
}

std::string CompiledGraph::Impl::largest_value(const Plan& plan) const {
    const std::vector<BufferReport> buffers = report_buffers(planned_graph(), plan);
    const auto largest = std::max_element(
        buffers.begin(), buffers.end(),
        [](const BufferReport& a, const BufferReport& b) { return a.size_bytes < b.size_bytes; });
    return largest == buffers.end()
               ? "none"
               : fmt::format("'{}' ({} bytes)", largest->value, largest->size_bytes);
}

// The roomiest domain counts where the request may be in several.
Status CompiledGraph::Impl::check_room(const Plan& plan) const {
    const MemoryDomains& domains = *runtime->domains;
    if (!domains.is_strict() || domains.list().empty()) {
        return {};
    }
    const ThreadGroup& threads = runtime->groups[size_t(plan.key.group)];
    MemoryDomainId roomiest = threads.home.value_or(MemoryDomainId{0});
    for (const MemoryDomain& domain : domains.list()) {
        const bool may_be_home = !threads.home && !domain.cpus.empty();
        if (may_be_home && domains.budget(domain.id).bytes > domains.budget(roomiest).bytes) {
            roomiest = domain.id;
        }
    }
    const MemoryBudget budget = domains.budget(roomiest);
    const int64_t workers =
        std::count(threads.worker_homes.begin(), threads.worker_homes.end(), roomiest);
    const int64_t bytes =
        round_up(plan.arena_bytes() + plan.work.scratch_bytes * workers, page_bytes());
    if (bytes <= budget.bytes) {
        return {};
    }
    return out_of_memory("the memory of a request does not fit memory domain {} (node {})",
                         int(roomiest), domains.at(roomiest).os_node)
        .with_file(graph.file)
        .with_found(fmt::format("{} bytes of activations and scratch; the largest value is {}",
                                bytes, largest_value(plan)))
        .with_needed(fmt::format("at most {} bytes: {}", budget.bytes, budget.reason))
        .with_hint("compile with smaller shapes, or without NumaOptions::is_strict");
}

CompiledGraph::CompiledGraph(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
CompiledGraph::~CompiledGraph() = default;
CompiledGraph::CompiledGraph(CompiledGraph&&) noexcept = default;
CompiledGraph& CompiledGraph::operator=(CompiledGraph&&) noexcept = default;

std::vector<ValueInfo> CompiledGraph::inputs() const {
    return impl_->source.inputs();
}
std::vector<ValueInfo> CompiledGraph::outputs() const {
    return impl_->source.outputs();
}

std::vector<ValueInfo> CompiledGraph::default_inputs() const {
    return impl_->source.default_inputs();
}

Status CompiledGraph::prepare(const InputShapes& shapes) const {
    return catch_bad_alloc("plan for these shapes", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(Impl* const graph, impl_->opened_for(shapes));
        LEAT_RETURN_IF_ERROR(graph->check_shapes_decide());
        LEAT_ASSIGN_OR_RETURN(const std::vector<Shape> complete,
                              graph->signature.complete_shapes(shapes));
        return graph->segments == nullptr ? graph->prepare(complete)
                                          : graph->segments->prepare(complete);
    });
}

Result<std::vector<MemoryTradeOff>> CompiledGraph::memory_dial(const InputShapes& shapes) const {
    using Rows = std::vector<MemoryTradeOff>;
    return catch_bad_alloc("plan for these shapes", [&]() -> Result<Rows> {
        LEAT_ASSIGN_OR_RETURN(Impl* const graph, impl_->opened_for(shapes));
        LEAT_RETURN_IF_ERROR(graph->check_is_whole("weigh the memory of"));
        LEAT_RETURN_IF_ERROR(graph->check_shapes_decide());
        LEAT_ASSIGN_OR_RETURN(const std::vector<Shape> complete,
                              graph->signature.complete_shapes(shapes));
        return graph->trade_offs(complete);
    });
}

Result<Request> CompiledGraph::make_request(const RequestOptions& options) const {
    return catch_bad_alloc("make a request", [&]() -> Result<Request> {
        LEAT_RETURN_IF_ERROR(impl_->files.check());
        LEAT_ASSIGN_OR_RETURN(const RequestPlace place, impl_->runtime->place_request(options));
        auto request = std::make_unique<Request::Impl>(impl_, place);
        LEAT_RETURN_IF_ERROR(request->check_count());
        LEAT_RETURN_IF_ERROR(request->state->reserve());
        return Request(std::move(request));
    });
}

std::string CompiledGraph::to_text() const {
    return impl_->source.to_text();
}

}  // namespace leat
