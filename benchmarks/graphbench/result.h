// The JSON object of one measured target (schema 1), and what is read back from one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "leat/runtime.h"
#include "leat/status.h"
#include "measure.h"
#include "options.h"
#include "session.h"

namespace leat::bench {

inline constexpr int kSchema = 1;

Json result_json(const Session& session,
                 const Measurement& measurement,
                 const HostInfo& host,
                 const Options& options);

// Where the pages of a request and of the packed weights are.
Json pages_json(const PlacementReport& report);

// Results in a file: one object, an array, or {"results": [...]}. Errors: parse, when it is none.
Result<std::vector<Json>> read_results(const std::string& file);
Result<std::vector<Json>> results_in(const Json& document);
// One result as it is, several as {"schema":1,"results":[...]}.
Json results_document(const std::vector<Json>& results);

// Median latency in nanoseconds; 0 when the object has none.
double median_of(const Json& result);
// Block medians (or the median alone, from a tool that gives none).
std::vector<double> blocks_of(const Json& result);

}  // namespace leat::bench
