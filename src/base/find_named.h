// Tables whose rows have a name.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace leat {

// The first row of the name, or null.
template <class Table>
auto find_named(const Table& table, std::string_view name) -> decltype(&*std::begin(table)) {
    const auto found = std::find_if(std::begin(table), std::end(table),
                                    [&](const auto& row) { return row.name == name; });
    return found == std::end(table) ? nullptr : &*found;
}

}  // namespace leat
