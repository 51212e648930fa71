// Files of measured costs: what other processes find, and what must not be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "calibrate/calibration_store.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CalibrationFiles : public ::testing::Test {
  protected:
    // Each object is as good as another process: it knows the files alone.
    std::unique_ptr<CalibrationStore> open(std::string_view writer = "leat 1") {
        return std::make_unique<CalibrationStore>(
            (folder_.path() / "costs").string(), writer,
            [this](std::string_view line) { lines_.emplace_back(line); });
    }

    static MeasuredCosts table(const std::string& signature, double median_ns) {
        MeasuredCosts costs;
        costs.add({signature, "Relu", {1, 1}, median_ns, 0, 15, 0});
        return costs;
    }
    static double time_of(const MeasuredCosts& costs, const std::string& signature) {
        const MeasuredOperator* found = costs.find({signature_hash(signature), signature});
        return found == nullptr ? -1 : found->median_ns;
    }

    ScratchFolder folder_;
    std::vector<std::string> lines_;
};

TEST_F(CalibrationFiles, ServeLaterProcesses) {
    EXPECT_EQ(open()->find("cpu"), nullptr);
    open()->add("cpu", table("a", 1));
    const auto store = open();
    ASSERT_NE(store->find("cpu"), nullptr);
    EXPECT_EQ(time_of(*store->find("cpu"), "a"), 1);
    EXPECT_EQ(store->find("cpu")->round, 1);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(CalibrationFiles, AreOfOneKey) {
    open()->add("cpu, 1 threads", table("a", 1));
    EXPECT_EQ(open()->find("cpu, 2 threads"), nullptr);
    EXPECT_EQ(open("leat 2")->find("cpu, 1 threads"), nullptr);
    EXPECT_THAT(lines_, SizeIs(1));  // a file of another version of leat is no secret
}

TEST_F(CalibrationFiles, KeepWhatOtherProcessesAdd) {
    const auto one = open();
    const auto other = open();
    one->add("cpu", table("a", 1));
    other->add("cpu", table("b", 2));
    const auto all = one->add("cpu", table("c", 3));
    for (const MeasuredCosts& costs : {*all, *open()->find("cpu")}) {
        EXPECT_EQ(time_of(costs, "a"), 1);
        EXPECT_EQ(time_of(costs, "b"), 2);
        EXPECT_EQ(time_of(costs, "c"), 3);
    }
    EXPECT_EQ(all->round, 3);
}

TEST_F(CalibrationFiles, ThatAreBrokenAreMeasuredAgain) {
    open()->add("cpu", table("a", 1));
    const std::string file = open()->file_of("cpu");
    const std::string good = contents_of(file);
    for (const std::string& bad : {std::string(), good.substr(0, good.size() - 3), "foreign" + good,
                                   std::string(1000, '\xff')}) {
        lines_.clear();
        write_contents(file, bad);
        EXPECT_EQ(open()->find("cpu"), nullptr);
        ASSERT_THAT(lines_, SizeIs(1));
        EXPECT_THAT(lines_[0], HasSubstr(file));
        open()->add("cpu", table("a", 2));
        lines_.clear();
        EXPECT_EQ(time_of(*open()->find("cpu"), "a"), 2);
        EXPECT_THAT(lines_, IsEmpty());
    }
}

TEST_F(CalibrationFiles, ThatCannotBeWrittenLeaveTheProcessItsOwn) {
    write_contents(folder_.path() / "costs", "a file where the folder should be");
    const auto store = open();
    store->add("cpu", table("a", 1));
    EXPECT_THAT(lines_, SizeIs(1));
    store->add("cpu", table("b", 2));
    EXPECT_THAT(lines_, SizeIs(1));
    EXPECT_EQ(time_of(*store->find("cpu"), "a"), 1);
    EXPECT_EQ(time_of(*store->find("cpu"), "b"), 2);
}

TEST_F(CalibrationFiles, AreNotNeeded) {
    CalibrationStore store("", "leat 1", {});
    EXPECT_EQ(store.find("cpu"), nullptr);
    store.add("cpu", table("a", 1));
    EXPECT_EQ(time_of(*store.find("cpu"), "a"), 1);
    EXPECT_EQ(store.file_of("cpu"), "");
}

TEST_F(CalibrationFiles, TakeSeveralWritersAtATime) {
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([this, t] {
            CalibrationStore store((folder_.path() / "costs").string(), "leat 1",
                                   [](std::string_view line) { ADD_FAILURE() << line; });
            for (int turn = 0; turn < 20; ++turn) {
                store.add("cpu", table("t" + std::to_string(t), turn));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    // Of writers at one moment the last one wins; what is there is whole.
    EXPECT_GE(open()->find("cpu")->operator_count(), 1U);
    EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace leat
