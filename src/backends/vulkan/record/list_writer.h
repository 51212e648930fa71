// ListWriter: commands of kernels as a CommandList, and the shaders that they need.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Where an operand of a node lies: a buffer of the list, from offset_bytes on.
struct PlacedOperand {
    BufferId buffer{};
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;
};

// Scratch of a node: a buffer of the list that its commands alone use.
struct ScratchBuffer {
    BufferId buffer{};
    int64_t size_bytes = 0;
    int32_t node = 0;  // number of begin_node() calls before, less one
};

struct ReportBuffer {
    BufferId buffer{};
    IndexReport report;
};

// Used by one thread.
class ListWriter final : public KernelWriter {
  public:
    // `list` outlives it.
    ListWriter(CommandList& list, const KernelLimits& limits) : list_(list), limits_(limits) {}

    // What input_ref and output_ref mean from now on; absent operands have any place.
    void begin_node(std::span<const PlacedOperand> inputs, std::span<const PlacedOperand> outputs);

    const KernelLimits& limits() const override { return limits_; }
    OperandRef scratch(int64_t size_bytes) override;
    OperandRef index_report(IndexReport report) override;
    bool can_be_window(const OperandRef& operand) const override;
    Status dispatch(const KernelDispatch& dispatch) override;
    Status copy(OperandRef from, OperandRef to, int64_t size_bytes) override;
    Status fill(OperandRef to, int64_t size_bytes, uint32_t pattern) override;

    // By PipelineId of the list.
    std::span<const ShaderUse> shaders() const { return shaders_; }
    std::span<const ScratchBuffer> scratch_buffers() const { return scratch_; }
    std::span<const ReportBuffer> report_buffers() const { return reports_; }

  private:
    using ShaderKey = std::pair<std::string, std::vector<uint32_t>>;

    Result<PlacedOperand> place_of(const OperandRef& ref) const;
    Result<PipelineId> pipeline_of(const ShaderUse& shader);
    // A recorded copy or fill has one address, and that of an external buffer is known at the run
    // only: kernels do it there.
    bool is_external(const PlacedOperand& place) const;
    Status copy_by_kernel(const PlacedOperand& source,
                          const PlacedOperand& target,
                          int64_t size_bytes);
    Status copy_words(const PlacedOperand& source,
                      const PlacedOperand& target,
                      ByteRange bytes,
                      int64_t word_bytes);

    CommandList& list_;
    KernelLimits limits_;
    std::span<const PlacedOperand> inputs_;
    std::span<const PlacedOperand> outputs_;
    int32_t node_ = -1;
    std::vector<ScratchBuffer> scratch_;
    std::vector<ReportBuffer> reports_;
    std::vector<ShaderUse> shaders_;
    std::map<ShaderKey, PipelineId> pipelines_;
};

}  // namespace leat::vulkan
