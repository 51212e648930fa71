// NewestMembers: of groups that grow by values which are written over others, the members over all
// of whose bytes nothing was written.
//
// In a chain of steps that run in place that is the last result alone. Refers to the groups, which
// nobody else changes meanwhile. Not thread-safe.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "memory/member_ranges.h"
#include "memory/value_groups.h"

namespace leat {

class NewestMembers {
  public:
    explicit NewestMembers(ValueGroups& groups) : groups_(groups) {}

    // What is true of all of the value's group that overlap it.
    template <class Predicate>
    bool all_overlapping(int32_t value, const Predicate& is_true) {
        return of_group(value).all_overlapping(value, is_true);
    }

    // Makes `output` the same bytes as `input`; false if it cannot be.
    bool write_over(int32_t input, int32_t output) {
        const int32_t group = groups_.root(input);
        const int32_t other = groups_.root(output);
        const ValueView view{output, input, 0};
        MemberRanges own = take(input);
        MemberRanges others = take(output);
        // Where `output` is part of something larger, `input` is all of its group, and over.
        const std::vector<int32_t> written = others.values();
        const bool is_joined = groups_.join({&view, 1});
        if (!is_joined) {
            lists_.insert_or_assign(group, std::move(own));
            lists_.insert_or_assign(other, std::move(others));
        } else if (groups_.root(input) == group) {
            own.remove_within(input);
            for (const int32_t value : written) {
                own.add(value);
            }
            lists_.insert_or_assign(group, std::move(own));
        } else {
            lists_.insert_or_assign(other, std::move(others));
        }
        return is_joined;
    }

  private:
    MemberRanges& of_group(int32_t value) {
        const auto [list, is_new] = lists_.try_emplace(groups_.root(value), MemberRanges(groups_));
        if (is_new) {
            for (const int32_t member : groups_.members(value)) {
                list->second.add(member);
            }
        }
        return list->second;
    }
    MemberRanges take(int32_t value) {
        MemberRanges members = std::move(of_group(value));
        lists_.erase(groups_.root(value));
        return members;
    }

    ValueGroups& groups_;
    std::unordered_map<int32_t, MemberRanges> lists_;  // by root, of groups that were asked for
};

}  // namespace leat
