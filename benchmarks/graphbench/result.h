// The JSON object of one measured target (schema 1), and what is read back from one.
#pragma once

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

// Results in a document: one object, an array, or {"results": [...]}. Errors: parse, when it is
// none.
Result<std::vector<Json>> results_in(const Json& document);
// results_in() with latencies that can be compared: medians that are numbers above 0. Errors:
// parse, with the field, what it is and what is needed.
Result<std::vector<Json>> comparable_results_in(const Json& document);
Result<std::vector<Json>> read_results(const std::string& file);
// What comes before the name of a field of one of `count` results in an error: "results[2].", or
// nothing where there is one.
std::string field_prefix(size_t index, size_t count);
// One result as it is, several as {"schema":1,"results":[...]}.
Json results_document(const std::vector<Json>& results);

// Median latency in nanoseconds; 0 when the object has none, because no run ended.
double median_of(const Json& result);
// Block medians (or the median alone, from a tool that gives none).
std::vector<double> blocks_of(const Json& result);

}  // namespace leat::bench
