// DevicePart: a cluster of a graph that runs on a device, compiled by its backend.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host_kernel.h"
#include "backends/plugin/plugin_graph.h"
#include "machine/device_backend.h"
#include "machine/device_constants.h"
#include "machine/device_step.h"

namespace leat {

// Where a part runs.
struct DevicePlace {
    std::shared_ptr<DeviceBackend> backend;
    int number = 0;     // of the device
    std::string label;  // as the user named it
};

// Whether parts there work in memory of the host, as DevicePart::works_in_host_memory says.
bool works_in_host_memory(const DevicePlace& place);

// Immutable once made, but for what it has compiled for ranks; shared by plans and requests, whose
// memory keeps it alive. A body with inputs of unknown rank has no executable of its own: `prepare`
// compiles one for each set of ranks, as a part that it keeps. Thread-safe.
class DevicePart : public std::enable_shared_from_this<DevicePart> {
  public:
    // Packs the constants into memory of the device, unless ranks are unknown; `constants` may know
    // them from other views. streamed_inputs: by input of the body: a constant that each run copies
    // to the device.
    static Result<std::shared_ptr<const DevicePart>> compile(DevicePlace place,
                                                             const GraphData& body,
                                                             std::vector<bool> streamed_inputs,
                                                             PluginConstants& constants);
    // The same from what save() gave for such a body, without compiling; empty: it gave nothing.
    // `packed`: in the order of the executable's constants, as save_constants() had them; those
    // that are not what the executable packs are packed.
    static Result<std::shared_ptr<const DevicePart>> load(DevicePlace place,
                                                          const GraphData& body,
                                                          std::vector<bool> streamed_inputs,
                                                          PluginConstants& constants,
                                                          std::string_view saved,
                                                          std::span<const SavedConstant> packed);
    // The executable as its backend writes it; empty: it does not save such, or there is none.
    Result<std::string> save() const;
    // The packed constants as they are on the device, in the order of the executable's; empty: the
    // host cannot copy them.
    Result<std::vector<std::vector<std::byte>>> save_constants() const;
    DevicePart(const DevicePart&) = delete;
    DevicePart& operator=(const DevicePart&) = delete;
    ~DevicePart();

    const DevicePlace& place() const { return place_; }
    // Of a part for some ranks: with what was packed for other ranks before.
    int64_t packed_bytes() const { return packed_before_ + total(&DevicePart::packed_bytes_); }
    // Constants that its backend packed; others were there, or saved.
    int64_t pack_count() const { return total(&DevicePart::pack_count_); }
    // Not of a part without one, which nothing but `prepare` asks for.
    LeatExecutable* executable() const { return executable_; }
    const LeatExecutableInfo& info() const { return *info_; }
    // Whether the backend reads this input, one of the first 64, before the run. Where ranks are
    // unknown: as far as is known of those that were compiled.
    bool is_host_input(size_t input) const;
    const LeatDomainInfo& domain() const { return *domain_; }
    int32_t queue() const { return queue_; }
    int32_t copy_queue() const { return copy_queue_; }
    // Up to so many bytes the host copies itself, because it reaches the device's memory: a copy by
    // a queue would take longer to begin. Negative: none.
    int64_t direct_bytes() const { return direct_bytes_; }
    // Its operands and transients may lie in memory of the host, which the backend imports.
    bool works_in_host_memory() const { return works_in_host_memory_; }
    std::span<const LeatPlacement> constants() const { return constant_places_; }
    bool is_streamed(size_t input) const {
        return input < streamed_inputs_.size() && streamed_inputs_[input];
    }
    // Of those that each run copies there, the first 64 inputs as bits.
    uint64_t streamed_inputs_low() const;

    // An instance for a run of this shape, with its transients at these places. action: for errors.
    Result<LeatInstance*> link(const LeatRunShape& shape,
                               std::span<const LeatPlacement> transients,
                               const char* action) const;
    // The part for these shapes. Each instance of a plan needs a state of the kernel. Adds the time
    // that calls of the backend take. unsupported: the backend refuses a node of these ranks.
    Result<std::unique_ptr<DeviceStep>> prepare(const PrepareContext& context,
                                                int64_t& backend_time_ns) const;

  private:
    // Where constants go, one behind the other.
    struct WeightSlab {
        std::shared_ptr<DeviceSlab> slab;
        int64_t size_bytes = 0;
        int64_t used_bytes = 0;
    };

    // What a part without an executable has in its place.
    struct ByRanks {
        GraphData body;
        // Taken before `mutex`. One compiles at a time, because the next part finds the constants
        // that this one packs.
        std::mutex compiling;
        std::mutex mutex;  // of `parts`
        // By rank of each input of the body.
        std::map<std::vector<int>, std::shared_ptr<const DevicePart>> parts;
    };

    DevicePart(DevicePlace place, std::vector<bool> streamed_inputs)
        : place_(std::move(place)), streamed_inputs_(std::move(streamed_inputs)) {}
    // saved: empty: none.
    Status make(const GraphData& body,
                PluginConstants& constants,
                std::string_view saved,
                std::span<const SavedConstant> packed);
    Status make_executable(const LeatGraphView& graph, std::string_view saved);
    Result<std::shared_ptr<const DevicePart>> part_of_ranks(const PrepareContext& context) const;
    Result<std::shared_ptr<DevicePart>> compile_for(const PrepareContext& context) const;
    int64_t total(int64_t DevicePart::*count) const;
    bool is_of_graph(const LeatGraphView& graph) const;
    Status pack_constants(const LeatGraphView& graph, std::span<const SavedConstant> saved);
    Result<std::shared_ptr<const PackedOnDevice>> place_constant(int32_t index,
                                                                 WeightSlab& room) const;
    int64_t alignment_of(int32_t constant) const;
    int64_t room_bytes(int32_t constant) const;
    int64_t remaining_bytes(int32_t first) const;
    Status pack(const LeatGraphView& graph, int32_t index, const PackedOnDevice& packed) const;

    DevicePlace place_;
    std::vector<bool> streamed_inputs_;
    std::unique_ptr<ByRanks> by_ranks_;     // null: all ranks are known
    LeatExecutable* executable_ = nullptr;  // null: ranks are unknown
    const LeatExecutableInfo* info_ = nullptr;
    const LeatDomainInfo* domain_ = nullptr;
    int32_t queue_ = 0;
    int32_t copy_queue_ = 0;
    int64_t direct_bytes_ = -1;
    bool works_in_host_memory_ = false;
    int64_t packed_bytes_ = 0;
    int64_t packed_before_ = 0;  // for other ranks
    int64_t pack_count_ = 0;
    std::vector<PluginGraph::SymbolSource> symbols_;
    std::vector<std::shared_ptr<const PackedOnDevice>> packed_;
    std::vector<LeatPlacement> constant_places_;
};

}  // namespace leat
