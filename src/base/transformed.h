// What a function gives for each element of a range, in its order.
#pragma once

#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace leat {

// The function may be a pointer to a member.
template <class Range, class Function>
auto transformed(const Range& range, Function&& function) {
    using Result = std::invoke_result_t<Function&, decltype(*std::begin(range))>;
    std::vector<std::decay_t<Result>> results;
    results.reserve(size_t(std::size(range)));
    for (const auto& element : range) {
        results.push_back(std::invoke(function, element));
    }
    return results;
}

}  // namespace leat
