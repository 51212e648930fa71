#include "lifetime_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/files/text_file.h"
#include "files.h"
#include "options.h"

namespace leat::bench {
namespace {

constexpr std::array<std::string_view, 4> kColumns = {"id", "lower", "upper", "size"};
enum Column : size_t { kId, kLower, kUpper, kSize };

// Reads a file line by line.
class LifetimeReader {
  public:
    explicit LifetimeReader(const std::string& file_name) : file_name_(file_name) {}

    Status add_line(const std::string& line) {
        ++line_number_;
        if (line.find_first_not_of(" \t\r") == std::string::npos) {
            return {};
        }
        const std::vector<std::string> fields =
            split(line.substr(0, line.find_last_not_of('\r') + 1), ',');
        return place_of_.has_value() ? add_buffer(fields) : read_header(fields);
    }
    Result<LifetimeFile> finish() {
        if (!place_of_.has_value()) {
            return parse_error("{}: no header; 'id,lower,upper,size' is needed", file_name_);
        }
        rank_times();
        return std::move(file_);
    }

  private:
    Status read_header(const std::vector<std::string>& fields) {
        std::array<size_t, kColumns.size()> place_of{};
        for (size_t column = 0; column < kColumns.size(); ++column) {
            const auto found = std::find(fields.begin(), fields.end(), kColumns[column]);
            if (found == fields.end()) {
                return parse_error("{}:{}: no column '{}' in '{}'", file_name_, line_number_,
                                   kColumns[column], fmt::join(fields, ","));
            }
            place_of[column] = size_t(found - fields.begin());
        }
        place_of_ = place_of;
        return {};
    }
    Result<int64_t> number(const std::vector<std::string>& fields, Column column) const {
        const std::string& text = fields[(*place_of_)[column]];
        const std::optional<int64_t> value = parse_integer(text);
        if (!value.has_value() || *value < 0) {
            return parse_error("{}:{}: {} is '{}'; a whole number from 0 is needed", file_name_,
                               line_number_, kColumns[column], text);
        }
        return *value;
    }
    Status add_buffer(const std::vector<std::string>& fields) {
        if (fields.size() <= *std::max_element(place_of_->begin(), place_of_->end())) {
            return parse_error("{}:{}: {} fields; the header needs more", file_name_, line_number_,
                               fields.size());
        }
        LEAT_ASSIGN_OR_RETURN(const int64_t lower, number(fields, kLower));
        LEAT_ASSIGN_OR_RETURN(const int64_t upper, number(fields, kUpper));
        LEAT_ASSIGN_OR_RETURN(const int64_t size, number(fields, kSize));
        if (upper <= lower) {
            return parse_error("{}:{}: alive in [{}, {}); upper must be above lower", file_name_,
                               line_number_, lower, upper);
        }
        file_.ids.push_back(fields[(*place_of_)[kId]]);
        file_.lower.push_back(lower);
        file_.upper.push_back(upper);
        file_.buffers.push_back({.size_bytes = size, .alignment_bytes = 1});
        return {};
    }
    // Steps are numbers of the times that occur, which any int64_t may be.
    void rank_times() {
        std::vector<int64_t> times = file_.lower;
        times.insert(times.end(), file_.upper.begin(), file_.upper.end());
        std::sort(times.begin(), times.end());
        const auto rank = [&](int64_t time) {
            return int32_t(std::lower_bound(times.begin(), times.end(), time) - times.begin());
        };
        for (size_t i = 0; i < file_.buffers.size(); ++i) {
            file_.buffers[i].begin_step = rank(file_.lower[i]);
            file_.buffers[i].end_step = rank(file_.upper[i]);
        }
    }

    const std::string& file_name_;
    int line_number_ = 0;
    std::optional<std::array<size_t, kColumns.size()>> place_of_;  // of each column, in a line
    LifetimeFile file_;
};

}  // namespace

std::string LifetimeFile::with_offsets(const std::vector<int64_t>& offsets) const {
    std::string text = "id,lower,upper,size,offset\n";
    for (size_t i = 0; i < ids.size(); ++i) {
        text += fmt::format("{},{},{},{},{}\n", ids[i], lower[i], upper[i], buffers[i].size_bytes,
                            offsets[i]);
    }
    return text;
}

Result<LifetimeFile> parse_lifetimes(const std::string& file_name, const std::string& text) {
    LifetimeReader reader(file_name);
    for (const std::string& line : split(text, '\n')) {
        LEAT_RETURN_IF_ERROR(reader.add_line(line));
    }
    return reader.finish();
}

Result<LifetimeFile> read_lifetimes(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
    return parse_lifetimes(file, text);
}

}  // namespace leat::bench
