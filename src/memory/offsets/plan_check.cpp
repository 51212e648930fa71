// prove_plan: walks over offsets and keeps what lies there in a list by first step. Knows nothing
// of how plans are made: not of what a StepOrder leaves out either, as it looks at the waits.
#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "base/error.h"
#include "memory/offsets/plan.h"
#include "memory/order/reach_queries.h"

namespace leat {

namespace {

bool is_placed(const UsedBuffer& buffer) {
    return buffer.size_bytes > 0 && !buffer.users.empty();
}

Status check_one(size_t index, const UsedBuffer& buffer, int64_t offset, int64_t height_bytes) {
    if (offset < 0 || offset % buffer.alignment_bytes != 0) {
        return internal_error("memory plan: buffer {} at {} needs alignment {}", index, offset,
                              buffer.alignment_bytes);
    }
    if (is_placed(buffer) && offset > height_bytes - buffer.size_bytes) {
        return internal_error("memory plan: buffer {} at [{}, {}) is outside the height {}", index,
                              offset, offset + buffer.size_bytes, height_bytes);
    }
    return {};
}

Status check_alone(std::span<const UsedBuffer> buffers, const MemoryPlan& plan) {
    if (plan.offsets.size() != buffers.size()) {
        return internal_error("memory plan: {} offsets for {} buffers", plan.offsets.size(),
                              buffers.size());
    }
    if (plan.height_bytes < plan.lower_bound_bytes) {
        return internal_error("memory plan: height {} is below the lower bound {}",
                              plan.height_bytes, plan.lower_bound_bytes);
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_one(i, buffers[i], plan.offsets[i], plan.height_bytes));
    }
    return {};
}

Status check_users(size_t index, const UsedBuffer& buffer, size_t steps) {
    int32_t last = -1;
    for (const int32_t user : buffer.users) {
        if (user <= last || size_t(user) >= steps) {
            return internal_error("memory plan: buffer {} is used by step {} after {}, of {} steps",
                                  index, user, last, steps);
        }
        last = user;
    }
    return {};
}

bool waits_for_the_last(std::span<const std::vector<int32_t>> predecessors) {
    for (size_t step = 1; step < predecessors.size(); ++step) {
        const std::vector<int32_t>& own = predecessors[step];
        if (std::find(own.begin(), own.end(), int32_t(step) - 1) == own.end()) {
            return false;
        }
    }
    return true;
}

bool has_bit(const uint64_t* row, int32_t at) {
    return ((row[size_t(at) / 64] >> (size_t(at) % 64)) & 1U) != 0;
}

// By step, a bit for each step that it waits for, directly or not.
std::vector<uint64_t> ended_before_steps(std::span<const std::vector<int32_t>> predecessors,
                                         size_t words) {
    std::vector<uint64_t> ended(predecessors.size() * words, 0);
    for (size_t step = 0; step < predecessors.size(); ++step) {
        uint64_t* row = &ended[step * words];
        for (const int32_t before : predecessors[step]) {
            const uint64_t* more = &ended[size_t(before) * words];
            for (size_t word = 0; word <= size_t(before) / 64; ++word) {
                row[word] |= more[word];
            }
            row[size_t(before) / 64] |= uint64_t{1} << (size_t(before) % 64);
        }
    }
    return ended;
}

}  // namespace

// Which buffers' users have all ended before those of which others begin. Sizes and places have no
// part in it. A member of PlanProof has linkage as it has, or GCC 14 warns where files are joined.
class UserOrder {
  public:
    UserOrder(std::span<const UsedBuffer> buffers,
              std::span<const std::vector<int32_t>> predecessors)
        : is_line_(waits_for_the_last(predecessors)),
          is_known_(is_line_ || keeps_whole_order(predecessors.size())) {
        if (!is_known_) {
            return;
        }
        if (is_line_) {
            for (const UsedBuffer& buffer : buffers) {
                const bool is_used = !buffer.users.empty();
                ends_.emplace_back(is_used ? buffer.users.front() : -1,
                                   is_used ? buffer.users.back() : -1);
            }
            return;
        }
        words_ = (predecessors.size() + 63) / 64;
        const std::vector<uint64_t> ended = ended_before_steps(predecessors, words_);
        ended_.assign(buffers.size() * words_, ~uint64_t{0});
        first_last_user_.reserve(buffers.size() + 1);
        for (size_t i = 0; i < buffers.size(); ++i) {
            first_last_user_.push_back(int32_t(last_users_.size()));
            const auto& users = buffers[i].users;
            for (auto user = users.begin(); user != users.end(); ++user) {
                const uint64_t* before = &ended[size_t(*user) * words_];
                std::transform(before, before + words_, &ended_[i * words_], &ended_[i * words_],
                               std::bit_and<>());
                const bool is_last = std::none_of(user + 1, users.end(), [&](int32_t later) {
                    return has_bit(&ended[size_t(later) * words_], *user);
                });
                if (is_last) {
                    last_users_.push_back(*user);
                }
            }
        }
        first_last_user_.push_back(int32_t(last_users_.size()));
    }

