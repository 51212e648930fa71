#include "suggestion.h"

#include <algorithm>

namespace leat::zoo {

int edit_distance(std::string_view a, std::string_view b) {
    // Three rows of the table of optimal string alignment.
    std::vector<int> before(b.size() + 1);
    std::vector<int> previous(b.size() + 1);
    std::vector<int> current(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) {
        previous[j] = int(j);
    }
    for (size_t i = 1; i <= a.size(); ++i) {
        current[0] = int(i);
        for (size_t j = 1; j <= b.size(); ++j) {
            int replace = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                current[j] = std::min(current[j], before[j - 2] + 1);
            }
        }
        before.swap(previous);
        previous.swap(current);
    }
    return previous[b.size()];
}

std::string_view closest_name(std::string_view word,
                              const std::vector<std::string_view>& candidates) {
    std::string_view best;
    int best_distance = std::max(2, int(word.size()) / 3) + 1;
    for (std::string_view candidate : candidates) {
        int distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
    std::string_view best = closest_name(word, candidates);
    return best.empty() ? "." : "; did you mean '" + std::string(best) + "'?";
}

std::string comma_list(const std::vector<std::string_view>& names) {
    std::string list;
    for (std::string_view name : names) {
        list += list.empty() ? "" : ", ";
        list += name;
    }
    return list;
}

}  // namespace leat::zoo
