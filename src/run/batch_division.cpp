#include "run/batch_division.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/batch_split.h"
#include "graph/inference.h"

namespace leat {
namespace {

// In proportion to the threads of each group.
std::vector<BatchRows> share_rows(std::span<const ThreadGroup> groups, int64_t batch) {
    int64_t threads = 0;
    for (const ThreadGroup& group : groups) {
        threads += group.executor->worker_count();
    }
    threads = std::max(threads, int64_t{1});
    std::vector<BatchRows> rows;
    rows.reserve(groups.size());
    int64_t before = 0;  // threads
    for (const ThreadGroup& group : groups) {
        const int64_t begin = batch * before / threads;
        before += group.executor->worker_count();
        rows.push_back({begin, batch * before / threads - begin});
    }
    return rows;
}

std::vector<int64_t> counts_of(std::span<const BatchRows> rows) {
    std::vector<int64_t> counts;
    counts.reserve(rows.size());
    for (const BatchRows& part : rows) {
        if (part.count > 0) {
            counts.push_back(part.count);
        }
    }
    return counts;
}

std::vector<Shape> shapes_of_part(const BatchDivision& division, int64_t rows) {
    std::vector<Shape> shapes = division.shapes;
    for (size_t input = 0; input < shapes.size(); ++input) {
        if (division.is_divided_input[input]) {
            shapes[input][0] = rows;
        }
    }
    return shapes;
}

// Which inputs to divide; an error says why none.
Result<std::vector<bool>> inputs_to_divide(const CompiledGraph::Impl& compiled,
                                           BatchDivision& division) {
    if (!compiled.deciding_inputs().empty()) {
        return unsupported("values of inputs decide shapes");
    }
    if (compiled.options.memory_limit_bytes > 0) {
        return unsupported("the memory limit is that of one plan");
    }
    LEAT_ASSIGN_OR_RETURN(
        const std::vector<ValueFact> facts,
        infer_graph(compiled.graph, compiled.input_facts(division.shapes, {}), {}));
    LEAT_ASSIGN_OR_RETURN(const int64_t batch, find_batch_extent(compiled.graph, facts));
    division.rows = share_rows(compiled.runtime->groups, batch);
    LEAT_ASSIGN_OR_RETURN(BatchSplit split,
                          find_batch_split(compiled.graph, facts, counts_of(division.rows)));
    return std::move(split.is_divided);
}

}  // namespace

Result<BatchDivision> divide_batch(CompiledGraph::Impl& compiled,
                                   std::vector<Shape> shapes,
                                   const WaitLimit& limit) {
    BatchDivision division;
    division.shapes = std::move(shapes);
    Result<std::vector<bool>> inputs = inputs_to_divide(compiled, division);
    if (!inputs.ok()) {
        division.reason = inputs.error().message();
        return division;
    }
    division.is_divided_input = std::move(inputs).value();
    division.plans.resize(division.rows.size());
    const Plan* any = nullptr;
    for (size_t group = 0; group < division.rows.size(); ++group) {
        const int64_t rows = division.rows[group].count;
        if (rows > 0) {
            LEAT_ASSIGN_OR_RETURN(
                division.plans[group],
                compiled.plan_for(shapes_of_part(division, rows), {}, int(group), limit));
            any = division.plans[group].get();
        }
    }
    const BatchRows& last = division.rows.back();
    for (const PlanOutput& output : any->storage.outputs) {
        Shape whole = output.shape;
        whole[0] = last.begin + last.count;
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(output.dtype, whole));
        division.outputs.push_back(std::move(tensor));
    }
    return division;
}

}  // namespace leat
