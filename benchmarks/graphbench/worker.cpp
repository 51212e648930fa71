#include "worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/files/descriptor.h"
#include "base/files/new_file.h"
#include "commands.h"
#include "device_options.h"
#include "exit_codes.h"
#include "interruption.h"
#include "machine.h"
#include "output.h"
#include "target.h"

namespace leat::bench {
namespace {

// What a worker tells: the job that it begins, or the result of that job, which follows.
struct Message {
    uint64_t is_end = 0;
    uint64_t result_bytes = 0;
};

void tell(int pipe, std::span<const std::byte> bytes) {
    if (!write_all(pipe, bytes).ok()) {
        std::_Exit(kExitInternal);  // nobody listens any more
    }
}
void tell(int pipe, const Message& message) {
    tell(pipe, std::as_bytes(std::span(&message, 1)));
}

size_t stride_of(const WorkerJobs& jobs) {
    return std::max<size_t>(jobs.workers, 1);
}

[[noreturn]] void live(const WorkerJobs& jobs, size_t first, int pipe, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        std::_Exit(kExitInternal);  // it died before
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        std::signal(signal, SIG_IGN);  // the parent decides
    }
    const int code = jobs.work([&](const WorkerJobs::RunJob& run) {
        for (size_t job = first; job < jobs.count; job += stride_of(jobs)) {
            tell(pipe, Message());
            const std::string result = run(job);
            tell(pipe, Message{1, result.size()});
            tell(pipe, std::as_bytes(std::span(result)));
        }
    });
    std::exit(code);
}

std::string signal_text(int signal) {
    const char* name = ::sigabbrev_np(signal);
    const char* text = ::strsignal(signal);
    return name == nullptr ? fmt::format("ended by signal {}", signal)
                           : fmt::format("ended by signal {} (SIG{}, {})", signal, name,
                                         text == nullptr ? "" : text);
}

// Empty: by its own will and well.
std::string end_text(int status) {
    if (WIFSIGNALED(status)) {
        return signal_text(WTERMSIG(status));
    }
    const int code = WEXITSTATUS(status);
    return code == 0 ? std::string() : fmt::format("ended with exit code {}", code);
}

class Worker {
  public:
    Worker(const WorkerJobs& jobs, size_t first) : jobs_(jobs), next_(first) {
        int ends[2] = {-1, -1};
        if (::pipe(ends) != 0) {
            return;
        }
        pipe_ = Descriptor(ends[0]);
        const Descriptor own(ends[1]);
        (void)flush_output();  // else the worker would write it again
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            (void)pipe_.close();
            live(jobs, first, own.value(), parent);
        }
        begin_ns_ = now_ns();
    }
    ~Worker() {
        if (pid_ > 0 && !has_ended_) {
            ::kill(pid_, SIGKILL);
            wait();
        }
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    bool has_started() const { return pid_ > 0; }
    // The first of its jobs that this worker has not ended, once it has ended itself.
    size_t next() const { return next_; }
    // Of a worker that ended before its first job; 0: it began one.
    int exit_code() const { return exit_code_; }

    // Takes what it has told, without waiting. True: it has ended, by itself or by the limit.
    bool look();
    // After an interruption: tells of the job that had ended before.
    void tell_last() {
        if (state_ == State::kAfterJob) {
            end_job({});
        }
    }
    int pipe() const { return pipe_.value(); }

  private:
    enum class State : uint8_t { kStarting, kInJob, kAfterJob };

    int wait() {
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        has_ended_ = true;
        return status;
    }
    // Of the state; 0: none.
    double limit_s() const {
        constexpr double kLeastBesideJobs = 60;  // a loaded machine, many devices
        return state_ == State::kInJob || jobs_.limit_s <= 0
                   ? jobs_.limit_s
                   : std::max(jobs_.limit_s, kLeastBesideJobs);
    }
    bool is_over_limit() const {
        return limit_s() > 0 && double(now_ns() - begin_ns_) * 1e-9 > limit_s();
    }
    bool is_readable(int wait_ms) const {
        pollfd ready{pipe_.value(), POLLIN, 0};
        return ::poll(&ready, 1, wait_ms) > 0;
    }
    // What there is of messages; false at their end.
    bool read_some();
    void take_messages();
    void end_job(std::string failure);
    void conclude(int status, std::string failure);

    const WorkerJobs& jobs_;
    size_t next_;
    pid_t pid_ = -1;
    Descriptor pipe_;
    bool has_ended_ = false;
    int exit_code_ = 0;
    State state_ = State::kStarting;
    int64_t begin_ns_ = 0;  // of the state
    std::string unread_;
    JobEnd ended_;  // in kAfterJob: not yet told, as the worker may still die of it
};

bool Worker::look() {
    if (is_readable(0)) {
        if (!read_some()) {
            conclude(wait(), {});
            return true;
        }
        take_messages();
        return false;
    }
    if (int status = 0; ::waitpid(pid_, &status, WNOHANG) == pid_) {
        // What it has started keeps the pipe open.
        has_ended_ = true;
        while (is_readable(0) && read_some()) {
            take_messages();
        }
        conclude(status, {});
        return true;
    }
    if (is_over_limit()) {
        ::kill(pid_, SIGKILL);
        conclude(wait(), fmt::format("did not end within {:g} s (--test-timeout)", limit_s()));
        return true;
    }
    return false;
}

bool Worker::read_some() {
    char buffer[4096];
    const ssize_t got = ::read(pipe_.value(), buffer, sizeof buffer);
    if (got > 0) {
        unread_.append(buffer, size_t(got));
    }
    return got > 0 || (got < 0 && errno == EINTR);
}

void Worker::take_messages() {
    Message message;
    while (unread_.size() >= sizeof message) {
        std::memcpy(&message, unread_.data(), sizeof message);
        if (unread_.size() < sizeof message + message.result_bytes) {
            return;
        }
        if (message.is_end != 0) {
            ended_ = {
                unread_.substr(sizeof message, message.result_bytes), {}, now_ns() - begin_ns_};
            state_ = State::kAfterJob;
        } else {
            if (state_ == State::kAfterJob) {
                end_job({});
            }
            state_ = State::kInJob;
            jobs_.on_begin(next_);
        }
        begin_ns_ = now_ns();
        unread_.erase(0, sizeof message + message.result_bytes);
    }
}

void Worker::end_job(std::string failure) {
    ended_.failure = std::move(failure);
    jobs_.on_end(next_, std::exchange(ended_, {}));
    next_ += stride_of(jobs_);
}

void Worker::conclude(int status, std::string failure) {
    if (failure.empty()) {
        failure = end_text(status);
    }
    switch (state_) {
        case State::kStarting:
            exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kExitRuntime;
            if (exit_code_ == 0) {
                exit_code_ = kExitInternal;
            }
            if (!WIFEXITED(status)) {
                print_err("graphbench: the process that runs the tests {}\n", failure);
            }
            return;
        case State::kInJob:
            ended_.time_ns = now_ns() - begin_ns_;
            end_job(failure.empty() ? "ended the process with exit code 0" : failure);
            return;
        case State::kAfterJob:
            end_job(std::move(failure));
            return;
    }
}

// As many workers as there are to be; each has a successor where it ended before its last job.
class Workers {
  public:
    explicit Workers(const WorkerJobs& jobs)
        : jobs_(jobs), workers_(std::min(stride_of(jobs), jobs.count)), next_(workers_.size()) {
        std::iota(next_.begin(), next_.end(), size_t{0});
    }

