#include "ops/elementwise/chain_source_vulkan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/round_up.h"
#include "elementwise_math.glsl.h"
#include "elementwise_numbers.glsl.h"
#include "elementwise_operators.glsl.h"
#include "elementwise_small_floats.glsl.h"
#include "nearest_even.glsl.h"
#include "ops/elementwise/chain_types_vulkan.h"
#include "push_block.glsl.h"
#include "round_to_odd.glsl.h"

namespace leat::vulkan {
namespace {

// Functions that have no way of their own in float: also those of long chains of operations, which
// are worth no second copy in a kernel.
constexpr std::string_view kByDouble[] = {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos",
                                          "Cosh", "Fmod",  "Mod",  "Pow",   "Sin",  "Sinh",  "Tan"};

bool is_by_double(const ChainStep& step) {
    return is_real(step.work) && std::find(std::begin(kByDouble), std::end(kByDouble),
                                           step.function) != std::end(kByDouble);
}

// Of the loops of shaders/elementwise_math.glsl and elementwise_operators.glsl.
int64_t function_iterations(const ChainStep& step) {
    const std::string_view function = step.function;
    if (function == "Erf" || function == "Gelu") {
        constexpr int64_t kTerms = 60;
        return 2 * loop_iterations(kTerms);
    }
    if (function == "Sin" || function == "Cos" || function == "Tan") {
        constexpr int64_t kWords = 6;
        constexpr int64_t kReduction =
            loop_iterations(kWords) + loop_iterations(2, loop_iterations(kWords));
        return loop_iterations(1, kReduction);
    }
    // A bit of the exponent at a time; of real ones 10 at most.
    if (function == "Pow") {
        return loop_iterations(is_real(step.work) ? 10 : bits_of(step.work));
    }
    // At least 25 bits of the quotient at a time.
    if (function == "Mod" || function == "Fmod") {
        constexpr int64_t kBits = 25;
        const int64_t most_bits = step.work == DType::kFloat64 ? 2098 : 277;
        return is_real(step.work) ? loop_iterations(divide_up(most_bits, kBits)) : 0;
    }
    return 0;
}

class ChainWriter {
  public:
    ChainWriter(const ElementwiseChain& chain, const std::vector<ChainAccess>& accesses)
        : chain_(chain), accesses_(accesses), output_(chain.steps.back().result) {
        note_types();
        is_unrolled_ =
            !uses_wide_ && std::all_of(accesses.begin(), accesses.end(), [](ChainAccess access) {
                return access != ChainAccess::kBroadcast;
            });
    }

    bool is_unrolled() const { return is_unrolled_; }
    std::string name() const;
    std::string source() const;
    // What the chain's function needs before it.
    std::string library() const;
    std::string chain_function(std::string_view function, size_t scalar) const;

  private:
    void note_types();
    DType operand_type(const ChainOperand& operand) const;
    std::string operand_value(const ChainOperand& operand, size_t& scalar) const;
    std::string step_value(const ChainStep& step, bool is_last, size_t& scalar) const;
    std::string extensions() const;
    std::string functions() const;
    std::set<std::string_view> functions_of_others(std::string_view type) const;
    std::string operators() const;
    std::string buffers() const;
    std::string addresses() const;
    std::string call(const std::vector<std::string>& elements, std::string_view index) const;
    std::string stored(std::string_view bits) const;
    std::string element_call(std::string_view index, std::string_view broadcast_prefix) const;
    std::string dense_loop() const;
    std::string unrolled_loop() const;
    std::string broadcast_loop() const;
    bool has_broadcast() const {
        return std::find(accesses_.begin(), accesses_.end(), ChainAccess::kBroadcast) !=
               accesses_.end();
    }

