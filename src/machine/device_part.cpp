#include "machine/device_part.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

#include "backends/plugin/plugin_answers.h"
#include "backends/plugin/text_sink.h"
#include "base/elapsed.h"
#include "base/error.h"
#include "base/round_up.h"
#include "leat/plugin_backend.h"
#include "machine/device_answers.h"
#include "machine/device_kernel.h"
#include "machine/open_ranks.h"
#include "memory/domains/slab.h"

namespace leat {
namespace {

// Constants share slabs of this size, so that each lies in one allocation of the driver.
constexpr int64_t kWeightSlabBytes = int64_t{256} << 20;

DeviceBackend::PackedKey key_of(const LeatPackedConstant& constant) {
    return {constant.content_hash, constant.layout_key, constant.domain};
}

// As DevicePart::direct_bytes says: what the link from the host carries in the time that it takes
// to begin.
int64_t direct_bytes_of(const LeatDeviceInfo& device, const LeatDomainInfo& domain) {
    if (domain.is_mappable == 0) {
        return -1;
    }
    for (int32_t i = 0; i < device.link_count; ++i) {
        const LeatLinkInfo& link = *device.links[i];
        if (link.from_domain == LEAT_HOST_DOMAIN && link.to_domain == domain.domain &&
            link.is_mappable == 0 && link.bytes_per_s > 0) {
            constexpr double kNsPerS = 1e9;
            return int64_t(link.latency_ns * link.bytes_per_s / kNsPerS);
        }
    }
    return std::numeric_limits<int64_t>::max();
}

}  // namespace

Result<std::shared_ptr<const DevicePart>> DevicePart::compile(DevicePlace place,
                                                              const GraphData& body,
                                                              std::vector<bool> streamed_inputs,
                                                              PluginConstants& constants) {
    std::shared_ptr<DevicePart> part(new DevicePart(std::move(place), std::move(streamed_inputs)));
    LEAT_RETURN_IF_ERROR(part->make(body, constants, {}, {}));
    return std::shared_ptr<const DevicePart>(std::move(part));
}

Result<std::shared_ptr<const DevicePart>> DevicePart::load(DevicePlace place,
                                                           const GraphData& body,
                                                           std::vector<bool> streamed_inputs,
                                                           PluginConstants& constants,
                                                           std::string_view saved,
                                                           std::span<const SavedConstant> packed) {
    std::shared_ptr<DevicePart> part(new DevicePart(std::move(place), std::move(streamed_inputs)));
    LEAT_RETURN_IF_ERROR(part->make(body, constants, saved, packed));
    return std::shared_ptr<const DevicePart>(std::move(part));
}

bool works_in_host_memory(const DevicePlace& place) {
    const LeatDeviceInfo& device = place.backend->device(place.number);
    return device.domain_count > 0 &&
           place.backend->works_in_host_memory(place.number, *device.domains[0]);
}

uint64_t DevicePart::streamed_inputs_low() const {
    uint64_t bits = 0;
    for (size_t i = 0; i < streamed_inputs_.size() && i < 64; ++i) {
        bits |= uint64_t(streamed_inputs_[i] ? 1 : 0) << i;
    }
    return bits;
}

Result<std::string> DevicePart::save() const {
    std::string saved;
    if (by_ranks_ != nullptr) {
        return saved;
    }
    const LeatSink sink = text_sink(saved);
    PluginError error;
    const LeatCode code =
        place_.backend->api().save(place_.backend->handle(), executable_, &sink, error.get());
    if (code == kLeatUnimplemented || code == kLeatUnsupported) {
        return std::string();
    }
    LEAT_RETURN_IF_ERROR(error.status(code, fmt::format("save a part for {}", place_.label)));
    return saved;
}

DevicePart::~DevicePart() {
    place_.backend->give_back(&LeatBackendApi::free_executable, executable_);
}

Status DevicePart::make_executable(const LeatGraphView& graph, std::string_view saved) {
    LEAT_RETURN_IF_ERROR(place_.backend->check_process());
    const LeatBackendApi& api = place_.backend->api();
    LeatBackend* backend = place_.backend->handle();
    const auto options = plugin::made<LeatCompileOptions>();
    PluginError error;
    const LeatCode code =
        saved.empty()
            ? api.compile(backend, place_.number, &graph, &options, &executable_, error.get())
            : api.load(backend, place_.number, saved.data(), int64_t(saved.size()), &executable_,
                       error.get());
    if (code != kLeatOk) {
        executable_ = nullptr;
        return error.status(code,
                            fmt::format("{} {} nodes for {}", saved.empty() ? "compile" : "load",
                                        graph.node_count, place_.label));
    }
    info_ = api.executable_info(backend, executable_);
    Status status = check_executable(*info_, graph);
    if (saved.empty()) {
        return std::move(status).with_file(place_.backend->file());
    }
    return status.ok() && is_of_graph(graph)
               ? Status()
               : make_error(StatusCode::kParse, "the saved executable for {} is of another graph",
                            place_.label);
}

// That it has the operands of the graph, and packs its constants.
bool DevicePart::is_of_graph(const LeatGraphView& graph) const {
    bool is_alike = info_->input_count == graph.input_count &&
                    info_->output_count == graph.output_count &&
                    info_->symbol_count == graph.symbol_count;
    for (int32_t i = 0; i < info_->constant_count; ++i) {
        const LeatPackedConstant& packed = *info_->constants[i];
        is_alike =
            is_alike && graph.values[packed.value]->constant->content_hash == packed.content_hash;
    }
    return is_alike;
}

Status DevicePart::make(const GraphData& body,
                        PluginConstants& constants,
                        std::string_view saved,
                        std::span<const SavedConstant> packed) {
    if (has_open_ranks(body)) {
        by_ranks_ = std::make_unique<ByRanks>();
        by_ranks_->body = body;
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const std::unique_ptr<PluginGraph> graph,
                          PluginGraph::make(body, constants));
    symbols_.assign(graph->symbol_sources().begin(), graph->symbol_sources().end());
    LEAT_RETURN_IF_ERROR(make_executable(graph->view(), saved));
    LEAT_ASSIGN_OR_RETURN(domain_, place_.backend->domain(place_.number, info_->domain));
    LEAT_ASSIGN_OR_RETURN(queue_, place_.backend->compute_queue(place_.number));
    LEAT_ASSIGN_OR_RETURN(copy_queue_, place_.backend->copy_queue(place_.number));
    const LeatDeviceInfo& device = place_.backend->device(place_.number);
    direct_bytes_ = direct_bytes_of(device, *domain_);
    works_in_host_memory_ = place_.backend->works_in_host_memory(place_.number, *domain_);
    return pack_constants(graph->view(), packed);
}

// Constants, too, are packed as the ranks want them.
Result<std::shared_ptr<DevicePart>> DevicePart::compile_for(const PrepareContext& context) const {
    LEAT_ASSIGN_OR_RETURN(const GraphData body, with_ranks(by_ranks_->body, context.inputs));
    PluginConstants constants;
    const ListedDevice device{place_.label, nullptr, place_, nullptr};
    LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceAnswers> answers,
                          ask_all(body, {&device, 1}, constants));
    for (size_t n = 0; n < body.nodes.size(); ++n) {
        if (const std::string& refusal = answers[0].nodes[n].refusal; !refusal.empty()) {
            return unsupported("{} does not run {} with the ranks of this run: {}", place_.label,
                               body.nodes[n].label(), refusal)
                .with_hint(
                    "compile() did not know them: pin the node to another device, or give the "
                    "model's inputs shapes");
        }
    }
    std::shared_ptr<DevicePart> part(new DevicePart(place_, streamed_inputs_));
    LEAT_RETURN_IF_ERROR(part->make(body, constants, {}, {}));
    return part;
}

