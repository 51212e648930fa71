// "Did you mean": the closest of some names to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat::zoo {

// Insertions, deletions, replacements and swaps of neighbours that turn a into b.
int edit_distance(std::string_view a, std::string_view b);

// The closest candidate; empty when none is within a third of the word's length (at least 2 edits).
std::string_view closest_name(std::string_view word,
                              const std::vector<std::string_view>& candidates);

// What ends the sentence that names a word nobody knows: "; did you mean 'x'?" or ".".
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

// The names with ", " between.
std::string comma_list(const std::vector<std::string_view>& names);

}  // namespace leat::zoo
