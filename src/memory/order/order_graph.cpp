#include "memory/order/order_graph.h"

#include "base/check.h"

namespace leat {

IntLists::IntLists(int32_t count, std::span<const std::pair<int32_t, int32_t>> pairs)
    : begins_(size_t(count) + 1, 0), items_(pairs.size()) {
    for (const auto& pair : pairs) {
        ++begins_[size_t(pair.first) + 1];
    }
    for (size_t i = 0; i < size_t(count); ++i) {
        begins_[i + 1] += begins_[i];
    }
    std::vector<int32_t> ends(begins_.begin(), begins_.end() - 1);
    for (const auto& [list, item] : pairs) {
        items_[size_t(ends[size_t(list)]++)] = item;
    }
}

OrderGraph::Pairs OrderGraph::reads_of(const OrderProblem& problem) {
    Pairs pairs;
    pairs.reserve(2 * problem.buffers.size());
    for (size_t b = 0; b < problem.buffers.size(); ++b) {
        for (const int32_t reader : problem.buffers[b].readers) {
            if (reader != problem.buffers[b].writer) {
                pairs.emplace_back(reader, int32_t(b));
            }
        }
    }
    return pairs;
}

OrderGraph::Pairs OrderGraph::writes_of(const OrderProblem& problem) {
    Pairs pairs;
    pairs.reserve(problem.buffers.size());
    for (size_t b = 0; b < problem.buffers.size(); ++b) {
        pairs.emplace_back(problem.buffers[b].writer, int32_t(b));
    }
    return pairs;
}

OrderGraph::Pairs OrderGraph::edges_of(const OrderProblem& problem) {
    Pairs edges = reads_of(problem);
    for (auto& [reader, buffer] : edges) {
        const int32_t writer = problem.buffers[size_t(buffer)].writer;
        buffer = reader;
        reader = writer;
    }
    edges.insert(edges.end(), problem.extra_edges.begin(), problem.extra_edges.end());
    for (const auto& [before, after] : edges) {
        LEAT_CHECK(0 <= before && before < after && after < problem.step_count,
                   "an edge from step {} to step {} of {}", before, after, problem.step_count);
    }
    return edges;
}

OrderGraph::Pairs OrderGraph::reversed(Pairs pairs) {
    for (auto& [first, second] : pairs) {
        std::swap(first, second);
    }
    return pairs;
}

OrderGraph::Pairs OrderGraph::choices_of(const OrderProblem& problem) {
    Pairs pairs;
    pairs.reserve(problem.in_place.size());
    for (const InPlaceChoice& choice : problem.in_place) {
        const OrderedBuffer& input = problem.buffers[size_t(choice.input_buffer)];
        const OrderedBuffer& output = problem.buffers[size_t(choice.output_buffer)];
        LEAT_CHECK(input.size_bytes == output.size_bytes, "step {} cannot write {} bytes over {}",
                   choice.step, output.size_bytes, input.size_bytes);
        if (!input.is_kept) {
            pairs.emplace_back(choice.step, choice.input_buffer);
        }
    }
    return pairs;
}

OrderGraph::OrderGraph(const OrderProblem& problem)
    : steps_(problem.step_count),
      successors_(steps_, edges_of(problem)),
      predecessors_(steps_, reversed(edges_of(problem))),
      read_by_(steps_, reads_of(problem)),
      written_by_(steps_, writes_of(problem)),
      readers_(int32_t(problem.buffers.size()), reversed(reads_of(problem))),
      overwritable_(steps_, choices_of(problem)) {
    sizes_.reserve(problem.buffers.size());
    writers_.reserve(problem.buffers.size());
    kept_.reserve(problem.buffers.size());
    for (const OrderedBuffer& buffer : problem.buffers) {
        sizes_.push_back(buffer.size_bytes);
        writers_.push_back(buffer.writer);
        kept_.push_back(uint8_t(buffer.is_kept));
    }
    for (int32_t step = 0; step < steps_; ++step) {
        for (const int32_t buffer : overwritable(step)) {
            is_uniform_ &= size_bytes(buffer) == size_bytes(overwritable(step).front());
        }
    }
}

}  // namespace leat
