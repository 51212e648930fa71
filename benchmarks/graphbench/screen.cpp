#include "screen.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "result.h"

namespace leat::bench {
namespace {

bool looks_numeric(const std::string& cell) {
    return cell.empty() || std::isdigit(uint8_t(cell[0])) != 0 || cell[0] == '-' ||
           cell[0] == '+' || cell.compare(0, 3, "n/a") == 0;
}

std::string csv_cell(const std::string& cell) {
    if (cell.find_first_of(",\"\n") == std::string::npos) {
        return cell;
    }
    std::string quoted = "\"";
    for (char c : cell) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

const std::string& cell_at(const std::vector<std::string>& row, size_t column) {
    static const std::string kEmpty;
    return column < row.size() ? row[column] : kEmpty;
}

std::string machine_line(const Json& result) {
    const Json& host = result["host"];
    double quota = host["quota"].number();
    std::string limits =
        quota > 0
            ? fmt::format("quota {:g} of {} CPUs", quota, host["cores"].integer())
            : fmt::format("{} of {} CPUs", host["affinity"].integer(), host["cores"].integer());
    int64_t threads = host["threads"].integer();
    return fmt::format("{} thread{} by {}, {}, {}{}", threads, threads == 1 ? "" : "s",
                       host["threads_source"].text("?"), limits, host["simd"].text("?"),
                       host["pinned"].boolean() ? ", pinned" : ", not pinned");
}

std::string latency_line(const Json& result, const TimeUnit& unit) {
    const Json& latency = result["latency_ns"];
    if (latency["n"].integer() == 0) {
        return "latency n/a: no run ended";
    }
    std::string line =
        fmt::format("latency {}  min {}", unit.name, format_time(latency["min"].number(), unit));
    for (const auto& [rank, value] : latency["percentiles"].members()) {
        line += fmt::format("  p{} ", rank);
        line += value.is_null()
                    ? fmt::format("n/a (need {})", latency["samples_needed"][rank].integer())
                    : format_time(value.number(), unit);
    }
    line += fmt::format("  max {}  mean {} +- {}", format_time(latency["max"].number(), unit),
                        format_time(latency["mean"].number(), unit),
                        format_time(latency["stddev"].number(), unit));
    return line;
}

std::string noise_line(const Json& result) {
    const Json& verdict = result["verdict"];
    std::string reasons;
    for (const Json& reason : verdict["reasons"].items()) {
        reasons += (reasons.empty() ? "" : "; ") + reason.text();
    }
    return fmt::format("noise: MAD {:.1f} %, drift {:+.1f} %, steal {:.1f} %   ({})",
                       verdict["scatter"].number() * 100,
                       result["latency_ns"]["drift"].number() * 100,
                       verdict["steal"].number() * 100,
                       verdict["stable"].boolean() ? "stable" : "NOT stable: " + reasons);
}

std::string memory_line(const Json& memory) {
    std::string line = fmt::format("memory: weights {}", format_bytes(memory["weights"].number()));
    line += fmt::format(", packed {}", format_bytes(memory["packed_weights"].number()));
    if (!memory["pool"].is_null()) {  // in segments: no plan is that of the whole graph
        line += fmt::format(", pool {} (in use at most {})", format_bytes(memory["pool"].number()),
                            format_bytes(memory["pool_peak"].number()));
    } else {
        line += fmt::format(", planned {} (lower bound {}, without reuse {})",
                            format_bytes(memory["arena"].number()),
                            format_bytes(memory["arena_lower_bound"].number()),
                            format_bytes(memory["arena_unplanned"].number()));
    }
    return line + fmt::format(", RSS peak {}", format_bytes(memory["rss_peak"].number()));
}

std::string phase_time(const Json& phases, std::string_view key) {
    double ns = phases[key].number();
    TimeUnit unit = time_unit("auto", ns);
    return fmt::format("{} {}", format_time(ns, unit), unit.name);
}

std::string histogram_lines(const Json& result, const TimeUnit& unit) {
    std::string text;
    int64_t largest = 1;
    for (const Json& bin : result["latency_ns"]["histogram"].items()) {
        largest = std::max(largest, bin["count"].integer());
    }
    constexpr double kWidth = 50;
    for (const Json& bin : result["latency_ns"]["histogram"].items()) {
        auto length = size_t(std::ceil(double(bin["count"].integer()) * kWidth / double(largest)));
        text += fmt::format("  {:>9} - {:>9} {:>7} {}\n", format_time(bin["low"].number(), unit),
                            format_time(bin["high"].number(), unit), bin["count"].integer(),
                            std::string(length, '#'));
    }
    return text;
}

// Both are 1 in results of older versions.
int64_t streams_of(const Json& result) {
    return result["throughput"]["streams"].integer(1);
}

int64_t in_flight_of(const Json& result) {
    return result["throughput"]["in_flight"].integer(1);
}

// Cells of one result for rows_of(); CSV wants plain numbers.
std::vector<std::string> row_of(const Json& result, const TimeUnit& unit, bool plain) {
    const Json& latency = result["latency_ns"];
    auto time = [&](double ns) {
        return plain ? fmt::format("{:.0f}", ns) : format_time(ns, unit);
    };
    // Not known where too few runs ended.
    auto known_time = [&](const Json& ns) {
        return !ns.is_null() ? time(ns.number()) : std::string(plain ? "" : "n/a");
    };
    auto bytes = [&](double n) { return plain ? fmt::format("{:.0f}", n) : format_bytes(n); };
    std::vector<std::string> row{
        result["target"]["name"].text(), fmt::format("{}", result["host"]["threads"].integer()),
        fmt::format("{}", streams_of(result)), fmt::format("{}", latency["n"].integer()),
        known_time(latency["min"])};
    for (const auto& [rank, value] : latency["percentiles"].members()) {
        row.push_back(known_time(value));
    }
    row.push_back(known_time(latency["max"]));
    row.push_back(fmt::format("{:.4g}", result["throughput"]["runs_per_s"].number()));
    row.push_back(time(result["phases"]["load_ns"].number()));
    row.push_back(time(result["phases"]["compile_ns"].number()));
    row.push_back(time(result["phases"]["first_run_ns"].number()));
    row.push_back(bytes(result["memory"]["arena"].number()));
    row.push_back(bytes(result["memory"]["arena_lower_bound"].number()));
    row.push_back(bytes(result["memory"]["rss_peak"].number()));
    row.emplace_back(result["verdict"]["stable"].boolean() ? "yes" : "no");
    return row;
}

}  // namespace

TableFormat table_format(const std::string& name) {
    return name == "md"    ? TableFormat::kMarkdown
           : name == "csv" ? TableFormat::kCsv
                           : TableFormat::kText;
}

std::string Table::to_string(TableFormat format) const {
    size_t columns = headers_.size();
    std::vector<size_t> widths(columns);
    std::vector<bool> right(columns, !rows_.empty());
    for (size_t c = 0; c < columns; ++c) {
        widths[c] = headers_[c].size();
        for (const auto& row : rows_) {
            widths[c] = std::max(widths[c], cell_at(row, c).size());
            right[c] = right[c] && looks_numeric(cell_at(row, c));
        }
    }
    auto line = [&](const std::vector<std::string>& row) {
        std::string text;
        for (size_t c = 0; c < columns; ++c) {
            const std::string& cell = cell_at(row, c);
            if (format == TableFormat::kCsv) {
                text += fmt::format("{}{}", c == 0 ? "" : ",", csv_cell(cell));
                continue;
            }
            std::string padding(widths[c] - cell.size(), ' ');
            std::string padded = right[c] ? padding + cell : cell + padding;
            text += format == TableFormat::kMarkdown
                        ? fmt::format("| {} ", padded)
                        : fmt::format("{}{}", c == 0 ? "" : "  ", padded);
        }
        if (format == TableFormat::kMarkdown) {
            return text + "|\n";
        }
        return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
    };
    std::string text = line(headers_);
    if (format == TableFormat::kMarkdown) {
        for (size_t c = 0; c < columns; ++c) {
            text += fmt::format("|{}{}", std::string(widths[c] + 1, '-'), right[c] ? ":" : "-");
        }
        text += "|\n";
    }
    for (const auto& row : rows_) {
        text += line(row);
    }
    return text;
}

TimeUnit time_unit(const std::string& name, double typical_ns) {
    if (name == "ns" || (name == "auto" && typical_ns < 1e3)) {
        return {"ns", 1};
    }
    if (name == "us" || (name == "auto" && typical_ns < 1e6)) {
        return {"us", 1e3};
    }
    if (name == "s" || (name == "auto" && typical_ns >= 1e10)) {
        return {"s", 1e9};
    }
    return {"ms", 1e6};
}

std::string format_time(double ns, const TimeUnit& unit) {
    double value = ns / unit.ns;
    double magnitude = std::fabs(value);
    int decimals = magnitude >= 1000 ? 0 : magnitude >= 100 ? 1 : magnitude >= 1 ? 2 : 4;
    return fmt::format("{:.{}f}", value, decimals);
}

std::string format_bytes(double bytes) {
    if (bytes < 1024) {
        return fmt::format("{:.0f} B", bytes);
    }
    if (bytes < 0x1p20) {
        return fmt::format("{:.1f} KiB", bytes / 1024);
    }
    return bytes < 0x1p30 ? fmt::format("{:.1f} MiB", bytes / 0x1p20)
                          : fmt::format("{:.2f} GiB", bytes / 0x1p30);
}

std::string microseconds(double ns) {
    return fmt::format("{:.3f}", ns * 1e-3);
}

std::string screen_of(const Json& result, const std::string& unit_name, bool with_histogram) {
    const Json& phases = result["phases"];
    TimeUnit unit = time_unit(unit_name, median_of(result));
    std::string text =
        fmt::format("{}  [{}]\n", result["target"]["name"].text(), machine_line(result));
    text += fmt::format("load {}  compile {}  prepare {}  first run {}\n",
                        phase_time(phases, "load_ns"), phase_time(phases, "compile_ns"),
                        phase_time(phases, "prepare_ns"), phase_time(phases, "first_run_ns"));
    text += memory_line(result["memory"]) + "\n";
    if (!result["memory"]["pool"].is_null()) {
        text += fmt::format("plans: {} made in {}, {} dropped\n", result["plans"]["made"].integer(),
                            phase_time(result["plans"], "time_ns"),
                            result["plans"]["dropped"].integer());
    }
    text += fmt::format("placement: {}\n", result["placement"]["summary"].text());
    const Json& throughput = result["throughput"];
    int64_t streams = streams_of(result);
    const int64_t in_flight = in_flight_of(result);
    text += fmt::format("runs {} in {:.1f} s (warm-up {}){}{}   {:.4g} runs/s   CPU {:.1f} cores\n",
                        result["latency_ns"]["n"].integer(), result["timed_ns"].number() * 1e-9,
                        result["warmup_runs"].integer(),
                        streams > 1 ? fmt::format(" on {} streams", streams) : std::string(),
                        in_flight > 1 ? fmt::format(", {} in flight", in_flight) : std::string(),
                        throughput["runs_per_s"].number(), result["cpu"]["cores"].number());
    text += latency_line(result, unit) + "\n";
    if (result["deadline"].is_object()) {
        text +=
            fmt::format("deadline {} missed {} times\n", phase_time(result["deadline"], "set_ns"),
                        result["deadline"]["missed"].integer());
    }
    text += noise_line(result) + "\n";
    if (with_histogram) {
        text += histogram_lines(result, unit);
    }
    return text;
}

std::string rows_of(const std::vector<Json>& results,
                    const std::string& unit_name,
                    TableFormat format) {
    double typical = 0;
    for (const Json& result : results) {
        double median_ns = median_of(result);
        typical = typical == 0 ? median_ns : std::min(typical, median_ns);
    }
    bool plain = format == TableFormat::kCsv;
    TimeUnit unit = time_unit(plain ? "ns" : unit_name, typical);
    std::string suffix = plain ? "_ns" : " " + unit.name;
    std::string bytes_suffix = plain ? "_bytes" : "";
    std::vector<std::string> headers{"target", "threads", "streams", "runs", "min" + suffix};
    if (!results.empty()) {
        for (const auto& [rank, value] : results[0]["latency_ns"]["percentiles"].members()) {
            headers.push_back(fmt::format("p{}{}", rank, suffix));
        }
    }
    for (std::string_view name : {"max", "runs/s", "load", "compile", "first run"}) {
        headers.push_back(fmt::format("{}{}", name, name == "runs/s" ? "" : suffix));
    }
    for (std::string_view name : {"planned", "lower bound", "RSS peak"}) {
        headers.push_back(fmt::format("{}{}", name, bytes_suffix));
    }
    headers.emplace_back("stable");
    Table table(headers);
    for (const Json& result : results) {
        table.add(row_of(result, unit, plain));
    }
    return table.to_string(format);
}

}  // namespace leat::bench
