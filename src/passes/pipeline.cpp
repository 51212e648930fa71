#include "passes/pipeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "graph/bodies.h"

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
    {"captures", simplify_captures},
};
// Each sees what is left by the ones before it.
constexpr Step kFuse[] = {
    {"decomposed_operators", fuse_decomposed_operators},
    {"batch_norm_folding", fold_batch_norm},
    {"sibling_picks", group_sibling_picks},
};
// Facts need the elements of shapes and indices; weights are left to constant folding.
constexpr int64_t kMaxKeptElements = 1024;
constexpr int kMaxRounds = 4;

class PassPipeline {
  public:
    // given: what is known of a body's inputs; null: the graph is none.
    PassPipeline(GraphData& graph,
                 const PassOptions& options,
                 std::vector<PassReport>& reports,
                 const std::vector<ValueFact>* given = nullptr)
        : graph_(graph), reports_(reports), given_(given) {
        context_.options = options;
    }

    NodeHistory& history() { return context_.history; }

    Status run() {
        graph_.compact();
        LEAT_RETURN_IF_ERROR(infer());
        const bool has_bodies = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                            [](const NodeData& node) { return node.has_bodies(); });
        if (has_bodies) {  // results that nobody reads need no shape
            LEAT_RETURN_IF_ERROR(run_step({"captures", simplify_captures}).error());
        }
        if (context_.options.optimize) {
            LEAT_RETURN_IF_ERROR(simplify());
            LEAT_RETURN_IF_ERROR(rewrite_bodies());
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
        if (given_ == nullptr) {
            annotate();
        }
        return {};
    }

  private:
    Status infer() {
        const std::span<const ValueFact> given =
            given_ == nullptr ? std::span<const ValueFact>() : std::span(*given_);
        LEAT_ASSIGN_OR_RETURN(context_.facts, infer_graph(graph_, given, {kMaxKeptElements}));
        return {};
    }

    // Each as a graph of its own. Layouts stay: a body's results lie as its node's do. What no body
    // reads any more goes from the graph around.
    Status rewrite_bodies() {
        bool has_bodies = false;
        for (NodeData& node : graph_.nodes) {
            if (!node.has_bodies()) {
                continue;
            }
            has_bodies = true;
            const auto fact_of = [this](ValueId id) -> const ValueFact& {
                return context_.facts[size_t(id.index)];
            };
            LEAT_ASSIGN_OR_RETURN(BodyInputs given,
                                  infer_body_inputs(node, operand_facts(node, fact_of)));
            for (auto& [key, facts] : given) {
                GraphData& body = std::get<Graph>(node.attributes.find(key)->second).data();
                Status status = rewrite_body(body, facts);
                if (!status.ok()) {
                    return std::move(status).within(body_path(node, key));
                }
            }
        }
        return has_bodies ? run_step({"captures", simplify_captures}).error() : Status();
    }

    Status rewrite_body(GraphData& body, const std::vector<ValueFact>& given) {
        PassOptions options = context_.options;
        options.channels_last = false;
        std::vector<PassReport> reports;
        LEAT_RETURN_IF_ERROR(PassPipeline(body, options, reports, &given).run());
        for (const PassReport& report : reports) {
            add_report(report);
        }
        return {};
    }

    // A pass of bodies has one row, whatever their number.
    void add_report(const PassReport& report) {
        const std::string name =
            report.name.starts_with("bodies/") ? report.name : "bodies/" + report.name;
        const auto found =
            std::find_if(reports_.begin(), reports_.end(),
                         [&](const PassReport& other) { return other.name == name; });
        if (found == reports_.end()) {
            reports_.push_back({name, report.changed, report.time_ns, ""});
        } else {
            found->changed = found->changed || report.changed;
            found->time_ns += report.time_ns;
        }
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
    // graph. Types of graph inputs are declarations and stay, and so do those of bodies: a Loop
    // without an iteration has the results that they declare.
    void annotate() {
        for (size_t v = 0; v < graph_.values.size(); ++v) {
            if (graph_.values[v].producer.valid()) {
                graph_.values[v].type = context_.facts[v].type;
            }
        }
    }

    GraphData& graph_;
    std::vector<PassReport>& reports_;
    const std::vector<ValueFact>* given_;
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
