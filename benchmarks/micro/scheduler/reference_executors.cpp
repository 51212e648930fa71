#include "reference_executors.h"

#include <array>
#include <vector>

namespace leat::micro {
namespace {

class SequentialGraph final : public PreparedGraph {
  public:
    explicit SequentialGraph(const Workload& workload)
        : bodies_(workload.graph->predecessor_count.size(), workload.body) {}

    void run() override {
        for (size_t node = 0; node < bodies_.size(); ++node) {
            bodies_[node].call(bodies_[node].context, int32_t(node));
        }
    }

  private:
    std::vector<NodeBody> bodies_;  // one a node, as if they were different
};

class Sequential final : public Executor {
  public:
    std::unique_ptr<PreparedGraph> prepare(const Workload& workload) override {
        return std::make_unique<SequentialGraph>(workload);
    }
};

constexpr std::array<ExecutorEntry, 3> kEntries = {
    ExecutorEntry{
        .name = "seq", .family = Family::kReference, .serial_only = true, .make = make_sequential},
    ExecutorEntry{
        .name = "ref-dynamic", .family = Family::kReference, .make = make_dynamic_reference},
    ExecutorEntry{
        .name = "ref-compiled", .family = Family::kReference, .make = make_compiled_reference},
};

}  // namespace

std::unique_ptr<Executor> make_sequential(const ExecutorSettings& /*settings*/) {
    return std::make_unique<Sequential>();
}

std::span<const ExecutorEntry> reference_entries() {
    return kEntries;
}

}  // namespace leat::micro
