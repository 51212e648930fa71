#include "ops/elementwise/epilogue_vulkan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "accumulate.glsl.h"
#include "backends/vulkan/shaders.h"
#include "base/error.h"
#include "conv_general.comp.h"
#include "conv_problem.glsl.h"
#include "conv_run.glsl.h"
#include "conv_run_depthwise.comp.h"
#include "conv_run_tile.comp.h"
#include "conv_shared_tile.comp.h"
#include "conv_subgroup_tile.comp.h"
#include "gemm_general.comp.h"
#include "gemm_matrix_tile.comp.h"
#include "gemm_problem.glsl.h"
#include "gemm_shared_tile.comp.h"
#include "gemm_store.glsl.h"
#include "gemm_subgroup_tile.comp.h"
#include "matrix.glsl.h"
#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/chain_types_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "push_block.glsl.h"
#include "shifted_texels.glsl.h"
#include "window.glsl.h"

namespace leat::vulkan {
namespace {

// Operands of the kernels themselves: epilogues' inputs follow.
constexpr size_t kOwnOperands = 4;

struct NamedText {
    std::string_view name;
    std::string_view text;
};
constexpr NamedText kKernels[] = {{"conv_general.comp", glsl::conv_general},
                                  {"conv_run_depthwise.comp", glsl::conv_run_depthwise},
                                  {"conv_run_tile.comp", glsl::conv_run_tile},
                                  {"conv_shared_tile.comp", glsl::conv_shared_tile},
                                  {"conv_subgroup_tile.comp", glsl::conv_subgroup_tile},
                                  {"gemm_general.comp", glsl::gemm_general},
                                  {"gemm_matrix_tile.comp", glsl::gemm_matrix_tile},
                                  {"gemm_shared_tile.comp", glsl::gemm_shared_tile},
                                  {"gemm_subgroup_tile.comp", glsl::gemm_subgroup_tile}};
constexpr NamedText kIncludes[] = {
    {"accumulate.glsl", glsl::accumulate}, {"conv_problem.glsl", glsl::conv_problem},
    {"conv_run.glsl", glsl::conv_run},     {"gemm_problem.glsl", glsl::gemm_problem},
    {"gemm_store.glsl", glsl::gemm_store}, {"matrix.glsl", glsl::matrix},
    {"push_block.glsl", glsl::push_block}, {"shifted_texels.glsl", glsl::shifted_texels},
    {"window.glsl", glsl::window}};

// The text of a kernel's file, or null where the kernel takes no epilogue.
const NamedText* kernel_of(std::string_view file) {
    const auto found = std::find_if(std::begin(kKernels), std::end(kKernels),
                                    [&](const NamedText& kernel) { return kernel.name == file; });
    return found == std::end(kKernels) ? nullptr : found;
}

std::string_view included(std::string_view name, std::string_view epilogue) {
    const auto found = std::find_if(std::begin(kIncludes), std::end(kIncludes),
                                    [&](const NamedText& text) { return text.name == name; });
    return found == std::end(kIncludes) ? epilogue : found->text;
}

// The kernel's text with its includes, of which epilogue.glsl is the one that is no file here, and
// with the variant's definitions after the version.
std::string with_epilogue(const NamedText& kernel,
                          std::string_view definitions,
                          std::string_view epilogue) {
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
            text += included(name.substr(0, name.find('"')), epilogue);
        } else {
            text += line;
            text += '\n';
        }
    }
    return text;
}

// Elements as kernels with epilogues store them; they compute in double for f64, else in float.
std::string_view result_type(DType dtype) {
    switch (dtype) {
        case DType::kFloat64:
            return "double";
        case DType::kFloat16:
            return "float16_t";
        case DType::kBfloat16:
            return "uint16_t";
        default:
            return "float";
    }
}

std::string stored_of_bits(DType dtype, std::string_view bits) {
    // The bits are those of the stored number, so nothing is rounded again.
    return dtype == DType::kBfloat16
               ? fmt::format("uint16_t({})", bits)
               : fmt::format("{}({})", result_type(dtype), value_of_bits(dtype, bits));
}

// The function `epilogue` of a kernel, and what it needs.
class EpilogueText {
  public:
    EpilogueText(const ElementwiseChain& chain, const std::vector<ChainAccess>& accesses)
        : chain_(chain), accesses_(accesses), has_broadcast_(broadcasts(accesses)) {}

    ChainText write() const {
        const ChainText body = write_chain_body(chain_, accesses_);
        return {body.name, fmt::format("{}{}{}", body.source, declarations(), function()), false};
    }

  private:
    std::string declarations() const {
        std::string text;
        for (size_t i = 1; i < chain_.inputs.size(); ++i) {
            const DType dtype = chain_.inputs[i].dtype;
            text += fmt::format(
                "layout(buffer_reference, scalar, buffer_reference_align = {}) readonly buffer "
                "Addend{} {{\n    {} at[];\n}};\n",
                bits_of(dtype) / 8, i, stored_type(dtype));
        }
        if (has_broadcast_) {
            text += fmt::format(
                "layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer "
                "EpilogueShape {{\n"
                "    uint extents[{0}];\n"
                "    uint inverses[{0}];\n"
                "    uint shifts[{0}];\n"
                "    uint strides[{1}][{0}];\n"
                "}};\n",
                kMaxRank, kMaxChainInputs);
        }
        return text;
    }

