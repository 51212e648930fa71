// Program::make (checks, transitive reduction of waits) and the estimates that decide how it runs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "program_impl.h"

namespace leat::scheduler {
namespace {

// A sleeping thread runs 16-56 us after the futex call, which costs the caller 7-17 us
// (docs/measurements/scheduler.md): helpers pay off from twice that.
constexpr double kWakeCostNs = 20'000;
// A claim costs a cache-line transfer, 60-130 ns: tiles are claimed by about 8 of them.
constexpr double kMinClaimNs = 1'000;

// Removes waits that other waits imply. Ancestors are bit sets over two blocks of steps, the one of
// the step and the one before: a wait that reaches further back stays, so memory does not grow with
// the square.
class WaitReduction {
  public:
    explicit WaitReduction(size_t steps) : rows_(std::min<size_t>(steps, 2 * kBlock) * kWords, 0) {}

    // Steps in order; sorts and reduces `waits` of `step`.
    void reduce(int32_t step, std::vector<int32_t>& waits) {
        std::sort(waits.begin(), waits.end(), std::greater<>());
        waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
        uint64_t* row = row_of(step);
        std::fill(row, row + kWords, 0);
        const int64_t base = base_of(step);
        const auto is_implied = [&](int32_t wait) {
            const int64_t bit = wait - base;
            if (bit < 0) {
                return false;
            }
            if (((row[bit / 64] >> (bit % 64)) & 1) != 0) {
                return true;
            }
            merge(row, base, wait);
            return false;
        };
        waits.erase(std::remove_if(waits.begin(), waits.end(), is_implied), waits.end());
        std::reverse(waits.begin(), waits.end());
    }

  private:
    static constexpr int64_t kBlock = 2048;
    static constexpr int64_t kWords = 2 * kBlock / 64;

    // First step that the row of `step` can hold.
    static int64_t base_of(int64_t step) { return (step / kBlock - 1) * kBlock; }
    uint64_t* row_of(int64_t step) { return rows_.data() + step % (2 * kBlock) * kWords; }

    // Adds `wait` and its ancestors to a row that starts at `base`.
    void merge(uint64_t* row, int64_t base, int32_t wait) {
        const uint64_t* from = row_of(wait);
        const int64_t shift = (base - base_of(wait)) / 64;
        for (int64_t word = shift; word < kWords; ++word) {
            row[word - shift] |= from[word];
        }
        const int64_t bit = wait - base;
        row[bit / 64] |= uint64_t{1} << (bit % 64);
    }

    std::vector<uint64_t> rows_;
};

Status check(const Step& step, int32_t index) {
    if (step.tile_count < 0 || step.tile_count > Program::kMaxTiles) {
        return invalid_argument("step {} has {} tiles", index, step.tile_count)
            .with_needed(fmt::format("0 to {}", Program::kMaxTiles));
    }
    if (!std::isfinite(step.cost_ns) || step.cost_ns < 0) {
        return invalid_argument("step {} has cost {} ns", index, step.cost_ns)
            .with_needed("a finite cost that is not negative");
    }
    for (const int32_t wait : step.waits) {
        if (wait < 0 || wait >= index) {
            return invalid_argument("step {} waits for step {}", index, wait)
                .with_needed(fmt::format("a step in [0, {})", index));
        }
    }
    return {};
}

// A step without tiles is finished from the start and orders nothing: who waits for it waits for
// what it waits for. Earlier steps are treated already.
void look_through_empty_steps(const std::vector<Step>& steps, std::vector<int32_t>& waits) {
    const size_t count = waits.size();
    for (size_t i = 0; i < count; ++i) {
        const Step& awaited = steps[size_t(waits[i])];
        if (awaited.tile_count == 0) {
            waits.insert(waits.end(), awaited.waits.begin(), awaited.waits.end());
        }
    }
    waits.erase(std::remove_if(waits.begin(), waits.end(),
                               [&](int32_t wait) { return steps[size_t(wait)].tile_count == 0; }),
                waits.end());
}

}  // namespace

Program::Program() : impl_(std::make_shared<Impl>()) {}
Program::Program(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Program> Program::make(std::vector<Step> steps) {
    if (steps.size() >= size_t(INT32_MAX)) {
        return invalid_argument("a program of {} steps", steps.size());
    }
    auto impl = std::make_shared<Impl>();
    impl->compact.reserve(steps.size());
    WaitReduction reduction(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
        Step& step = steps[i];
        LEAT_RETURN_IF_ERROR(check(step, int32_t(i)));
        look_through_empty_steps(steps, step.waits);
        reduction.reduce(int32_t(i), step.waits);
        CompactStep compact;
        compact.tile_count = step.tile_count;
        const double tiles_a_claim =
            step.cost_ns > 0 ? kMinClaimNs / step.cost_ns * double(step.tile_count) : 1;
        compact.grain = int64_t(std::clamp(std::ceil(tiles_a_claim), 1.0, double(kMaxTiles)));
        compact.waits_begin = int32_t(impl->waits.size());
        impl->waits.insert(impl->waits.end(), step.waits.begin(), step.waits.end());
        compact.waits_end = int32_t(impl->waits.size());
        impl->compact.push_back(compact);
    }
    impl->steps = std::move(steps);
    return Program(std::move(impl));
}

int Program::step_count() const {
    return int(impl_->steps.size());
}
std::span<const Step> Program::steps() const {
    return impl_->steps;
}

double Program::Impl::parallel_ns(int workers) const {
    double total = 0;
    double span = 0;
    std::vector<double> finish(steps.size(), 0);
    for (size_t i = 0; i < steps.size(); ++i) {
        double start = 0;
        for (const int32_t wait : steps[i].waits) {
            start = std::max(start, finish[size_t(wait)]);
        }
        const auto wide = double(std::clamp<int64_t>(steps[i].tile_count, 1, workers));
        finish[i] = start + steps[i].cost_ns / wide;
        span = std::max(span, finish[i]);
        total += steps[i].cost_ns;
    }
    return std::max(span, total / workers);
}

bool Program::is_inline(int workers) const {
    if (workers <= 1) {
        return true;
    }
    return impl_->parallel_ns(1) - impl_->parallel_ns(workers) < 2 * kWakeCostNs;
}

ProgramState::Impl::Impl(const Program& from, int max_workers)
    : program(from), is_inline(from.is_inline(max_workers)) {
    const Program::Impl& shape = program.impl();
    lanes = is_inline ? 1 : max_workers;
    progress = std::vector<StepProgress>(shape.steps.size());
    if (!is_inline) {
        for (int lane = 0; lane < lanes; ++lane) {
            // One line more on both sides: no two lanes share one, wherever the vector starts.
            claims_of_lane.emplace_back(shape.steps.size() + 2 * kLineClaims);
        }
    }
}

void ProgramState::Impl::begin_run() {
    if (needs_reset || epoch == TileClaims::kMaxEpoch) {
        reset();
    }
    ++epoch;
    needs_reset = true;  // until the run has finished all its tiles
}

void ProgramState::Impl::reset() {
    for (StepProgress& step : progress) {
        step.reset();
    }
    for (auto& lane : claims_of_lane) {
        for (TileClaims& claims : lane) {
            claims.reset();
        }
    }
    epoch = 0;
    needs_reset = false;
}

ProgramState::ProgramState(const Program& program, int max_workers)
    : impl_(std::make_unique<Impl>(program, std::max(max_workers, 1))) {}
ProgramState::~ProgramState() = default;
ProgramState::ProgramState(ProgramState&&) noexcept = default;
ProgramState& ProgramState::operator=(ProgramState&&) noexcept = default;

}  // namespace leat::scheduler