    // False: so many steps that are_ordered() has to be asked.
    bool is_known() const { return is_known_; }
    // Every user of the one has ended before any of the other begins. Both have users.
    bool is_before(size_t before, size_t after) const {
        if (is_line_) {
            return ends_[before].second < ends_[after].first;
        }
        const auto first = last_users_.begin() + first_last_user_[before];
        const auto end = last_users_.begin() + first_last_user_[before + 1];
        return std::all_of(first, end,
                           [&](int32_t user) { return has_bit(&ended_[after * words_], user); });
    }

  private:
    const bool is_line_;  // each step waits for the one before it
    const bool is_known_;
    std::vector<std::pair<int32_t, int32_t>> ends_;  // of a line: first and last user
    size_t words_ = 0;                               // of a row
    std::vector<uint64_t> ended_;                    // [buffer][words]: steps all users wait for
    std::vector<int32_t> first_last_user_;           // by buffer, and one more
    std::vector<int32_t> last_users_;                // which no other user of the buffer waits for
};

namespace {

// That what shares bytes is ordered.
class SharingCheck {
  public:
    // `order` is that of these buffers and predecessors.
    SharingCheck(std::span<const UsedBuffer> buffers,
                 std::span<const std::vector<int32_t>> predecessors,
                 const UserOrder& order,
                 const MemoryPlan& plan)
        : buffers_(buffers), predecessors_(predecessors), order_(order), plan_(plan) {}

    // What lies at one offset is one line in the order before: so only neighbours are compared.
    Status run() {
        std::vector<std::pair<int64_t, int32_t>> begins;  // offset, buffer
        begins.reserve(buffers_.size());
        for (size_t i = 0; i < buffers_.size(); ++i) {
            if (is_placed(buffers_[i])) {
                begins.emplace_back(plan_.offsets[i], int32_t(i));
            }
        }
        std::sort(begins.begin(), begins.end());
        std::vector<std::pair<int32_t, int32_t>> line;  // first step and buffer, ascending
        line.reserve(begins.size());
        for (const auto& [offset, index] : begins) {
            const std::pair<int32_t, int32_t> own(buffers_[size_t(index)].users.front(), index);
            auto at = std::lower_bound(line.begin(), line.end(), own);
            // What ends here or below is in the line until a new neighbour finds it.
            while (at != line.begin() && end_of(std::prev(at)->second) <= offset) {
                at = line.erase(std::prev(at));
            }
            while (at != line.end() && end_of(at->second) <= offset) {
                at = line.erase(at);
            }
            at = line.insert(at, own);
            if (at != line.begin()) {
                LEAT_RETURN_IF_ERROR(check_pair(size_t(std::prev(at)->second), size_t(index)));
            }
            if (std::next(at) != line.end()) {
                LEAT_RETURN_IF_ERROR(check_pair(size_t(index), size_t(std::next(at)->second)));
            }
        }
        return check_asked();
    }

  private:
    int64_t end_of(int32_t buffer) const {
        return plan_.offsets[size_t(buffer)] + buffers_[size_t(buffer)].size_bytes;
    }

