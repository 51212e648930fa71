#include "backends/vulkan/record/recording.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/vulkan/record/command_pool.h"
#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kAddressBytes = sizeof(uint64_t);
constexpr int64_t kUploadAlignment = 16;
// Behind all parameters: GPU-assisted validation of layer 1.3.239 counts 16 bytes for a vector of
// three, and took the last ones of a window at the end of the memory for strays.
constexpr int64_t kParametersSlackBytes = 64;

StageMasks masks_of(Stages stages) {
    StageMasks masks;
    if ((stages & kComputeStage) != 0) {
        masks.stages |= VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
        masks.accesses |= VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT;
    }
    if ((stages & kCopyStage) != 0) {
        masks.stages |= VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
        masks.accesses |= VK_ACCESS_2_TRANSFER_READ_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
    }
    if ((stages & kHostStage) != 0) {
        masks.stages |= VK_PIPELINE_STAGE_2_HOST_BIT;
        masks.accesses |= VK_ACCESS_2_HOST_READ_BIT;
    }
    return masks;
}

void record_copy(const DeviceCalls& vk,
                 VkCommandBuffer commands,
                 const BufferCopy& copy,
                 std::span<const BufferPlace> places) {
    const BufferPlace& source = places[size_t(copy.source)];
    const BufferPlace& destination = places[size_t(copy.destination)];
    for (int64_t done = 0; done < copy.byte_count;) {
        const BufferPart from = source.part_at(copy.source_offset + done);
        const BufferPart to = destination.part_at(copy.destination_offset + done);
        const int64_t bytes = std::min({copy.byte_count - done, from.bytes, to.bytes});
        const VkBufferCopy region{VkDeviceSize(from.offset), VkDeviceSize(to.offset),
                                  VkDeviceSize(bytes)};
        vk.CmdCopyBuffer(commands, from.buffer, to.buffer, 1, &region);
        done += bytes;
    }
}

void record_fill(const DeviceCalls& vk,
                 VkCommandBuffer commands,
                 const Fill& fill,
                 std::span<const BufferPlace> places) {
    const BufferPlace& place = places[size_t(fill.destination)];
    for (int64_t begin = fill.bytes.begin; begin < fill.bytes.end;) {
        const BufferPart to = place.part_at(begin);
        const int64_t bytes = std::min(fill.bytes.end - begin, to.bytes);
        vk.CmdFillBuffer(commands, to.buffer, VkDeviceSize(to.offset), VkDeviceSize(bytes),
                         fill.pattern);
        begin += bytes;
    }
}

Status check_dispatch(const Device& device, const Dispatch& dispatch, size_t pipeline_count) {
    const uint32_t* limits = device.info().properties.limits.maxComputeWorkGroupCount;
    for (size_t i = 0; i < 3; ++i) {
        if (dispatch.groups[i] > limits[i]) {
            return unsupported("a dispatch of {} workgroups along axis {}", dispatch.groups[i], i)
                .with_needed(fmt::format("at most {} on '{}'", limits[i], device.info().name));
        }
    }
    if (size_t(dispatch.pipeline) >= pipeline_count) {
        return invalid_argument("pipeline {} of {}", size_t(dispatch.pipeline), pipeline_count);
    }
    return Status();
}

}  // namespace

Result<BufferPlace> place_in(const Arena& arena, ByteRange bytes) {
    LEAT_ASSIGN_OR_RETURN(const uint64_t address, arena.address(bytes));
    return BufferPlace{&arena, bytes.begin, address};
}

Result<std::unique_ptr<Recording>> Recording::record(std::shared_ptr<Queue> queue,
                                                     const CommandList& list,
                                                     const BarrierPlan& plan,
                                                     const Bindings& bindings) {
    const std::span<const BufferPlace> places = bindings.places;
    if (places.size() != list.buffer_count()) {
        return invalid_argument("a recording with {} places of {} buffers", places.size(),
                                list.buffer_count());
    }
    std::unique_ptr<Recording> recording(new Recording(std::move(queue)));
    LEAT_RETURN_IF_ERROR(recording->make_parameters(list, places));
    if (bindings.checks_addresses) {
        LEAT_RETURN_IF_ERROR(recording->make_rules(list, places));
    }
    if (bindings.writes_times) {
        LEAT_RETURN_IF_ERROR(recording->make_times(plan));
    }
    LEAT_RETURN_IF_ERROR(recording->record_all(list, plan, bindings));
    return recording;
}

