#include "memory/offsets/skyline_search.h"

#include <algorithm>
#include <limits>

#include "base/split_mix.h"

namespace leat {
namespace {

constexpr int64_t kNoHeight = std::numeric_limits<int64_t>::max();

SectionRange hull(const SectionRange& a, const SectionRange& b) {
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

}  // namespace

SkylineSearch::SkylineSearch(const IntervalProblem& problem, int64_t capacity_bytes)
    : problem_(problem),
      capacity_(capacity_bytes),
      keys_(problem.buffers().size()),
      offsets_(problem.buffers().size()),
      lowest_(problem.buffers().size()),
      floors_(size_t(problem.sections())),
      waiting_bytes_(size_t(problem.sections())),
      least_(size_t(problem.sections())) {}

void SkylineSearch::reset(const Strategy& strategy) {
    strategy_ = strategy;
    nodes_ = 0;
    failures_.clear();
    old_floors_.clear();
    placed_.clear();
    std::fill(offsets_.begin(), offsets_.end(), -1);
    std::fill(floors_.begin(), floors_.end(), 0);
    std::fill(waiting_bytes_.begin(), waiting_bytes_.end(), 0);
    for (size_t i = 0; i < keys_.size(); ++i) {
        const PackedBuffer& buffer = problem_.buffers()[i];
        const double duration = buffer.alive.end - buffer.alive.begin;
        const double size = double(buffer.size);
        keys_[i] = strategy.key == BufferKey::kSize       ? size
                   : strategy.key == BufferKey::kDuration ? duration
                                                          : size * duration;
        // Whole numbers: every machine has the same order.
        const uint64_t range = uint64_t(2 * strategy.noise_permille + 1);
        keys_[i] *= double(1000 - strategy.noise_permille +
                           int64_t(mixed(mixed(strategy.seed) + i) % range));
        for (int32_t section = buffer.alive.begin; section < buffer.alive.end; ++section) {
            waiting_bytes_[size_t(section)] += buffer.size;
        }
    }
}

SkylineSearch::Answer SkylineSearch::run(const Strategy& strategy, int64_t max_nodes) {
    reset(strategy);
    max_nodes_ = max_nodes;
    for (const int64_t bytes : waiting_bytes_) {
        if (bytes > capacity_) {
            return Answer::kImpossible;
        }
    }
    if (fill({0, problem_.sections()})) {
        return Answer::kFound;
    }
    return has_given_up() || strategy.jumps ? Answer::kGaveUp : Answer::kImpossible;
}

void SkylineSearch::write_offsets(std::span<int64_t> offsets) const {
    for (size_t i = 0; i < offsets_.size(); ++i) {
        offsets[size_t(problem_.buffers()[i].index)] = offsets_[i];
    }
}

void SkylineSearch::set_floor(int32_t section, int64_t floor) {
    old_floors_.push_back({section, floors_[size_t(section)]});
    floors_[size_t(section)] = floor;
}

// Only where the skyline is level, so that nothing is lost beneath.
void SkylineSearch::place(int32_t number, int64_t offset) {
    const PackedBuffer& placed = buffer(number);
    offsets_[size_t(number)] = offset;
    placed_.push_back(number);
    for (int32_t section = placed.alive.begin; section < placed.alive.end; ++section) {
        set_floor(section, offset + placed.size);
        waiting_bytes_[size_t(section)] -= placed.size;
    }
}

void SkylineSearch::undo(const Mark& mark) {
    for (; placed_.size() > mark.placed; placed_.pop_back()) {
        const int32_t number = placed_.back();
        offsets_[size_t(number)] = -1;
        const PackedBuffer& placed = buffer(number);
        for (int32_t section = placed.alive.begin; section < placed.alive.end; ++section) {
            waiting_bytes_[size_t(section)] += placed.size;
        }
    }
    for (; old_floors_.size() > mark.floors; old_floors_.pop_back()) {
        floors_[size_t(old_floors_.back().section)] = old_floors_.back().floor;
    }
}

// From `section`, where something waits, to where no waiting buffer leads on.
SectionRange SkylineSearch::part_from(int32_t section) const {
    SectionRange part{section, section + 1};
    for (; section < part.end; ++section) {
        for (const int32_t number : problem_.alive_in(section)) {
            part.end = is_waiting(number) ? std::max(part.end, buffer(number).alive.end) : part.end;
        }
    }
    return part;
}

// That no waiting buffer connects; short ones first: they fail soonest.
std::vector<SectionRange> SkylineSearch::parts_of(SectionRange range) const {
    std::vector<SectionRange> parts;
    for (int32_t section = range.begin; section < range.end;) {
        if (waiting_bytes_[size_t(section)] == 0) {
            ++section;
        } else {
            parts.push_back(part_from(section));
            section = parts.back().end;
        }
    }
    std::stable_sort(parts.begin(), parts.end(), [](const SectionRange& a, const SectionRange& b) {
        return a.end - a.begin < b.end - b.begin;
    });
    return parts;
}

bool SkylineSearch::fill(SectionRange range) {
    const Mark before = mark();
    for (const SectionRange& part : parts_of(range)) {
        if (!solve(part)) {
            undo(before);
            return false;
        }
    }
    return true;
}

bool SkylineSearch::solve(SectionRange range) {
    if (++nodes_ > max_nodes_) {
        return false;
    }
    const Mark before = mark();
    StateKey key;
    if (raise_floors(range)) {
        key = key_of(range);
        if (failures_.count(key) == 0) {
            if (branch(range, choose_niche(range))) {
                return true;
            }
            undo(before);
            if (!has_given_up()) {
                failures_.insert(key);
            }
            return false;
        }
    }
    undo(before);
    failed_ = range;
    return false;
}

// For each waiting buffer of the part, and for each section the least of its buffers.
void SkylineSearch::find_lowest_places(SectionRange range) {
    std::fill(least_.begin() + range.begin, least_.begin() + range.end, kNoHeight);
    for (int32_t number = problem_.first_in(range.begin); number < problem_.first_in(range.end);
         ++number) {
        if (!is_waiting(number)) {
            continue;
        }
        const SectionRange& alive = buffer(number).alive;
        const int64_t lowest =
            *std::max_element(floors_.begin() + alive.begin, floors_.begin() + alive.end);
        lowest_[size_t(number)] = lowest;
        for (int32_t section = alive.begin; section < alive.end; ++section) {
            least_[size_t(section)] = std::min(least_[size_t(section)], lowest);
        }
    }
}

// No waiting buffer of a section begins below the lowest place of all of them. False: some section
// cannot take what waits.
bool SkylineSearch::raise_floors(SectionRange range) {
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        find_lowest_places(range);
        for (int32_t section = range.begin; section < range.end; ++section) {
            const int64_t least = least_[size_t(section)];
            if (least == kNoHeight || least <= floors_[size_t(section)]) {
                continue;
            }
            set_floor(section, least);
            has_changed = true;
            if (slack(section) < 0) {
                return false;
            }
        }
    }
    return true;
}

// Every choice is complete only at the lowest floor of the part, or in a tight section of a valley:
// what begins there lies level.
SkylineSearch::Niche SkylineSearch::choose_niche(SectionRange range) const {
    int64_t lowest = kNoHeight;
    for (int32_t section = range.begin; section < range.end; ++section) {
        lowest = std::min(lowest, floors_[size_t(section)]);
    }
    const auto is_wall = [&](int32_t section, int64_t floor) {
        return section < range.begin || section >= range.end || floors_[size_t(section)] > floor;
    };
    Niche best;
    double best_rank = 0;
    int32_t end = range.begin;
    while (end < range.end) {
        const int32_t begin = end;
        const int64_t floor = floors_[size_t(begin)];
        while (end < range.end && floors_[size_t(end)] == floor) {
            ++end;
        }
        const bool is_valley = is_wall(begin - 1, floor) && is_wall(end, floor);
        for (int32_t section = begin; section < end && is_valley; ++section) {
            const bool is_tight = slack(section) < problem_.unit();
            if (!is_tight && floor != lowest) {
                continue;
            }
            const double section_rank = rank(section, is_tight);
            if (best.section < 0 || section_rank < best_rank) {
                best = {section, floor, is_tight};
                best_rank = section_rank;
            }
        }
    }
    return best;
}

// The section with the smallest rank is decided first: tight ones, of those the one with the fewest
// choices.
double SkylineSearch::rank(int32_t section, bool is_tight) const {
    constexpr double kLoose = 1e30;
    const auto choices = double(candidates({section, floors_[size_t(section)], is_tight}).size());
    if (is_tight) {
        return choices;
    }
    switch (strategy_.rule) {
        case SectionRule::kFewestChoices:
            return kLoose * (1 + choices);
        case SectionRule::kLeastSlack:
            return kLoose * (1 + double(slack(section)));
        default:
            return kLoose * (1 + choices * double(slack(section) + 1));
    }
}

// Waiting buffers that can begin at the floor.
std::vector<int32_t> SkylineSearch::candidates(const Niche& niche) const {
    std::vector<int32_t> found;
    for (const int32_t number : problem_.alive_in(niche.section)) {
        if (is_waiting(number) && lowest_[size_t(number)] == niche.floor) {
            found.push_back(number);
        }
    }
    return found;
}

bool SkylineSearch::branch(SectionRange range, const Niche& niche) {
    std::vector<int32_t> choices = candidates(niche);
    std::stable_sort(choices.begin(), choices.end(),
                     [&](int32_t a, int32_t b) { return keys_[size_t(a)] > keys_[size_t(b)]; });
    const int64_t level = niche.is_tight ? kNoHeight : next_level(range, niche);
    SectionRange failed{niche.section, niche.section + 1};
    for (const int32_t number : problem_.alive_in(niche.section)) {
        failed = is_waiting(number) ? hull(failed, buffer(number).alive) : failed;
    }
    const Mark before = mark();
    for (const int32_t number : choices) {
        place(number, niche.floor);
        if (fill(range)) {
            return true;
        }
        undo(before);
        if (has_given_up() || (strategy_.jumps && !failed_.overlaps(buffer(number).alive))) {
            return false;
        }
        failed = hull(failed, failed_);
    }
    if (level != kNoHeight && level + waiting_bytes_[size_t(niche.section)] <= capacity_) {
        set_floor(niche.section, level);
        if (fill(range)) {
            return true;
        }
        undo(before);
        if (strategy_.jumps && !failed_.contains(niche.section)) {
            return false;
        }
        failed = range;
    }
    failed_ = failed;
    return false;
}

// Where the lowest waiting buffer of the section can begin if none does at the floor: on a higher
// place of the skyline, or on a waiting buffer that is not of the section.
int64_t SkylineSearch::next_level(SectionRange range, const Niche& niche) const {
    int64_t level = kNoHeight;
    for (int32_t section = range.begin; section < range.end; ++section) {
        if (floors_[size_t(section)] > niche.floor) {
            level = std::min(level, floors_[size_t(section)]);
        }
    }
    for (int32_t number = problem_.first_in(range.begin); number < problem_.first_in(range.end);
         ++number) {
        if (is_waiting(number) && !buffer(number).alive.contains(niche.section)) {
            level = std::min(level, lowest_[size_t(number)] + buffer(number).size);
        }
    }
    return level;
}

SkylineSearch::StateKey SkylineSearch::key_of(SectionRange range) const {
    StateKey key{mixed(uint64_t(range.begin) << 32 | uint64_t(range.end)), 0};
    const auto add = [&](uint64_t value) {
        key.low = mixed(key.low ^ value);
        key.high = mixed(key.high + key.low + value);
    };
    for (int32_t section = range.begin; section < range.end; ++section) {
        add(uint64_t(floors_[size_t(section)]));
    }
    for (int32_t number = problem_.first_in(range.begin); number < problem_.first_in(range.end);
         ++number) {
        if (is_waiting(number)) {
            add(uint64_t(number));
        }
    }
    return key;
}

}  // namespace leat
