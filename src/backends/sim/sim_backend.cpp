// The simulated machine: one device with a compute queue, a copy queue and memory of its own, that
// computes with leat's reference kernels and can be told to fail (docs/backends.md).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "backends/reference/reference_backend.h"
#include "backends/sim/faults.h"
#include "backends/sim/plants.h"
#include "backends/sim/sim_executable.h"
#include "backends/sim/sim_memory.h"
#include "backends/sim/sim_queues.h"
#include "leat/plugin_backend.h"

namespace leat::sim {
namespace {

constexpr int32_t kComputeQueue = 0;
constexpr int32_t kQueueCount = 2;
constexpr int64_t kCapacityBytes = int64_t{1} << 34;
constexpr int64_t kImportAlignmentBytes = 64;
constexpr std::string_view kBlobMagic = "leat-sim-nodes ";

LeatSettingInfo setting_row(const char* name, const char* value, const char* description) {
    auto row = plugin::made<LeatSettingInfo>();
    row.name = name;
    row.default_value = value;
    row.description = description;
    return row;
}

struct DeviceTable {
    LeatDomainInfo domain = plugin::made<LeatDomainInfo>();
    std::array<LeatQueueInfo, kQueueCount> queues = {plugin::made<LeatQueueInfo>(),
                                                     plugin::made<LeatQueueInfo>()};
    std::array<LeatLinkInfo, kQueueCount> links = {plugin::made<LeatLinkInfo>(),
                                                   plugin::made<LeatLinkInfo>()};
    const LeatDomainInfo* domain_row = &domain;
    std::array<const LeatQueueInfo*, kQueueCount> queue_rows = {queues.data(), &queues[1]};
    std::array<const LeatLinkInfo*, 2> link_rows = {links.data(), &links[1]};
    LeatDeviceInfo device = plugin::made<LeatDeviceInfo>();

    DeviceTable(int64_t alignment_bytes, int64_t limit_bytes) {
        domain.name = "simulated memory";
        domain.capacity_bytes = limit_bytes != 0 ? limit_bytes : kCapacityBytes;
        domain.alignment_bytes = alignment_bytes;
        domain.import_alignment_bytes = kImportAlignmentBytes;
        domain.is_mappable = 1;
        domain.is_coherent = 1;
        queues[0].kinds = kLeatQueueCompute | kLeatQueueCopy;
        queues[0].name = "compute";
        queues[1].queue = 1;
        queues[1].kinds = kLeatQueueCopy;
        queues[1].name = "copy";
        links[0].from_domain = LEAT_HOST_DOMAIN;
        links[1].to_domain = LEAT_HOST_DOMAIN;
        for (LeatLinkInfo& link : links) {
            link.latency_ns = 5000;  // about a thread's wake-up
            link.bytes_per_s = 5e9;  // about a memcpy
        }
        device.name = "simulated device";
        device.kind = kLeatDeviceOther;
        device.numa_node = -1;
        device.domain_count = 1;
        device.domains = &domain_row;
        device.queue_count = kQueueCount;
        device.queues = queue_rows.data();
        device.link_count = 2;
        device.links = link_rows.data();
        device.thread_count = kQueueCount + 1;
    }
    DeviceTable(const DeviceTable&) = delete;
    DeviceTable& operator=(const DeviceTable&) = delete;
};

void check_device(int32_t device) {
    if (device != 0) {
        plugin::invalid_argument(fmt::format("sim has no device {}", device));
    }
}

void check_domain(int32_t domain) {
    if (domain != 0) {
        plugin::invalid_argument(fmt::format("sim has no domain {}", domain));
    }
}

[[noreturn]] void refuse(std::string reason) {
    throw plugin::Error(kLeatUnsupported, std::move(reason));
}

int64_t elements_of(const LeatGraphView& graph, int32_t value) {
    int64_t elements = 1;
    const LeatValueView& view = *graph.values[value];
    for (int32_t i = 0; i < view.rank; ++i) {
        const LeatDim dim = view.dims[i];
        const int64_t bound = dim.symbol >= 0 ? graph.symbols[dim.symbol]->max_extent : dim.extent;
        elements *= std::max<int64_t>(bound, 1);
    }
    return elements;
}

bool is_read(const LeatGraphView& graph, int32_t value) {
    return std::any_of(graph.nodes, graph.nodes + graph.node_count, [&](const LeatNodeView* node) {
        return std::find(node->inputs, node->inputs + node->input_count, value) !=
               node->inputs + node->input_count;
    });
}

// The pattern of a fill, repeated; the range need not hold a whole number of them.
void fill_bytes(std::byte* to, int64_t bytes, uint64_t pattern, int32_t pattern_bytes) {
    std::byte unit[sizeof(pattern)];
    std::memcpy(unit, &pattern, sizeof(pattern));
    for (int64_t i = 0; i < bytes; ++i) {
        to[i] = unit[i % pattern_bytes];
    }
}

class SimBackend final : public plugin::Backend {
  public:
#if defined(LEAT_SIM_PLANTS)
    static constexpr const char* kName = "sim_faulty";
#else
    static constexpr const char* kName = "sim";
#endif
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t index);

