// graphbench compare, and bench --baseline.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "baseline.h"
#include "child_process.h"
#include "commands.h"
#include "exit_codes.h"
#include "interruption.h"
#include "output.h"
#include "progress.h"
#include "result.h"
#include "screen.h"
#include "statistics.h"

namespace leat::bench {
namespace {

Json ratio_json(const std::string& name, const Ratio& ratio) {
    Json json = Json::object();
    json.set("target", name).set("ratio", ratio.value);
    json.set("ci95", Json(Json::Array{ratio.low, ratio.high}));
    json.set("spread", Json(Json::Array{ratio.min, ratio.max}));
    return json;
}

std::string verdict_of(const Ratio& ratio, double max_regress) {
    if (ratio.low > 1 + max_regress) {
        return "REGRESSION";
    }
    if (ratio.low > 1) {
        return "slower";
    }
    return ratio.high < 1 ? "faster" : "no difference shown";
}

// The result in `base` of what `next` measured: by the target's name, else by its file; a lone pair
// is compared whatever its names. Null: there is none.
const Json* partner_of(const std::vector<Json>& base, const Json& next, bool is_lone_pair) {
    const auto has_same = [&](std::string_view key) {
        const std::string wanted = next["target"][key].text();
        return std::find_if(base.begin(), base.end(), [&](const Json& candidate) {
            return !wanted.empty() && candidate["target"][key].text() == wanted;
        });
    };
    for (const std::string_view key : {"name", "sha256"}) {
        if (const auto found = has_same(key); found != base.end()) {
            return &*found;
        }
    }
    return is_lone_pair ? base.data() : nullptr;
}

int compare_results(const std::vector<Json>& base,
                    const std::vector<Json>& fresh,
                    const Options& options) {
    double max_regress = options.share("max-regress");
    std::string unit_name = options.text("time-unit");
    Table table({"target", "base", "new", "unit", "new/base", "95 % interval", "verdict"});
    Json rows = Json::array();
    bool regressed = false;
    for (const Json& next : fresh) {
        const Json* old = partner_of(base, next, base.size() == 1 && fresh.size() == 1);
        if (old == nullptr) {
            continue;
        }
        std::string name = next["target"]["name"].text();
        Ratio ratio = ratio_of_medians(blocks_of(*old), blocks_of(next));
        TimeUnit unit = time_unit(unit_name, median_of(*old));
        std::string verdict = verdict_of(ratio, max_regress);
        regressed = regressed || ratio.low > 1 + max_regress;
        table.add({name, format_time(median_of(*old), unit), format_time(median_of(next), unit),
                   unit.name, fmt::format("{:.3f}", ratio.value),
                   fmt::format("{:.3f}..{:.3f}", ratio.low, ratio.high), verdict});
        rows.push(ratio_json(name, ratio).set("verdict", verdict));
    }
    if (table.empty()) {
        print_err("graphbench: the two results have no target in common\n");
        return kExitUsage;
    }
    int exit_code = regressed ? kExitRegression : kExitOk;
    Json json = Json::object();
    json.set("schema", kSchema).set("comparisons", std::move(rows)).set("regressed", regressed);
    // With `bench`, --json already holds the measurement.
    bool is_compare = options.command().bit == kCompare;
    if (!is_compare || !write_json(options, json, &exit_code)) {
        bool stdout_is_json =
            !is_compare && (options.text("json") == "-" || options.text("format") == "json");
        const std::string text = table.to_string(table_format(options.text("format")));
        stdout_is_json ? print_message(text) : print_text(text);
    }
    return exit_code;
}

Result<double> median_printed_by(const std::string& command) {
    LEAT_ASSIGN_OR_RETURN(ChildOutput output, run_child(command));
    if (output.exit_code != 0) {
        return make_error(StatusCode::kInvalidArgument, "'{}' ended with exit code {}", command,
                          output.exit_code);
    }
    Result<Json> json = Json::parse(output.text);
    if (!json.ok()) {
        return parse_error("'{}' does not print graphbench's JSON alone (add --json -): {}",
                           command, json.error().text());
    }
    const Result<std::vector<Json>> results = comparable_results_in(*json);
    if (!results.ok()) {
        return parse_error("'{}' prints no result to compare: {}", command,
                           results.error().message());
    }
    if (results->size() != 1) {
        return parse_error("'{}' prints {} results; one is needed", command, results->size());
    }
    return median_of(results->front());
}

// medians[command][round]; the order alternates so that drift hits all alike. After an interruption
// those of the rounds that all commands ended.
Result<std::vector<std::vector<double>>> run_rounds(const std::vector<std::string>& commands,
                                                    int64_t rounds,
                                                    bool show_progress) {
    std::vector<std::vector<double>> medians(commands.size());
    Progress progress("comparing", show_progress);
    for (int64_t round = 0; round < rounds; ++round) {
        std::vector<double> of_round(commands.size());
        for (size_t i = 0; i < commands.size(); ++i) {
            size_t index = round % 2 == 0 ? i : commands.size() - 1 - i;
            progress.update(double(round) / double(rounds), commands[index]);
            const Result<double> median_ns = median_printed_by(commands[index]);
            if (interruption() != Interruption::kNone) {
                return medians;
            }
            LEAT_ASSIGN_OR_RETURN(of_round[index], median_ns);
        }
        for (size_t i = 0; i < commands.size(); ++i) {
            medians[i].push_back(of_round[i]);
        }
    }
    return medians;
}

int compare_commands(const Options& options) {
    const std::vector<std::string>& commands = options.list("exec");
    if (commands.size() < 2 || !options.positional().empty()) {
        return usage_error(options, "needs --exec twice or more, and no files beside it");
    }
    const InterruptGuard guard;
    bool show = options.text("progress") != "never" && !options.flag("quiet");
    Result<std::vector<std::vector<double>>> medians =
        run_rounds(commands, options.integer("rounds"), show);
    if (!medians.ok()) {
        return report_error(medians.error(), medians.error().code() != StatusCode::kParse);
    }
    const bool is_interrupted = interruption() != Interruption::kNone;
    const auto rounds = int64_t(medians->front().size());
    if (rounds == 0) {
        print_err("graphbench: interrupted before a round had ended: no results\n");
        return interruption_exit_code();
    }
    TimeUnit unit = time_unit(options.text("time-unit"), median((*medians)[0]));
    Table table({"command", "median", "unit", "ratio", "95 % interval", "spread of rounds"});
    Json rows = Json::array();
    bool regressed = false;
    for (size_t i = 0; i < commands.size(); ++i) {
        Ratio ratio = ratio_of_rounds((*medians)[0], (*medians)[i]);
        regressed = regressed || (i > 0 && ratio.low > 1 + options.share("max-regress"));
        double median_ns = median((*medians)[i]);
        table.add({commands[i], format_time(median_ns, unit), unit.name,
                   fmt::format("{:.3f}", ratio.value),
                   fmt::format("{:.3f}..{:.3f}", ratio.low, ratio.high),
                   fmt::format("{:.3f}..{:.3f}", ratio.min, ratio.max)});
        Json row = ratio_json(commands[i], ratio);
        row.set("median_ns", median_ns);
        row.set("rounds_ns", Json(Json::Array((*medians)[i].begin(), (*medians)[i].end())));
        rows.push(std::move(row));
    }
    Json json = Json::object();
    json.set("schema", kSchema).set("rounds", rounds).set("commands", std::move(rows));
    json.set("interrupted", is_interrupted);
    // Measuring a peer is no regression: only a limit that the caller sets fails.
    int exit_code = is_interrupted                              ? interruption_exit_code()
                    : options.given("max-regress") && regressed ? kExitRegression
                                                                : kExitOk;
    if (!write_json(options, json, &exit_code)) {
        print_out("{}", table.to_string(table_format(options.text("format"))));
    }
    return exit_code;
}

}  // namespace

int compare_with_baseline(const std::vector<Json>& baseline,
                          const std::vector<Json>& results,
                          const Options& options) {
    return compare_results(baseline, results, options);
}

Result<int> compare_command(const Options& options, const OptionValues& /*values*/) {
    if (options.given("exec")) {
        return compare_commands(options);
    }
    if (options.positional().size() != 2) {
        return usage_error(options, "needs two JSON files, or --exec twice");
    }
    Result<std::vector<Json>> base = read_results(options.positional()[0]);
    Result<std::vector<Json>> fresh = read_results(options.positional()[1]);
    if (!base.ok() || !fresh.ok()) {
        return report_error(base.ok() ? fresh.error() : base.error());
    }
    return compare_results(*base, *fresh, options);
}

}  // namespace leat::bench