Recording::~Recording() {
    if (last_point_ > 0) {
        (void)queue_->wait(last_point_, std::numeric_limits<int64_t>::max());
    }
}

const Recording::Slot* Recording::find_slot(const Operand& operand) const {
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return slot.buffer == operand.buffer && slot.operand_offset == operand.offset_bytes;
    });
    return found == slots_.end() ? nullptr : &*found;
}

void Recording::collect_slots(const CommandList& list) {
    for (const Command& command : list.commands()) {
        const auto* dispatch = std::get_if<Dispatch>(&command.action);
        const size_t operands = dispatch == nullptr ? 0 : dispatch->operand_count;
        for (size_t i = 0; i < operands; ++i) {
            const Operand& operand = dispatch->operands[i];
            if (list.is_external(operand.buffer) && find_slot(operand) == nullptr) {
                slots_.push_back(
                    {operand.buffer, operand.offset_bytes, int64_t(slots_.size()) * kAddressBytes});
            }
        }
    }
}

Status Recording::make_parameters(const CommandList& list, std::span<const BufferPlace> places) {
    is_bound_.resize(list.buffer_count(), true);
    is_external_.resize(list.buffer_count(), false);
    for (size_t i = 0; i < is_external_.size(); ++i) {
        is_external_[i] = list.is_external(BufferId(i));
    }
    collect_slots(list);
    list_parameters_begin_ = round_up(int64_t(slots_.size()) * kAddressBytes, kUploadAlignment);
    list_parameters_bytes_ = int64_t(list.parameters().size());
    const int64_t size_bytes = list_parameters_begin_ + list_parameters_bytes_;
    if (size_bytes == 0) {
        return Status();
    }
    const int64_t arena_bytes = size_bytes + kParametersSlackBytes;
    LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(queue_->device(), arena_bytes,
                                                       {.use = MemoryUse::kParameters}));
    LEAT_ASSIGN_OR_RETURN(parameters_address_, arena.address({0, arena_bytes}));
    parameters_.push_back(std::move(arena));
    write(list_parameters_begin_, list.parameters());
    for (size_t i = 0; i < places.size(); ++i) {
        if (is_external_[i]) {
            LEAT_RETURN_IF_ERROR(bind(BufferId(i), places[i].address));
        }
    }
    return Status();
}

Status Recording::make_rules(const CommandList& list, std::span<const BufferPlace> places) {
    LEAT_ASSIGN_OR_RETURN(
        rules_, AddressRules::make(
                    queue_->device(), list, places,
                    {parameters_address_, parameters_address_ + uint64_t(list_parameters_begin_)}));
    return Status();
}

void Recording::write(int64_t offset, std::span<const std::byte> bytes) {
    parameters_[0].write(offset, bytes);
}

PushBlock Recording::push_block(const Dispatch& dispatch,
                                std::span<const BufferPlace> places) const {
    PushBlock block;
    block.scalars = dispatch.scalars;
    if (dispatch.parameters_offset >= 0) {
        block.parameters =
            parameters_address_ + uint64_t(list_parameters_begin_ + dispatch.parameters_offset);
    }
    for (uint32_t i = 0; i < dispatch.operand_count; ++i) {
        const Operand& operand = dispatch.operands[i];
        if (is_external_[size_t(operand.buffer)]) {
            block.operands[i] = parameters_address_ + uint64_t(find_slot(operand)->table_offset);
            block.indirect |= 1U << i;
        } else {
            block.operands[i] =
                places[size_t(operand.buffer)].address + uint64_t(operand.offset_bytes);
        }
    }
    return block;
}

// Imported memory lies in one buffer for each import; a window over two of them is imported again.
Result<BufferPart> Recording::part_of_window(const BufferPlace& place, ByteRange bytes) {
    const BufferPart part = place.part_at(bytes.begin);
    if (part.bytes >= bytes.end - bytes.begin) {
        return part;
    }
    const int64_t alignment = queue_->device()->info().host_import_alignment_bytes;
    const int64_t begin = place.offset_bytes + bytes.begin;
    const int64_t page = begin / alignment * alignment;
    LEAT_ASSIGN_OR_RETURN(
        Arena memory,
        place.arena->import_part({page, round_up(place.offset_bytes + bytes.end, alignment)}));
    window_memory_.push_back(std::move(memory));
    return window_memory_.back().buffer_at(begin - page);
}

