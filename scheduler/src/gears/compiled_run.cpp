#include "gears/compiled_run.h"

#include <algorithm>
#include <span>

#include "base/parts.h"
#include "gears/task_call.h"
#include "threads/crew.h"
#include "threads/spin.h"

namespace leat::scheduler {
namespace {

// Looks at another list before the first pause instruction, which takes 40-70 ns on recent cores:
// as long as a transfer of the line takes.
constexpr int kHotLooks = 64;
// How long a worker looks for something to do before it gives its thread back, or sleeps where only
// a signal from outside can help: about as long as waking it takes.
constexpr std::chrono::microseconds kPatience{30};
// How long a worker waits for another one's task before it lets others have the core: who wants it
// keeps it for some milliseconds.
constexpr std::chrono::microseconds kTaskPatience{150};

// How long a domain must have had no thread in the run before others go through its lists: some
// five wake-ups.
constexpr int64_t kAbsenceNs = 200'000;

// Of the thread, because what it learned holds for the next run too.
thread_local Pacer t_pacer;

}  // namespace

CompiledCounters::CompiledCounters(const CompiledProgram& program)
    : lists(size_t(program.lists())),
      tiles_done(program.tile_tasks.size()),
      domain_of_list(size_t(program.lists())),
      domain_of_thread(size_t(program.lists()) + 1),
      threads_in(size_t(program.lists())) {
    for (int lane = 0; lane < program.lists(); ++lane) {
        lists[size_t(lane)].expect(size_t(program.lists()));
        // One line more on both sides: no two lanes share one, wherever the vector starts.
        claims_of_lane.emplace_back(program.tile_tasks.size() + 2 * kLineClaims);
    }
}

void CompiledCounters::begin_run(const CompiledProgram& program,
                                 std::span<const int> worker_domains) {
    if (needs_reset || epoch == TileClaims::kMaxEpoch) {
        for (StepProgress& done : tiles_done) {
            done.reset();
        }
        for (std::vector<TileClaims>& lane : claims_of_lane) {
            for (TileClaims& claims : lane) {
                claims.reset();
            }
        }
        epoch = 0;
    }
    ++epoch;
    needs_reset = true;  // until the run has finished all its tiles
    for (size_t list = 0; list < lists.size(); ++list) {
        lists[list].progress.reset();
        lists[list].owner.reset();
        lists[list].next = program.list_begin[list];
        lists[list].forget();
    }
    if (program.has_caller_tasks) {
        (void)lists[0].owner.try_claim();  // the caller finds it claimed: see work()
    }
    keeps_domains = !worker_domains.empty();
    if (keeps_domains) {
        for (size_t list = 0; list < lists.size(); ++list) {
            domain_of_list[list] = list < worker_domains.size()
                                       ? domain_with(worker_domains[list], worker_domains)
                                       : kAnyDomain;
            threads_in[list].reset();
        }
        know_thread(0, worker_domains[0], worker_domains);
    }
}

void CompiledCounters::know_thread(int worker, int domain, std::span<const int> worker_domains) {
    domain_of_thread[size_t(worker)] = domain_with(domain, worker_domains);
}

int32_t CompiledCounters::domain_with(int domain, std::span<const int> worker_domains) const {
    const size_t count = std::min(lists.size(), worker_domains.size());
    for (size_t list = 0; list < count; ++list) {
        if (worker_domains[list] == domain) {
            return int32_t(list);
        }
    }
    return kNoList;
}

// The calling thread owns the list, and does not afterwards.
CompiledRun::Stop CompiledRun::go_through(Passage& passage) {
    ListState& state = counters_.lists[size_t(passage.list)];
    const uint32_t* const begin = program_.words.data() + state.next;
    const uint32_t* next = begin;
    const Stop stop =
        record_.keeps_times() ? run_words<true>(passage, next) : run_words<false>(passage, next);
    passage.has_moved = next != begin || stop == Stop::kFinished;
    if (passage.is_far && passage.has_moved) {
        record_.add_far_segment();
    }
    state.next = uint32_t(next - program_.words.data());
    if (stop == Stop::kFinished) {
        state.owner.finish();
    } else if (stop != Stop::kCancelled) {
        // A cancelled list stays claimed: some tasks after state.next have run.
        state.owner.release();
    }
    if (passage.worker != 0 && points_.count() > 0) {
        points_.wake();  // the caller may sleep in stay(), and now has something to do
    }
    return stop;
}

// `next` is where the list goes on: afterwards an instruction that has not been carried out.
template <bool is_traced>
CompiledRun::Stop CompiledRun::run_words(const Passage& passage, const uint32_t*& next) {
    TaskScope scope = scope_of(passage.worker);
    TaskCaller<is_traced> caller(*this, function_, &record_, scope);
    ListState& own = counters_.lists[size_t(passage.list)];
    for (;;) {
        const uint32_t* const word = caller.call_tasks(next);
        if (word == nullptr) {
            return Stop::kCancelled;
        }
        if (const int length = pass_quickly(passage, own, word); length > 0) {
            next = word + length;
            continue;
        }
        const Instruction instruction = decode(word);
        Stop stop = Stop::kNone;
        switch (instruction.kind) {
            case Instruction::kTiles:
                stop = run_tiles(caller, program_.tile_items[instruction.wait.index], passage.list)
                           ? Stop::kNone
                           : Stop::kCancelled;
                break;
            case Instruction::kPublish:
                counters_.lists[size_t(passage.list)].progress.publish();
                if (passage.until != nullptr && is_over(*passage.until)) {
                    stop = Stop::kAsked;
                }
                break;
            case Instruction::kBoundary:
                stop = at_boundary(passage);
                break;
            case Instruction::kEnd:
                next = word;
                return Stop::kFinished;
            case Instruction::kWait:
                if (!is_over(passage.list, instruction.wait)) {
                    stop = wait_for(passage, instruction.wait);
                }
                if (stop != Stop::kNone) {
                    next = word;  // to be waited for again
                    return stop;
                }
                break;
        }
        next = word + instruction.length;
        if (stop != Stop::kNone) {
            return stop;
        }
    }
}

// What stands between most tasks, decided without a call: telling progress to whoever waits, and
// waiting for what is over already. The words that this took; 0: the instruction is still to be
// carried out.
inline int CompiledRun::pass_quickly(const Passage& passage,
                                     ListState& own,
                                     const uint32_t* word) const {
    if (Opcode(*word >> kOperandBits) == Opcode::kWait) {
        return has_published(own, *word & kOperandMask, word[1]) ? 2 : 0;
    }
    if (*word == encode(OtherOp::kPublish) && passage.until == nullptr) {
        own.progress.publish();
        return 1;
    }
    return 0;
}

CompiledRun::Instruction CompiledRun::decode(const uint32_t* word) {
    const uint32_t operand = *word & kOperandMask;
    switch (Opcode(*word >> kOperandBits)) {
        case Opcode::kTiles:
            return {Instruction::kTiles, 1, {WaitFor::kList, operand, 0}};
        case Opcode::kWait:
            return {Instruction::kWait, 2, {WaitFor::kList, operand, word[1]}};
        default:
            break;
    }
    switch (OtherOp(operand)) {
        case OtherOp::kPublish:
            return {Instruction::kPublish, 1, {}};
        case OtherOp::kBoundary:
            return {Instruction::kBoundary, 1, {}};
        case OtherOp::kWaitTiles:
            return {Instruction::kWait, 2, {WaitFor::kTiles, word[1], 0}};
        case OtherOp::kWaitPoint:
            return {Instruction::kWait, 2, {WaitFor::kPoint, word[1], 0}};
        default:
            return {Instruction::kEnd, 1, {}};
    }
}

// For the owner of `own`: its line of the other's counter is loaded only when the last look at it
// was not enough. A load that misses takes as long as some 40 empty tasks.
inline bool CompiledRun::has_published(ListState& own, uint32_t list, uint32_t times) const {
    uint32_t& seen = own.seen(list);
    if (seen < times) {
        seen = counters_.lists[list].progress.published();
    }
    return seen >= times;
}

// For the owner of `list`.
bool CompiledRun::is_over(int list, const Wait& wait) {
    return wait.kind == WaitFor::kList
               ? has_published(counters_.lists[size_t(list)], wait.index, wait.times)
               : is_over(wait);
}

bool CompiledRun::is_over(const Wait& wait) const {
    switch (wait.kind) {
        case WaitFor::kList:
            return counters_.lists[wait.index].progress.published() >= wait.times;
        case WaitFor::kTiles:
            return counters_.tiles_done[wait.index].is_done(
                counters_.epoch, program_.tile_tasks[wait.index].tile_count);
        default: {
            const TaskDag::PointWait& point = program_.point_waits[wait.index];
            return points_.has_reached(int32_t(point.point), point.value);
        }
    }
}

// False: the run is cancelled.
template <bool is_traced>
bool CompiledRun::run_tiles(TaskCaller<is_traced>& caller, const TileItem& item, int list) {
    const auto task = TaskId(item.task);
    if (item.tile_task < 0) {
        return run_all_tiles(caller, item);
    }
    const TileTask& shared = program_.tile_tasks[size_t(item.tile_task)];
    int64_t finished = 0;
    for (int turn = 0; turn < shared.lanes; ++turn) {
        const int lane = (list + turn) % shared.lanes;
        if (counters_.keeps_domains && !counters_.are_of_one_domain(list, lane)) {
            continue;  // by that domain's lists
        }
        const TileRange range{part_begin(shared.tile_count, shared.lanes, lane),
                              part_begin(shared.tile_count, shared.lanes, lane + 1)};
        const int64_t count = range.end - range.begin;
        const int64_t chunk = std::max(shared.grain, count / kClaimsPerLane);
        TileClaims& claims = counters_.claims(lane, item.tile_task);
        for (;;) {
            // The caller's first claim is small: helpers are called right after it.
            const bool is_first = caller.worker() == 0 && !has_recruited_;
            const TileRange claim = claims.claim(counters_.epoch, count, is_first ? 1 : chunk);
            if (claim.empty()) {
                break;
            }
            if (is_cancelled() ||
                !caller.call_tiles(task, range.begin + claim.begin, range.begin + claim.end)) {
                return false;  // the task stays unfinished; who waits for it sees the cancellation
            }
            finished += claim.end - claim.begin;
            if (is_first) {
                recruit_first_helper();
            }
        }
    }
    if (finished > 0) {
        counters_.tiles_done[size_t(item.tile_task)].publish(finished);
    }
    return true;
}

void CompiledRun::recruit_first_helper() {
    has_recruited_ = true;
    recruit(1);
}

CompiledRun::Stop CompiledRun::at_boundary(const Passage& passage) {
    if (is_cancelled()) {
        return Stop::kCancelled;
    }
    if (passage.worker == 0 && !has_recruited_) {
        recruit_first_helper();
    }
    const bool is_own = passage.list == passage.worker;
    const bool is_wanted = !is_own && counters_.lists[size_t(passage.list)].owner.is_wanted();
    const bool is_theirs = passage.is_far && has_own_thread(passage.list);
    if (is_wanted || is_theirs || (passage.until != nullptr && is_over(*passage.until))) {
        return Stop::kAsked;
    }
    if (passage.is_far) {
        record_.add_far_segment();
    }
    return passage.pacer != nullptr && passage.pacer->wants_rest() ? Stop::kRest : Stop::kNone;
}

// kNone: it is over. Only a list's own worker waits in it: who adopted it has a list of its own.
CompiledRun::Stop CompiledRun::wait_for(const Passage& passage, const Wait& wait) {
    if (passage.list != passage.worker || passage.is_far) {
        return Stop::kBlocked;
    }
    for (int look = 0; look < kHotLooks; ++look) {
        if (is_over(wait)) {
            return Stop::kNone;
        }
    }
    Backoff backoff(passage.pacer != nullptr ? Backoff::kNeverYields : Backoff::kSpin);
    while (!is_over(wait)) {
        if (is_stopping()) {
            return Stop::kCancelled;
        }
        const uint32_t seen = points_.events();
        const bool is_free =
            wait.kind == WaitFor::kList && may_adopt(passage.worker, int(wait.index));
        const bool is_time = backoff.pause();
        bool is_early = false;
        if ((is_free || is_time) && advance_lists(passage.worker, &wait, &is_early)) {
            backoff.restart();
            continue;
        }
        if (is_time && is_cancelled()) {
            return Stop::kCancelled;
        }
        if (is_time && !is_early && !stay(passage.worker, seen, backoff)) {
            return Stop::kBlocked;
        }
        // Not with the list in its hands: while somebody else has the core, the wait may end.
        if (passage.pacer != nullptr && backoff.waited() > kTaskPatience) {
            record_.add_wait(backoff.waited_in_all());
            return Stop::kRest;
        }
    }
    record_.add_wait(backoff.waited_in_all());
    return Stop::kNone;
}

// Nothing could be done since the event number was `seen`. False: a helper should give its thread
// back. The caller sleeps if only a signal from outside can help.
bool CompiledRun::stay(int worker, uint32_t seen, const Backoff& backoff) {
    if (points_.count() == 0 || backoff.waited() < kPatience || is_anyone_else_in_a_list(worker)) {
        return true;
    }
    if (worker != 0) {
        return false;
    }
    points_.wait(seen, longest_sleep());
    return true;
}

bool CompiledRun::is_anyone_else_in_a_list(int worker) const {
    for (int list = 0; list < program_.lists(); ++list) {
        if (list != worker && counters_.lists[size_t(list)].owner.is_taken()) {
            return true;
        }
    }
    return false;
}

// Goes through every list that nobody is in as far as it gets, or until `until` is over. False: no
// list got any further. Sets is_early where a list is left to a domain that has no thread yet, or
// no more: to be looked at again without sleeping.
bool CompiledRun::advance_lists(int worker, const Wait* until, bool* is_early) {
    if (!counters_.keeps_domains) {
        return advance_some_lists<false>(worker, until, false);
    }
    return advance_some_lists<true>(worker, until, false) ||
           advance_some_lists<true>(worker, until, true, is_early);
}

// Those of the worker's own domain, or the others; all where domains do not count.
template <bool keeps_domains>
bool CompiledRun::advance_some_lists(int worker, const Wait* until, bool is_far, bool* is_early) {
    bool has_moved = false;
    const int lists = program_.lists();
    for (int turn = 1; turn <= lists; ++turn) {
        const int list = (worker + turn) % lists;
        if (keeps_domains && counters_.is_near(worker, list) == is_far) {
            continue;
        }
        if (keeps_domains && !may_adopt(worker, list)) {
            // Threads of its domain wake who sleeps: when they have been in the list, or leave.
            if (is_early != nullptr && !has_own_thread(list)) {
                *is_early = true;
            }
            continue;
        }
        if (!counters_.lists[size_t(list)].owner.try_claim()) {
            continue;
        }
        Passage passage{list, worker, until, &t_pacer, is_far};
        const Stop stop = go_through(passage);
        if (stop == Stop::kRest) {
            t_pacer.rest();
        }
        has_moved = has_moved || passage.has_moved;
        if (stop == Stop::kCancelled || (until != nullptr && is_over(*until))) {
            return true;
        }
    }
    return has_moved;
}

// Nobody is in the list, and the worker's thread may be.
bool CompiledRun::may_adopt(int worker, int list) {
    return counters_.lists[size_t(list)].owner.is_free() &&
           (!counters_.keeps_domains || counters_.is_near(worker, list) ||
            counters_.threads_in[size_t(counters_.domain_of_list[size_t(list)])].has_had_none_for(
                kAbsenceNs));
}

bool CompiledRun::has_own_thread(int list) const {
    return counters_.threads_in[size_t(counters_.domain_of_list[size_t(list)])].has_any();
}

void CompiledRun::joins(int worker, int helper) noexcept {
    if (counters_.keeps_domains) {
        const std::span<const int> domains = crew().report().worker_domains;
        counters_.know_thread(worker, domains[size_t(helper)], domains);
    }
}

void CompiledRun::work(int worker) noexcept {
    const int domain = counters_.keeps_domains ? counters_.domain_of_thread[size_t(worker)] : -1;
    if (domain >= 0) {
        counters_.threads_in[size_t(domain)].enter();
    }
    if (worker == 0 && program_.starts_long) {
        recruit_first_helper();
    }
    if (go_through_own_list(worker)) {
        finish_other_lists(worker);
    }
    if (domain >= 0) {
        counters_.threads_in[size_t(domain)].leave();
        if (worker != 0 && points_.count() > 0) {
            points_.wake();  // the caller may sleep and leave the domain's lists to this thread
        }
    }
    if (worker != 0 && !awaits_other_domains()) {
        hold_helpers();
    }
}

// A list is left to threads of its domain that are not here yet.
bool CompiledRun::awaits_other_domains() const {
    return counters_.keeps_domains && points_.count() == 0 && !is_stopping() &&
           std::any_of(counters_.lists.begin(), counters_.lists.end(),
                       [](const ListState& list) { return list.owner.is_free(); });
}

// No other domain's thread goes through the lists of this one while it stays. Where they may wait
// for signals, helpers go home.
bool CompiledRun::is_needed_in_domain(int worker) const {
    if (!counters_.keeps_domains || points_.count() > 0) {
        return false;
    }
    for (int list = 0; list < program_.lists(); ++list) {
        if (counters_.is_near(worker, list) && !counters_.lists[size_t(list)].owner.is_finished()) {
            return true;
        }
    }
    return false;
}

// False: it could not be finished now.
bool CompiledRun::go_through_own_list(int worker) {
    if (worker >= program_.lists()) {
        return true;  // one thread more than lists: see Executor::start
    }
    if (counters_.keeps_domains && !counters_.is_near(worker, worker)) {
        return true;  // more threads than lists: none of this thread's domain has the number
    }
    ListOwner& own = counters_.lists[size_t(worker)].owner;
    const bool is_mine = worker == 0 && program_.has_caller_tasks;  // from the start
    Backoff backoff(kTaskPatience);
    while (!own.is_finished()) {
        if (is_mine || own.try_claim()) {
            own.ask_for(false);
            Passage passage{worker, worker, nullptr, is_mine ? nullptr : &t_pacer};
            const Stop stop = go_through(passage);
            if (stop != Stop::kRest) {
                record_.add_wait(backoff.waited_in_all());
                return stop == Stop::kFinished;
            }
            backoff.restart();
            t_pacer.rest();
            continue;
        }
        if (is_stopping()) {
            return false;
        }
        own.ask_for(true);
        if (advance_lists(worker, nullptr)) {
            backoff.restart();
        } else {
            backoff.pause();
        }
    }
    return true;
}

// Goes on where nobody is. The caller returns when all lists are finished, a helper when it finds
// nothing to do for a while.
void CompiledRun::finish_other_lists(int worker) {
    Backoff backoff;
    while (!is_finished() && !is_stopping()) {
        const uint32_t seen = points_.events();
        bool is_early = false;
        if (advance_lists(worker, nullptr, &is_early)) {
            backoff.restart();
            continue;
        }
        if (!backoff.pause()) {
            continue;
        }
        const bool is_tired =
            worker != 0 && backoff.waited() > kPatience && !is_needed_in_domain(worker);
        if (is_tired || is_cancelled() || (!is_early && !stay(worker, seen, backoff))) {
            break;
        }
    }
    record_.add_wait(backoff.waited_in_all());
}

bool CompiledRun::is_finished() const {
    return std::all_of(counters_.lists.begin(), counters_.lists.end(),
                       [](const ListState& list) { return list.owner.is_finished(); });
}

}  // namespace leat::scheduler
