// Text inside of other languages.
#pragma once

#include <string>
#include <string_view>

namespace leat::bench {

// As text or as an attribute of XML: markup escaped, and U+FFFD for every byte that XML 1.0 does
// not permit (control characters, bytes that are no UTF-8).
std::string xml_escaped(std::string_view text);

// Between the double quotes of a string of Graphviz's language; control characters become spaces.
std::string dot_escaped(std::string_view text);

// At most so many characters of UTF-8, the last one "…" where some are left out.
std::string shortened(std::string_view text, size_t max_characters);

}  // namespace leat::bench
