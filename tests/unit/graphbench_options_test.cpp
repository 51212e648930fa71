// graphbench's command line: precedence, errors and values.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "graphbench/exit_codes.h"
#include "graphbench/options.h"
#include "graphbench/sweep.h"

namespace leat::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Options> parse(std::vector<std::string> arguments, std::string_view command = "bench") {
    return Options::parse(*find_command(command), std::move(arguments));
}

TEST(GraphbenchOptions, ReadsBothSpellingsAndPositionals) {
    Options options =
        parse({"a.onnx", "--threads=2", "--min-time", "0.5", "-q", "--", "--b"}).value();
    EXPECT_EQ(options.text("threads"), "2");
    EXPECT_DOUBLE_EQ(options.number("min-time"), 0.5);
    EXPECT_TRUE(options.flag("quiet"));
    EXPECT_THAT(options.positional(), ElementsAre("a.onnx", "--b"));
    EXPECT_EQ(options.integer("min-runs"), 50) << "the default";
    EXPECT_FALSE(options.given("min-runs"));
}

TEST(GraphbenchOptions, UnknownOptionNamesTheClosest) {
    EXPECT_THAT(parse({"--thread", "2"}).error().text(), HasSubstr("did you mean --threads?"));
    EXPECT_THAT(parse({"--rounds", "2"}).error().text(), HasSubstr("bench has no option --rounds"));
}

TEST(GraphbenchOptions, BadValuesAreNamed) {
    EXPECT_THAT(parse({"--runs", "many"}).error().text(), HasSubstr("--runs is 'many'"));
    EXPECT_THAT(parse({"--format", "xml"}).error().text(), HasSubstr("table|md|csv|json"));
    EXPECT_THAT(parse({"--runs"}).error().text(), HasSubstr("needs a value"));
    EXPECT_THAT(parse({"--quiet=1"}).error().text(), HasSubstr("takes no value"));
    EXPECT_THAT(parse({"--min-time", "-1"}).error().text(), HasSubstr("--min-time is '-1'"));
}

// Options of each kind, with what they do not take.
TEST(GraphbenchOptions, EveryKindRefusesWhatItIsNot) {
    for (const CommandInfo& command : command_table()) {
        for (const OptionInfo& option : option_table()) {
            if ((option.commands & command.bit) == 0 || option.kind == OptionKind::kFlag) {
                continue;
            }
            std::vector<std::string> bad{""};
            const bool is_whole =
                option.kind == OptionKind::kInteger || option.kind == OptionKind::kCount;
            const bool is_text =
                option.kind == OptionKind::kText || option.kind == OptionKind::kOutput;
            const bool is_above_0 = option.kind == OptionKind::kCount ||
                                    option.kind == OptionKind::kPositive ||
                                    option.kind == OptionKind::kBytes;
            if (!is_text) {
                bad.insert(bad.end(), {"-1", "nan", "inf", "1e999", "x", "1 "});
            }
            if (is_whole) {
                bad.insert(bad.end(), {"1.5", "99999999999999999999"});
            }
            if (is_above_0) {
                bad.emplace_back("0");
            }
            for (const std::string& value : bad) {
                const std::string word = fmt::format("--{}={}", option.name, value);
                const Result<Options> parsed = Options::parse(command, {word});
                ASSERT_FALSE(parsed.ok()) << command.name << " " << word;
                EXPECT_THAT(parsed.error().text(),
                            HasSubstr(fmt::format("--{} is '{}'; needed: ", option.name, value)));
            }
        }
    }
}

TEST(GraphbenchOptions, HelpListsEveryExitCode) {
    for (const ExitCodeInfo& code : kExitCodes) {
        EXPECT_THAT(general_help(), HasSubstr(fmt::format("\n  {:<4} ", code.code)));
    }
}

// Beyond 30 years a moment after as long a time would be no number.
TEST(GraphbenchOptions, TimesWithoutEndAreLong) {
    constexpr int64_t kLongNs = 1'000'000'000'000'000'000;
    const Options options =
        parse({"--deadline", "1e300", "--cool-down", "9223372036854775807", "--think", "2.5"})
            .value();
    EXPECT_EQ(options.nanoseconds("deadline", 1e6), kLongNs);
    EXPECT_EQ(options.nanoseconds("cool-down", 1e9), kLongNs);
    EXPECT_EQ(options.nanoseconds("think", 1e6), 2'500'000);
    EXPECT_EQ(whole_nanoseconds(INFINITY), kLongNs);
    EXPECT_EQ(whole_nanoseconds(0), 0);
}

