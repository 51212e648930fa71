// Whole text files and standard output, with errors as Status.
#pragma once

#include <string>
#include <string_view>

#include "leat/status.h"

namespace leat::bench {

Result<std::string> read_text_file(const std::string& file);
// Whole or not at all, as a NewFile: after an error the file that was there is still there. "-" is
// standard output, whose errors close_output() tells.
Status write_text_file(const std::string& file, std::string_view text);

// Whether a file can be written there, as far as can be known without writing: what is there stays.
Status check_writable(const std::string& file);
// The same of files in a folder, which may not exist yet.
Status check_writable_folder(const std::string& folder);

}  // namespace leat::bench
