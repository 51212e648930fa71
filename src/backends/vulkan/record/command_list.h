// CommandList: what a graph does on one queue, as data: dispatches, copies and fills in an order
// that is correct when each waits for all before it. Each tells which bytes it reads and writes;
// who may really overlap follows from that (barrier_plan.h). It knows no device: a recording
// (recording.h) binds buffers and pipelines, and any number of recordings are made from one list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/byte_range.h"
#include "leat/status.h"

namespace leat::vulkan {

enum class BufferId : uint32_t {};
enum class PipelineId : uint32_t {};

constexpr size_t kMaxOperands = 8;
constexpr size_t kScalars = 13;

struct BufferUse {
    BufferId buffer{};
    ByteRange bytes;
    bool is_write = false;
};

// Where an operand of a kernel begins.
struct Operand {
    BufferId buffer{};
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;  // of a window; means nothing for an address
};

struct Dispatch {
    PipelineId pipeline{};
    std::array<uint32_t, 3> groups{1, 1, 1};
    // What add_parameters() gave; -1 where the kernel has none.
    int64_t parameters_offset = -1;
    std::array<Operand, kMaxOperands> operands{};
    uint32_t operand_count = 0;
    // As ShaderUse::windows: bit i: operand i is a window of a buffer of the instance; the kernel
    // has the others as addresses.
    uint32_t windows = 0;
    uint32_t vector_windows = 0;
    std::array<uint32_t, kScalars> scalars{};
};

struct BufferCopy {
    BufferId source{};
    BufferId destination{};
    int64_t source_offset = 0;
    int64_t destination_offset = 0;
    int64_t byte_count = 0;
};

struct Fill {
    BufferId destination{};
    ByteRange bytes;       // begin and end in multiples of 4
    uint32_t pattern = 0;  // of 4 bytes
};

struct Command {
    std::variant<Dispatch, BufferCopy, Fill> action;
    uint32_t first_use = 0;
    uint32_t use_count = 0;
    // What the command is thought to take on the device; decides where submits are split.
    int64_t estimated_ns = 0;
};

// Not for use by several threads at once while it grows.
class CommandList {
  public:
    // Memory of the instance, or of an external tensor, which may lie elsewhere in each run and is
    // therefore reached through a table. External buffers must not share memory with others that
    // the list writes.
    BufferId add_buffer(int64_t size_bytes, bool is_external = false);
    // Read-only parameters of kernels (shapes, strides); returns their offset.
    int64_t add_parameters(std::span<const std::byte> bytes);

    // invalid_argument, and nothing added, where a range leaves its buffer, an operand or a group
    // count is missing, or a copy or a window names an external buffer.
    Status add(const Dispatch& dispatch, std::span<const BufferUse> uses, int64_t estimated_ns = 0);
    Status add(const BufferCopy& copy, int64_t estimated_ns = 0);
    Status add(const Fill& fill, int64_t estimated_ns = 0);

    std::span<const Command> commands() const { return commands_; }
    std::span<const BufferUse> uses(const Command& command) const {
        return std::span(uses_).subspan(command.first_use, command.use_count);
    }
    std::span<const std::byte> parameters() const { return parameters_; }
    size_t buffer_count() const { return buffers_.size(); }
    int64_t buffer_bytes(BufferId buffer) const { return buffers_[size_t(buffer)].size_bytes; }
    bool is_external(BufferId buffer) const { return buffers_[size_t(buffer)].is_external; }

  private:
    struct Buffer {
        int64_t size_bytes = 0;
        bool is_external = false;
    };

    Status check_range(BufferId buffer, ByteRange bytes) const;
    Status check_internal(BufferId buffer) const;
    Status check_operand(const Dispatch& dispatch, uint32_t index) const;
    template <class Action>
    void append(const Action& action, std::span<const BufferUse> uses, int64_t estimated_ns);

    std::vector<Buffer> buffers_;
    std::vector<Command> commands_;
    std::vector<BufferUse> uses_;
    std::vector<std::byte> parameters_;
};

}  // namespace leat::vulkan
