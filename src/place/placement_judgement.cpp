#include "place/placement_judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"

namespace leat {
namespace {

// What every device that could run the node says.
std::string reasons_for(std::span<const DeviceAnswers> answers, size_t node) {
    std::vector<std::string> reasons;
    for (const DeviceAnswers& device : answers) {
        if (!device.nodes[node].refusal.empty()) {
            reasons.push_back(fmt::format("{}: {}", device.device, device.nodes[node].refusal));
        }
    }
    return fmt::format("{}", fmt::join(reasons, ", "));
}

// Nodes that cannot run where they are pinned.
Status judge_pins(const GraphData& graph,
                  std::span<const int> device_of_node,
                  std::span<const DeviceAnswers> answers,
                  std::span<const int> pins) {
    std::vector<std::string> refused;
    std::vector<std::string> others;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (pins[n] == kNotPinned || device_of_node[n] != kNowhere) {
            continue;
        }
        const DeviceAnswers& pinned = answers[size_t(pins[n])];
        refused.push_back(fmt::format("{} is pinned to '{}', which refuses it: {}",
                                      graph.nodes[n].label(), pinned.device,
                                      pinned.nodes[n].refusal));
        for (const DeviceAnswers& device : answers) {
            if (device.nodes[n].refusal.empty()) {
                others.push_back(fmt::format("'{}' for {}", device.device, graph.nodes[n].label()));
            }
        }
    }
    if (refused.empty()) {
        return {};
    }
    return make_error(StatusCode::kPlacement, "{} of {} nodes cannot run where they are pinned",
                      refused.size(), graph.nodes.size())
        .with_file(graph.file)
        .with_found(fmt::format("{}", fmt::join(refused, "; ")))
        .with_needed(others.empty() ? "another list of devices: none of this one takes them"
                                    : fmt::format("no pin, or {}", fmt::join(others, ", ")));
}

Status refused_error(const GraphData& graph,
                     std::span<const std::string> refused,
                     std::string_view device) {
    return unsupported("{} of {} nodes cannot run on '{}'", refused.size(), graph.nodes.size(),
                       device)
        .with_file(graph.file)
        .with_found(fmt::format("{}", fmt::join(refused, "; ")));
}

// To another device than the first one of the list, which refuses it.
bool falls_back(std::span<const int> device_of_node,
                std::span<const DeviceAnswers> answers,
                std::span<const int> pins,
                size_t node) {
    return device_of_node[node] > 0 && pins[node] == kNotPinned &&
           !answers[0].nodes[node].refusal.empty();
}

}  // namespace

std::vector<int> pinned_devices(const GraphData& graph,
                                std::span<const ListedDevice> devices,
                                const NodeHistory& history) {
    std::vector<int> pins;
    pins.reserve(graph.nodes.size());
    for (const NodeData& node : graph.nodes) {
        const std::string_view pin = history.pin_of(node.name).device;
        const auto device =
            std::find_if(devices.begin(), devices.end(),
                         [pin](const ListedDevice& listed) { return listed.label == pin; });
        pins.push_back(pin.empty() ? kNotPinned : int(device - devices.begin()));
    }
    return pins;
}

bool needs_host(const GraphData& graph, const NodeData& node) {
    const auto is_string = [&graph](ValueId id) {
        return id.valid() && graph.value(id).type.dtype == DType::kString;
    };
    return std::any_of(node.inputs.begin(), node.inputs.end(), is_string) ||
           std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
               return is_string(id) ||
                      (id.valid() && is_open_output(node, graph.value(id).output_index));
           });
}

Status judge(const GraphData& graph,
             std::span<const int> device_of_node,
             std::span<const DeviceAnswers> answers,
             std::span<const int> pins,
             Fallback fallback) {
    LEAT_RETURN_IF_ERROR(judge_pins(graph, device_of_node, answers, pins));
    std::vector<std::string> refused;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const bool is_forbidden = fallback == Fallback::kForbid &&
                                  falls_back(device_of_node, answers, pins, n) &&
                                  !needs_host(graph, graph.nodes[n]);
        if (device_of_node[n] == kNowhere || is_forbidden) {
            refused.push_back(
                fmt::format("{}: {}", graph.nodes[n].label(), reasons_for(answers, n)));
        }
    }
    if (refused.empty()) {
        return {};
    }
    return refused_error(graph, refused, answers[0].device)
        .with_hint(fallback == Fallback::kForbid && answers.size() > 1
                       ? "Fallback::kWarn lets the other devices run them"
                       : "");
}

std::vector<std::string> fallbacks_of(const GraphData& graph,
                                      std::span<const int> device_of_node,
                                      std::span<const DeviceAnswers> answers,
                                      std::span<const int> pins) {
    std::vector<std::string> fallbacks;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (falls_back(device_of_node, answers, pins, n)) {
            fallbacks.push_back(fmt::format("{} runs on {}: {}", graph.nodes[n].label(),
                                            answers[size_t(device_of_node[n])].device,
                                            reasons_for(answers, n)));
        }
    }
    return fallbacks;
}

Status check_capabilities(const GraphData& graph, const DeviceAnswers& host) {
    std::vector<std::string> refused;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (!host.nodes[n].refusal.empty()) {
            refused.push_back(graph.nodes[n].label() + ": " + host.nodes[n].refusal);
        }
    }
    if (refused.empty()) {
        return {};
    }
    return refused_error(graph, refused, host.device);
}

}  // namespace leat
