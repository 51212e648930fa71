#include "backends/vulkan/record/address_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "backends/vulkan/record/recording.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

// As in address_check.comp: the report, zeros for strays that read, room for those that write.
struct Report {
    uint32_t is_taken = 0;
    uint32_t command = 0;
    uint32_t operand = 0;
    uint32_t is_write = 0;
    int64_t offset_bytes = 0;
    uint32_t bytes = 0;
    uint32_t unused = 0;
};
constexpr int64_t kReportBytes = 32;
constexpr int64_t kRulesBegin = kReportBytes + 2 * int64_t{kStrayBytes};
static_assert(sizeof(Report) == kReportBytes);

struct RulesHeader {
    uint64_t parameters = 0;
    uint64_t report = 0;
    uint32_t command = 0;
    uint32_t range_count = 0;
};

// Where the parameters that begin at `offset` end: nobody tells, but the next ones begin there.
int64_t parameters_end(const CommandList& list, int64_t offset) {
    auto end = int64_t(list.parameters().size());
    for (const Command& command : list.commands()) {
        const auto* dispatch = std::get_if<Dispatch>(&command.action);
        if (dispatch != nullptr && dispatch->parameters_offset > offset) {
            end = std::min(end, dispatch->parameters_offset);
        }
    }
    return end;
}

}  // namespace

std::string StrayAccess::text() const {
    const char* verb = is_write ? "write" : "read";
    if (operand == kNothing) {
        return fmt::format("{}s {} bytes before all of its operands", verb, access_bytes);
    }
    const std::string name = operand == kParameters ? "its parameters"
                             : operand == kTable    ? "the table of external operands"
                                                    : fmt::format("operand {}", operand);
    return fmt::format("{}s {} bytes at offset {} of {}, of which it may {} {} bytes", verb,
                       access_bytes, offset_bytes, name, verb, operand_bytes);
}

template <class T>
void AddressRules::write(int64_t at, const T& value) {
    std::memcpy(arena_[0].mapped_at(at).data(), &value, sizeof value);
}

Result<AddressRules> AddressRules::make(const std::shared_ptr<const Device>& device,
                                        const CommandList& list,
                                        std::span<const BufferPlace> places,
                                        const ParameterPlace& parameters) {
    AddressRules rules;
    rules.rules_begin_.reserve(list.commands().size());
    int64_t end = kRulesBegin;
    for (uint32_t command = 0; command < list.commands().size(); ++command) {
        const size_t first = rules.ranges_.size();
        const bool is_dispatch = std::holds_alternative<Dispatch>(list.commands()[command].action);
        rules.add_ranges(list, command, parameters);
        rules.rules_begin_.push_back(is_dispatch ? end : -1);
        end += is_dispatch ? int64_t(sizeof(RulesHeader)) : 0;
        for (size_t i = first; i < rules.ranges_.size(); ++i) {
            rules.ranges_[i].at = end;
            end += int64_t(sizeof(Range));
        }
    }
    LEAT_ASSIGN_OR_RETURN(Arena arena,
                          Arena::allocate(device, end, {.use = MemoryUse::kParameters}));
    LEAT_ASSIGN_OR_RETURN(rules.base_, arena.address({0, end}));
    rules.arena_.push_back(std::move(arena));
    rules.write_rules(list, places, parameters);
    return rules;
}

void AddressRules::add_ranges(const CommandList& list,
                              uint32_t command,
                              const ParameterPlace& parameters) {
    const Command& recorded = list.commands()[command];
    const auto* dispatch = std::get_if<Dispatch>(&recorded.action);
    if (dispatch == nullptr) {
        return;
    }
    for (uint32_t i = 0; i < dispatch->operand_count; ++i) {
        const Operand& operand = dispatch->operands[i];
        PlacedRange placed{
            command, operand.buffer, {operand.offset_bytes, operand.offset_bytes}, {}, 0};
        placed.range.operand = i;
        const size_t before = ranges_.size();
        for (const BufferUse& use : list.uses(recorded)) {
            if (use.buffer == operand.buffer && use.bytes.begin == operand.offset_bytes) {
                placed.bytes.end = use.bytes.end;
                placed.range.is_written = use.is_write ? 1 : 0;
                ranges_.push_back(placed);
            }
        }
        // An operand without bytes, which nobody may touch.
        if (ranges_.size() == before) {
            ranges_.push_back(placed);
        }
    }
    PlacedRange known{command, {}, {}, {}, 0};
    if (dispatch->parameters_offset >= 0) {
        known.range.operand = StrayAccess::kParameters;
        known.range.begin = parameters.begin + uint64_t(dispatch->parameters_offset);
        known.range.end =
            parameters.begin + uint64_t(parameters_end(list, dispatch->parameters_offset));
        ranges_.push_back(known);
    }
    if (parameters.table != parameters.begin) {
        known.range.operand = StrayAccess::kTable;
        known.range.begin = parameters.table;
        known.range.end = parameters.begin;
        ranges_.push_back(known);
    }
}

void AddressRules::place(PlacedRange& placed, uint64_t buffer_address) {
    if (placed.range.operand < kMaxOperands) {
        placed.range.begin = buffer_address + uint64_t(placed.bytes.begin);
        placed.range.end = buffer_address + uint64_t(placed.bytes.end);
    }
    write(placed.at, placed.range);
}

void AddressRules::write_rules(const CommandList& list,
                               std::span<const BufferPlace> places,
                               const ParameterPlace& parameters) {
    std::memset(arena_[0].mapped_at(0).data(), 0, size_t(kRulesBegin));
    for (uint32_t command = 0; command < rules_begin_.size(); ++command) {
        const auto* dispatch = std::get_if<Dispatch>(&list.commands()[command].action);
        if (dispatch != nullptr) {
            RulesHeader header;
            header.parameters = dispatch->parameters_offset < 0
                                    ? 0
                                    : parameters.begin + uint64_t(dispatch->parameters_offset);
            header.report = base_;
            header.command = command;
            write(rules_begin_[command], header);
        }
    }
    for (PlacedRange& placed : ranges_) {
        place(placed,
              placed.range.operand < kMaxOperands ? places[size_t(placed.buffer)].address : 0);
        const auto count_at =
            rules_begin_[placed.command] + int64_t(offsetof(RulesHeader, range_count));
        const auto begin = rules_begin_[placed.command] + int64_t(sizeof(RulesHeader));
        write(count_at, uint32_t((placed.at - begin) / int64_t(sizeof(Range)) + 1));
    }
}

void AddressRules::bind(BufferId buffer, uint64_t address) {
    for (PlacedRange& placed : ranges_) {
        if (placed.range.operand < kMaxOperands && placed.buffer == buffer) {
            place(placed, address);
        }
    }
}

void AddressRules::clear() {
    write(0, Report{});
}

std::optional<StrayAccess> AddressRules::stray() const {
    Report report;
    std::memcpy(&report, arena_[0].mapped_at(0).data(), sizeof report);
    if (report.is_taken == 0) {
        return std::nullopt;
    }
    StrayAccess stray{report.command,      report.operand, report.is_write != 0,
                      report.offset_bytes, report.bytes,   0};
    for (const PlacedRange& placed : ranges_) {
        const bool is_allowed = report.is_write <= placed.range.is_written;
        if (placed.command == stray.command && placed.range.operand == stray.operand &&
            is_allowed) {
            stray.operand_bytes =
                std::max(stray.operand_bytes, int64_t(placed.range.end - placed.range.begin));
        }
    }
    return stray;
}

}  // namespace leat::vulkan