    int run() {
        for (;;) {
            if (!start()) {
                print_err("graphbench: cannot start a process: {}\n", std::strerror(errno));
                return kExitRuntime;
            }
            if (!is_any_alive()) {
                return kExitOk;
            }
            if (interruption() != Interruption::kNone) {
                tell_last();
                return interruption_exit_code();
            }
            wait_for_any();
            if (const int code = look(); code != 0) {
                return code;
            }
        }
    }

  private:
    // Those that have jobs left.
    bool start() {
        for (size_t i = 0; i < workers_.size(); ++i) {
            if (workers_[i] == nullptr && next_[i] < jobs_.count) {
                workers_[i] = std::make_unique<Worker>(jobs_, next_[i]);
                if (!workers_[i]->has_started()) {
                    return false;
                }
            }
        }
        return true;
    }
    bool is_any_alive() const {
        return std::any_of(workers_.begin(), workers_.end(),
                           [](const auto& worker) { return worker != nullptr; });
    }
    void tell_last() {
        for (const std::unique_ptr<Worker>& worker : workers_) {
            if (worker != nullptr) {
                worker->tell_last();
            }
        }
    }
    // Until one of them tells something, or it is time to look whether one is over its limit.
    void wait_for_any() const {
        constexpr int kLookMs = 20;
        std::vector<pollfd> ready;
        for (const std::unique_ptr<Worker>& worker : workers_) {
            if (worker != nullptr) {
                ready.push_back({worker->pipe(), POLLIN, 0});
            }
        }
        (void)::poll(ready.data(), ready.size(), kLookMs);
    }
    // The exit code of one that ended before its first job; 0: there is none.
    int look() {
        for (size_t i = 0; i < workers_.size(); ++i) {
            if (workers_[i] == nullptr || !workers_[i]->look()) {
                continue;
            }
            if (workers_[i]->exit_code() != 0) {
                return workers_[i]->exit_code();
            }
            next_[i] = workers_[i]->next();
            workers_[i].reset();
        }
        return 0;
    }

    const WorkerJobs& jobs_;
    std::vector<std::unique_ptr<Worker>> workers_;
    std::vector<size_t> next_;  // the first job that each, or its successor, has not ended
};

}  // namespace

int run_in_workers(const WorkerJobs& jobs) {
    return Workers(jobs).run();
}

int run_here(const WorkerJobs& jobs) {
    const int code = jobs.work([&](const WorkerJobs::RunJob& run) {
        for (size_t job = 0; job < jobs.count && interruption() == Interruption::kNone; ++job) {
            jobs.on_begin(job);
            const int64_t begin_ns = now_ns();
            std::string result = run(job);
            jobs.on_end(job, {std::move(result), {}, now_ns() - begin_ns});
        }
    });
    return interruption() == Interruption::kNone ? code : interruption_exit_code();
}

int run_isolated(const Options& options,
                 const RuntimeOptions& wanted,
                 WorkerJobs jobs,
                 const std::function<std::string(const Runtime& runtime, size_t job)>& run) {
    jobs.limit_s = options.number("test-timeout");
    jobs.work = [&](const WorkerJobs::RunAll& run_all) -> int {
        const Runtime runtime(wanted);
        if (const int code = report_backends(runtime, backends_of(options)); code != kExitOk) {
            return code;
        }
        const std::string other = options.text("against");
        if (const int code = other.empty() ? kExitOk : report_backends(runtime, other);
            code != kExitOk) {
            return code;
        }
        run_all([&](size_t job) { return run(runtime, job); });
        return kExitOk;
    };
    return options.text("isolate") == "off" ? run_here(jobs) : run_in_workers(jobs);
}

}  // namespace leat::bench
