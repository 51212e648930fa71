// Recording: a CommandList in command buffers of one queue, recorded once and replayed any number
// of times, one run at a time. External tensors and parameters change by writing into a small arena
// that the kernels read, never by recording again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/kernel/pipeline.h"
#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/record/address_rules.h"
#include "backends/vulkan/record/barrier_plan.h"
#include "backends/vulkan/record/command_list.h"
#include "backends/vulkan/record/window_binding.h"

namespace leat::vulkan {

// push_block.glsl as C++.
struct PushBlock {
    uint64_t parameters = 0;
    std::array<uint64_t, kMaxOperands> operands{};
    uint32_t indirect = 0;
    std::array<uint32_t, kScalars> scalars{};
};
static_assert(sizeof(PushBlock) == kPushBytes);

// Where a buffer of the list lies. External ones have no `arena`; their address may be 0 until
// bind() gives one.
struct BufferPlace {
    const Arena* arena = nullptr;
    int64_t offset_bytes = 0;  // of its begin in `arena`
    uint64_t address = 0;      // of its begin

    // From a byte of the buffer on.
    BufferPart part_at(int64_t offset) const { return arena->buffer_at(offset_bytes + offset); }
};
// The place of `bytes` of an arena, which stays where it is; an error where they have no address.
Result<BufferPlace> place_in(const Arena& arena, ByteRange bytes);

// What a list's numbers mean, indexed by BufferId and PipelineId.
struct Bindings {
    VkPipelineLayout layout = nullptr;  // PipelineMaker::layout(): all have its push constants
    std::span<const BufferPlace> places;
    std::span<const BoundPipeline> pipelines;
    // The device writes the time before the first command and after each one. Costs some of the
    // overlap of commands that do not wait for each other.
    bool writes_times = false;
    // The pipelines' shaders have address checks (checked_spirv.h).
    bool checks_addresses = false;
};

// When a command began and ended, in ticks of the device: DeviceInfo's timestampPeriod, in ns.
struct CommandTime {
    uint32_t command = 0;  // in the list
    int64_t begin_ticks = 0;
    int64_t end_ticks = 0;
};

// On a queue that computes. Arenas and pipelines must outlive it. Used by one thread at a time.
class Recording {
  public:
    static Result<std::unique_ptr<Recording>> record(std::shared_ptr<Queue> queue,
                                                     const CommandList& list,
                                                     const BarrierPlan& plan,
                                                     const Bindings& bindings);
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    // Waits for a run in flight.
    ~Recording();

    // Where an external buffer lies from the next run on. kBusy while a run is in flight.
    Status bind(BufferId buffer, uint64_t address);

    // Submits everything after `waits`; returns the point of the end. As many submits as the plan
    // has, one where its estimate is inside the budget. Allocates nothing. kBusy while the run
    // before is in flight; invalid_argument while an external buffer is not bound.
    Result<uint64_t> replay(std::span<const Queue::Wait> waits = {});

    // Of the last run, which has ended, in the order in which the commands were recorded.
    // unsupported unless Bindings::writes_times.
    Result<std::vector<CommandTime>> times() const;

    // Of the last run, which has ended: the first access that left its operands. None also without
    // Bindings::checks_addresses.
    std::optional<StrayAccess> stray_access() const;

    size_t submit_count() const { return commands_.size(); }

  private:
    // An operand in an external buffer: where its address stands in the arena.
    struct Slot {
        BufferId buffer{};
        int64_t operand_offset = 0;
        int64_t table_offset = 0;
    };

    explicit Recording(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    Status make_parameters(const CommandList& list, std::span<const BufferPlace> places);
    void collect_slots(const CommandList& list);
    Status record_all(const CommandList& list, const BarrierPlan& plan, const Bindings& bindings);
    Status record_submit(const CommandList& list,
                         std::span<const RecordedStep> steps,
                         const Bindings& bindings);
    Status record_command(const CommandList& list,
                          uint32_t index,
                          const Bindings& bindings,
                          VkCommandBuffer commands,
                          VkPipeline& bound);
    // unsupported: a window that the device cannot bind.
    Status bind_windows(const CommandList& list,
                        const Dispatch& dispatch,
                        const Bindings& bindings,
                        VkCommandBuffer commands);
    // The bytes of a window in one buffer.
    Result<BufferPart> part_of_window(const BufferPlace& place, ByteRange bytes);
    PushBlock push_block(const Dispatch& dispatch, std::span<const BufferPlace> places) const;
    Status make_rules(const CommandList& list, std::span<const BufferPlace> places);
    const Slot* find_slot(const Operand& operand) const;
    Status make_times(const BarrierPlan& plan);
    void write_time(VkCommandBuffer commands);
    Status check_idle();
    void write(int64_t offset, std::span<const std::byte> bytes);

    std::shared_ptr<Queue> queue_;
    std::vector<Arena> window_memory_;  // of windows that lie in two buffers of their arena
    std::vector<OwnedBufferView> windows_;
    OwnedCommandPool pool_;
    std::vector<VkCommandBuffer> commands_;
    OwnedQueryPool times_;
    std::vector<uint32_t> timed_commands_;  // after each of which a time is written
    uint32_t time_count_ = 0;               // recorded so far
    // The table of addresses, then the list's parameters.
    std::vector<Arena> parameters_;  // one, or none where there is nothing to hold
    std::vector<Slot> slots_;
    std::vector<bool> is_bound_;  // by BufferId, as the next
    std::vector<bool> is_external_;
    std::optional<AddressRules> rules_;
    uint64_t parameters_address_ = 0;
    int64_t list_parameters_begin_ = 0;
    int64_t list_parameters_bytes_ = 0;
    uint64_t last_point_ = 0;
};

}  // namespace leat::vulkan
