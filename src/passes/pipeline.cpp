#include "passes/pipeline.h"

#include <chrono>
#include <utility>

namespace leat {
namespace {

struct Step {
    const char* name;
    Pass pass;
};

// Each may enable the others: repeated until none changes anything.
constexpr Step kSimplify[] = {
    {"constant_folding", fold_constants},
    {"shape_arithmetic", simplify_shape_arithmetic},
    {"identity", remove_identities},
    {"common_subexpressions", eliminate_common_subexpressions},
};
// Each sees what is left by the ones before it.
constexpr Step kFuse[] = {
    {"decomposed_operators", fuse_decomposed_operators},
    {"batch_norm_folding", fold_batch_norm},
};
// Facts need the elements of shapes and indices; weights are left to constant folding.
constexpr int64_t kMaxKeptElements = 1024;
constexpr int kMaxRounds = 4;

class PassPipeline {
  public:
    PassPipeline(GraphData& graph, const PassOptions& options, std::vector<PassReport>& reports)
        : graph_(graph), reports_(reports) {
        context_.options = options;
    }

    NodeHistory& history() { return context_.history; }

    Status run() {
        graph_.compact();
        LEAT_RETURN_IF_ERROR(infer());
        if (context_.options.optimize) {
            LEAT_RETURN_IF_ERROR(simplify());
            for (const Step& step : kFuse) {
                LEAT_RETURN_IF_ERROR(run_step(step).error());
            }
            if (context_.options.fuse_epilogues) {
                LEAT_RETURN_IF_ERROR(run_step({"epilogue_fusion", fuse_epilogues}).error());
            }
        }
        if (context_.options.channels_last) {
            LEAT_RETURN_IF_ERROR(run_step({"layout", assign_layouts}).error());
        }
        annotate();
        return {};
    }

  private:
    Status infer() {
        LEAT_ASSIGN_OR_RETURN(context_.facts, infer_graph(graph_, {}, {kMaxKeptElements}));
        return {};
    }

    Status simplify() {
        for (int round = 0; round < kMaxRounds; ++round) {
            bool changed = false;
            for (const Step& step : kSimplify) {
                LEAT_ASSIGN_OR_RETURN(const bool step_changed, run_step(step));
                changed = changed || step_changed;
            }
            if (!changed) {
                break;
            }
        }
        return {};
    }

    Result<bool> run_step(const Step& step) {
        const auto begin = std::chrono::steady_clock::now();
        context_.detail.clear();
        LEAT_ASSIGN_OR_RETURN(const bool changed, step.pass(graph_, context_));
        if (changed) {
            graph_.compact();
            LEAT_RETURN_IF_ERROR(infer());
        }
        const auto time = std::chrono::steady_clock::now() - begin;
        reports_.push_back({step.name, changed,
                            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                            std::move(context_.detail)});
        return changed;
    }

    // Values carry what inference found, for the text form and for whoever reads the compiled
    // graph. Types of graph inputs are declarations and stay.
    void annotate() {
        for (size_t v = 0; v < graph_.values.size(); ++v) {
            if (graph_.values[v].producer.valid()) {
                graph_.values[v].type = context_.facts[v].type;
            }
        }
    }

    GraphData& graph_;
    std::vector<PassReport>& reports_;
    PassContext context_;
};

}  // namespace

Status run_passes(GraphData& graph,
                  const PassOptions& options,
                  std::vector<PassReport>& reports,
                  NodeHistory* history) {
    PassPipeline pipeline(graph, options, reports);
    if (history != nullptr) {
        std::swap(pipeline.history(), *history);
    }
    LEAT_RETURN_IF_ERROR(pipeline.run());
    if (history != nullptr) {
        std::swap(pipeline.history(), *history);
    }
    return {};
}

}  // namespace leat