    SimBackend(const LeatHostApi* host, const LeatSettings* settings)
        : faults_(settings),
          plants_(settings),
          memory_{plugin::Host(host), number_setting(settings, "alignment_bytes", 64),
                  faults_.memory_limit_bytes()},
          device_(memory_.alignment_bytes, memory_.limit_bytes),
          context_(operators_, plants_, plugin::Host(host), memory_.alignment_bytes) {
        const char* mode = plugin::find_setting(settings, "mode");
        if (mode != nullptr && std::string_view(mode) != "compute") {
            plugin::invalid_argument(
                fmt::format("setting 'mode': found '{}', needed 'compute'", mode));
        }
        const int64_t alignment = memory_.alignment_bytes;
        if (alignment < kImportAlignmentBytes || (alignment & (alignment - 1)) != 0) {
            plugin::invalid_argument(fmt::format(
                "setting 'alignment_bytes': found {}, needed a power of two >= 64", alignment));
        }
        queues_ = std::make_unique<Queues>(kQueueCount, faults_, plants_);
    }

    void enter(const char* entry) override {
        faults_.enter(entry);
    }
    const LeatDeviceInfo* device(int32_t index) override {
        return index == 0 ? &device_.device : nullptr;
    }
    int64_t open_submissions() override {
        return queues_->open_submissions();
    }

    std::unique_ptr<plugin::Slab> allocate_slab(int32_t domain, int64_t bytes) override {
        check_domain(domain);
        return std::make_unique<SimSlab>(memory_, bytes);
    }
    std::unique_ptr<plugin::Slab> import_slab(int32_t domain,
                                              void* memory,
                                              int64_t bytes) override {
        check_domain(domain);
        if (reinterpret_cast<uintptr_t>(memory) % kImportAlignmentBytes != 0) {
            plugin::invalid_argument(
                fmt::format("imported memory is not aligned to {} bytes", kImportAlignmentBytes));
        }
        return std::make_unique<SimSlab>(memory_, memory, bytes);
    }
    void* map_slab(plugin::Slab& slab) override {
        return static_cast<SimSlab&>(slab).data();
    }
    void flush_slab(plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) override {
        static_cast<SimSlab&>(slab).check_range(offset_bytes, bytes);
    }

    void submit_copy(const LeatSubmission& submission, const LeatCopy& copy) override;
    void submit_fill(const LeatSubmission& submission, const LeatFill& fill) override;
    void execute(plugin::Instance& instance,
                 const LeatSubmission& submission,
                 const LeatBinding* inputs,
                 const LeatBinding* outputs) override;
    uint64_t timeline_value(int32_t queue) override {
        return queues_->value(queue);
    }
    bool is_reached(LeatPoint point) override {
        return queues_->is_reached(point);
    }
    void on_reached(LeatPoint point, LeatReached callback, void* user) override {
        queues_->on_reached(point, callback, user);
    }
    void fail(int32_t queue, LeatCode code) override {
        queues_->fail(queue, {code, "the host failed the queue"});
    }
    void forget_failures(int32_t queue, uint64_t value) override {
        queues_->forget_failures(queue, value);
    }
    void cancel(uint64_t request) override {
        queues_->cancel(request);
    }

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
    void register_operator(const LeatOperator& custom) override {
        operators_.add(custom);
    }
    void register_kernel(std::string_view domain,
                         std::string_view op_type,
                         std::string_view blob) override {
        operators_.add_kernel(domain, op_type, blob);
    }

  private:
    uint32_t check_node(const LeatGraphView& graph, const LeatNodeView& node) const;
    uint64_t check_graph(const LeatGraphView& graph) const;

