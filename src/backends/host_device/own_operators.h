// Operators that run without leat's own kernels: those of programs, and NonZero, whose size
// depends on data.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "backends/host_device/kernel_blob.h"
#include "backends/lowered/lowered_graph.h"
#include "graph/op_def.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

struct CustomOperator {
    LeatOperator schema{};  // its texts are gone
    KernelBlob kernel{};
    bool has_kernel() const { return kernel.run != nullptr; }
};

class Operators final : public lowered::OwnOperators {
  public:
    bool has(const NodeData& node) const override;
    void infer(const NodeData& node,
               std::span<const TensorArg> inputs,
               std::span<ValueFact> outputs) const override;
    bool is_bounded(const NodeData& node) const override;

    void add(const LeatOperator& schema);
    // Throws where the operator is not registered or the bytes are no KernelBlob.
    void add_kernel(std::string_view domain, std::string_view op_type, std::string_view blob);
    // Null if there is none.
    std::shared_ptr<const CustomOperator> find(std::string_view domain,
                                               std::string_view op_type) const;

  private:
    using Key = std::pair<std::string, std::string>;
    mutable std::mutex mutex_;
    std::map<Key, CustomOperator> operators_;
};

void run_custom(const CustomOperator& custom,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs);

bool is_non_zero(const NodeData& node);
// i64 [rank, n]: the indices of the n elements that are not zero, in row-major order. Returns n.
// `to` has room for all elements. f32 only.
int64_t run_non_zero(const TensorArg& from, int64_t* to);

}  // namespace leat::host_device
