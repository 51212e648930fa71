// The command line of scheduler_overhead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/status.h"

namespace leat::micro {

struct Options {
    std::vector<std::string> sections = {"overhead"};
    std::vector<std::string> graphs;     // empty: all
    std::vector<std::string> executors;  // empty: all
    std::vector<std::string> bodies = {"empty"};
    std::vector<int> threads = {1, 2};
    int rounds = 0;  // 0: the section's own number
    bool quick = false;
    bool help = false;
    std::string json_path;  // "-": standard output, and the tables go to standard error
    std::string memory_of;  // internal: measure the memory of this executor and print one line

    bool has_section(std::string_view name) const;
    bool has_executor(std::string_view name) const;
    bool has_graph(std::string_view name) const;
    int rounds_or(int full, int short_run) const {
        return rounds > 0 ? rounds : (quick ? short_run : full);
    }
};

// Errors (invalid_argument) name the option, the value and what is needed.
Result<Options> parse_options(int count, const char* const* arguments);
std::string_view usage();

}  // namespace leat::micro
