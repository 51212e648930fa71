// JSON, statistics, tables, .npy files and comparison of values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "conformance/values.h"
#include "graphbench/npy.h"
#include "graphbench/options.h"
#include "graphbench/screen.h"
#include "graphbench/statistics.h"

namespace leat::bench {
namespace {

using ::testing::HasSubstr;

Value floats(const Shape& shape, const std::vector<float>& values) {
    return Value(Tensor::from(shape, values).value());
}

TEST(Json, RoundTrips) {
    Json json = Json::object();
    json.set("text", "quote \" and \n line").set("big", int64_t{9007199254740993});
    json.set("real", 0.1).set("list", Json(Json::Array{1, true, Json()}));
    json.set("nan", std::nan(""));
    for (int indent : {-1, 2}) {
        Json back = Json::parse(json.dump(indent)).value();
        EXPECT_EQ(back["text"].text(), "quote \" and \n line");
        EXPECT_EQ(back["big"].integer(), 9007199254740993);
        EXPECT_EQ(back["real"].number(), 0.1);
        EXPECT_EQ(back["list"].items().size(), 3U);
        EXPECT_TRUE(back["nan"].is_null());
        EXPECT_TRUE(back["absent"]["deeper"].is_null());
    }
    EXPECT_EQ(Json::parse(R"("\u00e9\ud83d\ude00")").value().text(), "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(Json, ErrorsSayWhere) {
    EXPECT_THAT(Json::parse("{\n \"a\": }").error().text(), HasSubstr("line 2, column 7"));
    EXPECT_FALSE(Json::parse("").ok());
    EXPECT_FALSE(Json::parse("[1, 2").ok());
    EXPECT_FALSE(Json::parse("1 2").ok());
    EXPECT_FALSE(Json::parse("\"open").ok());
    EXPECT_FALSE(Json::parse(std::string(100000, '[')).ok()) << "no stack overflow";
}

TEST(Statistics, PercentilesNeedSamples) {
    EXPECT_EQ(samples_needed(50), 1);
    EXPECT_EQ(samples_needed(90), 64);
    EXPECT_EQ(samples_needed(99), 662);
    EXPECT_EQ(samples_needed(99.9), 6620);
    EXPECT_EQ(samples_needed(10), 64) << "as many below the median as above";
    EXPECT_EQ(samples_needed(1), 662);
    EXPECT_EQ(samples_needed(0), 1) << "the least of them, whatever their number";
    EXPECT_EQ(samples_needed(100), 1) << "the most of them";
    for (double rank = 99.9; rank < 100; rank = std::nextafter(50 + rank / 2, 100)) {
        EXPECT_GE(double(samples_needed(rank)) * (100 - rank) / 100, 6) << rank;
        EXPECT_FALSE(summarize({1, 2, 3}, {rank}).percentiles[0].value.has_value()) << rank;
    }
    std::vector<double> samples(64);
    for (size_t i = 0; i < samples.size(); ++i) {
        samples[i] = double(i);
    }
    Summary summary = summarize(samples, {50, 90, 99});
    EXPECT_DOUBLE_EQ(*summary.percentiles[0].value, 31.5);
    EXPECT_TRUE(summary.percentiles[1].value.has_value());
    EXPECT_FALSE(summary.percentiles[2].value.has_value());
    samples.pop_back();
    EXPECT_FALSE(summarize(samples, {90}).percentiles[0].value.has_value());
}

TEST(Statistics, SummarizesAKnownSeries) {
    Summary summary = summarize({4, 1, 3, 2, 100}, {});
    EXPECT_DOUBLE_EQ(summary.median, 3);
    EXPECT_DOUBLE_EQ(summary.mad, 1);
    EXPECT_DOUBLE_EQ(summary.mean, 22);
    EXPECT_DOUBLE_EQ(summary.min, 1);
    EXPECT_DOUBLE_EQ(summary.max, 100);
    EXPECT_EQ(summarize({}, {50}).count, 0);
}

TEST(Statistics, HistogramCountsEverySample) {
    std::vector<double> samples{1, 1, 2, 3, 1000};
    int64_t total = 0;
    for (const Bin& bin : histogram(samples, 4)) {
        total += bin.count;
    }
    EXPECT_EQ(total, 5);
    EXPECT_EQ(histogram({7, 7}, 3)[0].count, 2);
    EXPECT_TRUE(histogram({}, 3).empty());
}

TEST(Statistics, RatioIntervalHoldsTheRatio) {
    std::vector<double> base{100, 101, 99, 100, 102, 98, 100, 101};
    std::vector<double> slower = base;
    for (double& value : slower) {
        value *= 1.2;
    }
    Ratio ratio = ratio_of_medians(base, slower);
    EXPECT_NEAR(ratio.value, 1.2, 1e-9);
    EXPECT_GT(ratio.low, 1.1);
    EXPECT_LE(ratio.low, ratio.value);
    EXPECT_GE(ratio.high, ratio.value);
    Ratio rounds = ratio_of_rounds({1, 2, 4}, {2, 2, 4});
    EXPECT_DOUBLE_EQ(rounds.value, 1);
    EXPECT_DOUBLE_EQ(rounds.max, 2);
}

TEST(Statistics, ParsesPercentileLists) {
    EXPECT_EQ(parse_percentiles("50,99.9").value(), (std::vector<double>{50, 99.9}));
    EXPECT_FALSE(parse_percentiles("50,,99"));
    for (const char* bad : {"101", "", ",", "50,", "nan", "inf", "-1", " 50", "0x32", "5e1x"}) {
        EXPECT_FALSE(parse_percentiles(bad).ok()) << bad;
    }
    EXPECT_THAT(parse_percentiles("50,nan").error().text(), HasSubstr("has 'nan'"));
}

TEST(Table, PrintsTextMarkdownAndCsv) {
    Table table({"name", "ms"});
    table.add({"a,b", "1.5"});
    table.add({"c", "22.5"});
    EXPECT_EQ(table.to_string(), "name    ms\na,b    1.5\nc     22.5\n");
    EXPECT_THAT(table.to_string(TableFormat::kMarkdown), HasSubstr("|------|-----:|"));
    EXPECT_THAT(table.to_string(TableFormat::kCsv), HasSubstr("\"a,b\",1.5"));
}

TEST(CompareValues, FollowsTheStrictRule) {
    Tolerance rule;
    EXPECT_TRUE(compare_values(floats({2}, {1.0009F, NAN}), floats({2}, {1, NAN}), rule).matches);
    EXPECT_FALSE(compare_values(floats({1}, {1.002F}), floats({1}, {1}), rule).matches);
    EXPECT_FALSE(compare_values(floats({1}, {NAN}), floats({1}, {1}), rule).matches);
    EXPECT_FALSE(compare_values(floats({1}, {1e30F}), floats({1}, {INFINITY}), rule).matches);
    EXPECT_TRUE(compare_values(floats({1}, {INFINITY}), floats({1}, {INFINITY}), rule).matches);
    EXPECT_TRUE(compare_values(floats({0}, {}), floats({0}, {}), rule).matches);
    EXPECT_FALSE(compare_values(floats({1, 2}, {1, 2}), floats({2}, {1, 2}), rule).matches);
    EXPECT_FALSE(
        compare_values(floats({1}, {1}),
                       Value(Tensor::from<double>(Shape{1}, std::vector<double>{1}).value()), rule)
            .matches);
}

TEST(CompareValues, LooksIntoSequencesAndStrings) {
    Value one = Value::sequence({floats({1}, {1})});
    Value two = Value::sequence({floats({1}, {2})});
    EXPECT_TRUE(compare_values(one, one, {}).matches);
    EXPECT_THAT(compare_values(one, two, {}).reason, HasSubstr("element 0 of the sequence"));
    EXPECT_FALSE(compare_values(one, Value::sequence({}), {}).matches);
    EXPECT_FALSE(compare_values(one, floats({1}, {1}), {}).matches);
    Value text(Tensor::from(Shape{1}, std::vector<std::string>{"a"}).value());
    Value other(Tensor::from(Shape{1}, std::vector<std::string>{"b"}).value());
    EXPECT_TRUE(compare_values(text, text, {}).matches);
    EXPECT_THAT(compare_values(text, other, {}).reason, HasSubstr("'a', expected 'b'"));
}

TEST(Npy, RoundTripsAndRejects) {
    std::filesystem::path file = std::filesystem::temp_directory_path() / "graphbench_test.npy";
    Tensor tensor = Tensor::from(Shape{2, 0, 3}, std::vector<float>{}).value();
    for (const Tensor& one : {tensor, Tensor::from(Shape{}, std::vector<int64_t>{-5}).value(),
                              Tensor::from(Shape{2, 2}, std::vector<float>{1, 2, 3, 4}).value()}) {
        ASSERT_TRUE(save_npy(one, file).ok());
        Result<Tensor> back = load_npy(file);
        ASSERT_TRUE(back.ok()) << back.error().message();
        EXPECT_TRUE(compare_values(Value(*back), Value(one), {0, 0}).matches);
    }
    std::filesystem::resize_file(file, 100);
    EXPECT_FALSE(load_npy(file).ok());
    std::ofstream(file) << "hello";
    EXPECT_EQ(load_npy(file).error().code(), StatusCode::kParse);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace leat::bench
