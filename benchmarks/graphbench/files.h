// Whole text files and standard output, with errors as Status.
#pragma once

#include <string>
#include <string_view>

#include "leat/status.h"

namespace leat::bench {

Result<std::string> read_text_file(const std::string& file);
// "-" is standard output.
Status write_text_file(const std::string& file, std::string_view text);

}  // namespace leat::bench
