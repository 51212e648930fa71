#include "ops/elementwise/attached_text_vulkan.h"

#include <fmt/format.h>

#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/chain_types_vulkan.h"

namespace leat::vulkan {
namespace {

// Elements as kernels store them, and what they compute in (shaders/accumulate.glsl).
std::string_view stored_name(DType dtype) {
    switch (dtype) {
        case DType::kFloat64:
            return "double";
        case DType::kFloat16:
            return "float16_t";
        case DType::kBfloat16:
            return "uint16_t";
        case DType::kInt8:
            return "int8_t";
        case DType::kBool:
        case DType::kUint8:
            return "uint8_t";
        case DType::kFloat32:
            return "float";
        default:
            return value_type(dtype);
    }
}

std::string_view wide_name(DType dtype) {
    switch (dtype) {
        case DType::kFloat64:
            return "double";
        case DType::kFloat32:
        case DType::kFloat16:
        case DType::kBfloat16:
            return "float";
        case DType::kInt8:
        case DType::kInt32:
        case DType::kInt64:
            return "int64_t";
        default:
            return "uint64_t";
    }
}

// The bits are those of the stored number, so nothing is rounded again.
std::string stored_of_bits(DType dtype, std::string_view bits) {
    const bool is_bits = dtype == DType::kBfloat16 || dtype == DType::kBool;
    return fmt::format("{}({})", stored_name(dtype),
                       is_bits ? std::string(bits) : value_of_bits(dtype, bits));
}

std::string bits_of_wide(DType dtype, std::string_view value) {
    if (dtype == DType::kBool) {
        return fmt::format("uint({} != 0)", value);
    }
    return bits_of_value(dtype, fmt::format("{}({})", value_type(dtype), value));
}

// One chain as functions of the kernel. Names of what it declares begin with its own.
class ChainFunctions {
  public:
    // Input 0 is operand 0 or none, the others are operands from `first_late` on. `shape_scalar`:
    // where the offset of its shape stands.
    ChainFunctions(std::string_view name,
                   const ElementwiseChain& chain,
                   uint32_t first_late,
                   size_t shape_scalar)
        : name_(name),
          chain_(chain),
          accesses_(accesses_of(chain)),
          first_late_(first_late),
          shape_scalar_(shape_scalar) {}

    const std::vector<ChainAccess>& accesses() const { return accesses_; }

    // Of inputs from `first_input` on, and of the shape.
    std::string declarations(size_t first_input) const {
        std::string text;
        for (size_t i = first_input; i < chain_.inputs.size(); ++i) {
            const DType dtype = chain_.inputs[i].dtype;
            text += fmt::format(
                "layout(buffer_reference, scalar, buffer_reference_align = {}) readonly buffer "
                "{}_Operand{} {{\n    {} at[];\n}};\n",
                bits_of(dtype) / 8, name_, i, stored_type(dtype));
        }
        if (broadcasts(accesses_)) {
            text += fmt::format(
                "layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer "
                "{0}_Shape {{\n"
                "    uint extents[{1}];\n"
                "    uint inverses[{1}];\n"
                "    uint shifts[{1}];\n"
                "    uint strides[{2}][{1}];\n"
                "    uint rank;\n"
                "}};\n",
                name_, kMaxRank, kMaxChainInputs);
        }
        return text;
    }

    // What operands are for an element, and steps to those behind it in its row, which lies within
    // the innermost axis of the collapsed shape.
    std::string row_functions() const {
        std::string members = "    uint index;\n";
        std::string values = "index";
        for (size_t i = 1; i < accesses_.size(); ++i) {
            if (accesses_[i] == ChainAccess::kBroadcast) {
                members += fmt::format("    uint at{0};\n    uint step{0};\n", i);
                values += fmt::format(", at{0}, shape.strides[{0}][shape.rank - 1u]", i);
            } else if (accesses_[i] == ChainAccess::kScalar) {
                members += fmt::format("    {} scalar{};\n", bits_type(chain_.inputs[i].dtype), i);
                values += fmt::format(", {}", element(i));
            }
        }
        return fmt::format(
            "struct EpilogueRow {{\n{}}};\n"
            "EpilogueRow epilogue_row(uint index) {{\n{}    return EpilogueRow({});\n}}\n",
            members, places(), values);
    }
    // Arguments of the chain for an element of a row.
    std::string call_along(std::string_view own) const {
        std::vector<std::string> elements = {std::string(own)};
        elements.reserve(chain_.inputs.size());
        for (size_t i = 1; i < chain_.inputs.size(); ++i) {
            elements.push_back(
                accesses_[i] == ChainAccess::kScalar ? fmt::format("row.scalar{}", i)
                : accesses_[i] == ChainAccess::kDense
                    ? element(i, "index")
                    : element(i, fmt::format("row.at{0} + column * row.step{0}", i)));
        }
        return fmt::format("{}_chain({}, index)", name_, fmt::join(elements, ", "));
    }

    // The chain's bits at `index`, where all inputs are operands.
    std::string call() const {
        std::vector<std::string> elements;
        elements.reserve(chain_.inputs.size());
        for (size_t i = 0; i < chain_.inputs.size(); ++i) {
            elements.push_back(element(i));
        }
        return fmt::format("{}_chain({}, index)", name_, fmt::join(elements, ", "));
    }

