// The simulated machine: devices with memory of their own that compute with leat's reference
// kernels, or replay what was computed, take the time that settings say, and can be told to fail
// (docs/backends.md).
#include <fmt/core.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/host_device/capability.h"
#include "backends/host_device/host_device.h"
#include "backends/host_device/host_instance.h"
#include "backends/lowered/settings.h"
#include "backends/reference/reference_backend.h"
#include "backends/sim/device_times.h"
#include "backends/sim/faults.h"
#include "backends/sim/paced_work.h"
#include "backends/sim/recording.h"
#include "backends/sim/sim_settings.h"
#include "backends/sim/timed_clock.h"
#include "backends/sim/virtual_clock.h"
#include "base/transformed.h"
#include "leat/plugin_backend.h"
#include "leat/plugin_clock.h"
#include "memory/content_hash.h"

namespace leat::sim {
namespace {

using host_device::DeviceOptions;
using host_device::HostInstance;
using host_device::Job;
using lowered::number_setting;
using lowered::setting_row;

constexpr int64_t kCapacityBytes = int64_t{1} << 34;
// Of a clock that has nothing to do with the host's.
constexpr int64_t kUnrelatedNs = int64_t{1} << 60;

// What the devices are made of; nothing of it changes.
struct Parts {
    explicit Parts(const LeatSettings* given) : settings(given), faults(given), times(settings) {
        if (!settings.replay.empty()) {
            replayed = std::make_unique<SimRecording>(settings.replay);
        }
        if (!settings.record.empty()) {
            recorded = std::make_unique<RecordingWriter>(settings.record);
        }
        options.name = "simulated device";
        options.memory_name = "simulated memory";
        options.alignment_bytes = number_setting(given, "alignment_bytes", 64);
        options.limit_bytes = faults.memory_limit_bytes();
        options.capacity_bytes = options.limit_bytes != 0 ? options.limit_bytes : kCapacityBytes;
        options.is_host_memory = settings.is_host_memory;
        options.is_mappable = settings.is_mappable;
        options.device_count = settings.devices;
        options.compute_queues = settings.compute_queues;
        options.copy_queues = settings.copy_queues;
        options.further_threads = settings.mode == Mode::kCompute ? 0 : 1;
        options.links = times.links();
        options.is_link_exclusive = settings.is_link_exclusive;
        options.identifies_programs = replayed != nullptr || recorded != nullptr;
    }

    SimSettings settings;
    Faults faults;
    DeviceTimes times;
    std::unique_ptr<SimRecording> replayed;     // in mode timed
    std::unique_ptr<RecordingWriter> recorded;  // null: nothing is recorded
    DeviceOptions options;
};

RunKey key_of(const HostInstance& instance, const std::vector<LeatBinding>& inputs) {
    std::vector<uint64_t> hashes;
    for (size_t i = 0; i < instance.input_count(); ++i) {
        hashes.push_back(content_hash(instance.input_range(i, inputs)));
    }
    return {instance.identity().graph_hash, instance.identity().shape_hash,
            content_hash(std::as_bytes(std::span<const uint64_t>(hashes)))};
}

// Where the results of a run lie, which has ended.
std::vector<RunResult> results_of(const HostInstance& instance,
                                  const std::vector<LeatBinding>& outputs) {
    std::vector<RunResult> results;
    for (size_t i = 0; i < instance.output_count(); ++i) {
        RunResult& result = results.emplace_back();
        result.bytes = instance.output_range(i, outputs);
        if (instance.program().graph.outputs[i].is_bounded) {
            const TypeInfo& type = instance.output_type(i);
            const int64_t* extents = outputs[i].actual_extents;
            result.extents.assign(extents, extents + type.fixed_shape()->rank());
            const std::optional<Shape> shape = Shape::make(result.extents);
            const int64_t elements = shape ? shape->element_count() : 0;
            result.bytes =
                result.bytes.first(size_t(storage_bytes(type.dtype, elements).value_or(0)));
        }
    }
    return results;
}

class SimBackend final : public host_device::HostDevice {
  public:
#if defined(LEAT_PLANTS)
    static constexpr const char* kName = "sim_faulty";
#else
    static constexpr const char* kName = "sim";
#endif
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t index);

    SimBackend(const LeatHostApi* host, const LeatSettings* settings)
        : SimBackend(host, settings, std::make_unique<Parts>(settings)) {}
    ~SimBackend() override {
        if (clock_ != nullptr) {
            clock_->shut_down();
        }
        stop_queues();
    }

    void enter(const char* entry) override {
        parts_->faults.enter(entry);
    }
    const void* get_extension(std::string_view name) override;
    LeatClockSample clock_correlation(int32_t device) override;
    std::unique_ptr<plugin::Executable> compile(int32_t device,
                                                const LeatGraphView& graph,
                                                const LeatCompileOptions& options) override {
        choose_scale(graph);
        return HostDevice::compile(device, graph, options);
    }

  private:
    SimBackend(const LeatHostApi* host, const LeatSettings* settings, std::unique_ptr<Parts> parts)
        : HostDevice(
              host, settings, reference_backend(), parts->options, parts->faults.of_submissions()),
          parts_(std::move(parts)) {
        make_clock();
    }

