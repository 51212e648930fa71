#include "baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "device_options.h"
#include "result.h"
#include "sha256.h"
#include "target.h"

namespace leat::bench {
namespace {

// What is measured follows from these and from the devices. Others say for how long, what is
// printed, or where files are.
constexpr std::string_view kMeasured[] = {"shape",
                                          "dim",
                                          "place",
                                          "place-by",
                                          "in-flight",
                                          "divide",
                                          "threads",
                                          "pin",
                                          "numa",
                                          "cpus",
                                          "optimize",
                                          "memory-limit",
                                          "streams",
                                          "rate",
                                          "arrival",
                                          "think",
                                          "deadline",
                                          "cold-cache",
                                          "device-configuration",
                                          "backend-setting"};

std::string value_of(const Options& options, std::string_view name) {
    if (!options.given(name)) {
        return options.text(name);
    }
    std::vector<std::string> values = options.list(name);
    std::sort(values.begin(), values.end());
    return fmt::format("{}", fmt::join(values, " "));
}

Status other_option(const std::string& field,
                    std::string_view option,
                    const std::string& theirs,
                    const std::string& ours) {
    const auto shown = [](const std::string& value) {
        return value.empty() ? std::string("not set") : fmt::format("'{}'", value);
    };
    return invalid_argument("{}: another measurement: {} is {}, and here it is {}", field, option,
                            shown(theirs), shown(ours))
        .with_needed("the same options")
        .with_hint("'graphbench compare BASE NEW' takes any two results");
}

Status check_config(const Json& result, const std::string& field, const Options& options) {
    const Json& config = result["config"];
    if (!config.is_object()) {
        return parse_error("{}config is {}", field, config.dump(-1))
            .with_needed("the options that it was measured with");
    }
    const Options theirs = Options::of_json(options.command(), config);
    if (backends_of(theirs) != backends_of(options)) {
        return other_option(field + "config", "--device", backends_of(theirs),
                            backends_of(options));
    }
    for (const std::string_view name : kMeasured) {
        const std::string value = value_of(theirs, name);
        const std::string own = value_of(options, name);
        if (value != own) {
            return other_option(field + "config", fmt::format("--{}", name), value, own);
        }
    }
    return {};
}

// Of a target's file; empty where there is none, or no result has one to compare it with.
Result<std::string> sha256_for(const std::string& spec, const std::vector<Json>& base) {
    const std::filesystem::path file = file_of(spec);
    const bool is_asked = std::any_of(base.begin(), base.end(), [](const Json& result) {
        return result["target"]["sha256"].is_string();
    });
    return file.empty() || !is_asked ? Result<std::string>(std::string()) : sha256_of_file(file);
}

// Whether the baseline has this target. `sum`: as sha256_for() gives it.
Status check_target(const std::vector<Json>& base,
                    const std::string& spec,
                    const std::string& sum,
                    const SweepCase& one) {
    std::vector<std::string> names;
    for (size_t i = 0; i < base.size(); ++i) {
        const Json& target = base[i]["target"];
        names.push_back(target["name"].text());
        const std::string known = target["sha256"].text();
        const bool has_both = !known.empty() && !sum.empty();
        if (names.back() == spec + one.label) {
            if (has_both && known != sum) {
                return invalid_argument("{}target.sha256 is {}: another model of the same name",
                                        field_prefix(i, base.size()), known)
                    .with_needed(sum)
                    .with_hint("'graphbench compare BASE NEW' takes any two results");
            }
            return {};
        }
        if (has_both && known == sum && one.label.empty()) {
            return {};  // the file has moved
        }
    }
    return invalid_argument("another measurement: its targets are '{}'", fmt::join(names, "', '"))
        .with_needed(fmt::format("'{}'", spec + one.label));
}

Status check_baseline(const std::vector<Json>& base,
                      const Options& options,
                      const std::vector<SweepCase>& sweep) {
    for (size_t i = 0; i < base.size(); ++i) {
        const std::string field = field_prefix(i, base.size());
        if (!base[i]["target"]["name"].is_string()) {
            return parse_error("{}target.name is {}", field, base[i]["target"]["name"].dump(-1))
                .with_needed("the name of what was measured");
        }
    }
    for (const std::string& spec : options.positional()) {
        LEAT_ASSIGN_OR_RETURN(const std::string sum, sha256_for(spec, base));
        for (const SweepCase& one : sweep) {
            LEAT_RETURN_IF_ERROR(check_target(base, spec, sum, one));
        }
    }
    for (size_t i = 0; i < base.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_config(base[i], field_prefix(i, base.size()), options));
    }
    return {};
}

}  // namespace

Result<std::optional<std::vector<Json>>> read_baseline(const Options& options,
                                                       const std::vector<SweepCase>& sweep) {
    if (!options.given("baseline")) {
        return std::optional<std::vector<Json>>();
    }
    const std::string file = options.text("baseline");
    LEAT_ASSIGN_OR_RETURN(std::vector<Json> base, read_results(file));
    if (Status status = check_baseline(base, options, sweep); !status.ok()) {
        return std::move(status).with_file(file);
    }
    return std::optional(std::move(base));
}

}  // namespace leat::bench
