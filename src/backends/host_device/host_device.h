// A backend of devices that compute on the host with the kernels of one of leat's backends.
//
// sim and the built-in backends derive from it. Thread-safe, as plugin.h asks.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/host_device/device_table.h"
#include "backends/host_device/host_program.h"
#include "backends/host_device/host_slab.h"
#include "backends/host_device/job.h"
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

  protected:
    queues::Queues& queues() final { return *queues_; }
    const plugin::Host& host() const { return context_.host; }
    // Ends the queues, as the destructor does: what their threads use of a derived class has to be
    // there until then.
    void stop_queues() { queues_.reset(); }
    // From now on device() tells of devices with these options. What it has told stays as it was.
    void describe(const DeviceOptions& options);

    // What a derived class may do otherwise. The work of a submission:
    virtual std::unique_ptr<queues::Work> make_work(const LeatSubmission& submission, Job job);
    // The run of an instance, on the queue's thread:
    virtual void run_instance(HostInstance& instance,
                              const std::vector<LeatBinding>& inputs,
                              const std::vector<LeatBinding>& outputs,
                              LeatProfile* profile);
    // The estimated time of a node:
    virtual double cost_ns(int32_t device, const LeatGraphView& graph, const LeatNodeView& node);

  private:
    void check_device(int32_t device) const;
    // Throws where there is no such domain.
    MemorySource& memory_of(int32_t domain) const;
    // Throws for a copy between memories that no link joins.
    void check_link(const LeatCopy& copy) const;
    void submit(const LeatSubmission& submission, Job job);

    const leat::Backend& kernels_;
    queues::Plants plants_;
    const int32_t device_count_;
    const int32_t compute_queues_;  // of each device
    const int32_t queues_per_device_;
    std::vector<std::unique_ptr<MemorySource>> memory_;  // by domain
    std::vector<std::unique_ptr<DeviceTables>> told_;
    std::atomic<const DeviceTables*> tables_;  // the last of them
    Operators operators_;
    TileTeam team_;
    DeviceContext context_;
    std::unique_ptr<queues::Queues> queues_;  // the first to go: its threads use the others
};

}  // namespace leat::host_device
