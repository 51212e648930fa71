#include "options.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/files/text_file.h"
#include "exit_codes.h"
#include "files.h"
#include "zoo/suggestion.h"

namespace leat::bench {
namespace {

const OptionInfo* find_option(std::string_view name, uint32_t commands) {
    for (const OptionInfo& option : option_table()) {
        if (option.name == name && (option.commands & commands) != 0) {
            return &option;
        }
    }
    return nullptr;
}

// `dashes`: as they stood before the name.
Status unknown_option(std::string_view name, std::string_view dashes, const CommandInfo& command) {
    std::vector<std::string_view> names;
    for (const OptionInfo& option : option_table()) {
        if ((option.commands & command.bit) != 0) {
            names.push_back(option.name);
        }
    }
    std::string_view closest = zoo::closest_name(name, names);
    std::string hint =
        closest.empty() ? std::string() : fmt::format("; did you mean --{}?", closest);
    return invalid_argument("{} has no option {}{}{} ('graphbench {} --help' lists them)",
                            command.name, dashes, name, hint, command.name);
}

bool is_choice(std::string_view value, std::string_view choices) {
    const std::vector<std::string> all = parts_of(choices, '|');
    return std::find(all.begin(), all.end(), value) != all.end();
}

std::string_view without_percent(std::string_view text) {
    return !text.empty() && text.back() == '%' ? text.substr(0, text.size() - 1) : text;
}

// What a number counts, with a comma behind it; empty where that is no time.
std::string unit_of(const OptionInfo& option) {
    return option.values == "S" ? "seconds, " : option.values == "MS" ? "milliseconds, " : "";
}

// Empty when the value is fine, else what is needed.
std::string what_is_needed(const OptionInfo& option, const std::string& value) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    if (value.empty() && option.kind != OptionKind::kFlag) {
        return std::string(option.values);
    }
    switch (option.kind) {
        case OptionKind::kInteger:
            return parse_integer(value) ? "" : fmt::format("a whole number from 0 to {}", kMost);
        case OptionKind::kCount:
            return parse_integer(value).value_or(0) > 0
                       ? ""
                       : fmt::format("a whole number from 1 to {}", kMost);
        case OptionKind::kNumber:
            return parse_number(value) ? "" : unit_of(option) + "a finite number, 0 or more";
        case OptionKind::kPositive:
            return parse_number(value).value_or(0) > 0
                       ? ""
                       : unit_of(option) + "a finite number above 0";
        case OptionKind::kPercent:
            return parse_number(without_percent(value)) ? "" : "a percentage such as 5%";
        case OptionKind::kBytes:
            return parse_bytes(value).value_or(0) > 0 ? "" : "1 or more bytes, such as 512MiB";
        case OptionKind::kChoice:
            return is_choice(value, option.values) ? "" : "one of " + std::string(option.values);
        default:
            return "";
    }
}

std::string environment_name(std::string_view option) {
    std::string name = "GRAPHBENCH_";
    for (char c : option) {
        name += c == '-' ? '_' : char(std::toupper(uint8_t(c)));
    }
    return name;
}

}  // namespace

std::vector<std::string> parts_of(std::string_view text, char separator) {
    return split(std::string(text) + separator, separator);
}

std::optional<double> parse_number(std::string_view text) {
    double value = 0;
    const char* last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (text.empty() || error != std::errc() || end != last || !(value >= 0) ||
        !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

int64_t whole_nanoseconds(double ns) {
    constexpr double kMostNs = 1e18;
    return int64_t(std::min(ns, kMostNs));
}

std::optional<int64_t> parse_integer(std::string_view text) {
    int64_t value = 0;
    const char* last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), last, value);
    if (text.empty() || error != std::errc() || end != last || value < 0) {
        return std::nullopt;
    }
    return value;
}

std::optional<int64_t> parse_bytes(std::string_view text) {
    struct Unit {
        std::string_view name;
        double bytes;
    };
    static constexpr Unit kUnits[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
                                      {"TiB", 0x1p40}, {"kB", 1e3},     {"MB", 1e6},
                                      {"GB", 1e9},     {"TB", 1e12},    {"K", 0x1p10},
                                      {"M", 0x1p20},   {"G", 0x1p30},   {"B", 1}};
    double factor = 1;
    for (const Unit& unit : kUnits) {
        if (text.size() > unit.name.size() &&
            text.substr(text.size() - unit.name.size()) == unit.name) {
            factor = unit.bytes;
            text.remove_suffix(unit.name.size());
            break;
        }
    }
    std::optional<double> number = parse_number(text);
    if (!number || *number * factor > 9e18) {
        return std::nullopt;
    }
    return int64_t(*number * factor);
}

