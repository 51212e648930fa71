#include "plan/devices/moved_values.h"

#include <set>
#include <utility>

#include "graph/inference.h"
#include "graph/part_node.h"
#include "machine/device_costs.h"
#include "plan/value_views.h"

namespace leat {
namespace {

class MoveFinder {
  public:
    MoveFinder(const GraphData& cut,
               std::span<const std::shared_ptr<const DevicePart>> parts,
               std::span<const int> domain_of_part,
               const std::vector<bool>& are_outside,
               const std::vector<bool>& is_known)
        : cut_(cut),
          parts_(parts),
          domain_of_part_(domain_of_part),
          are_outside_(are_outside),
          is_known_(is_known) {}

    std::vector<ValueMove> run() {
        const std::vector<bool> is_needed = needed_nodes(cut_, is_known_);
        std::vector<int> memory_of_node;
        memory_of_node.reserve(cut_.nodes.size());
        for (const NodeData& node : cut_.nodes) {
            memory_of_node.push_back(domain_of(node));
        }
        is_wanted_on_host_ = values_wanted_on_host(cut_, memory_of_node, is_needed);
        for (size_t n = 0; n < cut_.nodes.size(); ++n) {
            const int64_t part = cluster_of(cut_.nodes[n]);
            if (part >= 0 && is_needed[n]) {
                add_operands(cut_.nodes[n], int(part));
                add_results(cut_.nodes[n], int(part));
            }
        }
        return std::move(moves_);
    }

  private:
    int domain_of(const NodeData& node) const {
        const int64_t part = cluster_of(node);
        return part < 0 ? kHostMemory : domain_of_part_[size_t(part)];
    }

    // Operands that are read on the host stay there, and what is known is on the device for good.
    void add_operands(const NodeData& node, int number) {
        const int domain = domain_of_part_[size_t(number)];
        const DevicePart& part = *parts_[size_t(number)];
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            const bool is_kept = is_known_[size_t(id.index)] && !part.is_streamed(i);
            const bool is_there = domain == kHostMemory && !are_outside_[size_t(id.index)];
            if (!is_kept && !is_there && !part.is_host_input(i) &&
                there_.insert({id.index, domain}).second) {
                moves_.push_back({id, number, true});
            }
        }
    }

    void add_results(const NodeData& node, int part) {
        const int domain = domain_of_part_[size_t(part)];
        for (const ValueId id : node.outputs) {
            if (!id.valid() || domain == kHostMemory || is_known_[size_t(id.index)]) {
                continue;
            }
            there_.insert({id.index, domain});
            if (is_wanted_on_host_[size_t(id.index)]) {
                moves_.push_back({id, part, false});
            }
        }
    }

    const GraphData& cut_;
    const std::span<const std::shared_ptr<const DevicePart>> parts_;
    const std::span<const int> domain_of_part_;
    const std::vector<bool>& are_outside_;
    const std::vector<bool>& is_known_;
    std::vector<bool> is_wanted_on_host_;      // by value
    std::set<std::pair<int32_t, int>> there_;  // value, domain
    std::vector<ValueMove> moves_;
};

}  // namespace

std::vector<bool> values_wanted_on_host(const GraphData& cut,
                                        std::span<const int> memory_of_node,
                                        const std::vector<bool>& is_needed) {
    std::vector<bool> are_wanted(cut.values.size());
    for (size_t n = 0; n < cut.nodes.size(); ++n) {
        for (const ValueId id : cut.nodes[n].inputs) {
            const NodeId maker = id.valid() ? cut.value(id).producer : NodeId();
            if (maker.valid() && is_needed[n] &&
                memory_of_node[size_t(maker.index)] != memory_of_node[n]) {
                are_wanted[size_t(id.index)] = true;
            }
        }
    }
    for (const ValueId id : cut.outputs) {
        are_wanted[size_t(id.index)] = true;
    }
    return are_wanted;
}

std::vector<bool> values_of_callers(const GraphData& cut, std::span<const TensorArg> values) {
    std::vector<bool> are_callers(cut.values.size());
    for (const ValueId id : cut.inputs) {
        are_callers[size_t(id.index)] = true;
    }
    for (const NodeData& node : cut.nodes) {
        bool is_over = false;
        for (const ValueId id : node.inputs) {
            is_over = is_over || (id.valid() && are_callers[size_t(id.index)]);
        }
        is_over = is_over && cluster_of(node) < 0 && lies_over_operands(cut, node, values);
        for (const ValueId id : node.outputs) {
            if (is_over && id.valid()) {
                are_callers[size_t(id.index)] = true;
            }
        }
    }
    return are_callers;
}

std::vector<ValueMove> moved_values(const GraphData& cut,
                                    std::span<const std::shared_ptr<const DevicePart>> parts,
                                    std::span<const int> domain_of_part,
                                    const std::vector<bool>& are_outside,
                                    const std::vector<bool>& is_known) {
    return MoveFinder(cut, parts, domain_of_part, are_outside, is_known).run();
}

}  // namespace leat
