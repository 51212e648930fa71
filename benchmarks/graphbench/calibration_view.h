// What was measured of operators and links, beside what was estimated, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "leat/calibration_report.h"

namespace leat::bench {

// For each device its operators, those first that take the longest in the graph, `top` of them (0:
// all), and its links.
std::string calibration_as_text(const CalibrationReport& report, int64_t top);
Json calibration_as_json(const CalibrationReport& report);

// Of a graph on one device: its nodes' times added up.
struct CalibratedSum {
    int node_count = 0;  // that are measured; the times are theirs alone
    double roofline_ns = 0;
    double measured_ns = 0;
};
CalibratedSum sum_of(const CalibratedDevice& device);

}  // namespace leat::bench
