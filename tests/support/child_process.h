// A call in a child of fork(), with a watchdog.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace leat::testing_support {

inline constexpr unsigned kChildSeconds = 30;

// How a child ended: "0" and so on for its exit code, "hang" when the watchdog ended it, else
// "signal 11" and the like.
inline std::string end_of_child(int wait_status) {
    if (WIFEXITED(wait_status)) {
        return std::to_string(WEXITSTATUS(wait_status));
    }
    return WTERMSIG(wait_status) == SIGALRM ? "hang"
                                            : "signal " + std::to_string(WTERMSIG(wait_status));
}

inline std::string wait_for_child(pid_t child) {
    int status = 0;
    return ::waitpid(child, &status, 0) == child ? end_of_child(status) : "no child";
}

// What `work` returns is the exit code. The child ends without destructors of this frame or of
// statics.
template <class Work>
std::string in_child(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(kChildSeconds);
        ::_exit(work());
    }
    return wait_for_child(child);
}

}  // namespace leat::testing_support
