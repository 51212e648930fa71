// Lists as sets.
#pragma once

#include <algorithm>
#include <cstddef>

namespace leat {

// Ascending, each once.
template <class List>
void sort_unique(List& list) {
    std::sort(list.begin(), list.end());
    list.resize(size_t(std::unique(list.begin(), list.end()) - list.begin()));
}

}  // namespace leat
