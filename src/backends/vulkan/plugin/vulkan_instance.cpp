#include "backends/vulkan/plugin/vulkan_instance.h"

#include <fmt/core.h>

#include <algorithm>

#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/record/hazard_check.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

// For operands without bytes, which no kernel touches: anything but 0, which means unbound.
constexpr uint64_t kAddressOfNothing = kArenaAlignmentBytes;

void prove(const CommandList& list, const BarrierPlan& plan) {
    const HazardCheck check = check_hazards(list, plan);
    if (!check.is_clean()) {
        throw plugin::Error(
            kLeatInternal,
            fmt::format("the barriers of a recording leave {} hazards and {} faults; the first: {}",
                        check.hazards.size(), check.faults.size(),
                        check.hazards.empty() ? check.faults[0] : check.hazards[0].text()));
    }
}

// A place that link() gave; throws where it is too small.
ArenaRange range_in(LeatPlacement placement, int64_t bytes, const LazyDevice& device) {
    if (bytes == 0) {
        return {};
    }
    const VulkanSlab& slab = slab_of(placement, bytes, device);
    if (placement.offset_bytes % kArenaAlignmentBytes != 0) {
        plugin::invalid_argument(fmt::format("a place at offset {}; needed multiples of {}",
                                             placement.offset_bytes, kArenaAlignmentBytes));
    }
    return {&slab.arena(), placement.offset_bytes};
}

std::vector<bool> used_buffers(const CommandList& list) {
    std::vector<bool> is_used(list.buffer_count());
    for (const Command& command : list.commands()) {
        for (const BufferUse& use : list.uses(command)) {
            is_used[size_t(use.buffer)] = true;
        }
    }
    return is_used;
}

}  // namespace

// A replay with the addresses of one run.
class VulkanInstance::Run final : public VulkanWork {
  public:
    Run(VulkanInstance& instance,
        std::vector<std::pair<BufferId, uint64_t>> addresses,
        LeatProfile* profile)
        : instance_(instance), addresses_(std::move(addresses)), profile_(profile) {}
    ~Run() override {
        if (has_begun_) {
            instance_.is_running_ = false;
        }
    }

    bool is_recorded() const override { return true; }
    bool is_ready() const override { return !instance_.is_running_; }
    uint64_t run(std::span<const Queue::Wait> waits) override {
        has_begun_ = true;
        instance_.is_running_ = true;
        if (instance_.recording_ == nullptr) {
            return 0;
        }
        Recording& recording = instance_.recording_for(profile_);
        for (const auto& [buffer, address] : addresses_) {
            throw_if(recording.bind(buffer, address));
        }
        return value_or_throw(recording.replay(waits));
    }
    void finish() override {
        if (instance_.recording_ != nullptr) {
            instance_.check_strays(instance_.recording_for(profile_));
        }
        if (instance_.reports_) {
            instance_.reports_->check_and_clear(instance_.program_->reports);
        }
        if (profile_ != nullptr) {
            instance_.write_profile(*profile_);
        }
    }

  private:
    VulkanInstance& instance_;
    std::vector<std::pair<BufferId, uint64_t>> addresses_;
    LeatProfile* profile_;
    bool has_begun_ = false;
};

VulkanInstance::VulkanInstance(LazyDevice& device,
                               const plugin::Host& host,
                               std::shared_ptr<const DeviceProgram> program,
                               const LeatLinkage& linkage)
    : device_(device), program_(std::move(program)) {
    if (size_t(linkage.transient_count) != program_->transients.size()) {
        plugin::invalid_argument(fmt::format("{} places for {} transients", linkage.transient_count,
                                             program_->transients.size()));
    }
    write_literals();
    if (!program_->reports.empty()) {
        reports_.emplace(device_.open().device, program_->reports.size());
    }
    placed_ = place_list(*program_, ranges_of(linkage));
    if (!placed_.list.commands().empty()) {
        prepare(host);
        recording_ = record(false);
    }
}

// What the host knows and kernels read lies in memory of the instance, written once.
void VulkanInstance::write_literals() {
    const std::vector<bool> is_used = used_buffers(program_->list);
    literal_offsets_.assign(program_->buffers.size(), -1);
    int64_t end = 0;
    for (size_t i = 0; i < program_->buffers.size(); ++i) {
        const ProgramBuffer& buffer = program_->buffers[i];
        if (buffer.role == BufferRole::kLiteral && is_used[i]) {
            literal_offsets_[i] = end;
            end += round_up(buffer.size_bytes, kArenaAlignmentBytes);
        }
    }
    if (end == 0) {
        return;
    }
    literals_ = value_or_throw(
        Arena::allocate(device_.open().device, end, {.use = MemoryUse::kParameters}));
    (void)value_or_throw(literals_->address({0, end}));
    for (size_t i = 0; i < program_->buffers.size(); ++i) {
        const ProgramBuffer& buffer = program_->buffers[i];
        if (literal_offsets_[i] >= 0) {
            const Tensor& value = *program_->lowered.facts[size_t(buffer.index)].value;
            literals_->write(literal_offsets_[i],
                             std::as_bytes(std::span(value.bytes(), size_t(buffer.size_bytes))));
        }
    }
}

