// Results as people read them: the default screen, and tables as text, Markdown or CSV.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace leat::bench {

enum class TableFormat : uint8_t { kText, kMarkdown, kCsv };

// "md", "csv"; text for any other name.
TableFormat table_format(const std::string& name);

class Table {
  public:
    explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
    // Missing cells are empty. Columns whose cells begin with a digit, sign or "n/a" align right.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    bool empty() const { return rows_.empty(); }
    std::string to_string(TableFormat format = TableFormat::kText) const;

  private:
    std::vector<std::string> headers_;
    std::vector<std::vector<std::string>> rows_;
};

// A unit for times: "ns", "us", "ms", "s".
struct TimeUnit {
    std::string name;
    double ns = 1;
};
// "auto" chooses by `typical_ns`.
TimeUnit time_unit(const std::string& name, double typical_ns);
// Three significant decimals at least: 7.24, 0.0312, 1234.
std::string format_time(double ns, const TimeUnit& unit);
std::string format_bytes(double bytes);  // "11.8 MiB"
std::string microseconds(double ns);     // "1.250"

// The default screen of one result.
std::string screen_of(const Json& result, const std::string& unit_name, bool with_histogram);
// One row a result; CSV gives nanoseconds and bytes.
std::string rows_of(const std::vector<Json>& results,
                    const std::string& unit_name,
                    TableFormat format);

}  // namespace leat::bench
