#include "child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files/descriptor.h"
#include "base/monotonic_clock.h"
#include "interruption.h"
#include "output.h"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kLookMs = 20;

[[noreturn]] void become(const char* command, int output, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && ::dup2(output, STDOUT_FILENO) >= 0) {
        ::execl("/bin/sh", "sh", "-c", command, nullptr);
    }
    std::_Exit(127);
}

// Children of all of its threads; none where the system does not tell.
void add_children(pid_t process, std::vector<pid_t>& found) {
    std::error_code gone;
    const fs::path tasks = fs::path("/proc") / std::to_string(process) / "task";
    for (fs::directory_iterator task(tasks, gone), end; !gone && task != end;
         task.increment(gone)) {
        std::ifstream children(task->path() / "children");
        for (pid_t child = 0; children >> child;) {
            found.push_back(child);
        }
    }
}

// What this process has started, and what that has.
std::vector<pid_t> descendants() {
    std::vector<pid_t> found;
    add_children(::getpid(), found);
    for (size_t i = 0; i < found.size(); ++i) {
        add_children(found[i], found);
    }
    return found;
}

// A command of the shell while it runs.
class Child {
  public:
    // Errors: not_found.
    Status start(const std::string& command);
    ChildOutput follow();

  private:
    // Until there is something to read, it has ended, or `kLookMs` have passed. False at the end.
    bool read_some();
    void look_for_end();
    void obey_interruption();
    void kill_all();
    void signal_all(int signal) {
        for (const pid_t process : descendants()) {
            ::kill(process, signal);
        }
        if (!has_ended_) {
            ::kill(pid_, signal);
        }
    }

    pid_t pid_ = -1;
    Descriptor pipe_;
    bool has_ended_ = false;
    int status_ = 0;
    int64_t interrupted_ns_ = 0;  // 0: not yet
    bool is_terminated_ = false;
    ChildOutput output_;
};

Status Child::start(const std::string& command) {
    // Who outlives its parent becomes a child of this process, so that descendants() finds it.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return not_found("cannot start '{}': {}", command, std::strerror(errno));
    }
    pipe_ = Descriptor(ends[0]);
    const Descriptor own(ends[1]);
    (void)flush_output();
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        become(command.c_str(), own.value(), parent);
    }
    return pid_ > 0 ? Status() : not_found("cannot start '{}': {}", command, std::strerror(errno));
}

bool Child::read_some() {
    pollfd ready{pipe_.value(), POLLIN, 0};
    if (::poll(&ready, 1, kLookMs) <= 0) {
        return true;
    }
    char buffer[4096];
    const ssize_t got = ::read(pipe_.value(), buffer, sizeof buffer);
    if (got > 0) {
        output_.text.append(buffer, size_t(got));
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

void Child::look_for_end() {
    has_ended_ = has_ended_ || ::waitpid(pid_, &status_, WNOHANG) == pid_;
}

// A terminal sends Ctrl-C to all of its processes, so there is a while for the end to come without
// a second signal, which would be one too many for a graphbench with partial results.
void Child::obey_interruption() {
    constexpr int64_t kByItselfNs = 300'000'000;
    constexpr int64_t kTerminatedNs = 2'000'000'000;
    if (interruption() == Interruption::kNone) {
        return;
    }
    const int64_t now = monotonic_ns();
    interrupted_ns_ = interrupted_ns_ == 0 ? now : interrupted_ns_;
    if (!is_terminated_ && now - interrupted_ns_ > kByItselfNs) {
        is_terminated_ = true;
        signal_all(SIGTERM);
    } else if (now - interrupted_ns_ > kByItselfNs + kTerminatedNs) {
        kill_all();
    }
}

// Who starts others meanwhile is found the next time.
void Child::kill_all() {
    constexpr int kMostTimes = 100;
    for (int times = 0; times < kMostTimes && !(has_ended_ && descendants().empty()); ++times) {
        signal_all(SIGKILL);
        ::poll(nullptr, 0, 1);
        look_for_end();
        while (has_ended_ && ::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }
}

ChildOutput Child::follow() {
    bool is_open = true;
    while (is_open || !has_ended_) {
        is_open = is_open && read_some();
        if (!is_open && !has_ended_) {
            ::poll(nullptr, 0, 1);
        }
        look_for_end();
        obey_interruption();
        if (has_ended_ && interruption() != Interruption::kNone) {
            break;
        }
    }
    if (interruption() != Interruption::kNone) {
        signal_all(SIGTERM);  // what the command has left behind
        const int64_t end_ns = monotonic_ns() + 300'000'000;
        while (!descendants().empty() && monotonic_ns() < end_ns) {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            ::poll(nullptr, 0, 1);
        }
        kill_all();
    }
    output_.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    return std::move(output_);
}

}  // namespace

Result<ChildOutput> run_child(const std::string& command) {
    Child child;
    LEAT_RETURN_IF_ERROR(child.start(command));
    return child.follow();
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
