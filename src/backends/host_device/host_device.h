// A backend of one device that computes on the host with the kernels of one of leat's backends.
//
// sim and the built-in backends derive from it. Thread-safe, as plugin.h asks.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "backends/backend.h"
#include "backends/host_device/device_table.h"
#include "backends/host_device/host_program.h"
#include "backends/host_device/host_slab.h"
#include "backends/host_device/own_operators.h"
#include "backends/host_device/tile_team.h"
#include "backends/queues/queued_backend.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

class HostDevice : public queues::QueuedBackend {
  public:
    // `kernels` and the texts of `options` are static. Throws an Error for options that make no
    // device, and for a setting that the copies for tests do not know.
    HostDevice(const LeatHostApi* host,
               const LeatSettings* settings,
               const leat::Backend& kernels,
               const DeviceOptions& options,
               queues::SubmissionFaults faults = {});

    const LeatDeviceInfo* device(int32_t index) override;

    std::unique_ptr<plugin::Slab> allocate_slab(int32_t domain, int64_t bytes) override;
    std::unique_ptr<plugin::Slab> import_slab(int32_t domain, void* memory, int64_t bytes) override;
    void* map_slab(plugin::Slab& slab) override;
    void flush_slab(plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) override;

    void submit_copy(const LeatSubmission& submission, const LeatCopy& copy) override;
    void submit_fill(const LeatSubmission& submission, const LeatFill& fill) override;
    void execute(plugin::Instance& instance,
                 const LeatSubmission& submission,
                 const LeatBinding* inputs,
                 const LeatBinding* outputs) override;

    void capability(int32_t device,
                    const LeatGraphView& graph,
                    const LeatNodeView& node,
                    LeatNodeCapability& capability) override;
    void preprocess(int32_t device,
                    const LeatGraphView& graph,
                    const LeatSettings* settings,
                    const LeatSink& blob) override;
    std::unique_ptr<plugin::Executable> compile(int32_t device,
                                                const LeatGraphView& graph,
                                                const LeatCompileOptions& options) override;
    std::unique_ptr<plugin::Executable> load(int32_t device, std::string_view saved) override;
    LeatClockSample clock_correlation(int32_t device) override;
    void register_operator(const LeatOperator& custom) override { operators_.add(custom); }
    void register_kernel(std::string_view domain,
                         std::string_view op_type,
                         std::string_view blob) override;

  private:
    queues::Queues& queues() final { return queues_; }
    void check_device(int32_t device) const;
    void check_domain(int32_t domain) const;
    // `call` does the work on the queue's thread, and throws where it fails.
    void submit(const LeatSubmission& submission, std::function<void()> call);

    const leat::Backend& kernels_;
    queues::Plants plants_;
    MemorySource memory_;
    DeviceTable device_;
    Operators operators_;
    TileTeam team_;
    DeviceContext context_;
    queues::Queues queues_;  // the first to go: its threads use the others
};

}  // namespace leat::host_device
