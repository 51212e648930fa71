#include "queue_corpus.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/split_mix.h"

namespace leat {
namespace {

constexpr double kMeanNs = 100e3;
constexpr double kRate = 1e9;  // of every link, in bytes

class QueueGraphMaker {
  public:
    explicit QueueGraphMaker(const QueueGraph& graph) : graph_(graph), random_(graph.seed) {}

    PartitionProblem make() {
        add_units();
        add_end();
        for (int32_t i = 0; i < graph_.operators; ++i) {
            add_operator();
        }
        add_end();
        add_uses();
        add_links();
        return std::move(problem_);
    }

  private:
    double drawn(double low, double high) { return low + (high - low) * random_.unit(); }

    void add_units() {
        problem_.units.push_back({"host", kHostDomain, 1, false, 0});
        problem_.domain_count = 1;
        for (int32_t device = 0; device < graph_.devices; ++device) {
            const bool is_in_arena = device == 0 && graph_.has_arena_device;
            const int32_t domain = is_in_arena ? kHostDomain : problem_.domain_count++;
            problem_.units.push_back(
                {"device " + std::to_string(device), domain, 1, true, graph_.submit_ns});
        }
    }

    void add_end() {
        ++problem_.task_count;
        problem_.cost_ns.push_back(0);
        problem_.cost_ns.insert(problem_.cost_ns.end(), problem_.units.size() - 1,
                                PartitionProblem::kCannotRun);
    }

    void add_operator() {
        ++problem_.task_count;
        const double host_ns = drawn(0.1, 1.9) * kMeanNs;
        const int32_t kind = random_.below(8);
        problem_.cost_ns.push_back(kind == 1 ? PartitionProblem::kCannotRun : host_ns);
        for (int32_t device = 0; device < graph_.devices; ++device) {
            problem_.cost_ns.push_back(kind == 0 ? PartitionProblem::kCannotRun
                                                 : host_ns / drawn(0.5, 8));
        }
    }

    int64_t drawn_bytes() {
        return int64_t(drawn(0.2, 1.8) * graph_.transfer_ratio * kMeanNs * kRate / 1e9);
    }

    // Two inputs, and a result of every operator.
    void add_uses() {
        problem_.values = {{0, drawn_bytes()}, {0, drawn_bytes()}};
        problem_.callers_values = {0, 1};
        std::vector<bool> is_read(size_t(graph_.operators) + 2);
        for (int32_t task = 1; task <= graph_.operators; ++task) {
            std::vector<int32_t> read;
            const int32_t made = int32_t(problem_.values.size());
            for (int32_t i = 1 + random_.below(3); i > 0; --i) {
                read.push_back(made - 1 - random_.below(std::min(made, 6)));
            }
            std::sort(read.begin(), read.end());
            read.erase(std::unique(read.begin(), read.end()), read.end());
            for (const int32_t value : read) {
                problem_.uses.push_back({value, task});
                is_read[size_t(value)] = true;
            }
            if (random_.below(8) == 0) {
                problem_.overlays.push_back({made, read.front()});
            }
            problem_.values.push_back({task, drawn_bytes()});
        }
        for (int32_t value = 2; value < graph_.operators + 2; ++value) {
            if (!is_read[size_t(value)]) {
                problem_.uses.push_back({value, problem_.task_count - 1});
            }
        }
    }

    void add_links() {
        const int32_t domains = problem_.domain_count;
        problem_.link_between.assign(size_t(domains) * size_t(domains),
                                     scheduler::PlacementProblem::kNoLink);
        for (int32_t from = 0; from < domains; ++from) {
            for (int32_t to = from + 1; to < domains; ++to) {
                const auto there = size_t(from) * size_t(domains) + size_t(to);
                const auto back = size_t(to) * size_t(domains) + size_t(from);
                problem_.link_between[there] = int32_t(problem_.links.size());
                problem_.links.push_back({drawn(1e3, 20e3), kRate, true});
                if (random_.below(2) == 0) {
                    problem_.links.push_back({drawn(1e3, 20e3), kRate / 2, true});
                }
                problem_.link_between[back] = int32_t(problem_.links.size()) - 1;
            }
        }
    }

    const QueueGraph graph_;
    SplitMix random_;
    PartitionProblem problem_;
};

}  // namespace

PartitionProblem queue_problem(const QueueGraph& graph) {
    return QueueGraphMaker(graph).make();
}

PartitionProblem with_ends(const PartitionProblem& corpus) {
    PartitionProblem problem = corpus;
    problem.units[0].lane_count = 1;
    problem.task_count = corpus.task_count + 2;
    const auto units = problem.units.size();
    std::vector<double> end(units, PartitionProblem::kCannotRun);
    end[0] = 0;
    problem.cost_ns.insert(problem.cost_ns.begin(), end.begin(), end.end());
    problem.cost_ns.insert(problem.cost_ns.end(), end.begin(), end.end());
    std::vector<bool> has_input(size_t(corpus.task_count));
    std::vector<bool> is_read(corpus.values.size());
    for (scheduler::PlacementUse& use : problem.uses) {
        has_input[size_t(use.reader)] = true;
        is_read[size_t(use.value)] = true;
        ++use.reader;
    }
    for (scheduler::PlacementValue& value : problem.values) {
        ++value.producer;
    }
    const int64_t bytes = problem.values.empty() ? 0 : problem.values.front().bytes;
    for (size_t task = 0; task < has_input.size(); ++task) {
        if (!has_input[task]) {
            problem.uses.push_back({int32_t(problem.values.size()), int32_t(task) + 1});
            problem.values.push_back({0, bytes});
        }
    }
    for (size_t value = 0; value < is_read.size(); ++value) {
        if (!is_read[value]) {
            problem.uses.push_back({int32_t(value), problem.task_count - 1});
        }
    }
    return problem;
}

}  // namespace leat
