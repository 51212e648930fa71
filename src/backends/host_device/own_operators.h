// Operators that run without leat's own kernels: those of programs, and NonZero, whose size
// depends on data.
//
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/host_device/kernel_blob.h"
#include "backends/lowered/registered_operators.h"
#include "graph/op_def.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

class Operators final : public lowered::RegisteredOperators {
  public:
    bool has(const NodeData& node) const override;
    void infer(const NodeData& node,
               std::span<const TensorArg> inputs,
               std::span<ValueFact> outputs) const override;
    bool is_bounded(const NodeData& node) const override;

    // Throws where the operator is not registered or the bytes are no KernelBlob.
    void add_kernel(std::string_view domain, std::string_view op_type, std::string_view blob);
    // Nothing where the node's operator has no kernel.
    std::optional<KernelBlob> kernel_of(const NodeData& node) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, KernelBlob> kernels_;  // by domain and op_type
};

void run_custom(const KernelBlob& kernel,
                const NodeData& node,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs);

bool is_non_zero(const NodeData& node);
// i64 [rank, n]: the indices of the n elements that are not zero, in row-major order. Returns n.
// `to` has room for all elements. f32 only.
int64_t run_non_zero(const TensorArg& from, int64_t* to);

}  // namespace leat::host_device
