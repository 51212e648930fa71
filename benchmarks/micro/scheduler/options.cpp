#include "options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <sstream>

#include "base/error.h"
#include "graphs.h"

namespace leat::micro {
namespace {

constexpr std::array<std::string_view, 9> kSections = {
    "overhead", "metg", "efficiency", "tiny", "wake", "memory", "contention", "idle", "quota"};
constexpr std::array<std::string_view, 3> kBodies = {"empty", "1us", "10us"};

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    std::istringstream stream(list);
    for (std::string part; std::getline(stream, part, ',');) {
        parts.push_back(part);
    }
    return parts;
}

bool contains(std::span<const std::string_view> known, std::string_view value) {
    return std::find(known.begin(), known.end(), value) != known.end();
}

Status set_names(std::vector<std::string>& target,
                 std::string_view option,
                 const std::string& list,
                 std::span<const std::string_view> known) {
    target = split(list);
    for (const std::string& name : target) {
        if (!contains(known, name)) {
            return invalid_argument("{}: '{}' is unknown; see --help", option, name);
        }
    }
    return Status();
}

Result<int> positive(std::string_view option, const std::string& text) {
    int value = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ptr != end || value < 1) {
        return invalid_argument("{} is '{}'; needed: a positive number", option, text);
    }
    return value;
}

Status set_threads(Options& options, const std::string& list) {
    options.threads.clear();
    for (const std::string& part : split(list)) {
        const Result<int> value = positive("--threads", part);
        if (!value.ok()) {
            return value.error();
        }
        options.threads.push_back(value.value());
    }
    return Status();
}

Status set_option(Options& options, std::string_view name, const std::string& value) {
    if (name == "--section") {
        if (value == "all") {
            options.sections.assign(kSections.begin(), kSections.end());
            return Status();
        }
        return set_names(options.sections, name, value, kSections);
    }
    if (name == "--graphs") {
        return set_names(options.graphs, name, value, graph_names());
    }
    if (name == "--bodies") {
        return set_names(options.bodies, name, value, kBodies);
    }
    if (name == "--executors") {
        options.executors = split(value);
        return Status();
    }
    if (name == "--threads") {
        return set_threads(options, value);
    }
    if (name == "--json") {
        options.json_path = value;
        return Status();
    }
    if (name == "--memory-of") {
        options.memory_of = value;
        return Status();
    }
    if (name == "--rounds") {
        const Result<int> rounds = positive(name, value);
        if (!rounds.ok()) {
            return rounds.error();
        }
        options.rounds = rounds.value();
        return Status();
    }
    return invalid_argument("option {} is unknown; see --help", name);
}

bool listed(const std::vector<std::string>& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

bool Options::has_section(std::string_view name) const {
    return listed(sections, name);
}

bool Options::has_executor(std::string_view name) const {
    return executors.empty() || listed(executors, name);
}

bool Options::has_graph(std::string_view name) const {
    return graphs.empty() || listed(graphs, name);
}

Result<Options> parse_options(int count, const char* const* arguments) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string_view name = arguments[i];
        if (name == "--quick") {
            options.quick = true;
        } else if (name == "--help") {
            options.help = true;
        } else if (i + 1 == count) {
            return invalid_argument("{}: unknown, or its value is missing; see --help", name);
        } else if (Status status = set_option(options, name, arguments[++i]); !status.ok()) {
            return status;
        }
    }
    return options;
}

std::string_view usage() {
    return R"(usage: scheduler_overhead [options]
  --section LIST    overhead metg efficiency tiny wake memory contention idle quota,
                    or all (overhead)
  --executors LIST  by name as in the tables (all)
  --graphs LIST     chain fan bintree wavefront random4 stencil fft tree nearest spread (all)
  --bodies LIST     empty 1us 10us, of section overhead (empty)
  --threads LIST    (1,2)
  --rounds N        more rounds, less noise
  --quick           a tenth of the nodes, fewer rounds
  --json FILE       everything as JSON; "-" prints it, and the tables go to stderr
Lists are separated by commas. Exit code: 0, 1 when an executor ran a graph wrongly, 2 for a bad option.
)";
}

}  // namespace leat::micro
