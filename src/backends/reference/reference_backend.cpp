#include "backends/reference/reference_backend.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "base/round_up.h"
#include "ops/roofline.h"

namespace leat {
namespace {

constexpr int64_t kScratchAlignmentBytes = 64;

int64_t aligned(int64_t bytes) {
    return round_up(bytes, kScratchAlignmentBytes);
}

// Copies between two layouts of the same logical tensor, element by element.
void copy_strided(const TensorArg& from, const TensorArg& to, int axis, int64_t at, int64_t put) {
    const int64_t bytes = bits_of(from.dtype) / 8;
    if (axis == from.shape.rank()) {
        std::memcpy(to.data + put * bytes, from.data + at * bytes, size_t(bytes));
        return;
    }
    for (int64_t i = 0; i < from.shape[axis]; ++i) {
        copy_strided(from, to, axis + 1, at + i * from.strides[size_t(axis)],
                     put + i * to.strides[size_t(axis)]);
    }
}

TensorArg as_row_major(const TensorArg& arg, std::byte* data) {
    return row_major_arg(arg.dtype, arg.shape, data);
}

// One epilogue step as a node of its own. Clip's bounds, attributes there, are its inputs 1 and 2
// again.
struct StepNode {
    NodeData node;
    const EpilogueStep* step = nullptr;
    float bounds[2] = {0, 0};
    bool has_bound[2] = {false, false};

    explicit StepNode(const EpilogueStep& source) : step(&source) {
        node.op_type = std::string(source.op->name);
        node.def = source.op;
        node.attributes = source.attributes;
        if (source.op->name == "Clip") {
            const char* names[2] = {"min", "max"};
            for (int i = 0; i < 2; ++i) {
                has_bound[i] = node.has_attr(names[i]);
                bounds[i] = node.attr(names[i], 0.0F);
            }
        }
    }
};

class ReferenceHostKernel final : public HostKernel {
  public:
    explicit ReferenceHostKernel(const PrepareContext& context)
        : node_(context.node), own_inputs_(context.node.operand_count()) {
        kernel_name = "reference";
        is_reference = true;
        names_node = true;
        allows_in_place = false;
        for (const EpilogueStep& step : node_.epilogue) {
            steps_.emplace_back(step);
        }
        args_bytes_ =
            aligned(int64_t((context.inputs.size() + context.outputs.size()) * sizeof(TensorArg)));
        scratch_bytes = args_bytes_;
        for (const TensorArg& arg : context.inputs) {
            scratch_bytes += needs_copy(arg) ? aligned(bytes_of(arg)) : 0;
        }
        for (const TensorArg& arg : context.outputs) {
            scratch_bytes += needs_copy(arg) ? aligned(bytes_of(arg)) : 0;
        }
        if (!steps_.empty()) {
            scratch_bytes += 2 * aligned(bytes_of(context.outputs[0]));
        }
    }

    Status run(const KernelArgs& args, int64_t, int64_t) const override {
        std::byte* scratch = args.scratch + args_bytes_;
        const auto take = [&scratch](int64_t bytes) {
            std::byte* memory = scratch;
            scratch += aligned(bytes);
            return memory;
        };
        auto* local = reinterpret_cast<TensorArg*>(args.scratch);
        const std::span<TensorArg> inputs(local, args.inputs.size());
        const std::span<TensorArg> outputs(local + args.inputs.size(), args.outputs.size());
        for (size_t i = 0; i < inputs.size(); ++i) {
            new (&inputs[i]) TensorArg(args.inputs[i]);
            if (needs_copy(args.inputs[i])) {
                inputs[i] = as_row_major(args.inputs[i], take(bytes_of(args.inputs[i])));
                copy_strided(args.inputs[i], inputs[i], 0, 0, 0);
            }
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            new (&outputs[i]) TensorArg(args.outputs[i]);
            if (needs_copy(args.outputs[i])) {
                outputs[i] = as_row_major(args.outputs[i], take(bytes_of(args.outputs[i])));
            }
        }
        LEAT_RETURN_IF_ERROR(run_with_epilogue(inputs, outputs, scratch, args.stop));
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (needs_copy(args.outputs[i])) {
                copy_strided(outputs[i], args.outputs[i], 0, 0, 0);
            }
        }
        return {};
    }

  private:
    static bool needs_copy(const TensorArg& arg) { return arg.present() && !arg.is_row_major(); }

    Status run_with_epilogue(std::span<TensorArg> inputs,
                             std::span<TensorArg> outputs,
                             std::byte* scratch,
                             RunStop stop) const {
        const std::span<const TensorArg> own =
            inputs.subspan(0, std::min(own_inputs_, inputs.size()));
        if (steps_.empty()) {
            return run_reference({node_, own, outputs, stop});
        }
        TensorArg results[2] = {as_row_major(outputs[0], scratch),
                                as_row_major(outputs[0], scratch + aligned(bytes_of(outputs[0])))};
        LEAT_RETURN_IF_ERROR(
            run_reference({node_, own, std::span<const TensorArg>(results, 1), stop}));
        for (size_t i = 0; i < steps_.size(); ++i) {
            const TensorArg& from = results[i % 2];
            const TensorArg to = i + 1 == steps_.size() ? outputs[0] : results[(i + 1) % 2];
            LEAT_RETURN_IF_ERROR(run_step(steps_[i], from, to, inputs));
        }
        return {};
    }

    static Status run_step(const StepNode& step,
                           const TensorArg& from,
                           const TensorArg& to,
                           std::span<const TensorArg> inputs) {
        TensorArg args[3] = {from, {}, {}};
        size_t count = 1;
        if (step.step->operand_input >= 0) {
            args[1] = inputs[size_t(step.step->operand_input)];
            count = 2;
            if (step.step->result_is_rhs) {
                std::swap(args[0], args[1]);
            }
        } else if (step.step->op->name == "Clip") {
            for (int i = 0; i < 2; ++i) {
                if (step.has_bound[i]) {
                    args[1 + i] = row_major_arg(DType::kFloat32, Shape{}, &step.bounds[i]);
                }
            }
            count = 3;
        }
        return run_reference({step.node, std::span<const TensorArg>(args, count),
                              std::span<const TensorArg>(&to, 1)});
    }

    const NodeData& node_;
    size_t own_inputs_;
    std::vector<StepNode> steps_;
    int64_t args_bytes_ = 0;
};

class ReferenceBackend final : public Backend {
  public:
    std::string_view name() const override { return "reference"; }
    std::string refusal(const NodeData& node) const override { return reference_refusal(node); }
    Result<std::unique_ptr<HostKernel>> prepare(PrepareContext& context) const override {
        return make_reference_kernel(context);
    }
};

}  // namespace

std::string reference_refusal(const NodeData& node) {
    if (node.def == nullptr) {
        return "unknown operator";
    }
    if (node.def->reference == nullptr && !node.def->is_view) {
        return "no kernel";
    }
    for (const auto& [key, body] : node.bodies()) {
        for (const NodeData& inner : body->nodes) {
            if (const std::string reason = reference_refusal(inner); !reason.empty()) {
                return fmt::format("{} of its {}: {}", inner.label(), key, reason);
            }
        }
    }
    return {};
}

Result<std::unique_ptr<HostKernel>> make_reference_kernel(PrepareContext& context) {
    if (context.node.def->reference == nullptr) {
        return internal_error("no reference kernel").with_node(context.node.label());
    }
    return std::unique_ptr<HostKernel>(std::make_unique<ReferenceHostKernel>(context));
}

const Backend& reference_backend() {
    static const ReferenceBackend kBackend;
    return kBackend;
}

}  // namespace leat
