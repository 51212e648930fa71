#include "backends/host_device/host_device.h"

#include <fmt/core.h>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "backends/host_device/capability.h"
#include "backends/host_device/host_executable.h"
#include "backends/host_device/host_instance.h"
#include "backends/queues/transfer.h"

namespace leat::host_device {
namespace {

constexpr std::string_view kBlobMagic = "leat-host-nodes ";

std::string blob_of(const LeatGraphView& graph) {
    return fmt::format("{}{}", kBlobMagic, graph.node_count);
}

DeviceOptions checked(const DeviceOptions& options) {
    const int64_t alignment = options.alignment_bytes;
    if (alignment < kImportAlignmentBytes || (alignment & (alignment - 1)) != 0) {
        plugin::invalid_argument(fmt::format(
            "setting 'alignment_bytes': found {}, needed a power of two >= 64", alignment));
    }
    return options;
}

// What the queue's thread does itself.
class HostWork final : public queues::Work {
  public:
    explicit HostWork(std::function<void()> call) : call_(std::move(call)) {}
    uint64_t run(std::span<const queues::DevicePoint> /*waits*/) override {
        call_();
        return 0;
    }

  private:
    std::function<void()> call_;
};

}  // namespace

HostDevice::HostDevice(const LeatHostApi* host,
                       const LeatSettings* settings,
                       const leat::Backend& kernels,
                       const DeviceOptions& options,
                       queues::SubmissionFaults faults)
    : kernels_(kernels),
      plants_(settings),
      device_count_(checked(options).device_count),
      compute_queues_(options.compute_queues),
      queues_per_device_(options.queues_per_device()),
      team_(options.workers),
      context_(kernels, operators_, plants_, team_, plugin::Host(host), options),
      queues_(std::make_unique<queues::Queues>(
          queues::QueueOptions{device_count_, queues_per_device_, faults, plants_})) {
    for (int32_t i = 0; i < device_count_; ++i) {
        memory_.push_back(std::make_unique<MemorySource>(
            plugin::Host(host), i, options.alignment_bytes, options.limit_bytes));
    }
    describe(options);
}

void HostDevice::describe(const DeviceOptions& options) {
    told_.push_back(std::make_unique<DeviceTables>(make_tables(options)));
    tables_ = told_.back().get();
}

void HostDevice::check_device(int32_t device) const {
    if (device < 0 || device >= device_count_) {
        plugin::invalid_argument(fmt::format("there is no device {}", device));
    }
}

void HostDevice::check_link(const LeatCopy& copy) const {
    const int32_t from = domain_of(copy.from);
    const int32_t to = domain_of(copy.to);
    if (from != to && from != LEAT_HOST_DOMAIN && to != LEAT_HOST_DOMAIN) {
        throw plugin::Error(
            kLeatUnsupported,
            fmt::format("no link from domain {} to domain {}: copy by the host", from, to));
    }
}

const LeatDeviceInfo* HostDevice::device(int32_t index) {
    const bool is_there = index >= 0 && index < device_count_;
    return is_there ? &(*tables_.load())[size_t(index)]->device() : nullptr;
}

MemorySource& HostDevice::memory_of(int32_t domain) const {
    if (domain < 0 || domain >= device_count_) {
        plugin::invalid_argument(fmt::format("there is no domain {}", domain));
    }
    return *memory_[size_t(domain)];
}

std::unique_ptr<plugin::Slab> HostDevice::allocate_slab(int32_t domain, int64_t bytes) {
    return std::make_unique<HostSlab>(memory_of(domain), bytes);
}

std::unique_ptr<plugin::Slab> HostDevice::import_slab(int32_t domain, void* memory, int64_t bytes) {
    MemorySource& source = memory_of(domain);
    if (reinterpret_cast<uintptr_t>(memory) % kImportAlignmentBytes != 0) {
        plugin::invalid_argument(
            fmt::format("imported memory is not aligned to {} bytes", kImportAlignmentBytes));
    }
    return std::make_unique<HostSlab>(source, memory, bytes);
}

void* HostDevice::map_slab(plugin::Slab& slab) {
    return static_cast<HostSlab&>(slab).data();
}

void HostDevice::flush_slab(plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) {
    queues::check_range(offset_bytes, bytes, static_cast<HostSlab&>(slab).bytes());
}

void HostDevice::submit(const LeatSubmission& submission, Job job) {
    queues_->submit(submission, make_work(submission, std::move(job)));
}

std::unique_ptr<queues::Work> HostDevice::make_work(const LeatSubmission& /*submission*/, Job job) {
    return std::make_unique<HostWork>(std::move(job.call));
}

void HostDevice::run_instance(HostInstance& instance,
                              const std::vector<LeatBinding>& inputs,
                              const std::vector<LeatBinding>& outputs,
                              LeatProfile* profile) {
    instance.run(inputs, outputs, profile);
}

void HostDevice::submit_copy(const LeatSubmission& submission, const LeatCopy& copy) {
    queues::check_copy(copy);
    const auto* from = copy.from.slab != nullptr ? address_of(copy.from, copy.bytes)
                                                 : static_cast<const std::byte*>(copy.from_host);
    auto* to = copy.to.slab != nullptr ? address_of(copy.to, copy.bytes)
                                       : static_cast<std::byte*>(copy.to_host);
    if (from == nullptr || to == nullptr) {
        plugin::invalid_argument("a copy needs two ends");
    }
    check_link(copy);
    // Only slabs of the checks have room behind the range.
    const bool is_outside = plants_.has(queues::Plant::kWritesOutside) && copy.to.slab != nullptr;
    Job job;
    job.from_domain = domain_of(copy.from);
    job.to_domain = domain_of(copy.to);
    job.bytes = copy.bytes;
    job.call = [from, to, bytes = copy.bytes, is_outside] {
        std::memmove(to, from, size_t(bytes));
        if (is_outside) {
            to[bytes] = std::byte{0xEE};
        }
    };
    submit(submission, std::move(job));
}

void HostDevice::submit_fill(const LeatSubmission& submission, const LeatFill& fill) {
    queues::check_fill(fill);
    std::byte* to = address_of(fill.to, fill.bytes);
    Job job;
    job.kind = Job::Kind::kFill;
    job.from_domain = job.to_domain = domain_of(fill.to);
    job.bytes = fill.bytes;
    job.call = [to, fill] { queues::fill_bytes(to, fill.bytes, fill); };
    submit(submission, std::move(job));
}

void HostDevice::execute(plugin::Instance& instance,
                         const LeatSubmission& submission,
                         const LeatBinding* inputs,
                         const LeatBinding* outputs) {
    auto& linked = static_cast<HostInstance&>(instance);
    const int32_t queue = submission.signal.queue;
    if (queue < 0 || queue / queues_per_device_ != linked.device() ||
        queue % queues_per_device_ >= compute_queues_) {
        plugin::invalid_argument(
            fmt::format("queue {} does not execute for device {}", queue, linked.device()));
    }
    linked.check_bindings(inputs, outputs);
    if (plants_.has(queues::Plant::kAllocatesInExecute)) {
        const HostSlab unplanned(memory_of(linked.device()), 1);
    }
    const bool reads_late = plants_.has(queues::Plant::kReadsArgumentsLate);
    Job job;
    job.kind = Job::Kind::kRun;
    job.instance = &linked;
    job.profile = submission.profile;
    job.call = [this, &linked, profile = submission.profile, reads_late, inputs, outputs,
                in = std::vector<LeatBinding>(inputs, inputs + linked.input_count()),
                out =
                    std::vector<LeatBinding>(outputs, outputs + linked.output_count())]() mutable {
        if (reads_late) {
            in.assign(inputs, inputs + linked.input_count());
            out.assign(outputs, outputs + linked.output_count());
        }
        run_instance(linked, in, out, profile);
    };
    submit(submission, std::move(job));
}

double HostDevice::cost_ns(int32_t /*device*/,
                           const LeatGraphView& graph,
                           const LeatNodeView& node) {
    double elements = 0;
    for (const int32_t value : plugin::outputs_of(node)) {
        elements += value < 0 ? 0 : double(element_count(graph, value));
    }
    return elements;
}

void HostDevice::capability(int32_t device,
                            const LeatGraphView& graph,
                            const LeatNodeView& node,
                            LeatNodeCapability& capability) {
    check_device(device);
    capability.host_inputs = check_node(graph, node, kernels_, operators_);
    capability.layouts = kLeatLayoutRowMajor;
    capability.cost_ns = cost_ns(device, graph, node);
}

void HostDevice::preprocess(int32_t device,
                            const LeatGraphView& graph,
                            const LeatSettings* /*settings*/,
                            const LeatSink& blob) {
    check_device(device);
    const std::string bytes = blob_of(graph);
    const LeatCode code = blob.write(blob.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store the blob");
    }
}

std::unique_ptr<plugin::Executable> HostDevice::compile(int32_t device,
                                                        const LeatGraphView& graph,
                                                        const LeatCompileOptions& options) {
    check_device(device);
    if (options.blob_bytes != 0 &&
        plugin::bytes_of(options.blob, options.blob_bytes) != blob_of(graph)) {
        throw plugin::Error(kLeatCorrupt, "the blob is not of this graph");
    }
    for (int32_t i = 0; options.layouts != nullptr && i < graph.input_count; ++i) {
        if (options.layouts->inputs[i] != kLeatLayoutRowMajor) {
            throw plugin::Error(kLeatUnsupported, "operands are row-major only");
        }
    }
    const uint64_t host_inputs = check_graph(graph, kernels_, operators_);
    lowered::ImportedGraph imported = lowered::import_graph(graph);
    imported.host_inputs = host_inputs;
    return std::make_unique<HostExecutable>(std::move(imported), context_, device);
}

std::unique_ptr<plugin::Executable> HostDevice::load(int32_t device, std::string_view saved) {
    check_device(device);
    return std::make_unique<HostExecutable>(lowered::restore_graph(saved), context_, device);
}

LeatClockSample HostDevice::clock_correlation(int32_t device) {
    check_device(device);
    auto sample = plugin::made<LeatClockSample>();
    sample.device_ticks = device_ticks(context_);
    sample.host_ns = context_.host.monotonic_ns();
    sample.ns_per_tick = double(kNsPerTick);
    sample.uncertainty_ns = sample.host_ns - context_.epoch_ns - sample.device_ticks * kNsPerTick;
    return sample;
}

void HostDevice::register_kernel(std::string_view domain,
                                 std::string_view op_type,
                                 std::string_view blob) {
    operators_.add_kernel(domain, op_type, blob);
}

}  // namespace leat::host_device
