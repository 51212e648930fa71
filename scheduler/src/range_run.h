// RangeRun: a parallel loop over [0, count), without a program.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "gears/active_run.h"
#include "threads/crew.h"
#include "threads/handover.h"

namespace leat::scheduler {

class RangeRun final : public ActiveRun {
  public:
    RangeRun(Crew& crew,
             int64_t count,
             int64_t grain,
             RangeFunction body,
             void* context,
             const RunControl& control)
        : ActiveRun(crew, {}, control),
          count_(count),
          chunk_(std::max({grain, count / (int64_t{8} * crew.report().threads), int64_t{1}})),
          body_(body),
          context_(context) {}

    // A few for each thread, however many indices there are.
    int64_t chunks() const { return count_ / chunk_ + int64_t(count_ % chunk_ > 0); }

    // Helpers are called after the first chunk, so that work starts before the first wake-up.
    void work(int worker) noexcept override {
        bool is_first = worker == 0;
        for (;;) {
            const TileRange chunk = claims_.claim(kEpoch, chunks(), 1);
            if (chunk.empty() || is_cancelled()) {
                break;
            }
            const int64_t begin = chunk.begin * chunk_;
            run_body({begin, count_ - begin < chunk_ ? count_ : begin + chunk_}, worker);
            if (std::exchange(is_first, false)) {
                recruit(1);
            }
        }
        hold_helpers();
    }

  private:
    static constexpr int64_t kEpoch = 1;

    void run_body(TileRange range, int worker) noexcept {
        try {
            Status status = body_(context_, range.begin, range.end, worker);
            if (!status.ok()) {
                cancel(std::move(status));
            }
        } catch (...) {
            std::array<char, 64> name{};
            const auto end =
                fmt::format_to_n(name.data(), name.size(), "the body of parallel_for, in [{}, {}),",
                                 range.begin, range.end);
            cancel_with_exception({name.data(), std::min(end.size, name.size())});
        }
    }

    const int64_t count_;
    const int64_t chunk_;
    const RangeFunction body_;
    void* const context_;
    alignas(128) TileClaims claims_;
};

}  // namespace leat::scheduler
