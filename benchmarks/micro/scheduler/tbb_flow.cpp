// Peer: oneTBB's flow graph, one continue_node a node.
#include <fmt/core.h>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/version.h>

#include <deque>
#include <vector>

#include "tbb_executors.h"

namespace leat::micro {
namespace {

namespace flow = tbb::flow;
using FlowNode = flow::continue_node<flow::continue_msg>;

class FlowGraph final : public PreparedGraph {
  public:
    FlowGraph(const Workload& workload, tbb::task_arena& arena) : arena_(arena) {
        arena_.execute([&] { build(workload); });
    }
    ~FlowGraph() override {
        arena_.execute([this] {
            nodes_.clear();
            graph_.reset();
        });
    }

    void run() override {
        arena_.execute([this] {
            for (FlowNode* source : sources_) {
                source->try_put(flow::continue_msg());
            }
            graph_->wait_for_all();
        });
    }

  private:
    void build(const Workload& workload) {
        const Graph& graph = *workload.graph;
        graph_ = std::make_unique<flow::graph>();
        for (int32_t node = 0; node < graph.node_count(); ++node) {
            const NodeBody body = workload.body;
            nodes_.emplace_back(*graph_, [body, node](const flow::continue_msg& message) {
                body.call(body.context, node);
                return message;
            });
            if (graph.predecessor_count[size_t(node)] == 0) {
                sources_.push_back(&nodes_.back());
            }
        }
        for (int32_t node = 0; node < graph.node_count(); ++node) {
            for (int32_t successor : graph.successors_of(node)) {
                flow::make_edge(nodes_[size_t(node)], nodes_[size_t(successor)]);
            }
        }
    }

    tbb::task_arena& arena_;
    std::unique_ptr<flow::graph> graph_;  // belongs to the arena that it is made in
    std::deque<FlowNode> nodes_;
    std::vector<FlowNode*> sources_;
};

class FlowExecutor final : public Executor {
  public:
    explicit FlowExecutor(int threads) : arena_(threads) {}
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<FlowGraph>(workload, arena_);
    }

  private:
    tbb::task_arena arena_;
};

}  // namespace

std::unique_ptr<Executor> make_tbb_flow(const ExecutorSettings& settings) {
    return std::make_unique<FlowExecutor>(settings.threads);
}

std::string tbb_version() {
    return fmt::format("oneTBB {} (headers {}.{})", TBB_runtime_version(), TBB_VERSION_MAJOR,
                       TBB_VERSION_MINOR);
}

}  // namespace leat::micro
