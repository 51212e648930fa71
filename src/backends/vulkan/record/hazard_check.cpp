#include "backends/vulkan/record/hazard_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

namespace leat::vulkan {
namespace {

struct Conflict {
    HazardKind kind{};
    BufferId buffer{};
    ByteRange bytes;
};

// The first pair of uses of which one must wait for the other.
std::optional<Conflict> conflict_of(std::span<const BufferUse> earlier,
                                    std::span<const BufferUse> later) {
    for (const BufferUse& a : earlier) {
        for (const BufferUse& b : later) {
            const bool is_conflict =
                a.buffer == b.buffer && (a.is_write || b.is_write) && a.bytes.meets(b.bytes);
            if (!is_conflict) {
                continue;
            }
            HazardKind kind = HazardKind::kReadAfterWrite;
            if (b.is_write) {
                kind = a.is_write ? HazardKind::kWriteAfterWrite : HazardKind::kWriteAfterRead;
            }
            return Conflict{
                kind,
                a.buffer,
                {std::max(a.bytes.begin, b.bytes.begin), std::min(a.bytes.end, b.bytes.end)}};
        }
    }
    return std::nullopt;
}

class Checker {
  public:
    Checker(const CommandList& list, const BarrierPlan& plan) : list_(list), plan_(plan) {}

    HazardCheck check() {
        check_order();
        for (size_t step = 0; step < plan_.steps.size(); ++step) {
            if (!plan_.steps[step].is_barrier) {
                follow(step);
            }
        }
        return std::move(result_);
    }

  private:
    void check_order() {
        constexpr auto kAbsent = size_t(-1);
        std::vector<size_t> places(list_.commands().size(), kAbsent);
        for (size_t step = 0; step < plan_.steps.size(); ++step) {
            const RecordedStep& one = plan_.steps[step];
            if (one.is_barrier) {
                continue;
            }
            if (places[one.command] != kAbsent) {
                result_.faults.push_back(fmt::format("command {} stands twice", one.command));
            }
            places[one.command] = step;
        }
        for (uint32_t later = 0; later < places.size(); ++later) {
            if (places[later] == kAbsent) {
                result_.faults.push_back(fmt::format("command {} is left out", later));
                continue;
            }
            for (uint32_t earlier = 0; earlier < later; ++earlier) {
                if (places[earlier] != kAbsent && places[earlier] > places[later] &&
                    conflict_of(uses_of(earlier), uses_of(later))) {
                    result_.faults.push_back(
                        fmt::format("command {} stands before {}", later, earlier));
                }
            }
        }
    }

    // Walks on from one command: through the rest of its run and the whole next one. `safe` are the
    // stages that a chain of barriers leads to from the command.
    void follow(size_t first) {
        const uint32_t earlier = plan_.steps[first].command;
        const Stages own = stage_of(list_.commands()[earlier]);
        Stages safe = 0;
        for (size_t i = first + 1; i < 2 * plan_.steps.size(); ++i) {
            if (i == plan_.steps.size() && (safe & kHostStage) == 0) {
                note_unseen_by_host(earlier);
            }
            const RecordedStep& step = plan_.steps[i % plan_.steps.size()];
            if (step.is_barrier) {
                const bool continues = ((own | safe) & step.barrier.from) != 0;
                safe = Stages(safe | (continues ? step.barrier.to : 0));
                continue;
            }
            if ((safe & stage_of(list_.commands()[step.command])) == 0) {
                compare(earlier, step.command, i >= plan_.steps.size());
            }
        }
    }

    void compare(uint32_t earlier, uint32_t later, bool is_between_runs) {
        if (const auto conflict = conflict_of(uses_of(earlier), uses_of(later))) {
            result_.hazards.push_back({conflict->kind, earlier, later, conflict->buffer,
                                       conflict->bytes, is_between_runs, false});
        }
    }

    void note_unseen_by_host(uint32_t command) {
        for (const BufferUse& use : uses_of(command)) {
            if (use.is_write) {
                result_.hazards.push_back({HazardKind::kReadAfterWrite, command, command,
                                           use.buffer, use.bytes, false, true});
                return;
            }
        }
    }

    std::span<const BufferUse> uses_of(uint32_t command) const {
        return list_.uses(list_.commands()[command]);
    }

    const CommandList& list_;
    const BarrierPlan& plan_;
    HazardCheck result_;
};

}  // namespace

std::string Hazard::text() const {
    constexpr std::array<std::string_view, 3> kKinds = {"read after write", "write after read",
                                                        "write after write"};
    const std::string who =
        is_by_host ? "the host"
                   : fmt::format("command {}{}", later, is_between_runs ? " of the next run" : "");
    return fmt::format("{} of bytes {} to {} of buffer {}: {} after command {}",
                       kKinds[size_t(kind)], bytes.begin, bytes.end, size_t(buffer), who, earlier);
}

HazardCheck check_hazards(const CommandList& list, const BarrierPlan& plan) {
    return Checker(list, plan).check();
}

}  // namespace leat::vulkan