Result<std::vector<double>> parse_percentiles(const std::string& text) {
    std::vector<double> ranks;
    for (const std::string& rank : parts_of(text, ',')) {
        const std::optional<double> number = parse_number(rank);
        if (!number || *number > 100) {
            return invalid_argument(
                "--percentiles has '{}'; needed: numbers from 0 to 100 with commas between", rank);
        }
        ranks.push_back(*number);
    }
    return ranks;
}

Status Options::add(const OptionInfo& option, std::string value) {
    if (std::string needed = what_is_needed(option, value); !needed.empty()) {
        return invalid_argument("--{} is '{}'; needed: {}", option.name, value, needed);
    }
    std::vector<std::string>& values = values_[std::string(option.name)];
    if (!option.repeats) {
        values.clear();
    }
    values.push_back(std::move(value));
    return Status();
}

Status Options::read_arguments(std::vector<std::string> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& argument = arguments[i];
        if (argument == "--") {
            positional_.insert(positional_.end(), arguments.begin() + int64_t(i) + 1,
                               arguments.end());
            break;
        }
        if (argument.size() < 2 || argument[0] != '-') {
            positional_.push_back(argument);
            continue;
        }
        size_t equals = argument.find('=');
        std::string name = argument.substr(0, equals);
        name = name == "-q"   ? "quiet"
               : name == "-v" ? "verbose"
               : name == "-h" ? "help"
                              : name.substr(std::min<size_t>(2, name.size()));
        const OptionInfo* option = find_option(name, command_->bit);
        const bool has_one_dash = argument[1] != '-';
        if (option == nullptr || (has_one_dash && argument.size() != 2)) {
            return unknown_option(has_one_dash ? argument.substr(1, equals - 1) : name,
                                  has_one_dash ? "-" : "--", *command_);
        }
        std::string value;
        if (option->kind == OptionKind::kFlag) {
            if (equals != std::string::npos) {
                return invalid_argument("--{} takes no value", name);
            }
            value = "on";
        } else if (equals != std::string::npos) {
            value = argument.substr(equals + 1);
        } else if (i + 1 < arguments.size()) {
            value = arguments[++i];
        } else {
            return invalid_argument("--{} needs a value: {}", name, option->values);
        }
        LEAT_RETURN_IF_ERROR(add(*option, std::move(value)));
    }
    return Status();
}

Status Options::read_config(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
    Result<Json> json = Json::parse(text);
    if (!json.ok()) {
        return json.error().with_file(file);
    }
    if (!json->is_object()) {
        return invalid_argument("the file holds no options")
            .with_file(file)
            .with_needed("a JSON object such as {\"runs\": 100, \"quiet\": true}");
    }
    for (const auto& [name, value] : json->members()) {
        const OptionInfo* option = find_option(name, kAll);
        if (option == nullptr) {
            return unknown_option(name, "--", *command_).with_file(file);
        }
        if ((option->commands & command_->bit) == 0 || given(name)) {
            continue;
        }
        if (Status status = read_member(*option, value); !status.ok()) {
            return std::move(status).with_file(file);
        }
    }
    return Status();
}

Status Options::read_member(const OptionInfo& option, const Json& value) {
    if (option.kind == OptionKind::kFlag) {
        if (!value.is_bool()) {
            return invalid_argument("{} is {}; needed: true or false", option.name, value.dump(-1));
        }
        return value.boolean() ? add(option, "on") : Status();
    }
    const bool is_list = value.is_array() && option.repeats;
    for (const Json& item : is_list ? value.items() : Json::Array{value}) {
        if (!item.is_string() && !item.is_number()) {
            return invalid_argument("{} is {}; needed: a text or a number ({})", option.name,
                                    item.dump(-1), option.values);
        }
        LEAT_RETURN_IF_ERROR(add(option, item.is_string() ? item.text() : item.dump(-1)));
    }
    return Status();
}

Options Options::of_json(const CommandInfo& command, const Json& json) {
    Options options;
    options.command_ = &command;
    for (const auto& [name, value] : json.members()) {
        if (const OptionInfo* option = find_option(name, command.bit); option != nullptr) {
            (void)options.read_member(*option, value);
        }
    }
    return options;
}