    Faults faults_;
    Plants plants_;
    MemorySource memory_;
    DeviceTable device_;
    Operators operators_;
    ExecutableContext context_;
    std::unique_ptr<Queues> queues_;  // the first to go: its threads use the others
};

const LeatSettingInfo* SimBackend::setting(int32_t index) {
    static const LeatSettingInfo kRows[] = {
        setting_row("mode", "compute", "compute: true results of the reference kernels"),
        setting_row("alignment_bytes", "64", "of slabs and offsets"),
        setting_row("memory_limit_bytes", "", "slabs beyond it are out of memory"),
        setting_row("delay_us", "0", "before each submission's work"),
        setting_row("lose_device_at", "", "number of the submission that loses the device"),
        setting_row("fail_call", "", "ENTRY:NUMBER of the call that fails; 0: each"),
#if defined(LEAT_SIM_PLANTS)
        setting_row("plant", "none", "one breach of the contract"),
#endif
    };
    return index >= 0 && size_t(index) < std::size(kRows) ? &kRows[index] : nullptr;
}

void SimBackend::submit_copy(const LeatSubmission& submission, const LeatCopy& copy) {
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

void SimBackend::submit_fill(const LeatSubmission& submission, const LeatFill& fill) {
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

void SimBackend::execute(plugin::Instance& instance,
                         const LeatSubmission& submission,
                         const LeatBinding* inputs,
                         const LeatBinding* outputs) {
    if (submission.signal.queue != kComputeQueue) {
        plugin::invalid_argument(fmt::format("queue {} does not execute", submission.signal.queue));
    }
    auto& linked = static_cast<SimInstance&>(instance);
    linked.check_bindings(inputs, outputs);
    if (plants_.has(Plant::kAllocatesInExecute)) {
        const SimSlab unplanned(memory_, 1);
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

// Throws why the node cannot be run; its host inputs otherwise.
uint32_t SimBackend::check_node(const LeatGraphView& graph, const LeatNodeView& view) const {
    if (view.subgraph_count != 0) {
        refuse(fmt::format("sim takes no control flow: {} has the body {} of {} nodes",
                           view.op_type, view.subgraphs[0]->name,
                           view.subgraphs[0]->graph->node_count));
    }
    for (const int32_t value : plugin::inputs_of(view)) {
        if (value >= 0 && DType(graph.values[value]->dtype) == DType::kString) {
            refuse("sim holds no strings");
        }
    }
    const NodeData node = lowered::import_node(view);
    if (const auto custom = operators_.find(node.domain, node.op_type)) {
        if (!custom->has_kernel()) {
            refuse(fmt::format("operator {}.{} has no kernel for sim", node.domain, node.op_type));
        }
        return 0;
    }
    if (is_non_zero(node)) {
        if (is_read(graph, view.outputs[0]) ||
            DType(graph.values[view.inputs[0]]->dtype) != DType::kFloat32) {
            refuse("sim's NonZero reads f32, and no other node may read its result");
        }
        return 0;
    }
    if (std::string reason = reference_refusal(node); !reason.empty()) {
        refuse(std::move(reason));
    }
    return node.def->shape_inputs;
}

// Throws why some node cannot be run; else the graph inputs that are host inputs, bit by bit.
uint64_t SimBackend::check_graph(const LeatGraphView& graph) const {
    uint64_t host_inputs = 0;
    for (const LeatNodeView* node : plugin::nodes_of(graph)) {
        const uint32_t wanted = check_node(graph, *node);
        for (int32_t k = 0; k < node->input_count && k < 32; ++k) {
            for (int32_t i = 0; i < graph.input_count && i < 64; ++i) {
                const bool is_it = (wanted >> k & 1) != 0 && node->inputs[k] == graph.inputs[i];
                host_inputs |= is_it ? uint64_t{1} << i : 0;
            }
        }
    }
    return host_inputs;
}

void SimBackend::capability(int32_t device,
                            const LeatGraphView& graph,
                            const LeatNodeView& node,
                            LeatNodeCapability& capability) {
    check_device(device);
    capability.host_inputs = check_node(graph, node);
    capability.layouts = kLeatLayoutRowMajor;
    for (const int32_t value : plugin::outputs_of(node)) {
        capability.cost_ns += value < 0 ? 0 : double(elements_of(graph, value));
    }
}

void SimBackend::preprocess(int32_t device,
                            const LeatGraphView& graph,
                            const LeatSettings* /*settings*/,
                            const LeatSink& blob) {
    check_device(device);
    const std::string bytes = fmt::format("{}{}", kBlobMagic, graph.node_count);
    const LeatCode code = blob.write(blob.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store the blob");
    }
}

std::unique_ptr<plugin::Executable> SimBackend::compile(int32_t device,
                                                        const LeatGraphView& graph,
                                                        const LeatCompileOptions& options) {
    check_device(device);
    const std::string expected = fmt::format("{}{}", kBlobMagic, graph.node_count);
    if (options.blob_bytes != 0 && plugin::bytes_of(options.blob, options.blob_bytes) != expected) {
        throw plugin::Error(kLeatCorrupt, "the blob is not of this graph");
    }
    for (int32_t i = 0; options.layouts != nullptr && i < graph.input_count; ++i) {
        if (options.layouts->inputs[i] != kLeatLayoutRowMajor) {
            refuse("sim reads row-major operands only");
        }
    }
    const uint64_t host_inputs = check_graph(graph);
    lowered::ImportedGraph imported = lowered::import_graph(graph);
    imported.host_inputs = host_inputs;
    return std::make_unique<SimExecutable>(std::move(imported), context_);
}

std::unique_ptr<plugin::Executable> SimBackend::load(int32_t device, std::string_view saved) {
    check_device(device);
    return std::make_unique<SimExecutable>(lowered::restore_graph(saved), context_);
}

LeatClockSample SimBackend::clock_correlation(int32_t device) {
    check_device(device);
    auto sample = plugin::made<LeatClockSample>();
    sample.device_ticks = device_ticks(context_);
    sample.host_ns = context_.host.monotonic_ns();
    sample.ns_per_tick = double(kNsPerTick);
    sample.uncertainty_ns = sample.host_ns - context_.epoch_ns - sample.device_ticks * kNsPerTick;
    return sample;
}

}  // namespace
}  // namespace leat::sim

LEAT_BACKEND_PLUGIN(leat::sim::SimBackend)
