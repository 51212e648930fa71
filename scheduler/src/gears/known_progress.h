// KnownProgress: how far each list knows the others to be, while waits are chosen.
//
// Positions count the tasks of a list from 0; "x knows y up to p" means that when x goes on, tasks
// [0, p] of y have finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace leat::scheduler {

class KnownProgress {
  public:
    explicit KnownProgress(int lists)
        : lists_(size_t(lists)),
          is_transitive_(lists > 2 && lists <= kMostTransitive),
          known_(lists_ * lists_, -1),
          history_(is_transitive_ ? lists_ : 0) {}

    bool knows(int list, int other, int32_t position) const {
        return known_[size_t(list) * lists_ + size_t(other)] >= position;
    }
    // `list`, at `own_position`, waits until `position` of `other` has finished; from then on it
    // knows what `other` knew there.
    void wait(int list, int32_t own_position, int other, int32_t position) {
        int32_t* own = &known_[size_t(list) * lists_];
        own[other] = std::max(own[other], position);
        if (!is_transitive_) {
            return;
        }
        const std::vector<Entry>& past = history_[size_t(other)];
        const auto after =
            std::upper_bound(past.begin(), past.end(), position,
                             [](int32_t at, const Entry& entry) { return at < entry.position; });
        if (after != past.begin()) {
            const std::vector<int32_t>& then = std::prev(after)->clock;
            for (size_t i = 0; i < lists_; ++i) {
                own[i] = std::max(own[i], then[i]);
            }
        }
        history_[size_t(list)].push_back({own_position, {own, own + lists_}});
    }

  private:
    // With more lists the histories would outgrow the program: only direct knowledge counts then.
    static constexpr int kMostTransitive = 64;

    struct Entry {
        int32_t position;  // from this task of the list on
        std::vector<int32_t> clock;
    };

    size_t lists_;
    bool is_transitive_;
    std::vector<int32_t> known_;               // [list][other]
    std::vector<std::vector<Entry>> history_;  // by list; positions ascend
};

}  // namespace leat::scheduler