Result<std::shared_ptr<const DevicePart>> DevicePart::part_of_ranks(
    const PrepareContext& context) const {
    std::vector<int> ranks;
    ranks.reserve(context.inputs.size());
    for (const TensorArg& input : context.inputs) {
        ranks.push_back(input.shape.rank());
    }
    using Part = std::shared_ptr<const DevicePart>;
    const auto find = [&]() -> Part {
        const std::lock_guard finding(by_ranks_->mutex);
        const auto found = by_ranks_->parts.find(ranks);
        return found == by_ranks_->parts.end() ? nullptr : found->second;
    };
    if (Part found = find(); found != nullptr) {
        return found;
    }
    const std::lock_guard lock(by_ranks_->compiling);
    if (Part found = find(); found != nullptr) {
        return found;  // compiled meanwhile
    }
    const int64_t packed_before = packed_bytes();
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<DevicePart> part, compile_for(context));
    part->packed_before_ = packed_before;
    const std::lock_guard adding(by_ranks_->mutex);
    by_ranks_->parts.emplace(std::move(ranks), part);
    return Part(std::move(part));
}

int64_t DevicePart::total(int64_t DevicePart::*count) const {
    int64_t sum = this->*count;
    if (by_ranks_ != nullptr) {
        const std::lock_guard lock(by_ranks_->mutex);
        for (const auto& [ranks, part] : by_ranks_->parts) {
            sum += (*part).*count;
        }
    }
    return sum;
}

