#include "backends/host_device/host_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/host_device/capability.h"
#include "backends/host_device/host_executable.h"
#include "backends/host_device/host_instance.h"

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

// The pattern of a fill, repeated. Patterns are 1, 2, 4 or 8 bytes, so eight bytes repeat too.
void fill_bytes(std::byte* to, int64_t bytes, uint64_t pattern, int32_t pattern_bytes) {
    std::byte given[sizeof(pattern)];
    std::byte unit[sizeof(pattern)];
    std::memcpy(given, &pattern, sizeof(pattern));
    for (size_t i = 0; i < sizeof(unit); ++i) {
        unit[i] = given[i % size_t(pattern_bytes)];
    }
    int64_t at = 0;
    for (; at + int64_t(sizeof(unit)) <= bytes; at += int64_t(sizeof(unit))) {
        std::memcpy(to + at, unit, sizeof(unit));
    }
    std::memcpy(to + at, unit, size_t(bytes - at));
}

}  // namespace

HostDevice::HostDevice(const LeatHostApi* host,
                       const LeatSettings* settings,
                       const leat::Backend& kernels,
                       const DeviceOptions& options,
                       SubmissionFaults faults)
    : kernels_(kernels),
      plants_(settings),
      memory_{plugin::Host(host), checked(options).alignment_bytes, options.limit_bytes},
      device_(options),
      team_(options.workers),
      context_(kernels, operators_, plants_, team_, plugin::Host(host), options.alignment_bytes),
      queues_(std::make_unique<Queues>(kQueueCount, std::move(faults), plants_)) {}

void HostDevice::check_device(int32_t device) const {
    if (device != 0) {
        plugin::invalid_argument(fmt::format("there is no device {}", device));
    }
}

void HostDevice::check_domain(int32_t domain) const {
    if (domain != 0) {
        plugin::invalid_argument(fmt::format("there is no domain {}", domain));
    }
}

const LeatDeviceInfo* HostDevice::device(int32_t index) {
    return index == 0 ? &device_.device : nullptr;
}

std::unique_ptr<plugin::Slab> HostDevice::allocate_slab(int32_t domain, int64_t bytes) {
    check_domain(domain);
    return std::make_unique<HostSlab>(memory_, bytes);
}

std::unique_ptr<plugin::Slab> HostDevice::import_slab(int32_t domain, void* memory, int64_t bytes) {
    check_domain(domain);
    if (reinterpret_cast<uintptr_t>(memory) % kImportAlignmentBytes != 0) {
        plugin::invalid_argument(
            fmt::format("imported memory is not aligned to {} bytes", kImportAlignmentBytes));
    }
    return std::make_unique<HostSlab>(memory_, memory, bytes);
}

void* HostDevice::map_slab(plugin::Slab& slab) {
    return static_cast<HostSlab&>(slab).data();
}

void HostDevice::flush_slab(plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) {
    static_cast<HostSlab&>(slab).check_range(offset_bytes, bytes);
}

void HostDevice::submit_copy(const LeatSubmission& submission, const LeatCopy& copy) {
    if (copy.bytes < 0) {
        plugin::invalid_argument("a copy of less than no bytes");
    }
    const auto* from = copy.from.slab != nullptr ? address_of(copy.from, copy.bytes)
                                                 : static_cast<const std::byte*>(copy.from_host);
    auto* to = copy.to.slab != nullptr ? address_of(copy.to, copy.bytes)
                                       : static_cast<std::byte*>(copy.to_host);
    if (from == nullptr || to == nullptr) {
        plugin::invalid_argument("a copy needs two ends");
    }
    // Only slabs of the checks have room behind the range.
    const bool is_outside = plants_.has(Plant::kWritesOutside) && copy.to.slab != nullptr;
    queues_->submit(submission, [from, to, bytes = copy.bytes, is_outside] {
        std::memmove(to, from, size_t(bytes));
        if (is_outside) {
            to[bytes] = std::byte{0xEE};
        }
    });
}

void HostDevice::submit_fill(const LeatSubmission& submission, const LeatFill& fill) {
    const bool is_unit = fill.pattern_bytes == 1 || fill.pattern_bytes == 2 ||
                         fill.pattern_bytes == 4 || fill.pattern_bytes == 8;
    if (!is_unit || fill.bytes < 0 || fill.bytes % fill.pattern_bytes != 0) {
        plugin::invalid_argument(fmt::format(
            "a fill of {} bytes with a pattern of {}: needed 1, 2, 4 or 8, and a whole number",
            fill.bytes, fill.pattern_bytes));
    }
    std::byte* to = address_of(fill.to, fill.bytes);
    queues_->submit(submission,
                    [to, fill] { fill_bytes(to, fill.bytes, fill.pattern, fill.pattern_bytes); });
}

void HostDevice::execute(plugin::Instance& instance,
                         const LeatSubmission& submission,
                         const LeatBinding* inputs,
                         const LeatBinding* outputs) {
    if (submission.signal.queue != kComputeQueue) {
        plugin::invalid_argument(fmt::format("queue {} does not execute", submission.signal.queue));
    }
    auto& linked = static_cast<HostInstance&>(instance);
    linked.check_bindings(inputs, outputs);
    if (plants_.has(Plant::kAllocatesInExecute)) {
        const HostSlab unplanned(memory_, 1);
    }
    const bool reads_late = plants_.has(Plant::kReadsArgumentsLate);
    queues_->submit(
        submission,
        [&linked, profile = submission.profile, reads_late, inputs, outputs,
         in = std::vector<LeatBinding>(inputs, inputs + linked.input_count()),
         out = std::vector<LeatBinding>(outputs, outputs + linked.output_count())]() mutable {
            if (reads_late) {
                in.assign(inputs, inputs + linked.input_count());
                out.assign(outputs, outputs + linked.output_count());
            }
            linked.run(in, out, profile);
        });
}

void HostDevice::on_reached(LeatPoint point, LeatReached callback, void* user) {
    queues_->on_reached(point, callback, user);
}

void HostDevice::fail(int32_t queue, LeatCode code) {
    queues_->fail(queue, {code, "the host failed the queue"});
}

void HostDevice::forget_failures(int32_t queue, uint64_t value) {
    queues_->forget_failures(queue, value);
}

void HostDevice::capability(int32_t device,
                            const LeatGraphView& graph,
                            const LeatNodeView& node,
                            LeatNodeCapability& capability) {
    check_device(device);
    capability.host_inputs = check_node(graph, node, kernels_, operators_);
    capability.layouts = kLeatLayoutRowMajor;
    for (const int32_t value : plugin::outputs_of(node)) {
        capability.cost_ns += value < 0 ? 0 : double(element_count(graph, value));
    }
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
    return std::make_unique<HostExecutable>(std::move(imported), context_);
}

std::unique_ptr<plugin::Executable> HostDevice::load(int32_t device, std::string_view saved) {
    check_device(device);
    return std::make_unique<HostExecutable>(lowered::restore_graph(saved), context_);
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
