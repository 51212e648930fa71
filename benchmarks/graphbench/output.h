// What graphbench prints. Results go to standard output, where what cannot be written is an error
// of the command: flush_output() and close_output() tell of it. Messages go to standard error, and
// what is lost there is lost.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "leat/status.h"

namespace leat::bench {

// First of all. Where a standard stream is closed, a file that is opened later would take its
// number and get what is printed; so something that cannot be written takes it. A pipe that nobody
// reads, and a file beyond what the process may write (ulimit -f), become errors, not the end of
// it.
void prepare_standard_streams();

// Results. The first error is kept, and nothing is written after it.
void print_text(std::string_view text);
template <class... Args>
void print_out(fmt::format_string<Args...> format, Args&&... args) {
    print_text(fmt::format(format, std::forward<Args>(args)...));
}
// Makes what was printed visible now. The first error of all that was printed.
Status flush_output();
// The same, and ends standard output.
Status close_output();

// A message on standard error.
void print_message(std::string_view text);
template <class... Args>
void print_err(fmt::format_string<Args...> format, Args&&... args) {
    print_message(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace leat::bench
