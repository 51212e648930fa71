// Commands of the shell, run for what they print.
#pragma once

#include <string>
#include <string_view>

#include "leat/status.h"

namespace leat::bench {

struct ChildOutput {
    std::string text;   // of standard output; standard error passes through
    int exit_code = 0;  // 128 + its number for a signal, as shells do
};

// An interruption (there should be an InterruptGuard) ends the command and all that it has started:
// by SIGTERM where it does not end by itself, and by SIGKILL where that does not help either. It
// ends with this process, however that ends. One at a time, from the main thread.
// Errors: not_found, when no process can be started.
Result<ChildOutput> run_child(const std::string& command);

// `word` as one word of a command.
std::string shell_quoted(std::string_view word);

}  // namespace leat::bench
