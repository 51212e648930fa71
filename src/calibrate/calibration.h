// Calibration: what operators of a graph take on the devices of a list, measured where it is not
// known yet and kept for later compilations (calibration_store.h).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "graph/graph_data.h"
#include "leat/calibration_report.h"
#include "leat/runtime.h"
#include "machine/device_list.h"
#include "machine/runtime_impl.h"

namespace leat {

// What the figures of a device are of, in one line: whatever changes it makes them those of
// another.
std::string calibration_key(const Runtime::Impl& runtime, const ListedDevice& device);

// Gives the devices what is known of them. Where the options ask for it, measures first what is
// not: each operator of the graph whose shapes are fixed, on every device that takes it, and links.
// What cannot be measured is a row with the reason, and stays an estimate: nothing here makes
// compile() fail.
// graph: after the passes, in topological order.
CalibrationReport calibrate(const std::shared_ptr<Runtime::Impl>& runtime,
                            const GraphData& graph,
                            std::span<ListedDevice> devices,
                            const CompileOptions& options);

}  // namespace leat
