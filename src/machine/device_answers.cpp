#include "machine/device_answers.h"

#include <algorithm>
#include <utility>

#include "backends/plugin/plugin_answers.h"
#include "backends/plugin/plugin_graph.h"
#include "base/error.h"
#include "leat/plugin_backend.h"

namespace leat {
namespace {

// Below, the beginning of a copy takes longer than the copy.
constexpr int64_t kLeastStreamedBytes = 4096;

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
        if (Status status = check_capability(capability); !status.ok()) {
            return std::move(status)
                .with_node(graph.nodes[answers.nodes.size()].label())
                .with_file(backend.file());
        }
        NodeAnswer& answer = answers.nodes.emplace_back();
        const std::string& refusal = custom[answers.nodes.size() - 1];
        if (!refusal.empty()) {
            answer.refusal = refusal;
            continue;
        }
        answer.host_inputs = capability.host_inputs;
        answer.cost_ns = capability.cost_ns;
        if (capability.is_supported == 0) {
            answer.refusal = reason_for_refusal(capability);
        }
    }
    return answers;
}

// Of all constants, and of values whose shapes are fixed.
int64_t known_bytes(const GraphData& graph) {
    int64_t bytes = graph.parameter_bytes();
    for (const ValueData& value : graph.values) {
        const std::optional<Shape> shape = value.type.fixed_shape();
        if (!value.constant && shape && value.type.dtype != DType::kString) {
            bytes += storage_bytes(value.type.dtype, shape->element_count()).value_or(0);
        }
    }
    return bytes;
}

// Not of devices that reach the host's memory: their values are there.
bool may_be_short(const ListedDevice& device, int64_t bytes) {
    if (device.host != nullptr) {
        return false;
    }
    const LeatDeviceInfo& info = device.place.backend->device(device.place.number);
    const bool is_small = info.domain_count > 0 && info.domains[0]->capacity_bytes > 0 &&
                          info.domains[0]->capacity_bytes < bytes;
    return is_small && !works_in_host_memory(device.place);
}

bool is_large_constant(const GraphData& graph, ValueId id) {
    return id.valid() && graph.value(id).constant &&
           graph.value(id).constant->dtype() != DType::kString &&
           graph.value(id).constant->byte_count() >= kLeastStreamedBytes;
}

// The graph with its large constants as inputs.
GraphData with_constants_as_inputs(const GraphData& graph) {
    GraphData opened = graph;
    for (int32_t i = 0; i < graph.value_count(); ++i) {
        if (is_large_constant(graph, ValueId{i})) {
            opened.value(ValueId{i}).constant.reset();
            opened.inputs.push_back(ValueId{i});
        }
    }
    return opened;
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

Status find_streamable_inputs(const GraphData& graph,
                              std::span<const ListedDevice> devices,
                              PluginConstants& constants,
                              std::span<DeviceAnswers> answers) {
    const int64_t bytes = known_bytes(graph);
    if (std::none_of(devices.begin(), devices.end(),
                     [bytes](const ListedDevice& device) { return may_be_short(device, bytes); })) {
        return {};
    }
    const GraphData opened = with_constants_as_inputs(graph);
    LEAT_ASSIGN_OR_RETURN(const std::unique_ptr<PluginGraph> view,
                          PluginGraph::make(opened, constants));
    for (size_t d = 0; d < devices.size(); ++d) {
        if (!may_be_short(devices[d], bytes)) {
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const DeviceAnswers again,
                              ask_plugin(opened, view->view(), devices[d]));
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
            const NodeAnswer& answer = again.nodes[n];
            const std::vector<ValueId>& inputs = graph.nodes[n].inputs;
            for (size_t i = 0; answer.refusal.empty() && i < inputs.size() && i < 32; ++i) {
                const bool is_streamable =
                    is_large_constant(graph, inputs[i]) && !is_host_input(answer.host_inputs, i);
                answers[d].nodes[n].streamable_inputs |= uint32_t(is_streamable ? 1 : 0) << i;
            }
        }
    }
    return {};
}

bool has_streamable_inputs(std::span<const DeviceAnswers> answers) {
    return std::any_of(answers.begin(), answers.end(), [](const DeviceAnswers& device) {
        return std::any_of(device.nodes.begin(), device.nodes.end(),
                           [](const NodeAnswer& node) { return node.streamable_inputs != 0; });
    });
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
