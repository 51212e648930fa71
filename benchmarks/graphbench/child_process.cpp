#include "child_process.h"

#include <sys/wait.h>

#include <cstdio>

#include "base/error.h"

namespace leat::bench {

Result<ChildOutput> run_child(const std::string& command) {
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) {
        return not_found("cannot start '{}'", command);
    }
    ChildOutput output;
    char buffer[4096];
    size_t got = 0;
    while ((got = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
        output.text.append(buffer, got);
    }
    const int status = pclose(pipe);
    output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return output;
}

std::string shell_quoted(std::string_view word) {
    std::string quoted(1, '\'');
    for (char c : word) {
        if (c == '\'') {
            quoted.append("'\\'");
        }
        quoted.push_back(c);
    }
    quoted.push_back('\'');
    return quoted;
}

}  // namespace leat::bench