Status Recording::bind_windows(const CommandList& list,
                               const Dispatch& dispatch,
                               const Bindings& bindings,
                               VkCommandBuffer commands) {
    const Device& device = *queue_->device();
    const BoundPipeline& pipeline = bindings.pipelines[size_t(dispatch.pipeline)];
    if (pipeline.windows != dispatch.windows) {
        return invalid_argument("a dispatch with windows {:#b} of a kernel with {:#b}",
                                dispatch.windows, pipeline.windows);
    }
    std::array<VkBufferView, kMaxOperands> operands{};
    for (uint32_t i = 0; i < dispatch.operand_count; ++i) {
        if ((dispatch.windows >> i & 1U) == 0) {
            continue;
        }
        const Operand& operand = dispatch.operands[i];
        const BufferPlace& place = bindings.places[size_t(operand.buffer)];
        const int64_t begin = operand.offset_bytes;
        LEAT_ASSIGN_OR_RETURN(const BufferPart part,
                              part_of_window(place, {begin, begin + operand.size_bytes}));
        const int64_t room_bytes = std::min(part.bytes, list.buffer_bytes(operand.buffer) - begin);
        LEAT_ASSIGN_OR_RETURN(
            OwnedBufferView window,
            make_view(device, part.buffer, {part.offset, part.offset + operand.size_bytes},
                      room_bytes, (dispatch.vector_windows >> i & 1U) != 0));
        operands[i] = window.get();
        windows_.push_back(std::move(window));
    }
    push_windows(device.calls(), commands, pipeline,
                 std::span(operands).first(dispatch.operand_count));
    return Status();
}

Status Recording::record_command(const CommandList& list,
                                 uint32_t index,
                                 const Bindings& bindings,
                                 VkCommandBuffer commands,
                                 VkPipeline& bound) {
    const DeviceCalls& vk = queue_->device()->calls();
    const Command& command = list.commands()[index];
    if (const auto* copy = std::get_if<BufferCopy>(&command.action)) {
        record_copy(vk, commands, *copy, bindings.places);
        return Status();
    }
    if (const auto* fill = std::get_if<Fill>(&command.action)) {
        record_fill(vk, commands, *fill, bindings.places);
        return Status();
    }
    const auto& dispatch = std::get<Dispatch>(command.action);
    LEAT_RETURN_IF_ERROR(check_dispatch(*queue_->device(), dispatch, bindings.pipelines.size()));
    const VkPipeline pipeline = bindings.pipelines[size_t(dispatch.pipeline)].handle;
    if (pipeline != bound) {
        vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
        bound = pipeline;
    }
    if (dispatch.windows != 0 || bindings.pipelines[size_t(dispatch.pipeline)].windows != 0) {
        LEAT_RETURN_IF_ERROR(bind_windows(list, dispatch, bindings, commands));
    }
    PushBlock block = push_block(dispatch, bindings.places);
    if (rules_) {
        block.parameters = rules_->address(index);
    }
    vk.CmdPushConstants(commands, bindings.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes,
                        &block);
    vk.CmdDispatch(commands, dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
    return Status();
}

Status Recording::record_submit(const CommandList& list,
                                std::span<const RecordedStep> steps,
                                const Bindings& bindings) {
    const Device& device = *queue_->device();
    LEAT_ASSIGN_OR_RETURN(const VkCommandBuffer commands, allocate_commands(device, pool_.get()));
    commands_.push_back(commands);
    LEAT_RETURN_IF_ERROR(begin_commands(device, commands));
    VkPipeline bound = nullptr;
    if (commands_.size() == 1) {
        write_time(commands);
    }
    for (const RecordedStep& step : steps) {
        if (step.is_barrier) {
            record_barrier(device.calls(), commands, masks_of(step.barrier.from),
                           masks_of(step.barrier.to));
        } else {
            LEAT_RETURN_IF_ERROR(record_command(list, step.command, bindings, commands, bound));
            write_time(commands);
        }
    }
    return end_commands(device, commands);
}

Status Recording::record_all(const CommandList& list,
                             const BarrierPlan& plan,
                             const Bindings& bindings) {
    LEAT_ASSIGN_OR_RETURN(pool_, make_command_pool(*queue_->device(), queue_->family()));
    commands_.reserve(plan.submit_begins.size());
    for (size_t submit = 0; submit < plan.submit_begins.size(); ++submit) {
        const size_t begin = plan.submit_begins[submit];
        const bool is_last = submit + 1 == plan.submit_begins.size();
        const size_t end = is_last ? plan.steps.size() : plan.submit_begins[submit + 1];
        LEAT_RETURN_IF_ERROR(
            record_submit(list, std::span(plan.steps).subspan(begin, end - begin), bindings));
    }
    return Status();
}

Status Recording::make_times(const BarrierPlan& plan) {
    const Device& device = *queue_->device();
    if (device.info().queue_families[queue_->family()].timestampValidBits == 0) {
        return unsupported("Vulkan device '{}' has no clock on this queue", device.info().name);
    }
    timed_commands_.reserve(plan.steps.size());
    for (const RecordedStep& step : plan.steps) {
        if (!step.is_barrier) {
            timed_commands_.push_back(step.command);
        }
    }
    VkQueryPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = uint32_t(timed_commands_.size() + 1);
    const DeviceCalls& vk = device.calls();
    LEAT_ASSIGN_OR_RETURN(times_, device.make_owned(vk.CreateQueryPool, info, vk.DestroyQueryPool,
                                                    "CreateQueryPool"));
    return Status();
}

void Recording::write_time(VkCommandBuffer commands) {
    if (times_) {
        queue_->device()->calls().CmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                                     times_.get(), time_count_++);
    }
}

