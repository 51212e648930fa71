#include "ops/elementwise/attached_chains_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "accumulate.glsl.h"
#include "attention_problem.glsl.h"
#include "attention_shared_tile.comp.h"
#include "attention_subgroup_tile.comp.h"
#include "backends/vulkan/shader/shaders.h"
#include "base/error.h"
#include "base/find_named.h"
#include "conv_general.comp.h"
#include "conv_matrix_tile.comp.h"
#include "conv_problem.glsl.h"
#include "conv_run.glsl.h"
#include "conv_run_depthwise.comp.h"
#include "conv_run_tile.comp.h"
#include "conv_shared_tile.comp.h"
#include "conv_store.glsl.h"
#include "conv_subgroup_tile.comp.h"
#include "epilogue.glsl.h"
#include "gemm_general.comp.h"
#include "gemm_matrix_tile.comp.h"
#include "gemm_problem.glsl.h"
#include "gemm_shared_tile.comp.h"
#include "gemm_store.glsl.h"
#include "gemm_subgroup_tile.comp.h"
#include "lanes.glsl.h"
#include "long_sum.glsl.h"
#include "matrix.glsl.h"
#include "matrix_tile.glsl.h"
#include "ops/elementwise/attached_text_vulkan.h"
#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "prologue.glsl.h"
#include "push_block.glsl.h"
#include "real_math.glsl.h"
#include "reduce.comp.h"
#include "row_normalization.comp.h"
#include "shifted_texels.glsl.h"
#include "softmax.comp.h"
#include "window.glsl.h"
#include "window_tile.glsl.h"

namespace leat::vulkan {
namespace {

struct NamedText {
    std::string_view name;
    std::string_view text;
    bool reloads = false;  // calls reloaded() of prologue.glsl
};
constexpr NamedText kKernels[] = {{"attention_shared_tile.comp", glsl::attention_shared_tile},
                                  {"attention_subgroup_tile.comp", glsl::attention_subgroup_tile},
                                  {"conv_general.comp", glsl::conv_general},
                                  {"conv_matrix_tile.comp", glsl::conv_matrix_tile},
                                  {"conv_run_depthwise.comp", glsl::conv_run_depthwise},
                                  {"conv_run_tile.comp", glsl::conv_run_tile},
                                  {"conv_shared_tile.comp", glsl::conv_shared_tile},
                                  {"conv_subgroup_tile.comp", glsl::conv_subgroup_tile},
                                  {"gemm_general.comp", glsl::gemm_general},
                                  {"gemm_matrix_tile.comp", glsl::gemm_matrix_tile},
                                  {"gemm_shared_tile.comp", glsl::gemm_shared_tile},
                                  {"gemm_subgroup_tile.comp", glsl::gemm_subgroup_tile},
                                  {"reduce.comp", glsl::reduce},
                                  {"row_normalization.comp", glsl::row_normalization, true},
                                  {"softmax.comp", glsl::softmax, true}};
constexpr NamedText kIncludes[] = {{"accumulate.glsl", glsl::accumulate},
                                   {"attention_problem.glsl", glsl::attention_problem},
                                   {"conv_problem.glsl", glsl::conv_problem},
                                   {"conv_run.glsl", glsl::conv_run},
                                   {"conv_store.glsl", glsl::conv_store},
                                   {"epilogue.glsl", glsl::epilogue},
                                   {"gemm_problem.glsl", glsl::gemm_problem},
                                   {"gemm_store.glsl", glsl::gemm_store},
                                   {"lanes.glsl", glsl::lanes},
                                   {"long_sum.glsl", glsl::long_sum},
                                   {"matrix.glsl", glsl::matrix},
                                   {"matrix_tile.glsl", glsl::matrix_tile},
                                   {"prologue.glsl", glsl::prologue},
                                   {"push_block.glsl", glsl::push_block},
                                   {"real_math.glsl", glsl::real_math},
                                   {"shifted_texels.glsl", glsl::shifted_texels},
                                   {"window.glsl", glsl::window},
                                   {"window_tile.glsl", glsl::window_tile}};

std::string_view included(std::string_view name, const AttachedText& attached) {
    if (name == "prologue.glsl" && !attached.prologue.empty()) {
        return attached.prologue;
    }
    if (name == "epilogue.glsl" && !attached.epilogue.empty()) {
        return attached.epilogue;
    }
    const NamedText* found = find_named(kIncludes, name);
    return found == nullptr ? std::string_view() : found->text;
}

// The kernel's text with its includes, and with the variant's definitions after the version.
std::string put_together(const NamedText& kernel,
                         std::string_view definitions,
                         const AttachedText& attached) {
    constexpr std::string_view kInclude = "#include \"";
    constexpr std::string_view kDirective = "#extension GL_GOOGLE_include_directive : require";
    std::string text;
    std::string_view left = kernel.text;
    while (!left.empty()) {
        const std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(left.size(), line.size() + 1));
        if (line == kDirective) {
            text += definitions;
        } else if (line.substr(0, kInclude.size()) == kInclude) {
            const std::string_view name = line.substr(kInclude.size());
            text += included(name.substr(0, name.find('"')), attached);
        } else {
            text += line;
            text += '\n';
        }
    }
    return text;
}

// Passes on what the node's kernel writes, with the chains where it has a place for them.
class AttachingWriter final : public KernelWriter {
  public:
    AttachingWriter(const AttachedChains& chains, KernelWriter& inner)
        : chains_(chains), inner_(inner), limits_(inner.limits()) {
        for (const ElementwiseChain* chain : {chains.prologue, chains.epilogue}) {
            limits_.attached_iterations += chain == nullptr ? 0 : chain_iterations(*chain);
        }
    }

