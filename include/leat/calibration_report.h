// What compile() measured of the devices of its list, operator by operator, and what it found
// measured before (CompileOptions::calibrate).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

// An operator with its attributes, types, shapes and layouts, on one device. Nodes that agree in
// all of that are one row.
struct CalibratedOperator {
    std::string op_type;
    std::string signature;
    int node_count = 0;
    double flops = 0;
    int64_t bytes = 0;
    double roofline_ns = 0;  // of the definition's flops and bytes, by the device's assumed rates
    double measured_ns = 0;  // median; 0: not measured
    double spread = 0;       // the quartiles' distance over the median
    int64_t runs = 0;
    bool is_new = false;          // measured by this compile()
    std::string skipped_because;  // empty: it is measured
};

struct CalibratedLink {
    double latency_ns = 0;
    double bytes_per_s = 0;
};

struct CalibratedDevice {
    std::string device;  // as CompileOptions::devices names it
    std::string key;     // what its figures are of: device, driver, versions, threads, settings
    std::string file;    // that keeps them; empty: none does
    std::vector<CalibratedOperator> operators;
    double launch_ns = 0;      // of a submission, beyond its operators; 0: unknown
    bool has_links = false;    // with the host's memory
    bool is_link_new = false;  // measured by this compile()
    CalibratedLink to_device;
    CalibratedLink from_device;
    // Of copies in both directions at once: their time over that of the longer one alone.
    double contention = 0;
    std::string link_problem;  // why there are none; empty on the host
};

struct CalibrationReport {
    std::vector<CalibratedDevice> devices;  // as in the list; empty: nothing was asked for
    int64_t measured_count = 0;             // operators and links that this compile() measured
    int64_t kept_count = 0;                 // that were measured before
    int64_t skipped_count = 0;
    int64_t time_ns = 0;
};

}  // namespace leat
