// Measuring with several streams: every run is counted once, and a failing stream ends all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "graphbench/measure.h"
#include "graphbench/session.h"
#include "graphbench/target.h"
#include "graphbench/team.h"

namespace leat::bench {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

Options options_of(std::vector<std::string> arguments) {
    return Options::parse(*find_command("bench"), std::move(arguments)).value();
}

Session open_with_streams(const Runtime& runtime, int streams) {
    Options options = options_of({});
    Target target = load_target("gen:squeezenet1_1?size=32").value();
    CompileOptions compile = compile_options(options).value();
    std::vector<NamedValue> inputs = make_inputs(target, options, compile).value();
    return open_session(runtime, std::move(target), compile, std::move(inputs), nullptr,
                        {.streams = streams})
        .value();
}

TEST(CompileOptions, TakeExtentsAndTheirBounds) {
    const CompileOptions compile =
        compile_options(options_of({"--dim", "batch=2..8", "--dim", "length=5"})).value();
    EXPECT_EQ(compile.dims.at("length"), 5);
    EXPECT_EQ(compile.dims.count("batch"), 0U);
    EXPECT_EQ(compile.dim_bounds.at("batch").min, 2);
    EXPECT_EQ(compile.dim_bounds.at("batch").max, 8);
    EXPECT_EQ(compile_options(options_of({"--in-flight", "64"}))->requests_in_flight, 64);
    EXPECT_FALSE(compile_options(options_of({"--in-flight", "65"})).ok());
    for (const char* text : {"batch=2..", "batch=..8", "batch=2...8", "batch=x", "batch=3..2"}) {
        EXPECT_FALSE(compile_options(options_of({"--dim", text})).ok()) << text;
    }
}

TEST(Team, EveryThreadWorksOnceInEveryTurn) {
    for (int threads : {1, 4}) {
        Team team;
        ASSERT_TRUE(team.start(threads).ok());
        std::vector<int> turns(size_t(threads), 0);
        for (int turn = 0; turn < 100; ++turn) {
            team.run([&turns](int i) { ++turns[size_t(i)]; }, [] {});
        }
        EXPECT_THAT(turns, Each(100));
    }
}

TEST(Measure, StreamsShareTheExactNumberOfRuns) {
    Runtime runtime;
    Session session = open_with_streams(runtime, 3);
    MeasureOptions how =
        measure_options(options_of({"--streams", "3", "--runs", "20", "--warmup", "2"})).value();
    Measurement measurement = measure({&session}, how).front();
    EXPECT_TRUE(measurement.error.ok());
    EXPECT_EQ(measurement.samples_ns.size(), 20U);
    EXPECT_EQ(measurement.warmup_runs, 6);
    EXPECT_GT(measurement.timed_ns, 0);
    EXPECT_FALSE(measurement.interrupted);
}

TEST(Measure, OpenLoopArrivalsAreSharedByTheStreams) {
    Runtime runtime;
    Session session = open_with_streams(runtime, 2);
    MeasureOptions how = measure_options(options_of({"--streams", "2", "--runs", "20", "--warmup",
                                                     "1", "--rate", "200"}))
                             .value();
    Measurement measurement = measure({&session}, how).front();
    EXPECT_EQ(measurement.samples_ns.size(), 20U);
    // 20 arrivals at 5 ms end after 100 ms; streams with 200 a second each would take half.
    EXPECT_GE(measurement.timed_ns, 90'000'000);
}

TEST(Measure, AnErrorOfOneStreamEndsAllOfThem) {
    Runtime runtime;
    Session session = open_with_streams(runtime, 2);
    session.streams[1] = RequestQueue::make(session.compiled).value();  // no input is bound
    MeasureOptions how =
        measure_options(options_of({"--streams", "2", "--min-time", "60", "--warmup", "0"}))
            .value();
    Measurement measurement = measure({&session}, how).front();
    EXPECT_EQ(measurement.error.code(), StatusCode::kInvalidArgument);
    EXPECT_LT(measurement.timed_ns, 30'000'000'000);
}

TEST(MeasureOptions, RejectsStreamsThatCannotBe) {
    EXPECT_FALSE(measure_options(options_of({"--streams", "1025"})).ok());
    EXPECT_FALSE(measure_options(options_of({"--streams", "2", "--cold-cache", "all"})).ok());
    EXPECT_EQ(measure_options(options_of({})).value().streams, 1);
    EXPECT_EQ(measure_options(options_of({"--cool-down", "0.5"})).value().cool_down_ns,
              500'000'000);
}

TEST(MeasureOptions, OfTwoTimesThatAreGivenTheLongerOneIsTheLimit) {
    EXPECT_THAT(measure_options(options_of({"--min-time", "5", "--max-time", "1"})).error().text(),
                HasSubstr("--max-time is '1', below --min-time, which is '5'"));
    const MeasureOptions shorter = measure_options(options_of({"--max-time", "1"})).value();
    EXPECT_EQ(shorter.min_time_ns, 1'000'000'000) << "the default is not asked for";
    EXPECT_EQ(shorter.max_time_ns, 1'000'000'000);
    const MeasureOptions longer = measure_options(options_of({"--min-time", "100"})).value();
    EXPECT_EQ(longer.max_time_ns, 100'000'000'000);
    EXPECT_GT(measure_options(options_of({"--runs", "9"})).value().max_time_ns, int64_t{1} << 60);
    EXPECT_EQ(measure_options(options_of({"--runs", "9", "--max-time", "2"})).value().max_time_ns,
              2'000'000'000);
}

}  // namespace
}  // namespace leat::bench
