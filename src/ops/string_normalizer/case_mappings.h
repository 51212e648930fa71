// Upper and lower case of single characters: Unicode's simple mappings, which give one character
// for one. They are the same in every process: what std::towlower() does depends on the locale that
// the program has set.
#pragma once

namespace leat {

// The character itself where it has no other case, and where that has several characters (the sharp
// s). Any number.
char32_t to_lower_case(char32_t code);
char32_t to_upper_case(char32_t code);

}  // namespace leat