    // Where broadcast inputs lie, as the loops of chains have it: quotients by inverses.
    std::string places() const {
        if (!broadcasts(accesses_)) {
            return {};
        }
        std::string text = fmt::format(
            "    uint carry;\n"
            "    const uint shape_low = uaddCarry(push.parameters.x, push.scalars[{}], carry);\n"
            "    {}_Shape shape = {}_Shape(uvec2(shape_low, push.parameters.y + carry));\n"
            "    uint left = index;\n",
            shape_scalar_, name_, name_);
        std::string advances;
        for (size_t i = 0; i < accesses_.size(); ++i) {
            if (accesses_[i] == ChainAccess::kBroadcast) {
                text += fmt::format("    uint at{} = 0u;\n", i);
                advances += fmt::format("        at{} += place * shape.strides[{}][axis];\n", i, i);
            }
        }
        return text + fmt::format(
                          "    for (uint axis = shape.rank; axis-- > 0u;) {{\n"
                          "        uint high;\n"
                          "        uint low;\n"
                          "        umulExtended(left, shape.inverses[axis], high, low);\n"
                          "        const uint quotient = high >> shape.shifts[axis];\n"
                          "        const uint place = left - quotient * shape.extents[axis];\n"
                          "        left = quotient;\n"
                          "{}    }}\n",
                          advances);
    }

  private:
    std::string element(size_t i) const {
        return element(i, accesses_[i] == ChainAccess::kDense    ? "index"
                          : accesses_[i] == ChainAccess::kScalar ? "0"
                                                                 : fmt::format("at{}", i));
    }
    std::string element(size_t i, std::string_view at) const {
        return fmt::format("{}({}_Operand{}(operand({}u)).at[{}])",
                           bits_type(chain_.inputs[i].dtype), name_, i,
                           i == 0 ? 0 : first_late_ + i - 1, at);
    }

    std::string_view name_;
    const ElementwiseChain& chain_;
    std::vector<ChainAccess> accesses_;
    uint32_t first_late_;
    size_t shape_scalar_;
};

std::string prologue_functions(const ElementwiseChain& chain,
                               const ChainFunctions& functions,
                               const AttachedOperands& operands) {
    const DType result = chain.steps.back().result;
    std::string text = functions.declarations(0);
    std::string keep;
    if (operands.kept) {
        text += fmt::format(
            "layout(buffer_reference, scalar, buffer_reference_align = {}) buffer Kept {{\n"
            "    STORED at[];\n}};\n",
            bits_of(result) / 8);
        keep = fmt::format("    Kept(operand({}u)).at[index] = element;\n", *operands.kept);
        text += fmt::format(
            "WIDE reloaded(ElementsIn x, uint index) {{\n"
            "    return widen(Kept(operand({}u)).at[index]);\n}}\n",
            *operands.kept);
    }
    return text + fmt::format(
                      "WIDE loaded(ElementsIn x, uint index) {{\n{}"
                      "    const {} bits = {};\n"
                      "    const STORED element = {};\n{}"
                      "    return widen(element);\n}}\n",
                      functions.places(), bits_type(result), functions.call(),
                      stored_of_bits(result, "bits"), keep);
}

std::string epilogue_function(const ElementwiseChain& chain, const ChainFunctions& functions) {
    const DType result = chain.inputs[0].dtype;
    return fmt::format(
        "{0}{1}"
        "{2} epilogue_along({3} value, EpilogueRow row, uint column) {{\n"
        "    const uint index = row.index + column;\n"
        "    const {4} bits = {5};\n    return {6};\n}}\n"
        "{2} epilogue({3} value, uint index) {{\n"
        "    return epilogue_along(value, epilogue_row(index), 0u);\n}}\n",
        functions.declarations(1), functions.row_functions(), stored_name(result),
        wide_name(result), bits_type(result), functions.call_along(bits_of_wide(result, "value")),
        stored_of_bits(result, "bits"));
}

}  // namespace

ElementwiseChain joined(const ElementwiseChain* prologue, const ElementwiseChain* epilogue) {
    ElementwiseChain all;
    for (const ElementwiseChain* chain : {prologue, epilogue}) {
        if (chain == nullptr) {
            continue;
        }
        const auto inputs = uint32_t(all.inputs.size());
        const auto results = uint32_t(all.steps.size());
        all.inputs.insert(all.inputs.end(), chain->inputs.begin(), chain->inputs.end());
        all.steps.reserve(all.steps.size() + chain->steps.size());
        for (ChainStep step : chain->steps) {
            for (ChainOperand& operand : step.operands) {
                operand.index += operand.kind == ChainOperand::Kind::kInput    ? inputs
                                 : operand.kind == ChainOperand::Kind::kResult ? results
                                                                               : 0;
            }
            all.steps.push_back(std::move(step));
        }
    }
    return all;
}

AttachedText write_attached_text(const ElementwiseChain* prologue,
                                 const ElementwiseChain* epilogue,
                                 const AttachedOperands& operands) {
    AttachedText text;
    const ElementwiseChain all = joined(prologue, epilogue);
    const std::string library = write_chain_library(all);
    uint32_t late = operands.first_late;
    size_t constant = kFirstConstant;
    if (prologue != nullptr) {
        const ChainFunctions functions("prologue", *prologue, late, 0);
        const ChainText chain =
            write_chain_function(*prologue, functions.accesses(), "prologue_chain", constant);
        text.name =
            fmt::format(" of {} kept {} late {}", chain.name, operands.kept.value_or(0), late);
        text.prologue = fmt::format("{}{}{}", library, chain.source,
                                    prologue_functions(*prologue, functions, operands));
        late += uint32_t(prologue->inputs.size() - 1);
        constant += constant_words(*prologue);
    }
    if (epilogue != nullptr) {
        const ChainFunctions functions("epilogue", *epilogue, late, 1);
        const ChainText chain =
            write_chain_function(*epilogue, functions.accesses(), "epilogue_chain", constant);
        text.name += fmt::format(" + {} late {}", chain.name, late);
        text.epilogue = fmt::format("{}{}{}", prologue == nullptr ? library : "", chain.source,
                                    epilogue_function(*epilogue, functions));
    }
    return text;
}

}  // namespace leat::vulkan