std::vector<ArenaRange> VulkanInstance::ranges_of(const LeatLinkage& linkage) const {
    const std::vector<bool> is_used = used_buffers(program_->list);
    std::vector<ArenaRange> ranges(program_->buffers.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
        const ProgramBuffer& buffer = program_->buffers[i];
        const auto index = size_t(buffer.index);
        if (!is_used[i]) {
            continue;
        }
        if (buffer.role == BufferRole::kTransient) {
            ranges[i] = range_in(linkage.transients[index], buffer.size_bytes, device_);
        } else if (buffer.role == BufferRole::kLiteral) {
            ranges[i] = {&*literals_, literal_offsets_[i]};
        } else if (buffer.role == BufferRole::kReport) {
            ranges[i] = {&reports_->arena(), IndexReports::offset_of(index)};
        } else if (buffer.role == BufferRole::kConstant) {
            if (buffer.index >= linkage.constant_count) {
                plugin::invalid_argument(
                    fmt::format("no place for packed constant {}", buffer.index));
            }
            ranges[i] = range_in(linkage.constants[index], buffer.size_bytes, device_);
        }
    }
    return ranges;
}

void VulkanInstance::prepare(const plugin::Host& host) {
    plan_ = plan_barriers(placed_.list, {.submit_budget_ns = device_.settings().submit_budget_ns});
    if (device_.settings().checks_hazards) {
        prove(placed_.list, plan_);
    }
    pipelines_ = device_.open().pipelines->pipelines_of(program_->shaders, host);
}

std::unique_ptr<Recording> VulkanInstance::record(bool writes_times) const {
    const OpenDevice& opened = device_.open();
    Bindings bindings;
    bindings.layout = opened.pipelines->layout();
    bindings.places = placed_.places;
    bindings.pipelines = pipelines_;
    bindings.writes_times = writes_times;
    bindings.checks_addresses = device_.settings().checks_addresses;
    return value_or_throw(Recording::record(opened.compute.queue, placed_.list, plan_, bindings));
}

Recording& VulkanInstance::recording_for(const LeatProfile* profile) {
    if (profile == nullptr) {
        return *recording_;
    }
    if (timed_recording_ == nullptr) {
        timed_recording_ = record(true);
    }
    return *timed_recording_;
}

int32_t VulkanInstance::step_of(uint32_t command) const {
    const std::vector<uint32_t>& begins = program_->step_begins;
    return int32_t(std::upper_bound(begins.begin(), begins.end(), command) - begins.begin()) - 1;
}

// A step begins with the first of its commands and ends with the last one.
void VulkanInstance::write_profile(LeatProfile& profile) const {
    const Result<std::vector<CommandTime>> times = timed_recording_->times();
    std::vector<LeatStepTime> steps(size_t(program_->step_count), {-1, 0, 0});
    for (const CommandTime& time : times.ok() ? *times : std::vector<CommandTime>()) {
        const int32_t step = step_of(time.command);
        LeatStepTime& row = steps[size_t(step)];
        const bool is_first = row.step < 0;
        row.step = step;
        row.begin_ticks = is_first ? time.begin_ticks : std::min(row.begin_ticks, time.begin_ticks);
        row.end_ticks = std::max(row.end_ticks, time.end_ticks);
    }
    profile.count = 0;
    for (const LeatStepTime& row : steps) {
        if (row.step >= 0 && profile.count < profile.capacity) {
            profile.steps[profile.count++] = row;
        }
    }
}

void VulkanInstance::check_strays(const Recording& recording) const {
    const std::optional<StrayAccess> stray = recording.stray_access();
    if (!stray) {
        return;
    }
    const auto& dispatch = std::get<Dispatch>(placed_.list.commands()[stray->command].action);
    throw_if(internal_error("kernel '{}' {}", program_->shaders[size_t(dispatch.pipeline)].name,
                            stray->text())
                 .with_node(program_->step_names[size_t(step_of(stray->command))]));
}

uint64_t VulkanInstance::address_of(const ProgramBuffer& buffer, const LeatBinding& binding) const {
    if (buffer.size_bytes == 0) {
        return kAddressOfNothing;
    }
    if (binding.bytes < buffer.size_bytes) {
        plugin::invalid_argument(
            fmt::format("a binding of {} bytes; needed {}", binding.bytes, buffer.size_bytes));
    }
    const LeatPlacement place{binding.slab, binding.offset_bytes};
    (void)slab_of(place, binding.bytes, device_);
    const ArenaRange range = range_in(place, buffer.size_bytes, device_);
    return value_or_throw(
        range.arena->address({range.offset_bytes, range.offset_bytes + buffer.size_bytes}));
}

std::unique_ptr<VulkanWork> VulkanInstance::make_run(const LeatBinding* inputs,
                                                     const LeatBinding* outputs,
                                                     LeatProfile* profile) {
    std::vector<std::pair<BufferId, uint64_t>> addresses;
    addresses.reserve(placed_.externals.size());
    for (const auto& [id, buffer] : placed_.externals) {
        const LeatBinding& binding =
            (buffer.role == BufferRole::kInput ? inputs : outputs)[buffer.index];
        addresses.emplace_back(id, address_of(buffer, binding));
    }
    return std::make_unique<Run>(*this, std::move(addresses), profile);
}

}  // namespace leat::vulkan
