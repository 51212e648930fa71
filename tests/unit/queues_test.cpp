#include "backends/queues/queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "backends/queues/ledger.h"

namespace leat::queues {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// Devices 0 and 1, each with a queue for computing and one for copies.
constexpr int32_t kCompute = 0;
constexpr int32_t kCopy = 1;
constexpr int32_t kOtherCompute = 2;
constexpr int32_t kQueuesPerDevice = 2;
constexpr int32_t kDevices = 2;

// Ends at once.
class FakeWork final : public Work {
  public:
    explicit FakeWork(Start start) : start_(start) {}
    Start start() const override { return start_; }
    uint64_t run(std::span<const DevicePoint> /*waits*/) override { return 0; }

  private:
    Start start_;
};

LeatSubmission submission_of(LeatPoint signal, const std::vector<LeatPoint>& waits) {
    auto submission = plugin::made<LeatSubmission>();
    submission.signal = signal;
    submission.wait_count = int32_t(waits.size());
    submission.waits = waits.data();
    return submission;
}

class LedgerTest : public ::testing::Test {
  protected:
    void submit(LeatPoint signal,
                const std::vector<LeatPoint>& waits = {},
                Start start = Start::kWhenIdle,
                uint64_t request = 0) {
        LeatSubmission submission = submission_of(signal, waits);
        submission.request = request;
        ledger_.submit(submission, std::make_unique<FakeWork>(start), false);
    }
    bool can_begin(int32_t queue) const { return ledger_.can_begin(queue, false); }
    // As the queue's thread would hand it to the device.
    Flight& begin_on_device(int32_t queue, uint64_t device_point) {
        Flight& flight = ledger_.begin(queue);
        flight.device_point = device_point;
        return flight;
    }
    LeatCode code_of(LeatPoint point) const { return ledger_.outcome_of(point).code; }