    bool is_written() const { return is_written_; }

    const KernelLimits& limits() const override { return limits_; }
    OperandRef scratch(int64_t size_bytes) override { return inner_.scratch(size_bytes); }
    OperandRef index_report(IndexReport report) override {
        return inner_.index_report(std::move(report));
    }
    bool can_be_window(const OperandRef& operand) const override {
        return inner_.can_be_window(operand);
    }
    Status copy(OperandRef from, OperandRef to, int64_t size_bytes) override {
        return inner_.copy(from, to, size_bytes);
    }
    Status fill(OperandRef to, int64_t size_bytes, uint32_t pattern) override {
        return inner_.fill(to, size_bytes, pattern);
    }

    Status dispatch(const KernelDispatch& own) override {
        LEAT_ASSIGN_OR_RETURN(const Shader shader, find_shader(own.shader.name));
        const NamedText* kernel = find_named(kKernels, shader.file);
        if (kernel == nullptr) {
            return inner_.dispatch(own);
        }
        is_written_ = true;
        KernelDispatch dispatch = own;
        const AttachedOperands operands = add_operands(dispatch, kernel->reloads);
        std::vector<std::byte> parameters(own.parameters.begin(), own.parameters.end());
        add_shape(chains_.prologue, dispatch.scalars[0], parameters);
        add_shape(chains_.epilogue, dispatch.scalars[1], parameters);
        dispatch.parameters = parameters;
        LEAT_RETURN_IF_ERROR(add_constants(joined(chains_.prologue, chains_.epilogue), dispatch));
        const AttachedText text = write_attached_text(chains_.prologue, chains_.epilogue, operands);
        dispatch.shader.source = put_together(*kernel, shader.definitions, text);
        dispatch.shader.name = fmt::format("{}{}", own.shader.name, text.name);
        return inner_.dispatch(dispatch);
    }

  private:
    AttachedOperands add_operands(KernelDispatch& dispatch, bool reloads) const {
        AttachedOperands operands;
        if (chains_.prologue != nullptr) {
            dispatch.reads[0] = chains_.prologue->inputs[0].operand;
            // The result's own memory holds the elements until results are known: each invocation
            // stores those that it has loaded itself.
            if (reloads) {
                operands.kept = uint32_t(dispatch.reads.size());
            }
            if (chains_.stored) {
                operands.kept = uint32_t(dispatch.reads.size() + dispatch.writes.size());
                dispatch.writes.push_back(*chains_.stored);
            }
        }
        operands.first_late = uint32_t(dispatch.reads.size() + dispatch.writes.size());
        dispatch.late_reads.reserve(kMaxOperands);
        for (const ElementwiseChain* chain : {chains_.prologue, chains_.epilogue}) {
            for (size_t i = 1; chain != nullptr && i < chain->inputs.size(); ++i) {
                dispatch.late_reads.push_back(chain->inputs[i].operand);
            }
        }
        return operands;
    }

    // Appends the shape of broadcast inputs; its offset is a scalar.
    static void add_shape(const ElementwiseChain* chain,
                          uint32_t& offset,
                          std::vector<std::byte>& parameters) {
        if (chain != nullptr && broadcasts(accesses_of(*chain))) {
            const BroadcastShape shape = collapsed_shape(*chain);
            offset = uint32_t(parameters.size());
            parameters.resize(parameters.size() + sizeof shape);
            std::memcpy(parameters.data() + offset, &shape, sizeof shape);
        }
    }

    const AttachedChains& chains_;
    KernelWriter& inner_;
    KernelLimits limits_;  // with the loops of the chains
    bool is_written_ = false;
};

bool is_row_normalization(std::string_view op) {
    return op == "LayerNormalization" || op == "InstanceNormalization";
}

bool is_row_kernel(std::string_view op) {
    return is_row_normalization(op) || op == "Softmax" || op == "LogSoftmax" || op == "Hardmax" ||
           op.substr(0, 6) == "Reduce";
}

size_t own_operands(std::string_view op) {
    return is_row_kernel(op) && !is_row_normalization(op) ? 2 : 4;
}

}  // namespace

// ReduceLogSumExp reads each element twice, and has no place that would keep one.
bool takes_prologue(const NodeData& node, const KernelTypes& types) {
    return is_row_kernel(node.op_type) && node.op_type != "ReduceLogSumExp" &&
           node.epilogue.empty() && chain_refusal(types.inputs[0]).empty();
}

bool takes_epilogue(const NodeData& node, const KernelTypes& types) {
    const std::string_view op = node.op_type;
    const bool is_product = op == "MatMul" || op == "Gemm" || op == "Conv";
    return node.epilogue.empty() && chain_refusal(types.outputs[0]).empty() &&
           (is_row_kernel(op) || (is_product && contains(kFloatTypes, types.outputs[0])));
}

size_t max_attached_operands(const NodeData& node) {
    return max_attached_operands(own_operands(node.op_type));
}

Status write_with_chains(const std::function<Status(KernelWriter&)>& write,
                         const AttachedChains& chains,
                         KernelWriter& writer) {
    if (chains.prologue == nullptr && chains.epilogue == nullptr) {
        return write(writer);
    }
    AttachingWriter own(chains, writer);
    LEAT_RETURN_IF_ERROR(write(own));
    const ElementwiseChain& any = chains.prologue != nullptr ? *chains.prologue : *chains.epilogue;
    if (!own.is_written() && any.shape.element_count() > 0) {
        return internal_error("the kernel takes no chains");
    }
    return {};
}

}  // namespace leat::vulkan
