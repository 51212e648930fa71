#include "memory/offsets/plan_problem.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace leat {
namespace {

// More items than this have conflicts listed only if they are few: 64 for each, which is half a
// KiB.
constexpr int32_t kManyItems = 8'192;
constexpr int64_t kMostMeeting = 64;

bool takes_place(const UsedBuffer& buffer) {
    return buffer.size_bytes > 0 && !buffer.users.empty();
}

// Bits of the steps after every user of a buffer.
void find_steps_after(const UsedBuffer& buffer,
                      const StepOrder& order,
                      std::vector<uint64_t>& steps) {
    steps.assign((size_t(order.step_count()) + 63) / 64, ~uint64_t{0});
    for (const int32_t user : buffer.users) {
        order.keep_successors(user, steps);
    }
}

// Visits those of [begin, end) whose bit is not set.
template <class Visit>
void for_each_zero(std::span<const uint64_t> bits, int32_t begin, int32_t end, Visit visit) {
    for (auto word = size_t(begin) / 64; word < bits.size(); ++word) {
        const int32_t base = int32_t(word) * 64;
        uint64_t zeros = ~bits[word];
        zeros &= begin > base ? ~uint64_t{0} << (begin - base) : ~uint64_t{0};
        for (; zeros != 0; zeros &= zeros - 1) {
            const int32_t at = base + std::countr_zero(zeros);
            if (at < end) {
                visit(at);
            }
        }
    }
}

// Users that no other user precedes: what precedes these precedes all.
void find_first_users(const UsedBuffer& buffer,
                      const StepOrder& order,
                      std::vector<int32_t>& first_users) {
    first_users.clear();
    for (const int32_t user : buffer.users) {
        const bool is_first =
            std::none_of(first_users.begin(), first_users.end(),
                         [&](int32_t other) { return order.precedes(other, user); });
        if (is_first) {
            first_users.push_back(user);
        }
    }
}

}  // namespace

PlanProblem::PlanProblem(std::span<const PlannedBuffer> buffers) {
    items_.reserve(buffers.size());
    for (const PlannedBuffer& buffer : buffers) {
        if (buffer.size_bytes > 0) {
            items_.push_back({buffer.size_bytes, buffer.alignment_bytes, buffer.begin_step,
                              buffer.end_step, int32_t(&buffer - buffers.data())});
        }
    }
    sort_items();
    sort_ends();
    add_conflicts();
}

PlanProblem::PlanProblem(std::span<const UsedBuffer> buffers,
                         const StepOrder& order,
                         WithoutConflicts /*unused*/,
                         const PlanProblem* former) {
    items_.reserve(buffers.size());
    auto origin = std::make_shared<Origin>(Origin{std::vector<Use>(buffers.size()), order});
    const Origin* const before = former == nullptr ? nullptr : former->origin_.get();
    for (const UsedBuffer& buffer : buffers) {
        const auto at = size_t(&buffer - buffers.data());
        const bool took_place = before != nullptr && !before->uses[at].users.empty();
        if (takes_place(buffer) || (took_place && !buffer.users.empty())) {
            origin->uses[size_t(&buffer - buffers.data())] = {buffer.users, buffer.alignment_bytes,
                                                              buffer.is_kept};
            items_.push_back({buffer.size_bytes, buffer.alignment_bytes, buffer.users.front(),
                              buffer.is_kept ? order.step_count() : buffer.users.back() + 1,
                              int32_t(&buffer - buffers.data())});
        }
    }
    origin_ = std::move(origin);
    sort_items();
    if (!order.is_serial() && !end_where_settled(buffers, order)) {
        find_after(buffers, order);
        make_intervals();
    }
    sort_ends();
}

void PlanProblem::add_conflicts() {
    if (!is_interval()) {
        find_conflicts();
    } else if (size() > kManyItems && has_too_many_meeting()) {
        relations_->is_crowded = true;
    } else {
        find_meeting();
    }
}

// False, and nothing is done, where the order is whole.
bool PlanProblem::end_where_settled(std::span<const UsedBuffer> buffers, const StepOrder& order) {
    if (order.is_whole()) {
        return false;
    }
    for (PlanItem& item : items_) {
        for (const int32_t user : buffers[size_t(item.index)].users) {
            item.end_step = std::max(item.end_step, order.settled_at(user));
        }
    }
    return true;
}

