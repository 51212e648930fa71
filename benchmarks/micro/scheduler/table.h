// Text tables: a label column and right-aligned numbers.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace leat::micro {

class Table {
  public:
    explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    void print(std::FILE* out) const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

// Three significant digits: "1.53", "15.3", "153", "1530"; "-" for none.
std::string format_number(std::optional<double> value);

}  // namespace leat::micro