bool DevicePart::is_host_input(size_t input) const {
    if (by_ranks_ == nullptr) {
        return input < 64 && (info_->host_inputs_low >> input & 1U) != 0;
    }
    const std::lock_guard lock(by_ranks_->mutex);
    return std::any_of(by_ranks_->parts.begin(), by_ranks_->parts.end(),
                       [input](const auto& entry) { return entry.second->is_host_input(input); });
}

// Room for a constant, behind those before it or in a new slab.
Result<std::shared_ptr<const PackedOnDevice>> DevicePart::place_constant(int32_t index,
                                                                         WeightSlab& room) const {
    const int64_t alignment = alignment_of(index);
    const int64_t bytes = room_bytes(index);
    int64_t offset = round_up(room.used_bytes, alignment);
    if (room.slab == nullptr || offset + bytes > room.size_bytes) {
        room.size_bytes = std::max(bytes, std::min(kWeightSlabBytes, remaining_bytes(index)));
        LEAT_ASSIGN_OR_RETURN(room.slab,
                              DeviceSlab::allocate(place_.backend, *domain_, room.size_bytes));
        offset = 0;
    }
    room.used_bytes = offset + bytes;
    return std::make_shared<const PackedOnDevice>(PackedOnDevice{room.slab, offset});
}

// Those that no other executable has packed alike are packed now, or copied if they are saved.
Status DevicePart::pack_constants(const LeatGraphView& graph,
                                  std::span<const SavedConstant> saved) {
    packed_.resize(size_t(info_->constant_count));
    constant_places_.reserve(packed_.size());
    WeightSlab room;
    ConstantCopies copies(place_.backend, copy_queue_);
    // Others see them when they are there.
    std::map<DeviceBackend::PackedKey, std::shared_ptr<const PackedOnDevice>> fresh;
    for (int32_t i = 0; i < info_->constant_count; ++i) {
        const LeatPackedConstant& constant = *info_->constants[i];
        const DeviceBackend::PackedKey key = key_of(constant);
        const auto own = fresh.find(key);
        std::shared_ptr<const PackedOnDevice>& packed = packed_[size_t(i)];
        packed = own != fresh.end() ? own->second : place_.backend->find_packed(key);
        if (packed == nullptr) {
            LEAT_ASSIGN_OR_RETURN(packed, place_constant(i, room));
            const bool is_saved =
                size_t(i) < saved.size() && saved[size_t(i)].is_packed_of(constant);
            LEAT_RETURN_IF_ERROR(is_saved ? copies.upload(*packed, saved[size_t(i)].bytes)
                                          : pack(graph, i, *packed));
            pack_count_ += is_saved ? 0 : 1;
            fresh.emplace(key, packed);
            packed_bytes_ += room_bytes(i);
        }
        constant_places_.push_back({packed->slab->handle(), packed->offset_bytes});
    }
    LEAT_RETURN_IF_ERROR(copies.finish());
    for (const auto& [key, packed] : fresh) {
        place_.backend->keep_packed(key, packed);
    }
    return {};
}

