// sim's virtual clock: schedules that were computed by hand, to the nanosecond. Device and link
// take 1 ns a byte, a transfer 2 us more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "base/split_mix.h"
#include "contract/compiled.h"
#include "contract/paced_device.h"

namespace leat::contract {
namespace {

class VirtualTime : public ::testing::Test {
  protected:
    // With the clock held.
    PacedDevice& start(const BackendSettings& further = {}) {
        BackendSettings settings = {{"mode", "virtual"},
                                    {"flops_per_s", "1e9"},
                                    {"bytes_per_s", "1e9"},
                                    {"link_bytes_per_s", "1e9"},
                                    {"link_latency_us", "2"}};
        for (const auto& [name, value] : further) {
            settings[name] = value;
        }
        device_ = std::make_unique<PacedDevice>(target_, settings);
        clock_ = static_cast<const LeatVirtualClock*>(
            device_->context().api().get_extension(device_->backend(), LEAT_VIRTUAL_CLOCK));
        hold();
        return *device_;
    }
    void hold() { ASSERT_EQ(clock_->hold(device_->backend()), kLeatOk); }
    void release() { ASSERT_EQ(clock_->release(device_->backend()), kLeatOk); }
    int64_t now() const { return clock_->now_ns(device_->backend()); }
    void release_and_wait(LeatPoint point) {
        release();
        EXPECT_EQ(device_->wait(point), kLeatOk);
    }

    // Of a callback that has work for the host: it takes a hold before it returns.
    struct Wake {
        const LeatVirtualClock* clock = nullptr;
        LeatBackend* backend = nullptr;
        Token token;
        int64_t now_ns = -1;

        static void post(void* user, LeatCode code) {
            auto& wake = *static_cast<Wake*>(user);
            wake.clock->hold(wake.backend);
            wake.now_ns = wake.clock->now_ns(wake.backend);
            wake.token.set(code);
        }
    };
    Wake wake() const { return {clock_, device_->backend(), {}, -1}; }
    void post_at(LeatPoint point, Wake& heard) {
        PluginError error;
        ASSERT_EQ(device_->context().api().on_reached(device_->backend(), point, Wake::post, &heard,
                                                      error.get()),
                  kLeatOk);
    }

