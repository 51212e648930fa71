// MemberRanges: some values of groups by their bytes, to find those that overlap another.
//
// Values are kept by group, by size within a factor of two, and by begin: a look is at those that
// begin near the other, not at all. So few that looking at all is quicker are just a list. Refers
// to the groups; a value's offset must stay while it is there. Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "memory/value_groups.h"

namespace leat {

class MemberRanges {
  public:
    explicit MemberRanges(const ValueGroups& groups) : groups_(&groups) {}

    size_t size() const { return few_.size() + many_.size(); }
    void add(int32_t value) {
        if (many_.empty() && few_.size() < kFew) {
            few_.push_back(value);
            return;
        }
        for (const int32_t own : few_) {
            many_.insert(key_of(own));
        }
        few_.clear();
        many_.insert(key_of(value));
    }

    bool overlaps(int32_t value) const {
        return !all_overlapping(value, [](int32_t /*other*/) { return false; });
    }
    // What is true of all that overlap the value.
    template <class Predicate>
    bool all_overlapping(int32_t value, const Predicate& is_true) const {
        for (const int32_t other : few_) {
            if (groups_->overlap(value, other) && !is_true(other)) {
                return false;
            }
        }
        const int32_t root = groups_->root(value);
        const int64_t begin = groups_->offset_bytes(value);
        const int64_t end = begin + groups_->size_bytes(value);
        for (auto next = many_.lower_bound({root, 0, kLeast, 0});
             next != many_.end() && std::get<0>(*next) == root;) {
            const int width = std::get<1>(*next);
            const int64_t longest = int64_t{1} << width;
            next = many_.lower_bound({root, width, begin - longest, 0});
            for (; next != many_.end() && is_in(*next, root, width) && std::get<2>(*next) < end;
                 ++next) {
                const int32_t other = std::get<3>(*next);
                if (groups_->overlap(value, other) && !is_true(other)) {
                    return false;
                }
            }
            next = many_.lower_bound({root, width + 1, kLeast, 0});
        }
        return true;
    }

    // Takes out what lies within the value's bytes.
    void remove_within(int32_t value) {
        const int64_t begin = groups_->offset_bytes(value);
        const int64_t end = begin + groups_->size_bytes(value);
        const auto is_within = [&](int32_t other) {
            const int64_t own = groups_->offset_bytes(other);
            return begin <= own && own + groups_->size_bytes(other) <= end;
        };
        few_.erase(std::remove_if(few_.begin(), few_.end(), is_within), few_.end());
        std::vector<int32_t> within;
        all_overlapping(value, [&](int32_t other) {
            if (is_within(other)) {
                within.push_back(other);
            }
            return true;
        });
        for (const int32_t other : within) {
            many_.erase(key_of(other));
        }
    }

    std::vector<int32_t> values() const {
        std::vector<int32_t> all = few_;
        for (const Key& key : many_) {
            all.push_back(std::get<3>(key));
        }
        return all;
    }

  private:
    using Key = std::tuple<int32_t, int, int64_t, int32_t>;  // root, width of size, begin, value
    static constexpr size_t kFew = 16;
    static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

    // A value of `width` has at most 2^width bytes.
    Key key_of(int32_t value) const {
        return {groups_->root(value), int(std::bit_width(uint64_t(groups_->size_bytes(value)))),
                groups_->offset_bytes(value), value};
    }
    static bool is_in(const Key& key, int32_t root, int width) {
        return std::get<0>(key) == root && std::get<1>(key) == width;
    }

    const ValueGroups* groups_;
    std::vector<int32_t> few_;  // of any group; all there are, or none
    std::set<Key> many_;
};

}  // namespace leat