Result<std::vector<std::vector<std::byte>>> DevicePart::save_constants() const {
    std::vector<std::vector<std::byte>> saved;
    if (by_ranks_ != nullptr) {
        return saved;
    }
    ConstantCopies copies(place_.backend, copy_queue_);
    for (int32_t i = 0; i < info_->constant_count; ++i) {
        saved.emplace_back(size_t(info_->constants[i]->bytes));
        LEAT_RETURN_IF_ERROR(copies.download(*packed_[size_t(i)], saved.back()));
    }
    const Status copied = copies.finish();
    if (copied.code() == StatusCode::kUnsupported) {
        saved.clear();
        return saved;
    }
    LEAT_RETURN_IF_ERROR(copied);
    return saved;
}

int64_t DevicePart::alignment_of(int32_t constant) const {
    return std::max(domain_->alignment_bytes, info_->constants[constant]->alignment_bytes);
}

int64_t DevicePart::room_bytes(int32_t constant) const {
    return round_up(std::max<int64_t>(info_->constants[constant]->bytes, 1),
                    alignment_of(constant));
}

// Of the constants from this one on, at most.
int64_t DevicePart::remaining_bytes(int32_t first) const {
    int64_t bytes = 0;
    for (int32_t i = first; i < info_->constant_count; ++i) {
        bytes += room_bytes(i);
    }
    return bytes;
}

Status DevicePart::pack(const LeatGraphView& graph,
                        int32_t index,
                        const PackedOnDevice& packed) const {
    const LeatPackedConstant& constant = *info_->constants[index];
    const LeatConstantView* source = graph.values[constant.value]->constant;
    PluginError error;
    return error.status(
        place_.backend->api().pack(place_.backend->handle(), executable_, index, source->tensor,
                                   {packed.slab->handle(), packed.offset_bytes}, error.get()),
        fmt::format("pack constant '{}'", graph.values[constant.value]->name));
}

Result<LeatInstance*> DevicePart::link(const LeatRunShape& shape,
                                       std::span<const LeatPlacement> transients,
                                       const char* action) const {
    LEAT_RETURN_IF_ERROR(place_.backend->check_process());
    auto linkage = plugin::made<LeatLinkage>();
    linkage.transient_count = int32_t(transients.size());
    linkage.transients = transients.data();
    linkage.constant_count = int32_t(constant_places_.size());
    linkage.constants = constant_places_.data();
    LeatInstance* instance = nullptr;
    PluginError error;
    const LeatCode code = place_.backend->api().link(place_.backend->handle(), executable_, &shape,
                                                     &linkage, &instance, error.get());
    LEAT_RETURN_IF_ERROR(error.status(code, action));
    return instance;
}

Result<std::unique_ptr<DeviceStep>> DevicePart::prepare(const PrepareContext& context,
                                                        int64_t& backend_time_ns) const {
    if (by_ranks_ != nullptr) {
        const auto start = std::chrono::steady_clock::now();
        LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<const DevicePart> part, part_of_ranks(context));
        backend_time_ns += nanoseconds_since(start);
        return part->prepare(context, backend_time_ns);
    }
    std::vector<int64_t> extents;
    extents.reserve(symbols_.size());
    for (const PluginGraph::SymbolSource& source : symbols_) {
        extents.push_back(context.inputs[size_t(source.input)].shape[source.axis]);
    }
    LEAT_ASSIGN_OR_RETURN(
        std::unique_ptr<DeviceKernel> kernel,
        DeviceKernel::make(shared_from_this(), std::move(extents), context, backend_time_ns));
    return std::unique_ptr<DeviceStep>(std::move(kernel));
}

}  // namespace leat
