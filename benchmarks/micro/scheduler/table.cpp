#include "table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace leat::micro {

void Table::print(std::FILE* out) const {
    std::vector<size_t> widths;
    for (const std::vector<std::string>& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    for (const std::vector<std::string>& row : rows_) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) {
            line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                           : fmt::format("  {:>{}}", row[i], widths[i]);
        }
        fmt::print(out, "{}\n", line);
    }
}

std::string format_number(std::optional<double> value) {
    if (!value) {
        return "-";
    }
    const double size = std::abs(*value);
    if (size >= 99.95) {
        return fmt::format("{:.0f}", *value);
    }
    return size >= 9.995 ? fmt::format("{:.1f}", *value) : fmt::format("{:.2f}", *value);
}

}  // namespace leat::micro