    Ledger ledger_{kDevices, kQueuesPerDevice, Plants()};
};

TEST_F(LedgerTest, HoldsBackWorkUntilItsWaitIsReached) {
    submit({kCompute, 1}, {{kCopy, 5}});
    EXPECT_FALSE(can_begin(kCompute));
    submit({kCopy, 5});
    Flight& copy = ledger_.begin(kCopy);
    EXPECT_FALSE(can_begin(kCompute));
    ledger_.end(copy, {});
    EXPECT_TRUE(can_begin(kCompute));
    EXPECT_EQ(code_of({kCompute, 1}), kLeatPending);
}

TEST_F(LedgerTest, LeavesAWaitToTheDeviceOnlyWhenItIsThere) {
    submit({kCompute, 1}, {}, Start::kWaitsThere);
    submit({kCompute, 2}, {{kCompute, 1}}, Start::kWaitsThere);
    Flight& first = ledger_.begin(kCompute);
    EXPECT_FALSE(can_begin(kCompute)) << "the first is not on the device yet";
    first.device_point = 7;
    ASSERT_TRUE(can_begin(kCompute));
    const std::vector<DevicePoint> waits = ledger_.waits_on_device(ledger_.begin(kCompute));
    ASSERT_THAT(waits, SizeIs(1));
    EXPECT_EQ(waits[0].queue, kCompute);
    EXPECT_EQ(waits[0].point, 7U);
}

TEST_F(LedgerTest, AsksTheDeviceForTheLastPointOfEachQueue) {
    for (uint64_t value = 1; value <= 3; ++value) {
        submit({kCompute, value}, {}, Start::kWaitsThere);
        begin_on_device(kCompute, 10 * value);
    }
    submit({kCopy, 1}, {{kCompute, 3}, {kCompute, 1}}, Start::kWaitsThere);
    const std::vector<DevicePoint> waits = ledger_.waits_on_device(ledger_.begin(kCopy));
    ASSERT_THAT(waits, SizeIs(1));
    EXPECT_EQ(waits[0].point, 30U);
}

TEST_F(LedgerTest, NeverLeavesAWaitForAnotherDeviceToADevice) {
    submit({kCompute, 1}, {}, Start::kWaitsThere);
    Flight& flight = begin_on_device(kCompute, 1);
    submit({kOtherCompute, 1}, {{kCompute, 1}}, Start::kWaitsThere);
    EXPECT_FALSE(can_begin(kOtherCompute));
    ledger_.end(flight, {});
    EXPECT_TRUE(can_begin(kOtherCompute));
}

TEST_F(LedgerTest, BeginsOtherWorkWhenTheQueueIsIdle) {
    submit({kCompute, 1}, {}, Start::kAfterWaits);
    submit({kCompute, 2}, {}, Start::kAfterWaits);
    submit({kCompute, 3}, {}, Start::kWhenIdle);
    Flight& first = begin_on_device(kCompute, 1);
    ASSERT_TRUE(can_begin(kCompute)) << "it lines up behind the first";
    Flight& second = begin_on_device(kCompute, 2);
    EXPECT_FALSE(can_begin(kCompute));
    ledger_.end(first, {});
    EXPECT_FALSE(can_begin(kCompute));
    ledger_.end(second, {});
    EXPECT_TRUE(can_begin(kCompute));
}

TEST_F(LedgerTest, CompletesPointsInTheQueuesOrder) {
    submit({kCompute, 1}, {}, Start::kAfterWaits);
    submit({kCompute, 2}, {}, Start::kAfterWaits);
    Flight& first = begin_on_device(kCompute, 1);
    Flight& second = begin_on_device(kCompute, 2);
    ledger_.end(second, {});
    EXPECT_EQ(ledger_.timeline(kCompute).reached(), 0U);
    ledger_.end(first, {});
    EXPECT_EQ(ledger_.timeline(kCompute).reached(), 2U);
    EXPECT_EQ(ledger_.open_submissions(), 0);
}

TEST_F(LedgerTest, PassesAFailureOnToWhatWaitsForItAlone) {
    submit({kCopy, 1});
    ledger_.end(ledger_.begin(kCopy), {kLeatInternal, "broken"});
    submit({kCompute, 1}, {{kCopy, 1}});
    submit({kCompute, 2});
    Flight& poisoned = ledger_.begin(kCompute);
    EXPECT_STREQ(poisoned.outcome.text, "broken");
    ledger_.end(poisoned, Outcome(poisoned.outcome));
    EXPECT_EQ(code_of({kCompute, 1}), kLeatInternal);
    EXPECT_TRUE(ledger_.begin(kCompute).outcome.ok());
}

// The wait was left to the device, and its queue was ended by the host while both were there.
TEST_F(LedgerTest, PassesOnAFailureThatIsKnownLater) {
    submit({kCompute, 1}, {}, Start::kWaitsThere);
    Flight& first = begin_on_device(kCompute, 1);
    submit({kCopy, 1}, {{kCompute, 1}}, Start::kWaitsThere);
    Flight& second = begin_on_device(kCopy, 2);
    ledger_.end(second, {});
    EXPECT_EQ(code_of({kCopy, 1}), kLeatPending);
    ledger_.fail(kCompute, {kLeatCancelled, "given up"});
    ledger_.end(first, {});
    EXPECT_EQ(code_of({kCompute, 1}), kLeatCancelled);
    EXPECT_EQ(code_of({kCopy, 1}), kLeatCancelled);
}

TEST_F(LedgerTest, EndsQueuesOfTheLostDeviceOnly) {
    submit({kCompute, 1}, {{kOtherCompute, 9}});
    ledger_.end_device_of(kCopy, {kLeatDeviceLost, "lost"});
    ASSERT_TRUE(can_begin(kCompute)) << "it need not wait any more";
    Flight& flight = ledger_.begin(kCompute);
    ledger_.end(flight, Outcome(flight.outcome));
    EXPECT_EQ(code_of({kCompute, 1}), kLeatDeviceLost);
    EXPECT_EQ(code_of({kCopy, 1}), kLeatDeviceLost) << "a point that is not submitted yet";
    EXPECT_EQ(code_of({kOtherCompute, 1}), kLeatPending);
}

TEST_F(LedgerTest, CancelsWhatHasNotBegunOfOneRequest) {
    submit({kCompute, 1}, {{kCopy, 1}}, Start::kWhenIdle, 4);
    submit({kCopy, 1}, {}, Start::kWhenIdle, 5);
    ledger_.cancel(4);
    ASSERT_TRUE(can_begin(kCompute));
    EXPECT_EQ(ledger_.begin(kCompute).outcome.code, kLeatCancelled);
    EXPECT_TRUE(ledger_.begin(kCopy).outcome.ok());
}

TEST_F(LedgerTest, CancelsWhatWaitsInVainWhenNobodySubmitsAnyMore) {
    submit({kCompute, 1}, {{kCopy, 1}});
    submit({kOtherCompute, 1});
    EXPECT_FALSE(ledger_.can_begin(kCompute, true)) << "the other queue has not ended";
    ledger_.end(ledger_.begin(kOtherCompute), {});
    ASSERT_TRUE(ledger_.can_begin(kCompute, true));
    const Outcome outcome = ledger_.begin(kCompute).outcome;
    EXPECT_EQ(outcome.code, kLeatCancelled);
    EXPECT_THAT(outcome.text, HasSubstr("before its waits"));
}

TEST_F(LedgerTest, RefusesWhatItCannotKeepAndChangesNothing) {
    EXPECT_THROW(submit({4, 1}), plugin::Error);
    EXPECT_THROW(submit({kCompute, 1}, {{-1, 1}}), plugin::Error);
    EXPECT_THROW(ledger_.fail(kCompute, {}), plugin::Error);
    submit({kCompute, 2});
    EXPECT_THROW(submit({kCompute, 2}), plugin::Error);
    EXPECT_EQ(ledger_.open_submissions(), 1);
}

TEST_F(LedgerTest, KeepsAFailureUntilItIsForgotten) {
    submit({kCompute, 3});
    ledger_.end(ledger_.begin(kCompute), {kLeatInternal, "broken"});
    ledger_.forget_failures(kCompute, 2);
    EXPECT_EQ(code_of({kCompute, 3}), kLeatInternal);
    ledger_.forget_failures(kCompute, 3);
    EXPECT_EQ(code_of({kCompute, 3}), kLeatOk);
}

// A device that reaches its points in the order in which the test says so.
class SlowDevice {
  public:
    class Job final : public Work {
      public:
        Job(SlowDevice& device, uint64_t point) : device_(device), point_(point) {}
        Start start() const override { return Start::kWaitsThere; }
        uint64_t run(std::span<const DevicePoint> waits) override {
            device_.waits_ += waits.size();
            return point_;
        }
        void on_ended(uint64_t /*point*/, const Ended& ended) override { device_.submit(ended); }