bool PlanProblem::has_too_many_meeting() const {
    int64_t meeting = 0;
    int32_t ended = 0;
    for (int32_t number = 0; number < size(); ++number) {
        for (; item(by_end()[size_t(ended)]).end_step <= item(number).begin_step; ++ended) {
        }
        meeting += number - ended;
    }
    return meeting > kMostMeeting * size();
}

std::shared_ptr<const PlanProblem> PlanProblem::with_sizes(std::span<const UsedBuffer> buffers,
                                                           const StepOrder& order) const {
    const auto is_as_before = [](const UsedBuffer& buffer, const Use& use) {
        return use.users.empty() ? !takes_place(buffer)
                                 : buffer.users == use.users && buffer.is_kept == use.is_kept &&
                                       buffer.alignment_bytes == use.alignment_bytes;
    };
    if (origin_ == nullptr || !(origin_->order == order) ||
        !std::equal(buffers.begin(), buffers.end(), origin_->uses.begin(), origin_->uses.end(),
                    is_as_before)) {
        return nullptr;
    }
    auto again = std::make_shared<PlanProblem>(*this);
    for (PlanItem& item : again->items_) {
        item.size_bytes = buffers[size_t(item.index)].size_bytes;
    }
    return again;
}

bool PlanProblem::has_mixed_alignments() const {
    return std::any_of(items_.begin(), items_.end(), [&](const PlanItem& item) {
        return item.alignment_bytes != items_.front().alignment_bytes;
    });
}

PlanProblem PlanProblem::with_one_alignment() const {
    PlanProblem coarse = *this;
    int64_t alignment = 1;
    for (const PlanItem& item : items_) {
        alignment = std::max(alignment, item.alignment_bytes);
    }
    for (PlanItem& item : coarse.items_) {
        item.alignment_bytes = alignment;
    }
    return coarse;
}

void PlanProblem::sort_items() {
    std::stable_sort(items_.begin(), items_.end(), [](const PlanItem& a, const PlanItem& b) {
        return a.begin_step < b.begin_step;
    });
}

// Conflicts of intervals.
void PlanProblem::find_meeting() {
    std::vector<int32_t> alive;
    set_conflicts([&](const auto& visit) {
        alive.clear();
        for (int32_t number = 0; number < size(); ++number) {
            const int32_t now = item(number).begin_step;
            alive.erase(std::remove_if(alive.begin(), alive.end(),
                                       [&](int32_t other) { return item(other).end_step <= now; }),
                        alive.end());
            for (const int32_t other : alive) {
                visit(other, number);
            }
            alive.push_back(number);
        }
    });
}

// What begins behind the last user of an item is after it, but for items with a first user that is
// not: few, as a rule.
void PlanProblem::find_after(std::span<const UsedBuffer> buffers, const StepOrder& order) {
    relations_->words = (items_.size() + 63) / 64;
    relations_->after.assign(items_.size() * relations_->words, 0);
    std::vector<std::pair<int32_t, int32_t>> begins;  // first user, item
    std::vector<int32_t> first_users;
    for (int32_t number = 0; number < size(); ++number) {
        find_first_users(buffers[size_t(item(number).index)], order, first_users);
        for (const int32_t user : first_users) {
            begins.emplace_back(user, number);
        }
    }
    std::sort(begins.begin(), begins.end());
    std::vector<int32_t> first_begin(size_t(order.step_count()) + 1, 0);
    for (const auto& [step, number] : begins) {
        ++first_begin[size_t(step) + 1];
    }
    std::partial_sum(first_begin.begin(), first_begin.end(), first_begin.begin());
    std::vector<uint64_t> steps;
    for (int32_t number = 0; number < size(); ++number) {
        const UsedBuffer& buffer = buffers[size_t(item(number).index)];
        if (buffer.is_kept) {
            continue;
        }
        uint64_t* row = &relations_->after[size_t(number) * relations_->words];
        set_from(items_from(item(number).end_step), row);
        find_steps_after(buffer, order, steps);
        for_each_zero(steps, item(number).end_step, order.step_count(), [&](int32_t step) {
            for (int32_t at = first_begin[size_t(step)]; at < first_begin[size_t(step) + 1]; ++at) {
                const auto other = size_t(begins[size_t(at)].second);
                row[other / 64] &= ~(uint64_t{1} << (other % 64));
            }
        });
    }
}

