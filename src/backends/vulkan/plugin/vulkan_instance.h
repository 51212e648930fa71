// Instances: a program recorded on the host's memory, replayed for each run.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "backends/vulkan/plugin/index_reports.h"
#include "backends/vulkan/plugin/lower/program.h"
#include "backends/vulkan/plugin/lower/relocation.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "backends/vulkan/plugin/work.h"
#include "backends/vulkan/record/barrier_plan.h"
#include "backends/vulkan/record/recording.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// One run at a time; everything else is fixed by its construction.
class VulkanInstance final : public plugin::Instance {
  public:
    // Throws where places are missing, too small or on another device.
    VulkanInstance(LazyDevice& device,
                   const plugin::Host& host,
                   std::shared_ptr<const DeviceProgram> program,
                   const LeatLinkage& linkage);

    const LazyDevice& device() const { return device_; }

    // Checks bindings and keeps what it needs of them; throws before anything has happened.
    // The profile may be null.
    std::unique_ptr<VulkanWork> make_run(const LeatBinding* inputs,
                                         const LeatBinding* outputs,
                                         LeatProfile* profile);

  private:
    class Run;

    void write_literals();
    std::vector<ArenaRange> ranges_of(const LeatLinkage& linkage) const;
    void prepare(const plugin::Host& host);
    std::unique_ptr<Recording> record(bool writes_times) const;
    // The recording that a run needs; that with times is made by the first run that wants them.
    Recording& recording_for(const LeatProfile* profile);
    void write_profile(LeatProfile& profile) const;
    // The number of the step that a command is part of.
    int32_t step_of(uint32_t command) const;
    // After a run: throws where a kernel left its operands. Nothing unless addresses are checked.
    void check_strays(const Recording& recording) const;
    uint64_t address_of(const ProgramBuffer& buffer, const LeatBinding& binding) const;

    LazyDevice& device_;
    std::shared_ptr<const DeviceProgram> program_;
    std::optional<Arena> literals_;
    std::vector<int64_t> literal_offsets_;  // by BufferId of the program; -1: no literal
    std::optional<IndexReports> reports_;   // none where the program has none
    RelocatedList placed_;
    BarrierPlan plan_;
    std::vector<BoundPipeline> pipelines_;
    std::unique_ptr<Recording> recording_;  // null where there is nothing to do
    std::unique_ptr<Recording> timed_recording_;
    std::atomic<bool> is_running_{false};
};

}  // namespace leat::vulkan