    void make_clock();
    // By the first graph that is seen, if the settings leave it open.
    void choose_scale(const LeatGraphView& graph);
    Pace pace_of(const LeatSubmission& submission, const Job& job) const;
    void replay(HostInstance& instance,
                const std::vector<LeatBinding>& inputs,
                const std::vector<LeatBinding>& outputs);

    std::unique_ptr<queues::Work> make_work(const LeatSubmission& submission, Job job) override;
    void run_instance(HostInstance& instance,
                      const std::vector<LeatBinding>& inputs,
                      const std::vector<LeatBinding>& outputs,
                      LeatProfile* profile) override;
    double cost_ns(int32_t device, const LeatGraphView& graph, const LeatNodeView& node) override;

    static VirtualClock& virtual_clock_of(LeatBackend* backend) {
        return *static_cast<SimBackend&>(plugin::object_of(backend)).virtual_clock_;
    }

    const std::unique_ptr<Parts> parts_;
    std::mutex scale_mutex_;
    bool has_scale_ = false;
    OpenSpans spans_;
    std::unique_ptr<SimClock> clock_;        // null: there is no simulated time
    VirtualClock* virtual_clock_ = nullptr;  // the same, in mode virtual
};

void SimBackend::make_clock() {
    const DeviceOptions& options = parts_->options;
    const auto queue_count = size_t(options.device_count) * size_t(options.queues_per_device());
    const auto channel_count = 2 * size_t(options.device_count);
    if (parts_->settings.mode == Mode::kTimed) {
        clock_ = std::make_unique<TimedClock>(queue_count, channel_count);
    } else if (parts_->settings.mode == Mode::kVirtual) {
        // Not by queues(), which has none any more while they end.
        queues::Queues* const own_queues = &queues();
        VirtualClock::Surroundings surroundings;
        surroundings.are_settled = [own_queues] { return own_queues->is_settled(); };
        surroundings.prepare = [own_queues](LeatReached callback, void* user) {
            return own_queues->prepare(callback, user);
        };
        surroundings.post = [own_queues](queues::Callbacks& prepared, LeatCode code) {
            own_queues->post(prepared, code);
        };
        auto clock =
            std::make_unique<VirtualClock>(queue_count, channel_count, std::move(surroundings));
        virtual_clock_ = clock.get();
        clock_ = std::move(clock);
        own_queues->watch([this] { virtual_clock_->changed(); });
    }
}

void SimBackend::choose_scale(const LeatGraphView& graph) {
    const std::lock_guard lock(scale_mutex_);
    if (has_scale_ || parts_->settings.median_op_ns == 0) {
        return;
    }
    parts_->times.choose_scale(transformed(plugin::nodes_of(graph), [&](const LeatNodeView* node) {
        return host_device::largest_work(graph, *node);
    }));
    DeviceOptions options = parts_->options;
    options.links = parts_->times.links();
    describe(options);
    has_scale_ = true;
}

double SimBackend::cost_ns(int32_t device, const LeatGraphView& graph, const LeatNodeView& node) {
    choose_scale(graph);
    return double(parts_->times.run_ns(device, host_device::largest_work(graph, node)));
}

Pace SimBackend::pace_of(const LeatSubmission& submission, const Job& job) const {
    const DeviceOptions& options = parts_->options;
    const DeviceTimes& times = parts_->times;
    const int32_t device = submission.signal.queue / options.queues_per_device();
    Pace pace;
    pace.first_queue = device * options.queues_per_device();
    pace.end_queue = pace.first_queue + options.queues_per_device();
    if (job.kind == Job::Kind::kRun) {
        for (const host_device::ProgramStep& step : job.instance->program().steps) {
            pace.step_ns.push_back(times.run_ns(device, step.work));
            pace.duration_ns += pace.step_ns.back();
        }
    } else if (job.kind == Job::Kind::kFill) {
        pace.duration_ns = times.memory_ns(job.to_domain, job.bytes);
    } else if (job.from_domain == job.to_domain) {
        pace.duration_ns = times.memory_ns(device, 2 * job.bytes);  // read and written
    } else {
        // The memory's link, whichever device's queue does it.
        const bool is_to_device = job.from_domain == LEAT_HOST_DOMAIN;
        const int32_t far = is_to_device ? job.to_domain : job.from_domain;
        pace.channel = host_device::channel_of(options, far, is_to_device);
        pace.duration_ns = times.transfer_ns(far, job.bytes);
    }
    const auto delay = parts_->faults.of_submissions().delay_before(submission.signal);
    pace.duration_ns += std::chrono::nanoseconds(delay).count();
    return pace;
}

std::unique_ptr<queues::Work> SimBackend::make_work(const LeatSubmission& submission, Job job) {
    if (clock_ == nullptr) {
        return HostDevice::make_work(submission, std::move(job));
    }
    Pace pace = pace_of(submission, job);
    return std::make_unique<PacedWork>(*clock_, spans_, submission, std::move(job),
                                       std::move(pace));
}

void SimBackend::replay(HostInstance& instance,
                        const std::vector<LeatBinding>& inputs,
                        const std::vector<LeatBinding>& outputs) {
    const std::vector<RunResult> results =
        parts_->replayed->find(key_of(instance, inputs), instance.graph_name());
    for (size_t i = 0; i < results.size() && i < instance.output_count(); ++i) {
        const RunResult& result = results[i];
        const std::span<std::byte> to = instance.output_range(i, outputs);
        if (result.bytes.size() > to.size()) {
            throw plugin::Error(kLeatCorrupt,
                                fmt::format("recorded output {} has {} bytes; there is room for {}",
                                            i, result.bytes.size(), to.size()));
        }
        std::copy(result.bytes.begin(), result.bytes.end(), to.begin());
        std::copy(result.extents.begin(), result.extents.end(), outputs[i].actual_extents);
    }
}

void SimBackend::run_instance(HostInstance& instance,
                              const std::vector<LeatBinding>& inputs,
                              const std::vector<LeatBinding>& outputs,
                              LeatProfile* profile) {
    if (parts_->replayed != nullptr) {
        replay(instance, inputs, outputs);
        return;
    }
    // A state's output lies over its input.
    const RunKey key = parts_->recorded == nullptr ? RunKey() : key_of(instance, inputs);
    instance.run(inputs, outputs, clock_ == nullptr ? profile : nullptr);
    if (parts_->recorded != nullptr) {
        parts_->recorded->add(key, results_of(instance, outputs));
    }
}

LeatClockSample SimBackend::clock_correlation(int32_t device) {
    LeatClockSample sample = HostDevice::clock_correlation(device);
    if (clock_ != nullptr) {
        const int64_t before_ns = host().monotonic_ns();
        sample.device_ticks = clock_->now_ns();
        sample.host_ns = host().monotonic_ns();
        sample.ns_per_tick = 1;
        sample.uncertainty_ns =
            virtual_clock_ != nullptr ? kUnrelatedNs : sample.host_ns - before_ns;
    }
    return sample;
}

const void* SimBackend::get_extension(std::string_view name) {
    static const LeatVirtualClock kTable = [] {
        auto table = plugin::made<LeatVirtualClock>();
        table.now_ns = [](LeatBackend* backend) { return virtual_clock_of(backend).now_ns(); };
        table.hold = [](LeatBackend* backend) {
            return plugin::guarded(nullptr, [&] { virtual_clock_of(backend).hold(); });
        };
        table.release = [](LeatBackend* backend) {
            return plugin::guarded(nullptr, [&] { virtual_clock_of(backend).release(); });
        };
        table.call_at = [](LeatBackend* backend, int64_t time_ns, LeatReached callback,
                           void* user) {
            return plugin::guarded(
                nullptr, [&] { virtual_clock_of(backend).call_at(time_ns, callback, user); });
        };
        return table;
    }();
    return virtual_clock_ != nullptr && name == LEAT_VIRTUAL_CLOCK ? &kTable : nullptr;
}

const LeatSettingInfo* SimBackend::setting(int32_t index) {
    static const LeatSettingInfo kRows[] = {
        setting_row("mode", "compute", "compute: true results; timed: replayed; virtual: clock"),
        setting_row("record", "", "file that results of runs are added to"),
        setting_row("replay", "", "file that mode timed takes results from"),
        setting_row("devices", "1", "number of devices; lists below have a number for each"),
        setting_row("compute_queues", "1", "of each device, each with all its speed"),
        setting_row("copy_queues", "1", "of each device"),
        setting_row("flops_per_s", "1e10", "list"),
        setting_row("bytes_per_s", "1e10", "of the device's memory; list"),
        setting_row("link_latency_us", "5", "of a transfer between host and device; list"),
        setting_row("link_bytes_per_s", "5e9", "list"),
        setting_row("link", "duplex", "exclusive: one transfer at a time; duplex: in a direction"),
        setting_row("time_scale", "1", "factor of all times"),
        setting_row("median_op_us", "", "time_scale from the first graph's median operator"),
        setting_row("host_memory", "0", "1: its memory is the host's, and links are mappable"),
        setting_row("mappable", "", "host writes to slabs without the link; 1 in mode compute"),
        setting_row("alignment_bytes", "64", "of slabs and offsets"),
        setting_row("memory_limit_bytes", "", "slabs beyond it are out of memory"),
        setting_row("delay_us", "0", "before each submission's work"),
        setting_row("delay_seed", "0", "draws a part of delay_us for each submission; 0: all"),
        setting_row("lose_device_at", "", "number of the submission that loses the device"),
        setting_row("fail_submission", "", "number of the submission that ends with an error"),
        setting_row("fail_call", "", "ENTRY:NUMBER of the call that fails; 0: each"),
#if defined(LEAT_PLANTS)
        setting_row("plant", "none", "one breach of the contract"),
#endif
    };
    return index >= 0 && size_t(index) < std::size(kRows) ? &kRows[index] : nullptr;
}

}  // namespace
}  // namespace leat::sim

LEAT_BACKEND_PLUGIN(leat::sim::SimBackend)
