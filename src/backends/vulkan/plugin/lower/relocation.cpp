#include "backends/vulkan/plugin/lower/relocation.h"

#include <algorithm>
#include <variant>

#include "backends/vulkan/plugin/failure.h"

namespace leat::vulkan {
namespace {

class Relocator {
  public:
    Relocator(const DeviceProgram& program, const std::vector<ArenaRange>& ranges)
        : program_(program) {
        targets_.reserve(program.buffers.size());
        for (size_t i = 0; i < program.buffers.size(); ++i) {
            targets_.push_back(target_of(BufferId(i), ranges[i]));
        }
    }

    RelocatedList relocate() {
        if (!program_.list.parameters().empty()) {
            // The first block begins at 0, so offsets stay.
            (void)result_.list.add_parameters(program_.list.parameters());
        }
        for (const Command& command : program_.list.commands()) {
            std::visit([&](const auto& action) { add(action, command); }, command.action);
        }
        return std::move(result_);
    }

  private:
    struct Target {
        BufferId buffer{};
        int64_t offset_bytes = 0;
    };

    BufferId add_buffer(int64_t size_bytes, bool is_external, const BufferPlace& place) {
        result_.places.push_back(place);
        return result_.list.add_buffer(size_bytes, is_external);
    }

    Target target_of(BufferId id, const ArenaRange& range) {
        const ProgramBuffer& buffer = program_.buffers[size_t(id)];
        if (program_.list.is_external(id)) {
            const BufferId external = add_buffer(std::max<int64_t>(buffer.size_bytes, 1), true, {});
            result_.externals.emplace_back(external, buffer);
            return {external, 0};
        }
        if (range.arena == nullptr || buffer.size_bytes == 0) {
            return {add_buffer(1, false, {}), 0};
        }
        const ByteRange bytes{range.offset_bytes, range.offset_bytes + buffer.size_bytes};
        (void)value_or_throw(range.arena->address(bytes));
        const ByteRange around = range.arena->addressable_around(bytes.begin);
        const auto [at, is_new] = buffers_.try_emplace({range.arena, around.begin});
        if (is_new) {
            at->second = add_buffer(around.end - around.begin, false,
                                    value_or_throw(place_in(*range.arena, around)));
        }
        return {at->second, bytes.begin - around.begin};
    }

    const Target& target(BufferId buffer) const { return targets_[size_t(buffer)]; }

    void add(const Dispatch& dispatch, const Command& command) {
        Dispatch moved = dispatch;
        for (uint32_t i = 0; i < moved.operand_count; ++i) {
            Operand& operand = moved.operands[i];
            const Target& to = target(operand.buffer);
            operand.buffer = to.buffer;
            operand.offset_bytes += to.offset_bytes;
        }
        uses_.clear();
        for (const BufferUse& use : program_.list.uses(command)) {
            const Target& to = target(use.buffer);
            uses_.push_back({to.buffer,
                             {use.bytes.begin + to.offset_bytes, use.bytes.end + to.offset_bytes},
                             use.is_write});
        }
        throw_if(result_.list.add(moved, uses_, command.estimated_ns));
    }

    void add(const BufferCopy& copy, const Command& command) {
        const Target& from = target(copy.source);
        const Target& to = target(copy.destination);
        throw_if(result_.list.add(
            BufferCopy{from.buffer, to.buffer, copy.source_offset + from.offset_bytes,
                       copy.destination_offset + to.offset_bytes, copy.byte_count},
            command.estimated_ns));
    }

    void add(const Fill& fill, const Command& command) {
        const Target& to = target(fill.destination);
        throw_if(result_.list.add(
            Fill{to.buffer,
                 {fill.bytes.begin + to.offset_bytes, fill.bytes.end + to.offset_bytes},
                 fill.pattern},
            command.estimated_ns));
    }

    const DeviceProgram& program_;
    RelocatedList result_;
    std::vector<Target> targets_;
    // By arena and begin of what is addressed together.
    std::map<std::pair<const Arena*, int64_t>, BufferId> buffers_;
    std::vector<BufferUse> uses_;
};

}  // namespace

RelocatedList place_list(const DeviceProgram& program, const std::vector<ArenaRange>& ranges) {
    return Relocator(program, ranges).relocate();
}

}  // namespace leat::vulkan
