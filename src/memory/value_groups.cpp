#include "memory/value_groups.h"

#include <numeric>

namespace leat {

ValueGroups::ValueGroups(const MemoryProblem& problem)
    : values_(problem.values),
      alignment_bytes_(problem.alignment_bytes),
      root_(problem.values.size()),
      offset_bytes_(problem.values.size(), 0),
      members_(problem.values.size()) {
    std::iota(root_.begin(), root_.end(), 0);
}

bool ValueGroups::spans_group(int32_t value) const {
    return offset_bytes(value) == 0 && size_bytes(value) == size_bytes(root(value));
}

bool ValueGroups::overlap(int32_t a, int32_t b) const {
    return root(a) == root(b) && offset_bytes(a) < offset_bytes(b) + size_bytes(b) &&
           offset_bytes(b) < offset_bytes(a) + size_bytes(a);
}

bool ValueGroups::join(std::span<const ValueView> views) {
    hung_.clear();
    for (const ValueView& view : views) {
        if (!join(view)) {
            take_down_hung();
            return false;
        }
    }
    return true;
}

bool ValueGroups::join(const ValueView& view) {
    const int32_t part = root(view.part);
    const int32_t whole = root(view.whole);
    const int64_t offset = offset_bytes(view.whole) + view.offset_bytes;
    if (part == whole) {
        return offset_bytes(view.part) == offset;
    }
    if (offset % alignment_bytes_ != 0 ||
        view.offset_bytes + size_bytes(view.part) > size_bytes(view.whole)) {
        return false;
    }
    if (spans_group(view.part) && values_[size_t(part)].is_placed) {
        hang(part, whole, offset);
        return true;
    }
    if (spans_group(view.whole) && values_[size_t(whole)].is_placed &&
        size_bytes(view.part) == size_bytes(view.whole)) {
        hang(whole, part, offset_bytes(view.part));
        return true;
    }
    return false;
}

// The newest first: so the members of each are the last ones of where it hangs.
void ValueGroups::take_down_hung() {
    for (auto hung = hung_.rbegin(); hung != hung_.rend(); ++hung) {
        InlineVector<int32_t, 4>& from = members_[size_t(hung->under)];
        const int32_t* const first = from.end() - hung->members;
        for (const int32_t* member = first; member != from.end(); ++member) {
            root_[size_t(*member)] = hung->group;
            offset_bytes_[size_t(*member)] -= hung->offset_bytes;
        }
        members_[size_t(hung->group)].assign(first, first + hung->members);
        from.truncate(from.size() - size_t(hung->members));
    }
}

void ValueGroups::hang(int32_t group, int32_t under, int64_t offset_bytes) {
    for (const int32_t root : {group, under}) {
        if (members_[size_t(root)].empty()) {
            members_[size_t(root)].push_back(root);
        }
    }
    hung_.push_back({group, under, offset_bytes, ptrdiff_t(members_[size_t(group)].size())});
    for (const int32_t value : members_[size_t(group)]) {
        root_[size_t(value)] = under;
        offset_bytes_[size_t(value)] += offset_bytes;
        members_[size_t(under)].push_back(value);
    }
    members_[size_t(group)].clear();
}

}  // namespace leat
