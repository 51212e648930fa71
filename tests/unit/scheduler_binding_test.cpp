// Where helpers run: what a call does to a thread that sleeps, works or is gone.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "threads/helper_binding.h"
#include "threads/helper_thread.h"
#include "topology/cpu_mask.h"

namespace leat::scheduler {
namespace {

using std::chrono::milliseconds;

constexpr int kNoCpu = -1;

int cpus_of(int thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    EXPECT_EQ(::sched_getaffinity(thread, sizeof set, &set), 0);
    return CPU_COUNT(&set);
}

// A thread that helped once, called from CPU `from`, sleeps, helps again and ends.
class Sleeper {
  public:
    explicit Sleeper(int from, milliseconds other_work = milliseconds(0)) {
        std::promise<std::pair<int, std::shared_ptr<HelperThread>>> ready;
        auto is_ready = ready.get_future();
        thread_ = std::thread([this, &ready, from, other_work] {
            const std::shared_ptr<HelperThread> self = HelperThread::of_this_thread();
            self->enter();
            self->leave(from);
            const auto end = std::chrono::steady_clock::now() + other_work;
            while (std::chrono::steady_clock::now() < end) {
            }
            ready.set_value({::gettid(), self});
            wake_.get_future().wait();
            self->enter();
            self->bind(cpu_, CpuMask(cpu_));
            cpus_inside_ = cpus_of(0);
            self->leave(kNoCpu);
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
    bool call(int from) { return helper_->call(from, cpu_, CpuMask(cpu_)); }
    HelperThread& helper() { return *helper_; }
    int id() const { return id_; }
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

constexpr int kElsewhere = 60'000;  // no CPU of this machine

TEST(HelperThread, SleepsAwayFromItsCaller) {
    const int all = cpus_of(0);
    if (all == 1) {
        GTEST_SKIP() << "one CPU";
    }
    const int here = HelperBinding::current_cpu();
    Sleeper sleeper(here);
    EXPECT_EQ(sleeper.cpus(), all - 1);
    EXPECT_TRUE(sleeper.call(here));  // it is away already
    EXPECT_EQ(sleeper.cpus(), all - 1);
    sleeper.helper().release();
    EXPECT_EQ(sleeper.cpus(), all);
    sleeper.end();
    EXPECT_EQ(sleeper.cpus_after(), all);
}

TEST(HelperThread, KeepsTheOnlyCpuThatItHas) {
    CpuMask all;
    ASSERT_TRUE(all.read(0));
    const int here = HelperBinding::current_cpu();
    CpuMask others;
    others.copy_without(CpuMask(here), here);
    EXPECT_EQ(others, CpuMask(here));
    others.copy_without(all, kElsewhere);
    EXPECT_EQ(others, all);
}

TEST(HelperThread, IsBoundByTheCallAndFreeAfterwards) {
    const int all = cpus_of(0);
    Sleeper sleeper(kElsewhere);
    EXPECT_EQ(sleeper.cpus(), all);
    EXPECT_TRUE(sleeper.call(0));
    EXPECT_EQ(sleeper.cpus(), 1);
    EXPECT_TRUE(sleeper.call(0));  // again, by another run
    sleeper.end();
    EXPECT_EQ(sleeper.cpus_inside(), 1);
    EXPECT_EQ(sleeper.cpus_after(), all);
}

TEST(HelperThread, IsFreeAgainIfItDoesNotCome) {
    const int all = cpus_of(0);
    Sleeper sleeper(kElsewhere);
    EXPECT_TRUE(sleeper.call(0));
    sleeper.helper().call_off();
    EXPECT_EQ(sleeper.cpus(), std::max(all - 1, 1));
    sleeper.helper().release();
    EXPECT_EQ(sleeper.cpus(), all);
    sleeper.helper().call_off();  // nothing is left to undo
    EXPECT_EQ(sleeper.cpus(), all);
}

TEST(HelperThread, IsLeftAloneWhileItHasOtherWork) {
    const int all = cpus_of(0);
    Sleeper sleeper(kElsewhere, milliseconds(20));
    EXPECT_TRUE(sleeper.call(0));
    EXPECT_EQ(sleeper.cpus(), all);
}

TEST(HelperThread, IsLeftAsSomebodyElseBoundIt) {
    const int here = HelperBinding::current_cpu();
    Sleeper sleeper(kElsewhere);
    ASSERT_TRUE(CpuMask(here).apply(sleeper.id()));
    EXPECT_TRUE(sleeper.call(kElsewhere + 1));
    sleeper.helper().release();
    EXPECT_EQ(sleeper.cpus(), 1);
    sleeper.end();
    EXPECT_EQ(sleeper.cpus_after(), 1);
}

TEST(HelperThread, IsNotTouchedOnceItsThreadIsGone) {
    const int all = cpus_of(0);
    Sleeper sleeper(kElsewhere);
    sleeper.end();
    EXPECT_TRUE(sleeper.call(0));
    sleeper.helper().release();
    EXPECT_EQ(cpus_of(0), all);
}

TEST(HelperThread, NeedsNoCallWhileItHelps) {
    const std::shared_ptr<HelperThread> self = HelperThread::of_this_thread();
    const int cpu = HelperBinding::current_cpu();
    const int all = cpus_of(0);
    self->enter();
    EXPECT_FALSE(self->call(kElsewhere, cpu, CpuMask(cpu)));
    EXPECT_EQ(cpus_of(0), all);
    self->bind(cpu, CpuMask(cpu));
    EXPECT_EQ(cpus_of(0), 1);
    self->release();  // for who was called and did not come
    EXPECT_EQ(cpus_of(0), 1);
    self->leave(kNoCpu);
    EXPECT_EQ(cpus_of(0), all);
}

}  // namespace
}  // namespace leat::scheduler
