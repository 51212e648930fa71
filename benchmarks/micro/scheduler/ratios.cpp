#include "ratios.h"

#include <algorithm>
#include <cmath>

namespace leat::micro {
namespace {

// The smallest value that any of `executors` has.
std::optional<double> best_median(const Bench& bench,
                                  const std::vector<std::string>& executors,
                                  Key key) {
    std::optional<double> best;
    for (const std::string& executor : executors) {
        key.executor = executor;
        const std::optional<double> value = bench.results.median(key);
        if (value && (!best || *value < *best)) {
            best = value;
        }
    }
    return best;
}

std::optional<double> mean_of(const Bench& bench, const std::string& executor, Key key) {
    key.executor = executor;
    return bench.results.geometric_mean(key, chosen_graphs(bench.options));
}

}  // namespace

std::vector<std::string> names_of(const Bench& bench, Family family) {
    std::vector<std::string> names;
    for (const ExecutorEntry& entry : bench.entries) {
        if (entry.family == family) {
            names.emplace_back(entry.name);
        }
    }
    return names;
}

std::vector<std::string> chosen_graphs(const Options& options) {
    std::vector<std::string> names;
    for (const std::string_view name : graph_names()) {
        if (options.has_graph(name)) {
            names.emplace_back(name);
        }
    }
    return names;
}

LibraryRatio ratio_to_libraries(const Bench& bench, const std::string& executor, Key key) {
    const std::vector<std::string> libraries = names_of(bench, Family::kLibrary);
    const std::vector<std::string> graphs = chosen_graphs(bench.options);
    double sum = 0;
    std::optional<double> worst;
    for (const std::string& graph : graphs) {
        key.graph = graph;
        const std::optional<double> peer = best_median(bench, libraries, key);
        key.executor = executor;
        const std::optional<double> own = bench.results.median(key);
        if (!peer || !own || *own <= 0) {
            return {};
        }
        const double ratio = *peer / *own;
        sum += std::log(ratio);
        worst = std::min(worst.value_or(ratio), ratio);
    }
    if (graphs.empty()) {
        return {};
    }
    return {std::exp(sum / double(graphs.size())), worst};
}

std::optional<double> ratio_to_hand_made(const Bench& bench,
                                         const std::string& executor,
                                         const Key& key) {
    std::optional<double> best;
    for (const std::string& scheme : names_of(bench, Family::kHandMade)) {
        const std::optional<double> mean = mean_of(bench, scheme, key);
        if (mean && (!best || *mean < *best)) {
            best = mean;
        }
    }
    const std::optional<double> own = mean_of(bench, executor, key);
    return best && own ? std::optional(*best / *own) : std::nullopt;
}

std::optional<double> share_of_reference(const Bench& bench,
                                         const std::string& executor,
                                         const Key& key) {
    const std::optional<double> reference = mean_of(bench, "ref-dynamic", key);
    const std::optional<double> own = mean_of(bench, executor, key);
    return reference && own ? std::optional(*own / *reference) : std::nullopt;
}

}  // namespace leat::micro
