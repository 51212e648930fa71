#include "runtime/device_answers.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.h"
#include "leat/plugin_backend.h"
#include "partition/plugin_graph.h"

namespace leat {
namespace {

Result<DeviceAnswers> ask_plugin(const GraphData& graph,
                                 const LeatGraphView& view,
                                 const ListedDevice& device) {
    const std::vector<std::string> custom = offer_custom_operators(graph, *device.place.backend);
    std::vector<LeatNodeCapability> capabilities(size_t(view.node_count),
                                                 plugin::made<LeatNodeCapability>());
    std::vector<LeatNodeCapability*> rows;
    rows.reserve(capabilities.size());
    for (LeatNodeCapability& capability : capabilities) {
        rows.push_back(&capability);
    }
    PluginError error;
    const DeviceBackend& backend = *device.place.backend;
    LEAT_RETURN_IF_ERROR(
        error.status(backend.api().capabilities(backend.handle(), device.place.number, &view,
                                                rows.data(), error.get()),
                     fmt::format("say what {} can run", device.label)));
    DeviceAnswers answers{device.label, {}};
    answers.nodes.reserve(capabilities.size());
    for (const LeatNodeCapability& capability : capabilities) {
        NodeAnswer& answer = answers.nodes.emplace_back();
        const std::string& refusal = custom[answers.nodes.size() - 1];
        if (!refusal.empty()) {
            answer.refusal = refusal;
            continue;
        }
        answer.host_inputs = capability.host_inputs;
        answer.cost_ns = capability.cost_ns;
        if (capability.is_supported == 0) {
            answer.refusal = capability.reason[0] == '\0' ? "no reason" : capability.reason;
        }
    }
    return answers;
}

bool has_fixed_extents(const GraphData& graph, const NodeData& node) {
    const auto is_fixed = [&graph](ValueId id) {
        return !id.valid() || graph.value(id).type.fixed_shape().has_value();
    };
    return std::all_of(node.inputs.begin(), node.inputs.end(), is_fixed) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), is_fixed);
}

}  // namespace

DeviceAnswers ask_host(const GraphData& graph, const ListedDevice& device) {
    DeviceAnswers answers{device.label, {}, true};
    answers.nodes.reserve(graph.nodes.size());
    for (const NodeData& node : graph.nodes) {
        answers.nodes.push_back({device.host->refusal(node)});
    }
    return answers;
}

std::vector<std::string> offer_custom_operators(const GraphData& graph, DeviceBackend& backend) {
    std::vector<std::string> refusals(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const CustomOpDef* def = custom::find_custom(graph.nodes[n].def);
        if (def == nullptr) {
            continue;
        }
        refusals[n] = device_refusal(*def, graph.nodes[n]);
        if (refusals[n].empty()) {
            refusals[n] = backend.offer(*def);
        }
    }
    return refusals;
}

Result<std::vector<DeviceAnswers>> ask_all(const GraphData& graph,
                                           std::span<const ListedDevice> devices,
                                           PluginConstants& constants) {
    LEAT_ASSIGN_OR_RETURN(const std::unique_ptr<PluginGraph> view,
                          PluginGraph::make(graph, constants));
    std::vector<DeviceAnswers> all;
    all.reserve(devices.size());
    for (const ListedDevice& device : devices) {
        if (device.host != nullptr) {
            all.push_back(ask_host(graph, device));
        } else {
            LEAT_ASSIGN_OR_RETURN(DeviceAnswers answers, ask_plugin(graph, view->view(), device));
            all.push_back(std::move(answers));
        }
    }
    return all;
}

void take_reported_costs(const GraphData& graph,
                         std::span<const DeviceAnswers> answers,
                         AssumedDevices& assumed) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const bool is_fixed = has_fixed_extents(graph, graph.nodes[n]);
        for (size_t d = 0; d < answers.size(); ++d) {
            assumed.devices[d].reported_ns.push_back(is_fixed ? answers[d].nodes[n].cost_ns : 0);
        }
    }
}

}  // namespace leat