    // As the loops of chains: quotients by inverses.
    std::string places() const {
        std::string text =
            "    uint carry;\n"
            "    const uint shape_low = uaddCarry(push.parameters.x, push.scalars[0], carry);\n"
            "    EpilogueShape shape = EpilogueShape(uvec2(shape_low, push.parameters.y + "
            "carry));\n"
            "    uint left = index;\n";
        std::string advances;
        for (size_t i = 1; i < accesses_.size(); ++i) {
            if (accesses_[i] == ChainAccess::kBroadcast) {
                text += fmt::format("    uint at{} = 0u;\n", i);
                advances += fmt::format("        at{} += place * shape.strides[{}][axis];\n", i, i);
            }
        }
        return text + fmt::format(
                          "    for (uint axis = push.scalars[1]; axis-- > 0u;) {{\n"
                          "        uint high;\n"
                          "        uint low;\n"
                          "        umulExtended(left, shape.inverses[axis], high, low);\n"
                          "        const uint quotient = high >> shape.shifts[axis];\n"
                          "        const uint place = left - quotient * shape.extents[axis];\n"
                          "        left = quotient;\n"
                          "{}    }}\n",
                          advances);
    }

    std::string function() const {
        const DType result = chain_.inputs[0].dtype;
        std::vector<std::string> elements = {bits_of_value(result, "value")};
        elements.reserve(chain_.inputs.size());
        for (size_t i = 1; i < chain_.inputs.size(); ++i) {
            const std::string at = accesses_[i] == ChainAccess::kDense    ? "index"
                                   : accesses_[i] == ChainAccess::kScalar ? "0"
                                                                          : fmt::format("at{}", i);
            elements.push_back(fmt::format("{}(Addend{}(operand({}u)).at[{}])",
                                           bits_type(chain_.inputs[i].dtype), i,
                                           kOwnOperands + i - 1, at));
        }
        return fmt::format(
            "{} epilogue({} value, uint index) {{\n{}    const {} bits = chain({}, index);\n"
            "    return {};\n}}\n",
            result_type(result), result == DType::kFloat64 ? "double" : "float",
            has_broadcast_ ? places() : "", bits_type(result), fmt::join(elements, ", "),
            stored_of_bits(result, "bits"));
    }

    const ElementwiseChain& chain_;
    const std::vector<ChainAccess>& accesses_;
    bool has_broadcast_;
};

// Passes on what the node's kernel writes, with the epilogue where it writes the result.
class EpilogueWriter final : public KernelWriter {
  public:
    EpilogueWriter(const ElementwiseChain& chain, KernelWriter& inner)
        : chain_(chain), accesses_(accesses_of(chain)), inner_(inner) {}

    bool is_written() const { return is_written_; }

    const KernelLimits& limits() const override { return inner_.limits(); }
    OperandRef scratch(int64_t size_bytes) override { return inner_.scratch(size_bytes); }
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
        const NamedText* kernel = kernel_of(shader.file);
        if (kernel == nullptr) {
            return inner_.dispatch(own);
        }
        is_written_ = true;
        KernelDispatch dispatch = own;
        dispatch.late_reads.reserve(chain_.inputs.size() - 1);
        for (size_t i = 1; i < chain_.inputs.size(); ++i) {
            dispatch.late_reads.push_back(chain_.inputs[i].operand);
        }
        const std::vector<std::byte> parameters = parameters_with_shape(own, dispatch);
        dispatch.parameters = parameters;
        LEAT_RETURN_IF_ERROR(add_constants(chain_, dispatch));
        const ChainText text = EpilogueText(chain_, accesses_).write();
        dispatch.shader.source = with_epilogue(*kernel, shader.definitions, text.source);
        dispatch.shader.name = fmt::format("{} + {}", own.shader.name, text.name);
        return inner_.dispatch(dispatch);
    }

  private:
    // The kernel's parameters, then the shape: where it begins and its axes are scalars 0 and 1.
    std::vector<std::byte> parameters_with_shape(const KernelDispatch& own,
                                                 KernelDispatch& dispatch) const {
        std::vector<std::byte> bytes(own.parameters.begin(), own.parameters.end());
        if (broadcasts(accesses_)) {
            const BroadcastShape shape = collapsed_shape(chain_);
            dispatch.scalars[0] = uint32_t(bytes.size());
            dispatch.scalars[1] = shape.rank;
            bytes.resize(bytes.size() + sizeof shape);
            std::memcpy(bytes.data() + dispatch.scalars[0], &shape, sizeof shape);
        }
        return bytes;
    }

    const ElementwiseChain& chain_;
    std::vector<ChainAccess> accesses_;
    KernelWriter& inner_;
    bool is_written_ = false;
};

}  // namespace

bool takes_epilogue(const NodeData& node, const KernelTypes& types) {
    const std::string_view op = node.op_type;
    return (op == "MatMul" || op == "Gemm" || op == "Conv") &&
           contains(kFloatTypes, types.outputs[0]) && node.epilogue.empty();
}

Status write_with_epilogue(const KernelEntry& entry,
                           const KernelNode& node,
                           const ElementwiseChain& chain,
                           KernelWriter& writer) {
    if (chain.inputs.size() > 1 + kMaxEpilogueInputs) {
        return unsupported("an epilogue with {} inputs", chain.inputs.size() - 1)
            .with_needed(fmt::format("at most {}", kMaxEpilogueInputs));
    }
    EpilogueWriter own(chain, writer);
    LEAT_RETURN_IF_ERROR(entry.write(node, own));
    if (!own.is_written() && chain.shape.element_count() > 0) {
        return internal_error("the kernel of {} takes no epilogue", node.node.op_type);
    }
    return {};
}

}  // namespace leat::vulkan
