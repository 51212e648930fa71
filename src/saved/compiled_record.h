// CompiledRecord: what a file holds of a compiled graph besides the bytes of constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "plan/placement/placement.h"
#include "plan/plan.h"
#include "saved/saved_tensors.h"

namespace leat {

// What plans and kernels depend on beside the graph.
struct MachineRecord {
    std::string cpu_name;
    std::string simd;
    std::vector<int> group_workers;  // by thread group
    std::vector<int> group_homes;    // the same; memory domains, -1: none
    bool divides_batches = false;
};

struct DeviceRecord {
    std::string label;
    std::string key;    // as calibration_key() says: device, driver, versions, threads, settings
    std::string costs;  // that were measured, as text; empty: none
    std::vector<double> reported_ns;  // as AssumedDevice has them
    std::vector<double> derived_ns;   // the same
};

struct PlanRecord {
    PlanKey key;
    SolvedChoice choice;
};

// A packed copy of a constant.
struct PackedRecord {
    int32_t source_blob = -1;
    int32_t packed_blob = -1;
    std::string layout_key;
};

// A packed constant of a part, by its place among those of its executable.
struct PartConstantRecord {
    uint64_t content_hash = 0;
    uint64_t layout_key = 0;
    int32_t blob = -1;
};

struct CompiledRecord {
    MachineRecord machine;
    std::vector<DeviceRecord> devices;  // that nodes may be on, as AssumedDevices
    std::string host;                   // backend
    bool is_cut = false;                // there may be parts
    CompileOptions options;
    std::vector<double> cost_factors;
    CompileReport report;  // without plans and placement
    GraphData graph;
    GraphData given;      // as compile() got it, where that has default inputs; else empty
    Placement placement;  // without `assumed`
    std::vector<std::string> executables;  // by part; empty: its backend does not save
    // By part, in the order of its executable's; empty: they are packed again.
    std::vector<std::vector<PartConstantRecord>> part_constants;
    std::vector<PlanRecord> plans;  // the one that was used last comes last
    std::vector<PackedRecord> packed;
};

// The record as bytes; its constants are blobs.
std::string write_record(CompiledRecord& record, BlobWriter& blobs);
// Makes the constants of its graphs blobs, as write_record() does.
void add_constants(CompiledRecord& record, BlobWriter& blobs);

// kParse: the bytes are no record. What is in it is not checked.
Result<CompiledRecord> read_record(std::span<const std::byte> bytes, BlobReader& blobs);

}  // namespace leat