    const Target target_ = built_sim();
    std::unique_ptr<PacedDevice> device_;
    const LeatVirtualClock* clock_ = nullptr;
};

// queue 0: a --> b        queue 1 (copy):  c, after b
TEST_F(VirtualTime, RunsAChain) {
    PacedDevice& sim = start();
    LeatSlab* slab = sim.slab(0, 4096);
    const auto a = sim.fill(0, slab, 1000);
    const auto b = sim.fill(0, slab, 500);
    const auto c = sim.copy_out(1, slab, 300, {b.point});
    EXPECT_EQ(now(), 0);
    release_and_wait(c.point);
    EXPECT_EQ(a.times->get(), Interval(0, 1000));
    EXPECT_EQ(b.times->get(), Interval(1000, 1500));
    EXPECT_EQ(c.times->get(), Interval(1500, 3800));
    EXPECT_EQ(now(), 3800);
}

//         /--> b (queue 0) --\.
//  a (0) |                    |--> d (queue 0)
//         \--> c (queue 1) --/
TEST_F(VirtualTime, ForksAndJoinsOverTwoQueues) {
    PacedDevice& sim = start({{"compute_queues", "2"}});
    LeatSlab* slab = sim.slab(0, 4096);
    LeatSlab* other = sim.slab(0, 4096);
    const auto a = sim.fill(0, slab, 1000);
    const auto b = sim.fill(0, slab, 700, {a.point});
    const auto c = sim.fill(1, other, 900, {a.point});
    const auto d = sim.fill(0, slab, 100, {b.point, c.point});
    release_and_wait(d.point);
    EXPECT_EQ(b.times->get(), Interval(1000, 1700));
    EXPECT_EQ(c.times->get(), Interval(1000, 1900));
    EXPECT_EQ(d.times->get(), Interval(1900, 2000));
}

TEST_F(VirtualTime, SharesALinkInOneDirection) {
    PacedDevice& sim = start({{"copy_queues", "2"}});
    LeatSlab* slabs[3] = {sim.slab(0, 4096), sim.slab(0, 4096), sim.slab(0, 4096)};
    const auto late = sim.copy_in(2, slabs[2], 500);  // of equal ones the lower queue goes first
    const auto first = sim.copy_in(1, slabs[1], 1000);
    const auto back = sim.copy_out(0, slabs[0], 700);
    release();
    EXPECT_EQ(sim.wait(late.point), kLeatOk);
    EXPECT_EQ(sim.wait(back.point), kLeatOk);
    EXPECT_EQ(first.times->get(), Interval(0, 3000));
    EXPECT_EQ(late.times->get(), Interval(3000, 5500));
    EXPECT_EQ(back.times->get(), Interval(0, 2700));
}

TEST_F(VirtualTime, SharesAnExclusiveLinkInBothDirections) {
    PacedDevice& sim = start({{"copy_queues", "2"}, {"link", "exclusive"}});
    LeatSlab* slabs[3] = {sim.slab(0, 4096), sim.slab(0, 4096), sim.slab(0, 4096)};
    const auto c = sim.copy_in(2, slabs[2], 500);
    const auto b = sim.copy_in(1, slabs[1], 1000);
    const auto a = sim.copy_out(0, slabs[0], 700);
    release_and_wait(c.point);
    EXPECT_EQ(a.times->get(), Interval(0, 2700));
    EXPECT_EQ(b.times->get(), Interval(2700, 5700));
    EXPECT_EQ(c.times->get(), Interval(5700, 8200));
    const LeatDeviceInfo& info = sim.device(0);
    EXPECT_EQ(info.links[0]->channel, info.links[1]->channel);
}

// What is ready first has the link first, whatever was submitted first.
TEST_F(VirtualTime, GivesALinkInTheOrderOfReadiness) {
    PacedDevice& sim = start({{"copy_queues", "2"}});
    LeatSlab* slabs[2] = {sim.slab(0, 4096), sim.slab(0, 4096)};
    const auto fill = sim.fill(0, slabs[0], 1500);
    const auto after = sim.copy_out(1, slabs[0], 100, {fill.point});
    const auto early = sim.copy_out(2, slabs[1], 1000);
    release_and_wait(after.point);
    EXPECT_EQ(early.times->get(), Interval(0, 3000));
    EXPECT_EQ(after.times->get(), Interval(3000, 5100));
}

// device 0 (queue 0): a, 3000 ns     device 1 (queue 2), three times as fast: b, then c after a
TEST_F(VirtualTime, IsOneClockOfTwoDevices) {
    PacedDevice& sim = start({{"devices", "2"},
                              {"flops_per_s", "1e9,3e9"},
                              {"bytes_per_s", "1e9,3e9"},
                              {"link_latency_us", "2,4"}});
    LeatSlab* slow = sim.slab(0, 4096);
    LeatSlab* fast = sim.slab(1, 4096);
    const auto a = sim.fill(0, slow, 3000);
    const auto b = sim.fill(2, fast, 3000);
    const auto c = sim.fill(2, fast, 1500, {a.point});
    const auto out = sim.copy_out(1, slow, 100, {a.point});
    const auto in = sim.copy_in(3, fast, 100, {out.point});
    release_and_wait(in.point);
    EXPECT_EQ(a.times->get(), Interval(0, 3000));
    EXPECT_EQ(b.times->get(), Interval(0, 1000));
    EXPECT_EQ(c.times->get(), Interval(3000, 3500));
    EXPECT_EQ(out.times->get(), Interval(3000, 5100));
    EXPECT_EQ(in.times->get(), Interval(5100, 9200));
    EXPECT_NE(sim.device(0).links[0]->channel, sim.device(1).links[0]->channel);
    EXPECT_EQ(sim.device(1).links[0]->latency_ns, 4000);
}

// The clock stands where the callback was made, though `other` ends later, until the host, which
// takes its time, has submitted what follows.
TEST_F(VirtualTime, StandsStillWhileTheHostHasWork) {
    PacedDevice& sim = start({{"compute_queues", "3"}});
    LeatSlab* slabs[3] = {sim.slab(0, 8192), sim.slab(0, 8192), sim.slab(0, 8192)};
    Wake heard = wake();
    const auto a = sim.fill(0, slabs[0], 1000);
    const auto other = sim.fill(1, slabs[1], 5000);
    post_at(a.point, heard);
    release();
    EXPECT_EQ(heard.token.wait(), kLeatOk);
    EXPECT_EQ(heard.now_ns, 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto b = sim.fill(2, slabs[2], 100);
    release();
    EXPECT_EQ(sim.wait(b.point), kLeatOk);
    EXPECT_EQ(sim.wait(other.point), kLeatOk);
    EXPECT_EQ(b.times->get(), Interval(1000, 1100));
    EXPECT_EQ(other.times->get(), Interval(0, 5000));
}

// Of two ends of one moment that comes first which was submitted first, and the other one when the
// host has done what it has to because of it.
TEST_F(VirtualTime, EndsOneAfterTheOtherWithinAMoment) {
    PacedDevice& sim = start({{"compute_queues", "3"}});
    LeatSlab* slabs[3] = {sim.slab(0, 8192), sim.slab(0, 8192), sim.slab(0, 8192)};
    Wake heard = wake();
    const auto first = sim.fill(1, slabs[1], 1000);
    const auto second = sim.fill(0, slabs[0], 1000);
    post_at(first.point, heard);
    release();
    EXPECT_EQ(heard.token.wait(), kLeatOk);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    PluginError error;
    EXPECT_EQ(sim.context().api().poll(sim.backend(), second.point, error.get()), kLeatPending);
    const auto because = sim.fill(2, slabs[2], 100);
    release();
    EXPECT_EQ(sim.wait(second.point), kLeatOk);
    EXPECT_EQ(sim.wait(because.point), kLeatOk);
    EXPECT_EQ(first.times->get(), Interval(0, 1000));
    EXPECT_EQ(second.times->get(), Interval(0, 1000));
    EXPECT_EQ(because.times->get(), Interval(1000, 1100));
}

TEST_F(VirtualTime, GivesTheHostsWorkADuration) {
    PacedDevice& sim = start({{"compute_queues", "2"}});
    LeatSlab* slabs[2] = {sim.slab(0, 4096), sim.slab(0, 4096)};
    const auto a = sim.fill(0, slabs[0], 1000);
    Wake heard = wake();
    ASSERT_EQ(clock_->call_at(sim.backend(), 700, Wake::post, &heard), kLeatOk);
    release();
    EXPECT_EQ(heard.token.wait(), kLeatOk);
    EXPECT_EQ(heard.now_ns, 700);
    const auto b = sim.fill(1, slabs[1], 100);
    release();
    EXPECT_EQ(sim.wait(a.point), kLeatOk);
    EXPECT_EQ(b.times->get(), Interval(700, 800));
    // A time that is over is now.
    Wake at_once = wake();
    ASSERT_EQ(clock_->call_at(sim.backend(), 5, Wake::post, &at_once), kLeatOk);
    EXPECT_EQ(at_once.token.wait(), kLeatOk);
    EXPECT_EQ(at_once.now_ns, 1000);
    release();
}

TEST_F(VirtualTime, RefusesAReleaseTooMany) {
    start();
    release();
    EXPECT_EQ(clock_->release(device_->backend()), kLeatInvalidArgument);
}

TEST_F(VirtualTime, CancelsCallsThatTheEndOvertakes) {
    PacedDevice& sim = start();
    Token token;
    ASSERT_EQ(clock_->call_at(sim.backend(), 1'000'000, Token::post, &token), kLeatOk);
    device_.reset();
    EXPECT_EQ(token.wait(), kLeatCancelled);
}

// What is submitted ends, though the host holds the clock, and does so again in the callbacks.
TEST_F(VirtualTime, EndsWhatIsSubmittedBeforeItGoes) {
    for (int turn = 0; turn < 20; ++turn) {
        PacedDevice& sim = start();
        Wake heard = wake();
        LeatPoint last{};
        for (int i = 0; i < 5; ++i) {
            last = sim.copy_on_host(i % 2, 500).point;
        }
        post_at(last, heard);
        device_.reset();
        EXPECT_EQ(heard.token.wait(), kLeatOk);
        EXPECT_EQ(heard.now_ns, 3000);  // of 1000 each, three on one queue
    }
}

// y = Relu(x w), x: f32[2,16], w: f32[16,16]
TEST_F(VirtualTime, TakesWhatCapabilitiesEstimate) {
    PacedDevice& sim = start();
    Context& context = sim.context();
    release();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {2, 16});
    const int32_t w = graph.constant("w", {16, 16}, std::vector<float>(256, 0.5F));
    const int32_t t = graph.value("t", kFloat32, {2, 16});
    const int32_t y = graph.value("y", kFloat32, {2, 16});
    graph.node("MatMul", {x, w}, {t});
    graph.node("Relu", {t}, {y});
    graph.output(y);
    const std::vector<LeatNodeCapability> rows = capabilities_of(context, graph);
    // 2 m n k flops, and x, w and t once; Relu: x and y.
    EXPECT_EQ(rows[0].cost_ns, std::max(2.0 * 2 * 16 * 16, (2.0 * 2 * 16 + 16 * 16) * 4));
    EXPECT_EQ(rows[1].cost_ns, 2 * 16 * 4 * 2);
    Compiled compiled(context, graph);
    compiled.pack(graph);
    compiled.link({});
    const LeatBinding in = {context.slab(128), 0, 128, nullptr};
    const LeatBinding out = {context.slab(128), 0, 128, nullptr};
    LeatStepTime steps[2] = {};
    auto profile = plugin::made<LeatProfile>();
    profile.capacity = 2;
    profile.steps = steps;
    const int64_t begin_ns = now();
    ASSERT_EQ(sim.wait(compiled.execute({in}, {out}, &profile)), kLeatOk);
    ASSERT_EQ(profile.count, 2);
    EXPECT_EQ(steps[0].begin_ticks, begin_ns);
    EXPECT_EQ(double(steps[0].end_ticks - steps[0].begin_ticks), rows[0].cost_ns);
    EXPECT_EQ(steps[1].begin_ticks, steps[0].end_ticks);
    EXPECT_EQ(double(steps[1].end_ticks - steps[1].begin_ticks), rows[1].cost_ns);
    EXPECT_EQ(now(), steps[1].end_ticks);
    auto sample = plugin::made<LeatClockSample>();
    ASSERT_EQ(context.api().clock_correlation(context.backend(), 0, &sample, nullptr), kLeatOk);
    EXPECT_EQ(sample.device_ticks, now());
    EXPECT_EQ(sample.ns_per_tick, 1);
}

// Random submissions over six queues of two devices, against a list schedule: of all that heads a
// queue and whose waits have ends, what is ready first is next.
class RandomSchedule {
  public:
    struct Task {
        int32_t queue = 0;
        int32_t kind = 0;  // 0: fill; 1: to the device; 2: from it
        int64_t bytes = 0;
        std::vector<size_t> waits;
    };
    static constexpr size_t kTasks = 80;
    static constexpr int32_t kQueues = 6;

