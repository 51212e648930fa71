#include "memory/weight_policy/weight_search.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "memory/weight_policy/weight_balance.h"
#include "memory/weight_policy/weight_fit.h"

namespace leat {
namespace {

constexpr int kNoOption = WeightAssignment::kNone;
// Enough for all assignments of 7 constants on 4 domains.
constexpr int64_t kFitSteps = 500'000;
constexpr int64_t kSearchSteps = 60'000;
constexpr int kBalances = 8;
constexpr int64_t kUpgradeSteps = 3;      // by option of each constant
constexpr int64_t kSearchStepsEach = 60;  // by constant
constexpr int64_t kAloneStepsEach = 30;   // by constant
// Constants that are chosen for together: more where fewer have brought nothing so many times.
constexpr int kLeastChosenAnew = 3;
constexpr int kMostChosenAnew = 6;
constexpr int kSearchPatience = 16;
constexpr int64_t kChooseAnewSteps = 20'000;
// Constants that may be moved out of the way of one, and those looked at for it.
constexpr int kMostMovedOut = 3;
constexpr int kMostLookedAt = 24;
constexpr double kLessTime = 1 - 1e-9;
// How much more time than the least a run may take so that constants are nearer to their readers.
constexpr double kNearlyTheLeast = 1.01;

}  // namespace

WeightSearch::WeightSearch(const WeightOptions& options, std::span<const int64_t> budgets_bytes)
    : options_(options), budgets_(budgets_bytes), now_(options, budgets_bytes) {}

int64_t WeightSearch::upgrade_steps() const {
    return kUpgradeSteps * options_.uses() * (options_.domains() + 3);
}

void WeightSearch::run() {
    const int64_t uses = options_.uses();
    if (choose_freely()) {
        return;
    }
    for (const bool keeps_room : {true, false}) {
        if (choose_in_order(keeps_room)) {
            end_of_steps_ = steps_ + upgrade_steps();
            upgrade();
            note_best();
        }
    }
    if (best_.empty()) {
        if (!fit_weights(options_, now_, kFitSteps, steps_)) {
            choose_beyond();
            return;
        }
        end_of_steps_ = steps_ + upgrade_steps();
        upgrade();
        note_best();
    }
    balance();
    now_.choose_all(best_);
    end_of_steps_ = steps_ + kSearchSteps + kSearchStepsEach * uses;
    descend();
    note_best();
    search_anew();
    now_.choose_all(best_);
    shorten_alone();
}

// Each its own best, as if nothing else were there.
bool WeightSearch::choose_freely() {
    now_.clear();
    for (int use = 0; use < options_.uses(); ++use) {
        int best = 0;
        for (int option = 1; option < options_.count(use); ++option) {
            const auto rank = [&](int i) {
                return std::tuple(options_.at(use, i).alone_ns, options_.at(use, i).bytes);
            };
            best = rank(option) < rank(best) ? option : best;
        }
        steps_ += options_.count(use);
        now_.choose(use, best);
    }
    return now_.full_domain() == kNoOption &&
           now_.cost().read_ns * kLessTime <= options_.bound_ns();
}

// Those that are read most choose first. `keeps_room`: for one copy of each of the others;
// otherwise everybody takes one copy, so that it becomes full only by bytes that cannot be avoided.
bool WeightSearch::choose_in_order(bool keeps_room) {
    now_.clear();
    int64_t room = 0;
    for (int domain = 0; domain < options_.domains(); ++domain) {
        room += now_.room_bytes(domain);
    }
    std::vector<int64_t> least(size_t(options_.uses()), std::numeric_limits<int64_t>::max());
    int64_t rest = 0;
    for (int use = 0; use < options_.uses(); ++use) {
        for (int option = 0; option < options_.count(use); ++option) {
            least[size_t(use)] = std::min(least[size_t(use)], options_.at(use, option).bytes);
        }
        rest += least[size_t(use)];
    }
    for (int use = 0; use < options_.uses(); ++use) {
        rest -= least[size_t(use)];
        const int64_t most = keeps_room ? room - rest : least[size_t(use)];
        int best = kNoOption;
        WeightCost best_cost;
        for (int option = 0; option < options_.count(use); ++option) {
            ++steps_;
            const int64_t bytes = options_.at(use, option).bytes;
            // Interleaving is rounded up for each domain.
            if (bytes > most + options_.domains() || !now_.has_room(use, option)) {
                continue;
            }
            const WeightCost cost = now_.cost_after(use, option);
            if (best == kNoOption || is_better(cost, best_cost)) {
                best = option;
                best_cost = cost;
            }
        }
        if (best == kNoOption) {
            return false;
        }
        now_.choose(use, best);
        room -= options_.at(use, best).bytes;
    }
    return true;
}

// Nothing fits: those that are read most get what room there is.
void WeightSearch::choose_beyond() {
    now_.clear();
    for (int use = 0; use < options_.uses(); ++use) {
        int best = kNoOption;
        std::tuple<int64_t, double, int64_t> best_rank;
        for (int option = 0; option < options_.count(use); ++option) {
            ++steps_;
            const WeightOptions::Option& candidate = options_.at(use, option);
            if (candidate.decision.policy == WeightPolicy::kReplicate) {
                continue;
            }
            const int64_t before = now_.overflow_bytes();
            now_.choose(use, option);
            const std::tuple rank(now_.overflow_bytes() - before, candidate.alone_ns,
                                  candidate.bytes);
            now_.choose(use, kNoOption);
            if (best == kNoOption || rank < best_rank) {
                best = option;
                best_rank = rank;
            }
        }
        now_.choose(use, best);
    }
}

// As long as there is room: what gains the most for each byte more that it takes.
void WeightSearch::upgrade() {
    struct Upgrade {
        double gain_per_byte;
        int use;
        int option;
        bool operator<(const Upgrade& other) const {
            return std::tuple(gain_per_byte, other.use) < std::tuple(other.gain_per_byte, use);
        }
    };
    const auto find = [&](int use) {
        Upgrade best{0, use, kNoOption};
        const WeightCost before = now_.cost();
        const int64_t bytes = options_.at(use, now_.at(use)).bytes;
        for (int option = 0; option < options_.count(use); ++option) {
            ++steps_;
            if (option == now_.at(use) || !now_.has_room(use, option)) {
                continue;
            }
            const double gain = before.spread - now_.cost_after(use, option).spread;
            const int64_t more = options_.at(use, option).bytes - bytes;
            const double gain_per_byte = gain / double(std::max<int64_t>(more, 1));
            if (gain > before.spread * 1e-12 && gain_per_byte > best.gain_per_byte) {
                best = {gain_per_byte, use, option};
            }
        }
        return best;
    };
    std::priority_queue<Upgrade> queue;
    for (int use = 0; use < options_.uses(); ++use) {
        const Upgrade best = find(use);
        if (best.option != kNoOption) {
            queue.push(best);
        }
    }
    while (!queue.empty() && !is_out_of_steps()) {
        const int use = queue.top().use;
        queue.pop();
        // What was chosen since may have made it less.
        const Upgrade best = find(use);
        if (best.option == kNoOption) {
            continue;
        }
        if (queue.empty() || !(best < queue.top())) {
            now_.choose(use, best.option);
        }
        queue.push(best);
    }
}

// Halves the range in which the least time must be, by whether the balanced choice is too full.
void WeightSearch::balance() {
    double low_ns = options_.bound_ns();
    double high_ns = best_cost_.read_ns;
    WeightBalance balance(options_, budgets_, best_);
    for (int i = 0; i < kBalances && low_ns < high_ns * kLessTime; ++i) {
        const double target_ns = (low_ns + high_ns) / 2;
        const int64_t steps_before = balance.steps();
        balance.run(target_ns);
        steps_ += balance.steps() - steps_before;
        (balance.fullness() > 1 ? low_ns : high_ns) = target_ns;
        now_.choose_all(balance.chosen());
        end_of_steps_ = steps_ + upgrade_steps();
        if (clear_full_domains()) {
            upgrade();
            note_best();
        }
    }
}

bool WeightSearch::clear_full_domains() {
    for (int full = now_.full_domain(); full != kNoOption; full = now_.full_domain()) {
        const Move out = find_way_out(full, kNoOption);
        if (out.option == kNoOption || is_out_of_steps()) {
            return false;
        }
        now_.choose(out.use, out.option);
    }
    return true;
}

void WeightSearch::note_best() {
    const WeightCost cost = now_.cost();
    if (best_.empty() || is_better(cost, best_cost_)) {
        best_.assign(now_.chosen().begin(), now_.chosen().end());
        best_cost_ = cost;
    }
}

bool WeightSearch::is_better(const WeightCost& a, const WeightCost& b) const {
    if (aim_ == Aim::kAlone) {
        const bool is_less = a.alone_ns < b.alone_ns * kLessTime;
        const bool is_smaller = a.alone_ns * kLessTime <= b.alone_ns && a.bytes < b.bytes;
        return a.read_ns <= limit_ns_ && (is_less || is_smaller);
    }
    return a.read_ns < b.read_ns * kLessTime ||
           (a.read_ns <= b.read_ns && a.spread < b.spread * kLessTime);
}

// Until no move of any constant helps.
void WeightSearch::descend() {
    bool has_changed = true;
    while (has_changed && !is_out_of_steps()) {
        has_changed = false;
        for (int use = 0; use < options_.uses() && !is_out_of_steps(); ++use) {
            has_changed |= improve(use);
        }
    }
}

bool WeightSearch::improve(int use) {
    bool has_changed = false;
    for (int option = 0; option < options_.count(use); ++option) {
        ++steps_;
        if (option == now_.at(use)) {
            continue;
        }
        const WeightCost before = now_.cost();
        if (is_better(now_.cost_after(use, option), before)) {
            has_changed |= try_move({use, option}, before);
        }
    }
    return has_changed;
}

// False, and nothing changed, if no room can be made or that costs more than it brings.
bool WeightSearch::try_move(Move move, const WeightCost& before) {
    done_.assign(1, {move.use, now_.at(move.use)});
    now_.choose(move.use, move.option);
    if (make_room(move.use) && is_better(now_.cost(), before)) {
        return true;
    }
    undo();
    return false;
}

bool WeightSearch::make_room(int moved) {
    for (int i = 0; i <= kMostMovedOut; ++i) {
        const int full = now_.full_domain();
        if (full == kNoOption) {
            return true;
        }
        const Move out = find_way_out(full, moved);
        if (out.option == kNoOption || i == kMostMovedOut) {
            return false;
        }
        done_.push_back({out.use, now_.at(out.use)});
        now_.choose(out.use, out.option);
    }
    return false;
}

// The cheapest move that takes bytes out of a domain and fits elsewhere.
WeightSearch::Move WeightSearch::find_way_out(int domain, int moved) {
    Move best{0, kNoOption};
    WeightCost best_cost;
    const int uses = options_.uses();
    const int first = uses <= kMostLookedAt ? 0 : random_.below(uses);
    for (int i = 0; i < std::min(uses, kMostLookedAt); ++i) {
        const int use = first + i < uses ? first + i : first + i - uses;
        const int64_t bytes = now_.bytes_in(use, now_.at(use), domain);
        for (int option = 0; use != moved && bytes > 0 && option < options_.count(use); ++option) {
            ++steps_;
            if (now_.bytes_in(use, option, domain) >= bytes ||
                !now_.has_room(use, option, domain)) {
                continue;
            }
            const WeightCost cost = now_.cost_after(use, option);
            if (best.option == kNoOption || is_better(cost, best_cost)) {
                best = {use, option};
                best_cost = cost;
            }
        }
    }
    return best;
}

void WeightSearch::undo() {
    for (auto move = done_.rbegin(); move != done_.rend(); ++move) {
        now_.choose(move->use, move->option);
    }
}

void WeightSearch::search_anew() {
    const int64_t last_step = end_of_steps_;
    int without_gain = 0;
    while (steps_ < last_step && best_cost_.read_ns * kLessTime > options_.bound_ns()) {
        constexpr int kSizes = kMostChosenAnew - kLeastChosenAnew + 1;
        const int size = kLeastChosenAnew + without_gain / kSearchPatience % kSizes;
        const WeightCost before = best_cost_;
        end_of_steps_ = std::min(last_step, steps_ + kChooseAnewSteps);
        choose_anew(std::min(size, options_.uses()));
        without_gain = is_better(best_cost_, before) ? 0 : without_gain + 1;
    }
}

// Tries all choices for some constants at random, while the others stay; the best of them.
void WeightSearch::choose_anew(int count) {
    group_.clear();
    while (int(group_.size()) < count) {
        const int use = random_.below(options_.uses());
        if (std::find(group_.begin(), group_.end(), use) == group_.end()) {
            group_.push_back(use);
        }
    }
    now_.choose_all(best_);
    for (const int use : group_) {
        now_.choose(use, kNoOption);
    }
    choose_rest(0);
}

// Costs only grow with every constant, so what is not better already need not be completed.
void WeightSearch::choose_rest(size_t depth) {
    if (depth == group_.size()) {
        note_best();
        return;
    }
    const int use = group_[depth];
    for (int option = 0; option < options_.count(use) && !is_out_of_steps(); ++option) {
        ++steps_;
        if (now_.has_room(use, option) && is_better(now_.cost_after(use, option), best_cost_)) {
            now_.choose(use, option);
            choose_rest(depth + 1);
            now_.choose(use, kNoOption);
        }
    }
}

void WeightSearch::shorten_alone() {
    aim_ = Aim::kAlone;
    limit_ns_ = now_.cost().read_ns * kNearlyTheLeast;
    end_of_steps_ = steps_ + kSearchSteps + kAloneStepsEach * options_.uses();
    descend();
}

}  // namespace leat