Result<std::vector<CommandTime>> Recording::times() const {
    if (!times_) {
        return unsupported("a recording that writes no times");
    }
    const Device& device = *queue_->device();
    std::vector<int64_t> ticks(time_count_);
    LEAT_RETURN_IF_ERROR(device.checked(
        device.calls().GetQueryPoolResults(device.handle(), times_.get(), 0, time_count_,
                                           ticks.size() * sizeof(int64_t), ticks.data(),
                                           sizeof(int64_t), VK_QUERY_RESULT_64_BIT),
        "GetQueryPoolResults"));
    std::vector<CommandTime> times;
    times.reserve(timed_commands_.size());
    for (size_t i = 0; i < timed_commands_.size(); ++i) {
        times.push_back({timed_commands_[i], ticks[i], ticks[i + 1]});
    }
    return times;
}

std::optional<StrayAccess> Recording::stray_access() const {
    return rules_ ? rules_->stray() : std::nullopt;
}

Status Recording::check_idle() {
    if (last_point_ == 0) {
        return Status();
    }
    LEAT_ASSIGN_OR_RETURN(const uint64_t reached, queue_->reached());
    if (reached < last_point_) {
        return make_error(StatusCode::kBusy, "a run of this recording is in flight")
            .with_found(fmt::format("point {} reached", reached))
            .with_needed(fmt::format("point {}", last_point_));
    }
    return Status();
}

Status Recording::bind(BufferId buffer, uint64_t address) {
    LEAT_RETURN_IF_ERROR(check_idle());
    if (size_t(buffer) >= is_external_.size() || !is_external_[size_t(buffer)]) {
        return invalid_argument("buffer {} is not an external one", size_t(buffer));
    }
    bool is_found = false;
    for (const Slot& slot : slots_) {
        if (slot.buffer == buffer) {
            const uint64_t operand = address + uint64_t(slot.operand_offset);
            write(slot.table_offset, std::as_bytes(std::span(&operand, 1)));
            is_found = true;
        }
    }
    if (rules_) {
        rules_->bind(buffer, address);
    }
    if (is_found) {
        is_bound_[size_t(buffer)] = address != 0;
    }
    return Status();
}

Result<uint64_t> Recording::replay(std::span<const Queue::Wait> waits) {
    LEAT_RETURN_IF_ERROR(check_idle());
    const auto unbound = std::find(is_bound_.begin(), is_bound_.end(), false);
    if (unbound != is_bound_.end()) {
        return invalid_argument("external buffer {} is not bound", unbound - is_bound_.begin());
    }
    if (rules_) {
        rules_->clear();
    }
    if (times_) {
        const Device& device = *queue_->device();
        device.calls().ResetQueryPool(device.handle(), times_.get(), 0, time_count_);
    }
    for (const VkCommandBuffer& commands : commands_) {
        LEAT_ASSIGN_OR_RETURN(last_point_, queue_->submit(std::span(&commands, 1), waits));
        waits = {};
    }
    return last_point_;
}

}  // namespace leat::vulkan