Status Options::read_environment() {
    for (const OptionInfo& option : option_table()) {
        if ((option.commands & command_->bit) == 0 || given(option.name)) {
            continue;
        }
        std::string variable = environment_name(option.name);
        const char* value = std::getenv(variable.c_str());
        if (value == nullptr || *value == 0 ||
            (option.kind == OptionKind::kFlag && is_choice(value, "0|off|no|false"))) {
            continue;
        }
        if (Status status = add(option, value); !status.ok()) {
            return invalid_argument("environment variable {}: {}", variable, status.text());
        }
    }
    return Status();
}

std::string Options::config_file() const {
    const char* variable = std::getenv(environment_name("config").c_str());
    return given("config") || variable == nullptr ? text("config") : variable;
}

Result<Options> Options::parse(const CommandInfo& command, std::vector<std::string> arguments) {
    Options options;
    options.command_ = &command;
    LEAT_RETURN_IF_ERROR(options.read_arguments(std::move(arguments)));
    if (std::string file = options.config_file(); !file.empty()) {
        LEAT_RETURN_IF_ERROR(options.read_config(file));
    }
    LEAT_RETURN_IF_ERROR(options.read_environment());
    return options;
}

bool Options::takes(std::string_view name) const {
    return find_option(name, command_->bit) != nullptr;
}

std::string Options::text(std::string_view name) const {
    if (auto place = values_.find(name); place != values_.end()) {
        return place->second.back();
    }
    const OptionInfo* option = find_option(name, command_->bit);
    return option == nullptr ? std::string() : std::string(option->default_value);
}

const std::vector<std::string>& Options::list(std::string_view name) const {
    static const std::vector<std::string> kEmpty;
    auto place = values_.find(name);
    return place == values_.end() ? kEmpty : place->second;
}

int64_t Options::integer(std::string_view name, int64_t fallback) const {
    return parse_integer(text(name)).value_or(fallback);
}

double Options::number(std::string_view name, double fallback) const {
    return parse_number(text(name)).value_or(fallback);
}

int64_t Options::nanoseconds(std::string_view name, double unit_ns) const {
    return whole_nanoseconds(number(name) * unit_ns);
}

int64_t Options::bytes(std::string_view name) const {
    return parse_bytes(text(name)).value_or(0);
}

double Options::share(std::string_view name) const {
    return parse_number(without_percent(text(name))).value_or(0) / 100;
}

Json Options::to_json() const {
    Json json = Json::object();
    for (const auto& [name, values] : values_) {
        const OptionInfo* option = find_option(name, command_->bit);
        if (name == "config" || name == "dump-config") {
            continue;
        }
        if (option->kind == OptionKind::kFlag) {
            json.set(name, true);
        } else if (option->repeats) {
            Json::Array items(values.begin(), values.end());
            json.set(name, Json(std::move(items)));
        } else {
            json.set(name, values.back());
        }
    }
    return json;
}

std::string help_for(const CommandInfo& command) {
    std::string text = fmt::format("graphbench {} {}\n  {}\n\nOptions (default):\n", command.name,
                                   command.arguments, command.help);
    for (const OptionInfo& option : option_table()) {
        if ((option.commands & command.bit) == 0) {
            continue;
        }
        std::string left = fmt::format("  --{} {}", option.name, option.values);
        text +=
            fmt::format("{:<36} {}{}{}\n", left, option.help,
                        option.default_value.empty() ? std::string()
                                                     : fmt::format(" ({})", option.default_value),
                        option.repeats ? "; may repeat" : "");
    }
    return text;
}

std::string general_help() {
    std::string text = "graphbench: measures and checks data-flow graphs.\n\nCommands:\n";
    for (const CommandInfo& command : command_table()) {
        text += fmt::format("  {:<12} {}\n", command.name, command.help);
    }
    text +=
        "\nTARGET is a model.onnx, a folder with one, a compiled graph, or gen:NAME?key=value,... "
        "(see 'graphbench gen').\n"
        "Every option may be set as GRAPHBENCH_NAME or in the file of --config; the command line "
        "wins.\n"
        "Files appear whole or not at all: after an error the old one is still there. Devices and "
        "pipes are written into.\n"
        "'graphbench COMMAND --help' lists a command's options.\n\nExit codes:\n";
    for (const ExitCodeInfo& code : kExitCodes) {
        text += fmt::format("  {:<4} {}\n", code.code, code.meaning);
    }
    return text;
}

}  // namespace leat::bench
