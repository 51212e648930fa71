#include "backends/cpu/cpu_backend.h"

#include <hwy/targets.h>

#include <unordered_map>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "backends/reference/reference_backend.h"
#include "custom/custom_kernel.h"
#include "custom/custom_op_def.h"

namespace leat {
namespace {

using FactoriesByOp = std::unordered_map<std::string_view, std::vector<cpu::CpuKernelFactory>>;

// The best first.
const FactoriesByOp& factories_by_op() {
    static const FactoriesByOp kFactories = [] {
        FactoriesByOp factories;
        for (const std::span<const cpu::CpuKernelEntry> table : cpu::all_cpu_kernels()) {
            for (const cpu::CpuKernelEntry& entry : table) {
                factories[entry.op_type].push_back(entry.make);
            }
        }
        return factories;
    }();
    return kFactories;
}

class CpuBackend final : public Backend {
  public:
    std::string_view name() const override { return "cpu"; }
    bool prefers_channels_last() const override { return true; }
    bool fuses_epilogues() const override { return true; }
    bool plans_bodies() const override { return true; }

    // Whatever has no SIMD kernel runs the reference kernel, so the answer is the reference
    // backend's.
    std::string refusal(const NodeData& node) const override { return reference_refusal(node); }

    Result<std::unique_ptr<HostKernel>> prepare(PrepareContext& context) const override {
        if (custom::find_custom(context.node.def) != nullptr) {
            return custom::make_custom_kernel(context);
        }
        const auto factories = factories_by_op().find(context.node.op_type);
        if (factories != factories_by_op().end()) {
            for (const cpu::CpuKernelFactory make : factories->second) {
                LEAT_ASSIGN_OR_RETURN(std::unique_ptr<HostKernel> kernel, make(context));
                if (kernel != nullptr) {
                    return kernel;
                }
                context.packed_inputs = 0;
                context.unaligned_inputs = 0;
            }
        }
        return make_reference_kernel(context);
    }
};

}  // namespace

const Backend& cpu_backend() {
    static const CpuBackend kBackend;
    return kBackend;
}

std::string cpu_simd_name() {
    // The best target has the lowest bit.
    const auto targets = hwy::SupportedTargets();
    return hwy::TargetName(targets & -targets);
}

}  // namespace leat
