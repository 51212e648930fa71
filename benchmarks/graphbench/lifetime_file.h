// Buffers with lifetimes as a CSV file: a header that names the columns id, lower, upper and size
// in any order, then a line for each buffer, alive in [lower, upper). The form of MiniMalloc's
// problems (https://github.com/google/minimalloc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/status.h"
#include "memory/offsets/plan.h"

namespace leat::bench {

struct LifetimeFile {
    std::vector<std::string> ids;
    std::vector<int64_t> lower;  // as written
    std::vector<int64_t> upper;
    std::vector<PlannedBuffer> buffers;  // with steps in the order of the times; alignment 1

    // The file with a column more: the offset of each buffer.
    std::string with_offsets(const std::vector<int64_t>& offsets) const;
};

// Errors name the file and the line, what was found and what is needed.
Result<LifetimeFile> read_lifetimes(const std::string& file);
Result<LifetimeFile> parse_lifetimes(const std::string& file_name, const std::string& text);

}  // namespace leat::bench
