// graphbench's command line: one table of options, read from arguments, a configuration file and
// the environment, in this order of precedence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "leat/status.h"

namespace leat::bench {

// What a value must look like.
enum class OptionKind : uint8_t {
    kFlag,      // no value; "--no-NAME" does not exist
    kText,      // anything but nothing
    kOutput,    // what is written: a file, a device or a pipe, "-", or a folder
    kInteger,   // a whole number >= 0
    kCount,     // a whole number >= 1
    kNumber,    // a decimal number >= 0
    kPositive,  // a decimal number > 0
    kBytes,     // 512, 64KiB, 2GiB; 1 or more
    kPercent,   // 5 or 5%
    kChoice,    // one of `values`, separated by '|'
};

// Commands as bits, so that the table says which options belong to which.
enum CommandBit : uint32_t {
    kBench = 1U << 0,
    kProfile = 1U << 1,
    kRun = 1U << 2,
    kCheck = 1U << 3,
    kConformance = 1U << 4,
    kInspect = 1U << 5,
    kGen = 1U << 6,
    kDevices = 1U << 7,
    kCompare = 1U << 8,
    kDoctor = 1U << 9,
    kPlan = 1U << 10,
    kCompile = 1U << 11,
    kAll = (1U << 12) - 1,
};

// The order is that of a table row.
struct OptionInfo {         // NOLINT(clang-analyzer-optin.performance.Padding)
    std::string_view name;  // without the dashes
    OptionKind kind = OptionKind::kFlag;
    std::string_view values;         // as help shows it: "N|auto", "S"; the choices of kChoice
    std::string_view default_value;  // "" : none
    uint32_t commands = 0;
    bool repeats = false;
    std::string_view help;
};

struct CommandInfo {
    std::string_view name;
    uint32_t bit = 0;
    std::string_view arguments;
    std::string_view help;
};

std::span<const OptionInfo> option_table();
std::span<const CommandInfo> command_table();
const CommandInfo* find_command(std::string_view name);

class Options {
  public:
    // `arguments` follow the command. Errors (invalid_argument) name the option, the value and what
    // is needed, and the closest option for an unknown one.
    static Result<Options> parse(const CommandInfo& command, std::vector<std::string> arguments);
    // Those that to_json() wrote. What this version does not know is left out.
    static Options of_json(const CommandInfo& command, const Json& json);

    const CommandInfo& command() const { return *command_; }
    const std::vector<std::string>& positional() const { return positional_; }
    // Whether the command has such an option.
    bool takes(std::string_view name) const;

    // True when given anywhere, the default aside.
    bool given(std::string_view name) const { return values_.find(name) != values_.end(); }
    bool flag(std::string_view name) const { return given(name); }
    // The last value, or the default, or "".
    std::string text(std::string_view name) const;
    const std::vector<std::string>& list(std::string_view name) const;
    int64_t integer(std::string_view name, int64_t fallback = 0) const;
    double number(std::string_view name, double fallback = 0) const;
    // A number of units of so many nanoseconds; as whole_nanoseconds() makes it.
    int64_t nanoseconds(std::string_view name, double unit_ns) const;
    int64_t bytes(std::string_view name) const;  // 0 when not given
    double share(std::string_view name) const;   // 5% -> 0.05

    // What was set, for JSON and --dump-config.
    Json to_json() const;

  private:
    Status add(const OptionInfo& option, std::string value);
    Status read_arguments(std::vector<std::string> arguments);
    Status read_config(const std::string& file);
    Status read_member(const OptionInfo& option, const Json& value);
    Status read_environment();
    std::string config_file() const;

    const CommandInfo* command_ = nullptr;
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
    std::vector<std::string> positional_;
};

// All parts between separators: one more than there are of these.
std::vector<std::string> parts_of(std::string_view text, char separator);

// "512", "64KiB", "2GiB", "1.5MB" as bytes; nullopt when it is none of them.
std::optional<int64_t> parse_bytes(std::string_view text);
std::optional<double> parse_number(std::string_view text);
// A time that is not negative as a whole number, at most 30 years: so the moment after it is a
// number, too.
int64_t whole_nanoseconds(double ns);
std::optional<int64_t> parse_integer(std::string_view text);

// "50,90,99.9" as numbers. Errors: invalid_argument, for a bad list or numbers outside [0, 100].
Result<std::vector<double>> parse_percentiles(const std::string& text);

// "graphbench bench --help"
std::string help_for(const CommandInfo& command);
std::string general_help();

}  // namespace leat::bench
