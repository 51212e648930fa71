#include "competitor.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bodies.h"

namespace leat::micro {
namespace {

size_t last_usable_cpu() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    size_t last = 0;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
        for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            last = CPU_ISSET(cpu, &cpus) ? cpu : last;
        }
    }
    return last;
}

}  // namespace

// The child makes only system calls and computes: other threads of this process may hold locks.
Competitor::Competitor() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last_usable_cpu(), &one);
    process_ = fork();
    if (process_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sched_setaffinity(0, sizeof(one), &one) != 0) {
            _exit(1);
        }
        constexpr int64_t kForever = INT64_MAX;
        multiply_chain(kForever, 1);
        _exit(0);
    }
}

Competitor::~Competitor() {
    if (process_ > 0) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
}

}  // namespace leat::micro