// The first item that begins at the step or later.
int32_t PlanProblem::items_from(int32_t step) const {
    const auto at = std::partition_point(
        items_.begin(), items_.end(), [&](const PlanItem& item) { return item.begin_step < step; });
    return int32_t(at - items_.begin());
}

void PlanProblem::set_from(int32_t begin, uint64_t* row) const {
    for (auto word = size_t(begin) / 64; word < relations_->words; ++word) {
        const int32_t base = int32_t(word) * 64;
        row[word] = begin > base ? ~uint64_t{0} << (begin - base) : ~uint64_t{0};
        if (size() - base < 64) {
            row[word] &= (uint64_t{1} << (size() - base)) - 1;
        }
    }
}

void PlanProblem::find_conflicts() {
    set_conflicts([&](const auto& visit) {
        for (int32_t number = 0; number < size(); ++number) {
            for_each_zero(after(number), number + 1, size(),
                          [&](int32_t other) { visit(number, other); });
        }
    });
}

// for_each_pair(visit): calls visit(a, b) for all that conflict, the same each time.
template <class ForEachPair>
void PlanProblem::set_conflicts(const ForEachPair& for_each_pair) {
    std::vector<int64_t>& first = relations_->first_conflict;
    first.assign(items_.size() + 1, 0);
    for_each_pair([&](int32_t a, int32_t b) {
        ++first[size_t(a) + 1];
        ++first[size_t(b) + 1];
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<int32_t>& conflicts = relations_->conflicts;
    conflicts.resize(size_t(first.back()));
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for_each_pair([&](int32_t a, int32_t b) {
        conflicts[size_t(next[size_t(a)]++)] = b;
        conflicts[size_t(next[size_t(b)]++)] = a;
    });
}

void PlanProblem::sort_ends() {
    std::vector<int32_t>& by_end = relations_->by_end;
    by_end.resize(items_.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::sort(by_end.begin(), by_end.end(),
              [&](int32_t a, int32_t b) { return item(a).end_step < item(b).end_step; });
}

// An order is one of intervals if the sets of what comes after its items contain one another
// (Fishburn, Journal of Mathematical Psychology 7, 1970). With the different sets numbered from the
// largest, an item ends at the number of its own set and begins at that of the last set it is in.
void PlanProblem::make_intervals() {
    std::vector<int32_t> counts(items_.size());
    for (int32_t number = 0; number < size(); ++number) {
        for (const uint64_t word : after(number)) {
            counts[size_t(number)] += std::popcount(word);
        }
    }
    std::vector<int32_t> by_count(items_.size());
    std::iota(by_count.begin(), by_count.end(), 0);
    std::stable_sort(by_count.begin(), by_count.end(),
                     [&](int32_t a, int32_t b) { return counts[size_t(a)] > counts[size_t(b)]; });
    for (size_t i = 1; i < by_count.size(); ++i) {
        const std::span<const uint64_t> larger = after(by_count[i - 1]);
        const std::span<const uint64_t> smaller = after(by_count[i]);
        for (size_t word = 0; word < relations_->words; ++word) {
            if ((smaller[word] & ~larger[word]) != 0) {
                return;
            }
        }
    }
    for (PlanItem& item : items_) {
        item.begin_step = 0;
    }
    int32_t set = 1;
    for (size_t i = 0; i < by_count.size(); ++i) {
        items_[size_t(by_count[i])].end_step = set;
        if (i + 1 < by_count.size() &&
            counts[size_t(by_count[i])] > counts[size_t(by_count[i + 1])]) {
            begin_where_left_out(after(by_count[i]), after(by_count[i + 1]), set);
            ++set;
        }
    }
    if (!by_count.empty()) {
        begin_where_left_out(after(by_count.back()), {}, set);
    }
    std::vector<uint64_t>().swap(relations_->after);
    sort_items();
}

// Items of `larger` that are not in `smaller` begin at `step`.
void PlanProblem::begin_where_left_out(std::span<const uint64_t> larger,
                                       std::span<const uint64_t> smaller,
                                       int32_t step) {
    for (size_t word = 0; word < larger.size(); ++word) {
        uint64_t bits = larger[word] & ~(smaller.empty() ? 0 : smaller[word]);
        for (; bits != 0; bits &= bits - 1) {
            items_[word * 64 + size_t(std::countr_zero(bits))].begin_step = step;
        }
    }
}

}  // namespace leat