    explicit RandomSchedule(uint64_t seed) {
        SplitMix random(seed);
        for (size_t i = 0; i < kTasks; ++i) {
            Task& task = tasks_.emplace_back();
            task.queue = int32_t(random.next() % kQueues);
            task.kind = int32_t(random.next() % 3);
            task.bytes = 1 + int64_t(random.next() % 4000);
            for (int k = 0; i > 0 && k < 2; ++k) {
                if (random.next() % 3 == 0) {
                    task.waits.push_back(size_t(random.next() % i));
                }
            }
        }
    }
    const std::vector<Task>& tasks() const { return tasks_; }

    std::vector<Interval> intervals() const {
        std::vector<Interval> result(kTasks, Interval(-1, -1));
        std::vector<int64_t> queue_ends(kQueues);
        std::vector<int64_t> channel_ends(4);
        for (size_t done = 0; done < kTasks; ++done) {
            const size_t next = next_task(result, queue_ends);
            const Task& task = tasks_[next];
            int64_t begin = ready_ns(task, result, queue_ends);
            const int32_t device = task.queue / 3;
            int64_t duration = task.bytes;
            if (task.kind != 0) {
                int64_t& channel = channel_ends[size_t(2 * device + task.kind - 1)];
                begin = std::max(begin, channel);
                duration += 2000;
                channel = begin + duration;
            }
            result[next] = {begin, begin + duration};
            queue_ends[size_t(task.queue)] = begin + duration;
        }
        return result;
    }

