#include "topology/cpu_list.h"

#include <optional>

#include "base/files/text_file.h"

namespace leat::scheduler {
namespace {

constexpr int kMostNumbers = 1 << 20;

std::optional<int> parse_index(const std::string& text) {
    const std::optional<int64_t> value = parse_integer(text);
    return value && *value >= 0 && *value < kMostNumbers ? std::optional(int(*value))
                                                         : std::nullopt;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
    std::vector<int> numbers;
    for (const std::string& part : split(text, ',')) {
        const size_t dash = part.find('-');
        const std::optional<int> first = parse_index(part.substr(0, dash));
        const std::optional<int> last =
            dash == std::string::npos ? first : parse_index(part.substr(dash + 1));
        if (!first || !last || *last < *first ||
            numbers.size() + size_t(*last - *first) >= size_t{kMostNumbers}) {
            return {};
        }
        for (int number = *first; number <= *last; ++number) {
            numbers.push_back(number);
        }
    }
    return numbers;
}

std::string format_cpu_list(const std::vector<int>& numbers) {
    std::string text;
    for (size_t i = 0; i < numbers.size();) {
        size_t last = i;
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
            ++last;
        }
        if (!text.empty()) {
            text.push_back(',');
        }
        text += std::to_string(numbers[i]);
        if (last > i) {
            text.push_back('-');
            text += std::to_string(numbers[last]);
        }
        i = last + 1;
    }
    return text;
}

}  // namespace leat::scheduler