    Status check_pair(size_t before, size_t after) {
        const UsedBuffer& a = buffers_[before];
        if (a.is_kept) {
            return internal_error(
                "memory plan: buffer {} at [{}, {}) is kept, and {} at [{}, {}) shares its memory",
                before, plan_.offsets[before], end_of(int32_t(before)), after, plan_.offsets[after],
                end_of(int32_t(after)));
        }
        if (!order_.is_known()) {
            asked_.emplace_back(before, after);
            return {};
        }
        return order_.is_before(before, after) ? Status() : unordered(before, after);
    }

    std::span<const int32_t> users(size_t buffer) const {
        return {buffers_[buffer].users.data(), buffers_[buffer].users.size()};
    }

    // All pairs that waited for an answer.
    Status check_asked() const {
        std::vector<ReachQuery> queries;
        queries.reserve(asked_.size());
        for (const auto& [before, after] : asked_) {
            queries.push_back({users(before), users(after)});
        }
        const std::vector<bool> answers = are_ordered(predecessors_, queries);
        const auto wrong = std::find(answers.begin(), answers.end(), false);
        if (wrong == answers.end()) {
            return {};
        }
        const auto& [before, after] = asked_[size_t(wrong - answers.begin())];
        return unordered(before, after);
    }

    // Names steps of both that may run at once.
    Status unordered(size_t before, size_t after) const {
        std::vector<ReachQuery> queries;
        for (const int32_t& late : buffers_[after].users) {
            queries.push_back({users(before), {&late, 1}});
        }
        const std::vector<bool> lates = are_ordered(predecessors_, queries);
        const auto late = std::find(lates.begin(), lates.end(), false);
        queries.clear();
        for (const int32_t& early : buffers_[before].users) {
            if (late != lates.end()) {
                queries.push_back(
                    {{&early, 1}, users(after).subspan(size_t(late - lates.begin()), 1)});
            }
        }
        const std::vector<bool> earlies = are_ordered(predecessors_, queries);
        const auto early = std::find(earlies.begin(), earlies.end(), false);
        if (early != earlies.end()) {
            const ReachQuery& query = queries[size_t(early - earlies.begin())];
            return internal_error(
                "memory plan: buffers {} at [{}, {}) and {} at [{}, {}) share memory, but "
                "step {}, which uses the one, need not end before step {}, which uses the "
                "other",
                before, plan_.offsets[before], end_of(int32_t(before)), after, plan_.offsets[after],
                end_of(int32_t(after)), query.before.front(), query.after.front());
        }
        return internal_error("memory plan: buffers {} and {} share memory out of order", before,
                              after);
    }

    std::span<const UsedBuffer> buffers_;
    std::span<const std::vector<int32_t>> predecessors_;
    const UserOrder& order_;
    const MemoryPlan& plan_;
    std::vector<std::pair<size_t, size_t>> asked_;
};

}  // namespace

// What sizes and places have no part in.
struct PlanProof {
    std::shared_ptr<const StepWaits> predecessors;
    std::vector<UsedBuffer> buffers;
    UserOrder order;  // of these
};

namespace {

Status check_all_users(std::span<const UsedBuffer> buffers, size_t steps) {
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(check_users(i, buffers[i], steps));
    }
    return {};
}

bool same_uses(const UsedBuffer& a, const UsedBuffer& b) {
    return a.is_kept == b.is_kept && a.users == b.users;
}

}  // namespace

Result<std::shared_ptr<const PlanProof>> prove_plan(
    std::span<const UsedBuffer> buffers,
    const std::shared_ptr<const StepWaits>& predecessors,
    const MemoryPlan& plan,
    const std::shared_ptr<const PlanProof>& former) {
    LEAT_RETURN_IF_ERROR(check_alone(buffers, plan));
    std::shared_ptr<const PlanProof> proof = former;
    const bool is_as_before = former != nullptr && former->predecessors == predecessors &&
                              std::equal(buffers.begin(), buffers.end(), former->buffers.begin(),
                                         former->buffers.end(), same_uses);
    if (!is_as_before) {
        LEAT_RETURN_IF_ERROR(check_all_users(buffers, predecessors->size()));
        proof = std::make_shared<const PlanProof>(PlanProof{
            predecessors, {buffers.begin(), buffers.end()}, UserOrder(buffers, *predecessors)});
    }
    LEAT_RETURN_IF_ERROR(SharingCheck(buffers, *predecessors, proof->order, plan).run());
    return proof;
}

}  // namespace leat
