// Lists of CPUs and nodes as the kernel writes them: "0-3,8,10-11".
#pragma once

#include <string>
#include <vector>

namespace leat::scheduler {

// Ascending as given; empty if the text is not such a list, or names a number beyond any machine.
std::vector<int> parse_cpu_list(const std::string& text);
// The shortest list of ascending numbers.
std::string format_cpu_list(const std::vector<int>& numbers);

}  // namespace leat::scheduler
