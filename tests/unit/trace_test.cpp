// Trace events: the buffer that workers write, and the JSON that Perfetto reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "trace/chrome_trace.h"
#include "trace/trace_buffer.h"

namespace leat {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TraceBuffer, KeepsEventsInOrderWithTheirThread) {
    TraceBuffer buffer(4);
    buffer.record(7, 100, 250);
    buffer.record(8, 250, 300, {4, 6});
    ASSERT_EQ(buffer.events().size(), 2U);
    EXPECT_EQ(buffer.events()[0].id, 7);
    EXPECT_EQ(buffer.events()[0].begin_ns, 100);
    EXPECT_EQ(buffer.events()[0].end_ns, 250);
    EXPECT_EQ(buffer.events()[0].thread, trace_thread());
    EXPECT_EQ(buffer.events()[0].tiles.end, 1);
    EXPECT_EQ(buffer.events()[1].id, 8);
    EXPECT_EQ(buffer.events()[1].tiles.begin, 4);
    EXPECT_EQ(buffer.events()[1].tiles.end, 6);
    EXPECT_EQ(buffer.dropped(), 0);
}

TEST(TraceBuffer, CountsWhatDoesNotFit) {
    TraceBuffer buffer(2);
    for (int32_t i = 0; i < 5; ++i) {
        buffer.record(i, i, i + 1);
    }
    EXPECT_EQ(buffer.events().size(), 2U);
    EXPECT_EQ(buffer.dropped(), 3);
    buffer.clear();
    EXPECT_THAT(buffer.events(), IsEmpty());
    EXPECT_EQ(buffer.dropped(), 0);
}

TEST(TraceBuffer, WithoutCapacityOnlyCounts) {
    TraceBuffer buffer(0);
    buffer.record(1, 0, 1);
    EXPECT_THAT(buffer.events(), IsEmpty());
    EXPECT_EQ(buffer.dropped(), 1);
}

TEST(TraceBuffer, ShowsWholeEventsToAReaderWhileItIsWritten) {
    constexpr int32_t kEvents = 20'000;
    TraceBuffer buffer(kEvents);
    std::thread writer([&] {
        for (int32_t i = 0; i < kEvents; ++i) {
            buffer.record(i, int64_t{10} * i, int64_t{10} * i + 5);
        }
    });
    size_t seen = 0;
    while (seen < size_t(kEvents)) {
        const auto events = buffer.events();
        for (; seen < events.size(); ++seen) {
            ASSERT_EQ(events[seen].id, int32_t(seen));
            ASSERT_EQ(events[seen].end_ns, events[seen].begin_ns + 5);
        }
    }
    writer.join();
}

TEST(TraceThread, IsStableInAThreadAndDifferentBetweenThreads) {
    const int32_t mine = trace_thread();
    EXPECT_EQ(trace_thread(), mine);
    int32_t other = mine;
    std::thread([&] { other = trace_thread(); }).join();
    EXPECT_NE(other, mine);
}

TEST(JsonString, EscapesQuotesBackslashesAndControls) {
    EXPECT_EQ(json_string("plain"), R"("plain")");
    EXPECT_EQ(json_string("a\"b\\c"), R"("a\"b\\c")");
    EXPECT_EQ(json_string("tab\tline\nzero" + std::string(1, '\0') + "\x7f"),
              R"("tab\u0009line\u000azero\u0000\u007f")");
}

TEST(JsonString, KeepsUtf8) {
    EXPECT_EQ(json_string("é € 😀"), "\"é € 😀\"");
}

TEST(JsonString, ReplacesWhatIsNotUtf8) {
    const std::string bad = "\"\xEF\xBF\xBD\"";
    EXPECT_EQ(json_string("\x80"), bad);                     // a continuation alone
    EXPECT_EQ(json_string("\xC3"), bad);                     // cut off
    EXPECT_EQ(json_string("\xF5"), bad);                     // never a lead
    EXPECT_EQ(json_string("\xC0\xAF").size(), 8U);           // overlong: two replacements
    EXPECT_EQ(json_string("\xED\xA0\x80").size(), 11U);      // a surrogate
    EXPECT_EQ(json_string("\xF4\x90\x80\x80").size(), 14U);  // above U+10FFFF
}

TEST(ChromeTrace, ShowsCounters) {
    ChromeTrace trace("program");
    const std::vector<std::pair<std::string, int64_t>> pages = {{"there", 12}, {"els\"where", 0}};
    trace.add_counters("pages", 1500, pages);
    EXPECT_THAT(trace.json(), HasSubstr(R"({"name":"pages","ph":"C","pid":1,"ts":1.500,)"
                                        R"("args":{"there":12,"els\"where":0}})"));
}

TEST(ChromeTrace, WritesCompleteEventsInMicroseconds) {
    ChromeTrace trace("my \"app\"");
    trace.name_thread(3, "worker 0");
    trace.add("load", "node", 3, 1'234'567, 1'234'600);
    trace.add("sum", "node", 3, 0, 1'000, "tiles [0, 2)");
    trace.add_note("dropped_events", "0");
    EXPECT_EQ(trace.json(),
              "{\"traceEvents\":[\n"
              R"({"name":"process_name","ph":"M","pid":1,"args":{"name":"my \"app\""}})"
              ",\n"
              R"({"name":"thread_name","ph":"M","pid":1,"tid":3,"args":{"name":"worker 0"}})"
              ",\n"
              R"({"name":"load","cat":"node","ph":"X","pid":1,"tid":3,"ts":1234.567,"dur":0.033})"
              ",\n"
              R"({"name":"sum","cat":"node","ph":"X","pid":1,"tid":3,"ts":0.000,"dur":1.000,)"
              R"x("args":{"detail":"tiles [0, 2)"}})x"
              "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_events\":\"0\"}}\n");
}

}  // namespace
}  // namespace leat
