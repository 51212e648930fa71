// What the devices of a list say about the nodes of a graph, and what they take for them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "machine/device_costs.h"
#include "machine/device_list.h"
#include "partition/partition.h"

namespace leat {

DeviceAnswers ask_host(const GraphData& graph, const ListedDevice& device);

// By device of the list. constants: outlived by the tensors of the graph.
Result<std::vector<DeviceAnswers>> ask_all(const GraphData& graph,
                                           std::span<const ListedDevice> devices,
                                           PluginConstants& constants);

// By node: why a custom operator stays on the host; empty for all other nodes. What the backend may
// run is registered there.
std::vector<std::string> offer_custom_operators(const GraphData& graph, DeviceBackend& backend);

// Where the memory of a device may be too small for the whole graph, asks again with constants as
// values of the run, and fills NodeAnswer::streamable_inputs. Constants of a few kilobytes, and all
// on devices that work in the host's memory, stay what they are.
Status find_streamable_inputs(const GraphData& graph,
                              std::span<const ListedDevice> devices,
                              PluginConstants& constants,
                              std::span<DeviceAnswers> answers);
bool has_streamable_inputs(std::span<const DeviceAnswers> answers);

// Of nodes with open extents backends do not know what will be run.
void take_reported_costs(const GraphData& graph,
                         std::span<const DeviceAnswers> answers,
                         AssumedDevices& assumed);

}  // namespace leat
