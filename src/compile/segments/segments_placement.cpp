#include "compile/segments/segments_placement.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/placement/placement_report.h"

namespace leat {
namespace {

// The first of a list of devices that is the host's; "cpu" runs what no other does.
std::string first_host_of(const std::string& devices) {
    for (size_t begin = 0; begin < devices.size();) {
        const size_t end = std::min(devices.find(',', begin), devices.size());
        std::string label = devices.substr(begin, end - begin);
        if (label == "cpu" || label == "reference") {
            return label;
        }
        begin = end + 1;
    }
    return "cpu";
}

class SegmentsReporter {
  public:
    explicit SegmentsReporter(const CompiledGraph::Impl& compiled)
        : compiled_(compiled), host_(first_host_of(compiled.options.devices)) {}

    GraphPlacement run() {
        for (const SegmentStep& step : compiled_.segments->steps) {
            if (step.segment == nullptr) {
                add_step(step);
            } else {
                add_segment(*step.segment);
            }
        }
        const GraphData& graph = compiled_.graph;
        for (size_t i = 0; i < graph.outputs.size(); ++i) {
            add_edge({graph.value(graph.outputs[i]).name}, graph.output_names[i]);
        }
        set_shares(report_);
        const std::vector<PlacedNode>& before = compiled_.placed.placement.gone;
        gone_.insert(gone_.end(), before.begin(), before.end());
        report_.nodes.insert(report_.nodes.end(), gone_.begin(), gone_.end());
        return std::move(report_);
    }

  private:
    // Where a value comes from that goes from one step to another.
    struct Made {
        int node = -1;
        int64_t bytes = 0;      // 0: only the run knows
        bool is_moved = false;  // to the host's memory, where all such values are
    };

    DeviceShare& share_of(const std::string& device) {
        const auto found =
            std::find_if(report_.devices.begin(), report_.devices.end(),
                         [&device](const DeviceShare& share) { return share.device == device; });
        if (found != report_.devices.end()) {
            return *found;
        }
        DeviceShare& share = report_.devices.emplace_back();
        share.device = device;
        return share;
    }

    // edge: as of the segment that reads the value. output: the name that the graph has for it.
    void add_edge(PlacedEdge edge, const std::string& output = {}) {
        const auto made = made_.find(edge.value);
        if (made != made_.end()) {
            edge.from_node = made->second.node;
            edge.bytes = std::max(edge.bytes, made->second.bytes);
            edge.is_moved = edge.is_moved || made->second.is_moved;
        }
        edge.value = output.empty() ? edge.value : output;
        if (output.empty() || edge.from_node >= 0) {
            report_.edges.push_back(std::move(edge));
        }
    }

    void add_step(const SegmentStep& step) {
        const auto pin = compiled_.options.pins.find(step.node.name);
        const bool is_pinned = pin != compiled_.options.pins.end();
        PlacedNode node;
        node.name = step.node.name;
        node.op_type = step.node.op_type;
        node.reason = is_pinned ? PlacementReason::kPinned : PlacementReason::kFirstOfList;
        node.device = is_pinned ? pin->second : host_;
        ++share_of(node.device).node_count;
        const int index = int(report_.nodes.size());
        report_.nodes.push_back(std::move(node));
        const auto& slots = compiled_.segments->slots;
        for (const int32_t slot : step.inputs) {
            if (slot >= 0 && !slots[size_t(slot)].constant) {
                add_edge({slots[size_t(slot)].name, 0, -1, index});
            }
        }
        for (const int32_t slot : step.outputs) {
            if (slot >= 0) {
                made_[slots[size_t(slot)].name] = {index};
            }
        }
    }

    void add_segment(const CompiledGraph::Impl& segment) {
        const auto plans = segment.plans.plans();
        const SharedFacts no_facts;
        GraphPlacement own =
            report_placement(segment.placed, segment.graph,
                             plans.empty() ? no_facts : plans.front()->facts.values.list());
        const int first = int(report_.nodes.size());
        for (size_t n = 0; n < own.nodes.size(); ++n) {
            const bool is_there = n < segment.graph.nodes.size();
            PlacedNode& node = own.nodes[n];
            node.part += node.part < 0 ? 0 : part_count_;
            (is_there ? report_.nodes : gone_).push_back(std::move(node));
        }
        for (PlacedEdge& edge : own.edges) {
            edge.from_node += edge.from_node < 0 ? 0 : first;
            if (edge.to_node < 0) {
                made_[edge.value] = {edge.from_node, edge.bytes, edge.is_moved};
            } else {
                edge.to_node += first;
                add_edge(std::move(edge));
            }
        }
        for (MovedValue& value : own.moved) {
            value.part += part_count_;
            report_.moved.push_back(std::move(value));
        }
        for (const DeviceShare& device : own.devices) {
            add_share(device);
        }
        for (DividedOperator& divided : own.forecast.divided) {
            report_.forecast.divided.push_back(std::move(divided));
        }
        report_.has_open_extents = report_.has_open_extents || own.has_open_extents;
        part_count_ += int(segment.placed.parts.size());
    }

    void add_share(const DeviceShare& own) {
        DeviceShare& share = share_of(own.device);
        DeviceShare sum = own;  // rates are the device's
        sum.node_count += share.node_count;
        sum.part_count += share.part_count;
        sum.estimated_ns += share.estimated_ns;
        sum.measured_count += share.measured_count;
        sum.scaled_count += share.scaled_count;
        sum.bytes_in += share.bytes_in;
        sum.bytes_out += share.bytes_out;
        sum.constant_bytes += share.constant_bytes;
        sum.streamed_bytes += share.streamed_bytes;
        sum.moving_ns += share.moving_ns;
        share = std::move(sum);
    }

    const CompiledGraph::Impl& compiled_;
    const std::string host_;
    GraphPlacement report_;
    std::vector<PlacedNode> gone_;
    std::map<std::string, Made> made_;  // by value
    int part_count_ = 0;
};

}  // namespace

GraphPlacement report_segments_placement(const CompiledGraph::Impl& compiled) {
    return SegmentsReporter(compiled).run();
}

}  // namespace leat