TEST(GraphbenchOptions, CommandLineBeatsFileBeatsEnvironment) {
    std::filesystem::path file = std::filesystem::temp_directory_path() / "graphbench_options.json";
    std::ofstream(file) << R"({"threads": 3, "runs": 7, "quiet": true, "shape": ["x=1", "y=2"]})";
    setenv("GRAPHBENCH_RUNS", "5", 1);
    setenv("GRAPHBENCH_SEED", "9", 1);
    Options options = parse({"--threads", "1", "--config", file.string()}).value();
    unsetenv("GRAPHBENCH_RUNS");
    unsetenv("GRAPHBENCH_SEED");
    std::filesystem::remove(file);
    EXPECT_EQ(options.text("threads"), "1");
    EXPECT_EQ(options.integer("runs"), 7);
    EXPECT_EQ(options.integer("seed"), 9);
    EXPECT_TRUE(options.flag("quiet"));
    EXPECT_THAT(options.list("shape"), ElementsAre("x=1", "y=2"));
}

TEST(GraphbenchOptions, DumpedConfigurationReadsBack) {
    Options options = parse({"--threads", "2", "--shape", "x=1x2", "--histogram"}).value();
    Json json = Json::parse(options.to_json().dump()).value();
    EXPECT_EQ(json["threads"].text(), "2");
    EXPECT_EQ(json["shape"].items()[0].text(), "x=1x2");
    EXPECT_TRUE(json["histogram"].boolean());
}

TEST(GraphbenchOptions, StreamsTimeoutAndCoolDownBelongToTheirCommands) {
    Options options = parse({"--streams", "2", "--timeout", "1.5", "--cool-down=0.5"}).value();
    EXPECT_EQ(options.integer("streams"), 2);
    EXPECT_DOUBLE_EQ(options.number("timeout"), 1.5);
    EXPECT_DOUBLE_EQ(options.number("cool-down"), 0.5);
    EXPECT_EQ(parse({}).value().integer("streams"), 1) << "the default";
    for (const char* command : {"run", "check", "conformance"}) {
        EXPECT_DOUBLE_EQ(parse({"--timeout", "2"}, command).value().number("timeout"), 2);
        EXPECT_FALSE(parse({"--streams", "2"}, command).ok()) << command;
    }
    EXPECT_THAT(parse({"--streams", "two"}).error().text(), HasSubstr("--streams is 'two'"));
    EXPECT_THAT(parse({"--timeout", "-1"}).error().text(), HasSubstr("--timeout is '-1'"));
}

TEST(GraphbenchOptions, ParsesBytesAndPercentages) {
    EXPECT_EQ(parse_bytes("2GiB"), int64_t{2} << 30);
    EXPECT_EQ(parse_bytes("1.5kB"), 1500);
    EXPECT_EQ(parse_bytes("7"), 7);
    EXPECT_EQ(parse_bytes("GiB"), std::nullopt);
    EXPECT_DOUBLE_EQ(parse({"--max-regress", "2.5%"}).value().share("max-regress"), 0.025);
}

TEST(GraphbenchOptions, EveryCommandHasHelpForItsOptions) {
    for (const CommandInfo& command : command_table()) {
        EXPECT_THAT(help_for(command), HasSubstr("--quiet")) << command.name;
    }
}

TEST(GraphbenchSweep, ExpandsAlternatives) {
    std::vector<SweepCase> cases = sweep_cases({"x=1x{2,3}", "y={4,5}"}).value();
    ASSERT_EQ(cases.size(), 4U);
    EXPECT_EQ(cases[1].shapes.find("x")->second, (Shape{1, 2}));
    EXPECT_EQ(cases[1].shapes.find("y")->second, Shape{5});
    EXPECT_EQ(cases[3].label, " x=1x3 y=5");
    EXPECT_EQ(sweep_cases({}).value().size(), 1U);
    EXPECT_THAT(sweep_cases({"x=1xq"}).error().text(), HasSubstr("1xq"));
}

}  // namespace
}  // namespace leat::bench