      private:
        SlowDevice& device_;
        uint64_t point_;
    };

    void submit(const Work::Ended& ended) {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(ended);
    }
    size_t jobs() const {
        const std::lock_guard lock(mutex_);
        return jobs_.size();
    }
    void wait_for_jobs(size_t count) const {
        while (jobs() < count) {
            std::this_thread::yield();
        }
    }
    void end(size_t job, const Outcome& outcome) const { jobs_[job](outcome); }
    size_t waits() const { return waits_; }

  private:
    mutable std::mutex mutex_;
    std::vector<Work::Ended> jobs_;
    std::atomic<size_t> waits_{0};
};

QueueOptions two_devices() {
    QueueOptions options;
    options.device_count = kDevices;
    options.queues_per_device = kQueuesPerDevice;
    return options;
}

void store_code(void* user, LeatCode code) {
    static_cast<std::atomic<int>*>(user)->store(code);
}

// The outcome of the point, which must come soon.
int heard_code(Queues& queues, LeatPoint point) {
    std::atomic<int> code{kLeatPending};
    queues.on_reached(point, store_code, &code);
    while (code == kLeatPending) {
        std::this_thread::yield();
    }
    return code;
}

TEST(Queues, LineWorkUpOnADeviceAndReportItsEnd) {
    SlowDevice device;
    Queues queues(two_devices());
    const std::vector<LeatPoint> waits = {{kCompute, 1}};
    queues.submit(submission_of({kCompute, 1}, {}), std::make_unique<SlowDevice::Job>(device, 1));
    queues.submit(submission_of({kCompute, 2}, waits),
                  std::make_unique<SlowDevice::Job>(device, 2));
    device.wait_for_jobs(2);
    EXPECT_EQ(device.waits(), 1U);
    EXPECT_FALSE(queues.is_reached({kCompute, 1}));
    device.end(0, {});
    EXPECT_EQ(heard_code(queues, {kCompute, 1}), kLeatOk);
    EXPECT_FALSE(queues.is_reached({kCompute, 2}));
    device.end(1, {});
    EXPECT_EQ(heard_code(queues, {kCompute, 2}), kLeatOk);
}

// The other device goes on, also where it inherits the error.
TEST(Queues, LoseOneDevice) {
    QueueOptions options = two_devices();
    options.faults.lost_submission = 1;
    Queues queues(options);
    const std::vector<LeatPoint> waits = {{kCompute, 1}};
    const auto work = [] { return std::make_unique<FakeWork>(Start::kWhenIdle); };
    queues.submit(submission_of({kCompute, 1}, {}), work());
    queues.submit(submission_of({kOtherCompute, 1}, waits), work());
    queues.submit(submission_of({kOtherCompute, 2}, {}), work());
    EXPECT_EQ(heard_code(queues, {kCompute, 1}), kLeatDeviceLost);
    EXPECT_EQ(heard_code(queues, {kCopy, 1}), kLeatDeviceLost);
    EXPECT_EQ(heard_code(queues, {kOtherCompute, 1}), kLeatDeviceLost);
    EXPECT_EQ(heard_code(queues, {kOtherCompute, 2}), kLeatOk);
}

TEST(Queues, FailOneSubmissionAndWhatWaitsForIt) {
    QueueOptions options = two_devices();
    options.faults.failed_submission = 2;
    Queues queues(options);
    const std::vector<LeatPoint> waits = {{kCompute, 2}};
    const auto work = [] { return std::make_unique<FakeWork>(Start::kWhenIdle); };
    queues.submit(submission_of({kCompute, 1}, {}), work());
    queues.submit(submission_of({kCompute, 2}, {}), work());
    queues.submit(submission_of({kCompute, 3}, {}), work());
    queues.submit(submission_of({kCopy, 1}, waits), work());
    EXPECT_EQ(heard_code(queues, {kCompute, 1}), kLeatOk);
    EXPECT_EQ(heard_code(queues, {kCompute, 2}), kLeatInternal);
    EXPECT_EQ(heard_code(queues, {kCompute, 3}), kLeatOk);
    EXPECT_EQ(heard_code(queues, {kCopy, 1}), kLeatInternal);
}

TEST(SubmissionFaults, DrawDelaysByQueueAndPoint) {
    constexpr std::chrono::microseconds kDelay{1000};
    SubmissionFaults faults;
    faults.delay = kDelay;
    EXPECT_EQ(faults.delay_before({kCompute, 1}), kDelay);
    faults.delay_seed = 7;
    std::set<int64_t> drawn;
    for (const LeatPoint point : {LeatPoint{kCompute, 1}, {kCompute, 2}, {kCopy, 1}, {kCopy, 2}}) {
        EXPECT_EQ(faults.delay_before(point), faults.delay_before(point));
        EXPECT_LE(faults.delay_before(point), kDelay);
        drawn.insert(faults.delay_before(point).count());
    }
    EXPECT_THAT(drawn, SizeIs(4));
}

TEST(Queues, MakeTheLastCallbacksWhenTheyGo) {
    std::atomic<int> code{kLeatOk};
    {
        Queues queues(two_devices());
        queues.on_reached({kCompute, 1}, store_code, &code);
    }
    EXPECT_EQ(code, kLeatCancelled);
}

}  // namespace
}  // namespace leat::queues
