#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace leat::bench {
namespace {

// errno of the first failure; 0: none.
int output_error = 0;

void keep_error() {
    output_error = output_error == 0 ? errno : output_error;
}

// The kernel's, of a write that failed, has no effect: write() tells. Somebody else's ends the
// process.
void on_failed_write(int signal, siginfo_t* info, void* /*context*/) {
    if (info->si_pid != ::getpid()) {
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
}

Status output_status() {
    return output_error == 0
               ? Status()
               : invalid_argument("cannot write to standard output: {}; the results are lost",
                                  std::strerror(output_error));
}

}  // namespace

void prepare_standard_streams() {
    // A handler, as what is ignored stays so in processes that are started.
    struct sigaction action = {};
    action.sa_sigaction = on_failed_write;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPIPE, &action, nullptr);
    sigaction(SIGXFSZ, &action, nullptr);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) {
            continue;
        }
        // The lowest number is free, and lower ones are open by now: it is this stream's. Open for
        // reading only, it refuses what is printed just as a closed one does.
        (void)::open("/dev/null", O_RDONLY);
    }
}

void print_text(std::string_view text) {
    if (output_error == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
        keep_error();
    }
}

Status flush_output() {
    if (output_error == 0 && std::fflush(stdout) != 0) {
        keep_error();
    }
    return output_status();
}

Status close_output() {
    (void)flush_output();
    // A file system over a network may say only now that it has no room.
    if (std::fclose(stdout) != 0) {
        keep_error();
    }
    return output_status();
}

void print_message(std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace leat::bench