  private:
    static int64_t ready_ns(const Task& task,
                            const std::vector<Interval>& known,
                            const std::vector<int64_t>& queue_ends) {
        int64_t ready = queue_ends[size_t(task.queue)];
        for (const size_t wait : task.waits) {
            ready = std::max(ready, known[wait].second);
        }
        return ready;
    }
    size_t next_task(const std::vector<Interval>& known,
                     const std::vector<int64_t>& queue_ends) const {
        std::optional<std::pair<int64_t, int32_t>> least;
        size_t next = 0;
        std::vector<bool> has_head(kQueues, false);
        for (size_t i = 0; i < kTasks; ++i) {
            const Task& task = tasks_[i];
            if (known[i].second >= 0 || has_head[size_t(task.queue)]) {
                continue;
            }
            has_head[size_t(task.queue)] = true;
            const bool is_ready = std::all_of(task.waits.begin(), task.waits.end(),
                                              [&](size_t wait) { return known[wait].second >= 0; });
            const std::pair order(ready_ns(task, known, queue_ends), task.queue);
            if (is_ready && (!least || order < *least)) {
                least = order;
                next = i;
            }
        }
        return next;
    }

    std::vector<Task> tasks_;
};

TEST_F(VirtualTime, EqualsAListScheduleForRandomSubmissions) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        const RandomSchedule schedule(seed);
        PacedDevice& sim = start({{"devices", "2"}, {"copy_queues", "2"}});
        LeatSlab* slabs[RandomSchedule::kQueues];
        for (int32_t q = 0; q < RandomSchedule::kQueues; ++q) {
            slabs[q] = sim.slab(q / 3, 4096);
        }
        std::vector<PacedDevice::Submitted> submitted;
        for (const RandomSchedule::Task& task : schedule.tasks()) {
            std::vector<LeatPoint> waits;
            for (const size_t wait : task.waits) {
                waits.push_back(submitted[wait].point);
            }
            LeatSlab* slab = slabs[task.queue];
            submitted.push_back(task.kind == 0 ? sim.fill(task.queue, slab, task.bytes, waits)
                                : task.kind == 1
                                    ? sim.copy_in(task.queue, slab, task.bytes, waits)
                                    : sim.copy_out(task.queue, slab, task.bytes, waits));
        }
        release();
        const std::vector<Interval> needed = schedule.intervals();
        for (size_t i = 0; i < submitted.size(); ++i) {
            ASSERT_EQ(sim.wait(submitted[i].point), kLeatOk);
            ASSERT_EQ(submitted[i].times->get(), needed[i]) << "seed " << seed << " task " << i;
        }
    }
}

}  // namespace
}  // namespace leat::contract