    const ElementwiseChain& chain_;
    const std::vector<ChainAccess>& accesses_;
    DType output_;
    bool uses_double_ = false;
    bool uses_int64_ = false;
    bool uses_byte_floats_ = false;
    bool uses_wide_ = false;  // 64 bits anywhere, or long functions
    bool is_unrolled_ = false;
};

DType ChainWriter::operand_type(const ChainOperand& operand) const {
    switch (operand.kind) {
        case ChainOperand::Kind::kInput:
            return chain_.inputs[operand.index].dtype;
        case ChainOperand::Kind::kResult:
            return chain_.steps[operand.index].result;
        case ChainOperand::Kind::kConstant:
            return operand.dtype;
        default:
            return DType::kUint32;
    }
}

void ChainWriter::note_types() {
    const auto note = [this](DType dtype) {
        uses_double_ = uses_double_ || dtype == DType::kFloat64;
        uses_int64_ = uses_int64_ || dtype == DType::kInt64 || dtype == DType::kUint64;
        uses_byte_floats_ = uses_byte_floats_ || contains(kByteFloatTypes, dtype);
    };
    for (const ChainInput& input : chain_.inputs) {
        note(input.dtype);
    }
    for (const ChainStep& step : chain_.steps) {
        note(step.work);
        note(step.result);
        uses_double_ =
            uses_double_ || is_by_double(step) || converts_by_double(step.work, step.result);
        for (const ChainOperand& operand : step.operands) {
            note(operand_type(operand));
            uses_double_ = uses_double_ || converts_by_double(operand_type(operand), step.work);
        }
    }
    uses_wide_ = uses_double_ || uses_int64_;
}

std::string ChainWriter::name() const {
    std::string text = "elementwise";
    for (const ChainStep& step : chain_.steps) {
        text += fmt::format(" {}.{}.{}(", step.function, name_of(step.work), name_of(step.result));
        for (const ChainOperand& operand : step.operands) {
            text +=
                fmt::format("{}{}{} ", "irc#"[size_t(operand.kind)], operand.index,
                            operand.kind == ChainOperand::Kind::kConstant ? name_of(operand.dtype)
                                                                          : std::string_view());
        }
        text += ")";
        if (contains(kByteFloatTypes, step.result)) {
            text += fmt::format("{}{}", step.narrow.saturate ? "s" : "o",
                                uint32_t(step.narrow.e8m0_round));
        }
    }
    for (size_t i = 0; i < accesses_.size(); ++i) {
        text += fmt::format(" {}{}", name_of(chain_.inputs[i].dtype), "dsbw"[size_t(accesses_[i])]);
    }
    return text;
}

std::string ChainWriter::extensions() const {
    std::string text =
        "#extension GL_EXT_shader_8bit_storage : require\n"
        "#extension GL_EXT_shader_16bit_storage : require\n";
    if (uses_int64_) {
        text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
        text += "#define USES_INT64\n";
    }
    return text;
}

// What operators are written with.
std::string ChainWriter::functions() const {
    std::string text;
    if (uses_double_) {
        text += "#define USES_DOUBLE\n";
        text += glsl::round_to_odd;
    }
    std::set<std::string_view> functions;
    for (const ChainStep& step : chain_.steps) {
        if (!step.function.empty() && functions.insert(step.function).second) {
            text += fmt::format("#define USES_{}\n", step.function);
        }
    }
    text += glsl::elementwise_numbers;
    if (uses_double_) {
        text += glsl::nearest_even;
    }
    if (uses_byte_floats_) {
        text += glsl::elementwise_small_floats;
    }
    text += glsl::elementwise_math;
    return text;
}

// Functions that some steps have, and none that computes in this type.
std::set<std::string_view> ChainWriter::functions_of_others(std::string_view type) const {
    std::set<std::string_view> own;
    std::set<std::string_view> others;
    for (const ChainStep& step : chain_.steps) {
        if (!step.function.empty()) {
            (value_type(step.work) == type ? own : others).insert(step.function);
        }
    }
    for (const std::string_view function : own) {
        others.erase(function);
    }
    return others;
}

// The operators once for each type that computes.
std::string ChainWriter::operators() const {
    std::string text;
    std::set<std::string_view> types;
    for (const ChainStep& step : chain_.steps) {
        const std::string_view type = value_type(step.work);
        if (!types.insert(type).second) {
            continue;
        }
        const std::string_view kind = is_real(step.work)                   ? "IS_REAL"
                                      : step.work == DType::kBool          ? "IS_BOOL"
                                      : type == "int" || type == "int64_t" ? "IS_SIGNED"
                                                                           : "IS_UNSIGNED";
        // What other types compute may not compile for this one: Mod of floats needs doubles, which
        // a chain with that of integers lacks.
        const std::set<std::string_view> others = functions_of_others(type);
        for (const std::string_view function : others) {
            text += fmt::format("#undef USES_{}\n", function);
        }
        text += fmt::format("#define T {}\n#define T_BITS {}\n#define {}\n{}\n", type,
                            is_64_bit(step.work) ? 64 : 32, kind, glsl::elementwise_operators);
        text += fmt::format("#undef T\n#undef T_BITS\n#undef {}\n", kind);
        for (const std::string_view function : others) {
            text += fmt::format("#define USES_{}\n", function);
        }
    }
    return text;
}

// `scalar`: where the next constant stands.
std::string ChainWriter::operand_value(const ChainOperand& operand, size_t& scalar) const {
    switch (operand.kind) {
        case ChainOperand::Kind::kInput:
            return value_of_bits(operand_type(operand), fmt::format("x{}", operand.index));
        case ChainOperand::Kind::kResult:
            return fmt::format("v{}", operand.index);
        case ChainOperand::Kind::kConstant: {
            const std::string low = fmt::format("push.scalars[{}]", scalar++);
            return value_of_bits(operand.dtype,
                                 is_64_bit(operand.dtype)
                                     ? fmt::format("uvec2({}, push.scalars[{}])", low, scalar++)
                                     : low);
        }
        default:
            return "index";
    }
}

std::string ChainWriter::step_value(const ChainStep& step, bool is_last, size_t& scalar) const {
    std::vector<std::string> values;
    values.reserve(step.operands.size());
    for (size_t i = 0; i < step.operands.size(); ++i) {
        const ChainOperand& operand = step.operands[i];
        const bool is_condition = step.function == "Where" && i == 0;
        // Parameters have the accuracy of the computation, not of its elements.
        const bool is_exact = operand.kind == ChainOperand::Kind::kConstant;
        values.push_back(converted(operand_type(operand), is_condition ? DType::kBool : step.work,
                                   operand_value(operand, scalar), is_exact));
    }
    if (step.function.empty()) {
        return converted(step.work, step.result, values[0], is_last, step.narrow);
    }
    const DType given = step.result == DType::kBool ? DType::kBool : step.work;
    const std::string value = fmt::format("{}({})", step.function, fmt::join(values, ", "));
    const std::string result = converted(given, step.result, value, is_last);
    return is_last ? result : narrowed(step.result, result);
}

// Bits of the output of bits of the inputs. `scalar`: where the first constant stands.
std::string ChainWriter::chain_function(std::string_view function, size_t scalar) const {
    std::string text = fmt::format("{} {}(", bits_type(output_), function);
    for (size_t i = 0; i < chain_.inputs.size(); ++i) {
        text += fmt::format("{} x{}, ", bits_type(chain_.inputs[i].dtype), i);
    }
    text += "uint index) {\n";
    for (size_t i = 0; i < chain_.steps.size(); ++i) {
        const ChainStep& step = chain_.steps[i];
        const bool is_last = i + 1 == chain_.steps.size();
        text += fmt::format("    const {} v{} = {};\n", value_type(step.result), i,
                            step_value(step, is_last, scalar));
    }
    const std::string last = fmt::format("v{}", chain_.steps.size() - 1);
    return text + fmt::format("    return {};\n}}\n",
                              bits_of_value(output_, last, chain_.steps.back().narrow));
}

std::string buffer(std::string_view name, std::string_view type, int64_t align_bytes, bool is_in) {
    return fmt::format(
        "layout(buffer_reference, scalar, buffer_reference_align = {}) {} buffer {} {{\n"
        "    {} at[];\n}};\n",
        align_bytes, is_in ? "readonly" : "writeonly", name, type);
}

std::string ChainWriter::buffers() const {
    std::string text;
    for (size_t i = 0; i <= chain_.inputs.size(); ++i) {
        const bool is_in = i < chain_.inputs.size();
        const DType dtype = is_in ? chain_.inputs[i].dtype : output_;
        const int64_t bytes = bits_of(dtype) / 8;
        text += buffer(fmt::format("Operand{}", i), stored_type(dtype), bytes, is_in);
        if (is_in && accesses_[i] == ChainAccess::kWindow) {
            text += fmt::format("layout(set = 0, binding = {}) uniform samplerBuffer w{};\n", i, i);
        } else if (is_unrolled_) {
            text += buffer(fmt::format("Operand{}x4", i), stored4_type(dtype), bytes * 4, is_in);
        }
    }
    if (has_broadcast()) {
        text += fmt::format(
            "const uint kMaxRank = {};\n"
            "layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Shape "
            "{{\n"
            "    uint extents[kMaxRank];\n"
            "    uint inverses[kMaxRank];\n"
            "    uint shifts[kMaxRank];\n"
            "    uint strides[{}][kMaxRank];\n"
            "}};\n",
            kMaxRank, kMaxChainInputs);
    }
    return text;
}

// Operands, and the elements of those that have one.
std::string ChainWriter::addresses() const {
    std::string text = "    const uint count = push.scalars[0];\n";
    for (size_t i = 0; i <= chain_.inputs.size(); ++i) {
        text += fmt::format("    const uvec2 p{} = operand({}u);\n", i, i);
        if (i < chain_.inputs.size() && accesses_[i] == ChainAccess::kScalar) {
            const DType dtype = chain_.inputs[i].dtype;
            text += fmt::format("    const {} s{} = {}(Operand{}(p{}).at[0]);\n", bits_type(dtype),
                                i, bits_type(dtype), i, i);
        }
    }
    return text;
}

std::string ChainWriter::call(const std::vector<std::string>& elements,
                              std::string_view index) const {
    return fmt::format("chain({}{}{})", fmt::join(elements, ", "), elements.empty() ? "" : ", ",
                       index);
}

std::string ChainWriter::stored(std::string_view bits) const {
    return fmt::format("{}({})", stored_type(output_), bits);
}

// The chain at element `index`; inputs that are broadcast have it at `at` and their number.
std::string ChainWriter::element_call(std::string_view index, std::string_view at) const {
    std::vector<std::string> elements;
    elements.reserve(chain_.inputs.size());
    for (size_t i = 0; i < chain_.inputs.size(); ++i) {
        if (accesses_[i] == ChainAccess::kScalar) {
            elements.push_back(fmt::format("s{}", i));
            continue;
        }
        const std::string place = accesses_[i] == ChainAccess::kBroadcast
                                      ? fmt::format("{}{}", at, i)
                                      : std::string(index);
        elements.push_back(fmt::format("{}(Operand{}(p{}).at[{}])",
                                       bits_type(chain_.inputs[i].dtype), i, i, place));
    }
    return fmt::format("Operand{}(p{}).at[{}] = {};\n", chain_.inputs.size(), chain_.inputs.size(),
                       index, stored(call(elements, index)));
}

std::string ChainWriter::dense_loop() const {
    return fmt::format(
        "    for (uint i = linear_id(); i < count; i += linear_count()) {{\n        {}    }}\n",
        element_call("i", ""));
}

std::string ChainWriter::unrolled_loop() const {
    std::string text =
        "    const uint whole = count / 4u;\n"
        "    for (uint i = linear_id(); i < whole; i += linear_count()) {\n";
    for (size_t i = 0; i < chain_.inputs.size(); ++i) {
        if (accesses_[i] == ChainAccess::kDense) {
            text += fmt::format("        const {} a{} = Operand{}x4(p{}).at[i];\n",
                                stored4_type(chain_.inputs[i].dtype), i, i, i);
        } else if (accesses_[i] == ChainAccess::kWindow) {
            text += fmt::format(
                "        const uvec4 a{} = floatBitsToUint(texelFetch(w{}, int(i)));\n", i, i);
        }
    }
    std::array<std::string, 4> results;
    for (int part = 0; part < 4; ++part) {
        std::vector<std::string> elements;
        elements.reserve(chain_.inputs.size());
        for (size_t i = 0; i < chain_.inputs.size(); ++i) {
            elements.push_back(
                accesses_[i] == ChainAccess::kScalar
                    ? fmt::format("s{}", i)
                    : part_of_four(chain_.inputs[i].dtype, fmt::format("a{}", i), part));
        }
        results[size_t(part)] = call(elements, fmt::format("4u * i + {}u", part));
    }
    const size_t output = chain_.inputs.size();
    text += fmt::format("        Operand{}x4(p{}).at[i] = {};\n    }}\n", output, output,
                        four_of_parts(output_, results));
    return text + fmt::format(
                      "    const uint rest = whole * 4u + linear_id();\n"
                      "    if (rest < count) {{\n        {}    }}\n",
                      element_call("rest", ""));
}

// Quotients by the inverses that parameters hold, because integer division has no vectors on CPUs.
std::string ChainWriter::broadcast_loop() const {
    std::string text =
        "    const uint rank = push.scalars[1];\n"
        "    Shape shape = Shape(push.parameters);\n"
        "    for (uint i = linear_id(); i < count; i += linear_count()) {\n"
        "        uint left = i;\n";
    std::string places;
    std::string advances;
    for (size_t i = 0; i < accesses_.size(); ++i) {
        if (accesses_[i] == ChainAccess::kBroadcast) {
            places += fmt::format("        uint at{} = 0u;\n", i);
            advances += fmt::format("            at{} += index * shape.strides[{}][axis];\n", i, i);
        }
    }
    text += places;
    text +=
        "        for (uint axis = rank; axis-- > 0u;) {\n"
        "            uint high;\n"
        "            uint low;\n"
        "            umulExtended(left, shape.inverses[axis], high, low);\n"
        "            const uint quotient = high >> shape.shifts[axis];\n"
        "            const uint index = left - quotient * shape.extents[axis];\n"
        "            left = quotient;\n";
    return text + advances + "        }\n        " + element_call("i", "at") + "    }\n";
}

std::string ChainWriter::source() const {
    return fmt::format(
        "#version 460\n{}layout(local_size_x_id = 0) in;\n{}{}{}{}{}void main() {{\n{}{}}}\n",
        extensions(), glsl::push_block, functions(), operators(), buffers(),
        chain_function("chain", kFirstConstant), addresses(),
        has_broadcast() ? broadcast_loop()
        : is_unrolled_  ? unrolled_loop()
                        : dense_loop());
}

std::string ChainWriter::library() const {
    return fmt::format("{}{}{}", extensions(), functions(), operators());
}

}  // namespace

bool is_unrolled(const ElementwiseChain& chain, const std::vector<ChainAccess>& accesses) {
    return ChainWriter(chain, accesses).is_unrolled();
}

std::string write_chain_library(const ElementwiseChain& chain) {
    return ChainWriter(chain, {}).library();
}

ChainText write_chain_function(const ElementwiseChain& chain,
                               const std::vector<ChainAccess>& accesses,
                               std::string_view name,
                               size_t first_constant) {
    const ChainWriter writer(chain, accesses);
    return {writer.name(), writer.chain_function(name, first_constant), false};
}

int64_t function_iterations(const ElementwiseChain& chain) {
    int64_t iterations = 0;
    for (const ChainStep& step : chain.steps) {
        iterations += function_iterations(step);
    }
    return iterations;
}

ChainText write_chain_text(const ElementwiseChain& chain,
                           const std::vector<ChainAccess>& accesses) {
    const ChainWriter writer(chain, accesses);
    return {writer.name(), writer.source(), writer.is_unrolled()};
}

}  // namespace leat::vulkan
