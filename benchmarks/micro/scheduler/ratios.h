// How much faster one executor is than others on the ten graphs, from the results of the section
// overhead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench.h"

namespace leat::micro {

std::vector<std::string> names_of(const Bench& bench, Family family);
// The graphs that the options select, in the order of the tables.
std::vector<std::string> chosen_graphs(const Options& options);

// `key` names the section, the metric, the body and the threads; executor and graph are filled in.
// Each is empty when something was not measured.
struct LibraryRatio {
    std::optional<double> mean;   // geometric, of the best library's time on each graph over ours
    std::optional<double> worst;  // on one graph
};
LibraryRatio ratio_to_libraries(const Bench& bench, const std::string& executor, Key key);
// To the single hand-made scheme with the best geometric mean.
std::optional<double> ratio_to_hand_made(const Bench& bench,
                                         const std::string& executor,
                                         const Key& key);
// Our time over the dynamic reference's: below 1 is faster than it.
std::optional<double> share_of_reference(const Bench& bench,
                                         const std::string& executor,
                                         const Key& key);

}  // namespace leat::micro
