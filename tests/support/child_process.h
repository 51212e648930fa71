// A call in a child of fork(), with a watchdog.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

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

// 'S' for one that sleeps (proc(5)).
inline char state_of_thread(const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    std::string line;
    std::getline(file, line);
    const size_t name_end = line.rfind(')');
    return name_end == std::string::npos || name_end + 2 >= line.size() ? ' ' : line[name_end + 2];
}

// Before a fork(): until the other threads of this process sleep, for a second at most. One that is
// starting may hold a lock of a sanitizer's allocator, which the child would wait for.
inline void wait_until_others_sleep() {
    const std::string self = std::to_string(::gettid());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    bool do_sleep = false;
    while (!do_sleep && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        do_sleep = true;
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            do_sleep =
                do_sleep && (task.path().filename() == self || state_of_thread(task.path()) == 'S');
        }
    }
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
