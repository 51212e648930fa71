// Where helpers run: what a call does to a thread that sleeps, works or is gone.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "cpu_mask.h"
#include "helper_binding.h"
#include "helper_thread.h"

namespace leat::scheduler {
namespace {

using std::chrono::milliseconds;

int cpus_of(int thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(thread, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

// A thread that helped once, sleeps, helps again and ends.
class Sleeper {
  public:
    explicit Sleeper(milliseconds other_work = milliseconds(0)) {
        std::promise<std::pair<int, std::shared_ptr<HelperThread>>> ready;
        auto is_ready = ready.get_future();
        thread_ = std::thread([this, &ready, other_work] {
            const std::shared_ptr<HelperThread> self = HelperThread::of_this_thread();
            self->enter();
            self->leave();
            const auto end = std::chrono::steady_clock::now() + other_work;
            while (std::chrono::steady_clock::now() < end) {
            }
            ready.set_value({::gettid(), self});
            wake_.get_future().wait();
            self->enter();
            self->bind(cpu_, CpuMask(cpu_));
            cpus_inside_ = cpus_of(0);
            self->leave();
            cpus_after_ = cpus_of(0);
        });
        std::tie(id_, helper_) = is_ready.get();
    }
    ~Sleeper() {
        if (thread_.joinable()) {
            end();
        }
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    void end() {
        wake_.set_value();
        thread_.join();
    }
    bool call() { return helper_->call(cpu_, CpuMask(cpu_)); }
    HelperThread& helper() { return *helper_; }
    int cpus() const { return cpus_of(id_); }
    int cpus_inside() const { return cpus_inside_; }
    int cpus_after() const { return cpus_after_; }

  private:
    const int cpu_ = HelperBinding::current_cpu();
    int id_ = 0;
    int cpus_inside_ = 0;
    int cpus_after_ = 0;
    std::promise<void> wake_;
    std::shared_ptr<HelperThread> helper_;
    std::thread thread_;
};

TEST(HelperThread, IsBoundByTheCallAndFreeAfterwards) {
    const int all = cpus_of(0);
    Sleeper sleeper;
    EXPECT_EQ(sleeper.cpus(), all);
    EXPECT_TRUE(sleeper.call());
    EXPECT_EQ(sleeper.cpus(), 1);
    EXPECT_TRUE(sleeper.call());  // again, by another run
    sleeper.end();
    EXPECT_EQ(sleeper.cpus_inside(), 1);
    EXPECT_EQ(sleeper.cpus_after(), all);
}

TEST(HelperThread, IsFreeAgainIfItDoesNotCome) {
    const int all = cpus_of(0);
    Sleeper sleeper;
    EXPECT_TRUE(sleeper.call());
    sleeper.helper().release();
    EXPECT_EQ(sleeper.cpus(), all);
    sleeper.helper().release();  // nothing is left to undo
    EXPECT_EQ(sleeper.cpus(), all);
}

TEST(HelperThread, IsLeftAloneWhileItHasOtherWork) {
    const int all = cpus_of(0);
    Sleeper sleeper(milliseconds(20));
    EXPECT_TRUE(sleeper.call());
    EXPECT_EQ(sleeper.cpus(), all);
}

TEST(HelperThread, IsNotTouchedOnceItsThreadIsGone) {
    const int all = cpus_of(0);
    Sleeper sleeper;
    sleeper.end();
    EXPECT_TRUE(sleeper.call());
    sleeper.helper().release();
    EXPECT_EQ(cpus_of(0), all);
}

TEST(HelperThread, NeedsNoCallWhileItHelps) {
    const std::shared_ptr<HelperThread> self = HelperThread::of_this_thread();
    const int cpu = HelperBinding::current_cpu();
    const int all = cpus_of(0);
    self->enter();
    EXPECT_FALSE(self->call(cpu, CpuMask(cpu)));
    EXPECT_EQ(cpus_of(0), all);
    self->bind(cpu, CpuMask(cpu));
    EXPECT_EQ(cpus_of(0), 1);
    self->release();  // for who was called and did not come
    EXPECT_EQ(cpus_of(0), 1);
    self->leave();
    EXPECT_EQ(cpus_of(0), all);
}

}  // namespace
}  // namespace leat::scheduler
