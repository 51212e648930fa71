#include "ops/custom/custom_vulkan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <variant>
#include <vector>

#include "backends/vulkan/shader/glsl_compiler.h"
#include "base/error.h"
#include "base/round_up.h"
#include "base/trimmed.h"
#include "elementwise_numbers.glsl.h"
#include "ops/elementwise/chain_types_vulkan.h"
#include "ops/elementwise/chain_vulkan.h"
#include "ops/type_checks.h"
#include "push_block.glsl.h"
#include "round_to_odd.glsl.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 31;  // of an operand

// ---- The program's text ----

// Takes the first word of `text` away.
std::string_view next_word(std::string_view& text) {
    text = trimmed(text);
    const std::string_view word = text.substr(0, text.find_first_of(" \t"));
    text.remove_prefix(word.size());
    return word;
}

// The words behind '#', which blanks may follow.
bool is_directive(std::string_view line, std::string_view name, std::string_view& rest) {
    rest = trimmed(line);
    if (rest.empty() || rest[0] != '#') {
        return false;
    }
    rest.remove_prefix(1);
    return next_word(rest) == name;
}

Status bad_directive(const CustomKernel& kernel, int line, std::string_view found) {
    return invalid_argument("the Vulkan kernel of {} has a directive that is none, in line {}",
                            kernel.label, line)
        .with_found(fmt::format("'#pragma leat{}'", found))
        .with_needed("'elements', 'rows' or 'workgroup N'");
}

Status read_directive(std::string_view words, int line, CustomKernel& kernel) {
    const std::string_view all = words;
    const std::string_view what = next_word(words);
    if (what == "elements" || what == "rows") {
        kernel.calls = what == "rows" ? CustomKernel::Calls::kRows : CustomKernel::Calls::kElements;
    } else if (what == "workgroup") {
        const std::string_view number = next_word(words);
        const auto [end, error] =
            std::from_chars(number.data(), number.data() + number.size(), kernel.workgroup);
        if (error != std::errc() || end != number.data() + number.size() || kernel.workgroup == 0) {
            return bad_directive(kernel, line, all);
        }
    } else {
        return bad_directive(kernel, line, all);
    }
    return trimmed(words).empty() ? Status() : bad_directive(kernel, line, all);
}

bool is_name_part(char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_name_part);
}

bool has_run(std::string_view text) {
    constexpr std::string_view kRun = "run";
    for (size_t at = text.find(kRun); at != std::string_view::npos; at = text.find(kRun, at + 1)) {
        const std::string_view after = trimmed(text.substr(at + kRun.size()));
        if ((at == 0 || !is_name_part(text[at - 1])) && !after.empty() && after[0] == '(') {
            return true;
        }
    }
    return false;
}

// ---- The text before it ----

// The name of an operand in texts: in0, out1.
struct NamedOperand {
    std::string name;
    DType dtype = DType::kUndefined;
};

std::vector<NamedOperand> operands_of(const CustomKernel& kernel, const KernelTypes& types) {
    const size_t inputs = std::max(types.inputs.size(), size_t(kernel.max_inputs));
    std::vector<NamedOperand> operands;
    operands.reserve(inputs + types.outputs.size());
    for (size_t i = 0; i < inputs; ++i) {
        operands.push_back({fmt::format("in{}", i),
                            i < types.inputs.size() ? types.inputs[i] : DType::kUndefined});
    }
    for (size_t i = 0; i < types.outputs.size(); ++i) {
        operands.push_back({fmt::format("out{}", i), types.outputs[i]});
    }
    return operands;
}

bool is_present(const NamedOperand& operand) {
    return operand.dtype != DType::kUndefined;
}

// `slot`: its number among the operands that are present.
std::string declared(const NamedOperand& operand, size_t slot, bool is_output) {
    const std::string& name = operand.name;
    if (!is_present(operand)) {
        return fmt::format(
            "const bool has_{0} = false;\n#define type_{0} float\n"
            "float read_{0}(uint i) {{ return 0.0; }}\nuint count_{0}() {{ return 0u; }}\n"
            "uint rank_{0}() {{ return 0u; }}\nuint extent_{0}(uint axis) {{ return 0u; }}\n",
            name);
    }
    const std::string_view stored = stored_type(operand.dtype);
    std::string text = fmt::format(
        "const bool has_{0} = true;\n#define type_{0} {1}\nuvec2 address_{0};\n"
        "layout(buffer_reference, scalar, buffer_reference_align = {2}) buffer Of_{0} {{\n"
        "    {3} at[];\n}};\n"
        "type_{0} read_{0}(uint i) {{\n    return {4};\n}}\n",
        name, value_type(operand.dtype), bits_of(operand.dtype) / 8, stored,
        value_of_bits(operand.dtype, fmt::format("{}(Of_{}(address_{}).at[i])",
                                                 bits_type(operand.dtype), name, name)));
    text += fmt::format(
        "uint count_{0}() {{ return OperandShapes(push.parameters).of[{1}].count; }}\n"
        "uint rank_{0}() {{ return OperandShapes(push.parameters).of[{1}].rank; }}\n"
        "uint extent_{0}(uint axis) {{ return "
        "OperandShapes(push.parameters).of[{1}].extents[axis]; }}\n",
        name, slot);
    if (is_output) {
        const std::string bits = bits_of_value(operand.dtype, "value");
        text += fmt::format(
            "void write_{0}(uint i, type_{0} value) {{\n"
            "    Of_{0}(address_{0}).at[i] = {1};\n}}\n",
            name, stored == bits_type(operand.dtype) ? bits : fmt::format("{}({})", stored, bits));
    }
    return text;
}

constexpr std::string_view kShapes =
    "struct OperandShape {\n    uint count;\n    uint rank;\n    uint extents[8];\n};\n"
    "layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer OperandShapes {\n"
    "    OperandShape of[];\n};\n";
static_assert(kMaxRank == 8);

// As in kShapes.
struct OperandShape {
    uint32_t count = 0;
    uint32_t rank = 0;
    std::array<uint32_t, size_t(kMaxRank)> extents{};
};

// Appends an attribute as GLSL.
class AttributeWriter {
  public:
    AttributeWriter(std::string_view name, std::string& text) : name_(name), text_(text) {}

    // Why the attribute cannot be told to a kernel; empty if it can, or need not.
    std::string operator()(const int64_t& number) const {
        if (!fits(number)) {
            return refused(number);
        }
        text_ += fmt::format("const int attr_{} = int({:#x}u);\n", name_, uint32_t(number));
        return {};
    }
    std::string operator()(const float& real) const {
        uint32_t bits = 0;
        static_assert(sizeof(bits) == sizeof(real));
        std::memcpy(&bits, &real, sizeof(bits));
        text_ += fmt::format("#define attr_{} uintBitsToFloat({:#x}u)\n", name_, bits);
        return {};
    }
    std::string operator()(const std::string& value) const {
        if (is_name(value)) {
            text_ += fmt::format("#define attr_{}_is_{}\n", name_, value);
        }
        return {};
    }
    std::string operator()(const std::vector<int64_t>& numbers) const {
        std::vector<std::string> literals;
        literals.reserve(numbers.size());
        for (const int64_t number : numbers) {
            if (!fits(number)) {
                return refused(number);
            }
            literals.push_back(fmt::format("int({:#x}u)", uint32_t(number)));
        }
        add_list("int", std::move(literals));
        return {};
    }
    std::string operator()(const std::vector<float>& reals) const {
        std::vector<std::string> literals;
        literals.reserve(reals.size());
        for (const float real : reals) {
            if (!std::isfinite(real)) {
                return fmt::format("attribute '{}' holds {}; kernels see lists of finite numbers",
                                   name_, real);
            }
            literals.push_back(fmt::format("{:.9e}", real));
        }
        add_list("float", std::move(literals));
        return {};
    }
    // Of these kernels see nothing.
    std::string operator()(const std::vector<std::string>& /*texts*/) const { return {}; }
    std::string operator()(const Tensor& /*tensor*/) const { return {}; }
    std::string operator()(const Graph& /*body*/) const { return {}; }

  private:
    static bool fits(int64_t number) {
        return number >= std::numeric_limits<int32_t>::min() &&
               number <= std::numeric_limits<int32_t>::max();
    }
    std::string refused(int64_t number) const {
        return fmt::format("attribute '{}' is {}; kernels see integers of 32 bits", name_, number);
    }
    // GLSL has no empty arrays.
    void add_list(std::string_view type, std::vector<std::string> literals) const {
        const size_t count = literals.size();
        if (literals.empty()) {
            literals.emplace_back("0");
        }
        text_ += fmt::format(
            "const uint attr_{0}_count = {1}u;\nconst {2} attr_{0}[{3}] = {2}[{3}]({4});\n", name_,
            count, type, literals.size(), fmt::join(literals, ", "));
    }

    std::string_view name_;
    std::string& text_;
};

// Appends the node's attributes whose names GLSL can say.
std::string declare_attributes(const NodeData& node, std::string& text) {
    for (const auto& [name, value] : node.attributes) {
        if (!is_name(name)) {
            continue;
        }
        if (std::string reason = std::visit(AttributeWriter(name, text), value); !reason.empty()) {
            return reason;
        }
    }
    return {};
}

bool has_any(const std::vector<NamedOperand>& operands, DType dtype) {
    return std::any_of(operands.begin(), operands.end(),
                       [dtype](const NamedOperand& operand) { return operand.dtype == dtype; });
}

std::string extensions_of(const CustomKernel& kernel, const std::vector<NamedOperand>& operands) {
    std::string text =
        "#extension GL_EXT_shader_8bit_storage : require\n"
        "#extension GL_EXT_shader_16bit_storage : require\n";
    if (has_any(operands, DType::kInt64) || has_any(operands, DType::kUint64)) {
        text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
        text += "#define USES_INT64\n";
    }
    if (has_any(operands, DType::kFloat64)) {
        text += "#define USES_DOUBLE\n";
    }
    return text + kernel.extensions;
}

std::string main_function(const CustomKernel& kernel, const std::vector<NamedOperand>& operands) {
    std::string text = "void main() {\n";
    size_t slot = 0;
    for (const NamedOperand& operand : operands) {
        if (is_present(operand)) {
            text += fmt::format("    address_{} = operand({}u);\n", operand.name, slot++);
        }
    }
    text += "    const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;\n";
    text += kernel.calls == CustomKernel::Calls::kRows
                ? "    if (group < push.scalars[0]) {\n        run(group);\n    }\n}\n"
                : "    const uint element = group * gl_WorkGroupSize.x + gl_LocalInvocationID.x;\n"
                  "    if (element < push.scalars[0]) {\n        run(element);\n    }\n}\n";
    return text;
}

// A workgroup is a task of a thread on CPU devices, whose invocations run one after the other, a
// subgroup at a time: where they meet, one subgroup is the fastest.
uint32_t workgroup_of(const CustomKernel& kernel, const KernelLimits& limits) {
    if (kernel.workgroup != 0) {
        return kernel.workgroup;
    }
    constexpr uint32_t kUsual = 256;
    const bool meets = kernel.calls == CustomKernel::Calls::kRows;
    return meets && limits.is_cpu ? limits.subgroup_size
                                  : std::min(kUsual, limits.max_workgroup_invocations);
}

// All of the kernel's text; what it cannot say is the reason.
struct Source {
    ShaderUse shader;
    std::string reason;
};

Source source_of(const CustomKernel& kernel,
                 const NodeData& node,
                 const KernelTypes& types,
                 const KernelLimits& limits) {
    const std::vector<NamedOperand> operands = operands_of(kernel, types);
    Source made;
    std::string& text = made.shader.source;
    text =
        fmt::format("#version 460\n{}layout(local_size_x = {}) in;\n{}{}{}{}",
                    extensions_of(kernel, operands), workgroup_of(kernel, limits), glsl::push_block,
                    has_any(operands, DType::kFloat64) ? glsl::round_to_odd : "",
                    glsl::elementwise_numbers, kShapes);
    text += fmt::format("#define INPUT_COUNT {}\n#define OUTPUT_COUNT {}\n", types.inputs.size(),
                        types.outputs.size());
    size_t slot = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
        text += declared(operands[i], slot, i + types.outputs.size() >= operands.size());
        slot += is_present(operands[i]) ? 1 : 0;
    }
    made.reason = declare_attributes(node, text);
    text += fmt::format("#line 1\n{}\n{}", kernel.text, main_function(kernel, operands));
    made.shader.name = fmt::format("{} {:016x}", kernel.label, std::hash<std::string>()(text));
    return made;
}

// ---- The dispatch ----

bool is_readable(DType dtype) {
    return dtype == DType::kUndefined || chain_refusal(dtype).empty();
}

Result<std::vector<OperandShape>> shapes_of(std::span<const TensorArg> inputs,
                                            std::span<const TensorArg> outputs) {
    std::vector<OperandShape> shapes;
    shapes.reserve(inputs.size() + outputs.size());
    for (const std::span<const TensorArg> args : {inputs, outputs}) {
        for (const TensorArg& arg : args) {
            const int64_t count = arg.present() ? arg.shape.element_count() : 0;
            if (count >= kMostElements) {
                return unsupported("a custom operator with an operand of {} elements", count)
                    .with_needed("less than 2^31");
            }
            if (!arg.present()) {
                continue;
            }
            OperandShape& shape = shapes.emplace_back();
            shape.count = uint32_t(count);
            shape.rank = uint32_t(arg.shape.rank());
            // Beside an extent of 0 others may be beyond 2^31; nobody counts them.
            for (int axis = 0; axis < arg.shape.rank(); ++axis) {
                shape.extents[size_t(axis)] = uint32_t(std::min(arg.shape[axis], kMostElements));
            }
        }
    }
    return shapes;
}

// Calls of run() that invocations or workgroups make.
int64_t calls_of(const CustomKernel& kernel, const KernelNode& node) {
    if (kernel.calls == CustomKernel::Calls::kElements) {
        return node.outputs[0].shape.element_count();
    }
    const Shape& x = node.inputs[0].shape;
    return x.element_count(0, x.rank() - 1);
}

void add_operands(const KernelNode& node, KernelDispatch& dispatch) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i].present()) {
            dispatch.reads.push_back(input_ref(int32_t(i)));
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].present()) {
            dispatch.writes.push_back(output_ref(int32_t(i)));
        }
    }
}

}  // namespace

Result<CustomKernel> parse_custom_kernel(std::string label, std::string_view text) {
    CustomKernel kernel;
    kernel.label = std::move(label);
    kernel.text.reserve(text.size());
    int number = 0;
    while (!text.empty()) {
        ++number;
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        std::string_view rest;
        if (is_directive(line, "pragma", rest) && next_word(rest) == "leat") {
            LEAT_RETURN_IF_ERROR(read_directive(rest, number, kernel));
        } else if (is_directive(line, "extension", rest)) {
            kernel.extensions.append(line).append("\n");
        } else {
            kernel.text.append(line);
        }
        kernel.text.append("\n");
    }
    if (!has_run(kernel.text)) {
        return invalid_argument("the Vulkan kernel of {} has no run()", kernel.label)
            .with_needed("GLSL with 'void run(uint i)'");
    }
    return kernel;
}

std::string custom_refusal(const CustomKernel& kernel,
                           const NodeData& node,
                           const KernelTypes& types,
                           const KernelLimits& limits,
                           DiskCache* disk) {
    size_t present = 0;
    for (const NamedOperand& operand : operands_of(kernel, types)) {
        present += is_present(operand) ? 1 : 0;
        if (!is_readable(operand.dtype)) {
            return fmt::format("kernels of custom operators read no elements of {}",
                               name_of(operand.dtype));
        }
    }
    if (present > kMaxOperands) {
        return fmt::format("{} has {} operands; kernels have {} at most", node.label(), present,
                           kMaxOperands);
    }
    const bool counts_row = kernel.calls == CustomKernel::Calls::kRows;
    if (types.outputs.empty() || types.outputs[0] == DType::kUndefined ||
        (counts_row && (types.inputs.empty() || types.inputs[0] == DType::kUndefined))) {
        return fmt::format("{} lacks {}, by which run() is called", node.label(),
                           counts_row ? "input 0" : "output 0");
    }
    if (kernel.workgroup > limits.max_workgroup_invocations) {
        return fmt::format("its kernel has workgroups of {}; the device has {} at most",
                           kernel.workgroup, limits.max_workgroup_invocations);
    }
    Source made = source_of(kernel, node, types, limits);
    if (!made.reason.empty()) {
        return std::move(made.reason);
    }
    const auto words = compile_glsl_once(made.shader.name, made.shader.source, disk);
    return words.ok() ? std::string() : words.error().message();
}

Status write_custom(const CustomKernel& kernel, const KernelNode& node, KernelWriter& writer) {
    const std::vector<DType> inputs = types_of(node.inputs);
    const std::vector<DType> outputs = types_of(node.outputs);
    LEAT_ASSIGN_OR_RETURN(const std::vector<OperandShape> shapes,
                          shapes_of(node.inputs, node.outputs));
    const int64_t calls = calls_of(kernel, node);
    if (calls == 0) {
        return {};
    }
    const KernelLimits& limits = writer.limits();
    KernelDispatch dispatch;
    dispatch.shader = source_of(kernel, node.node, {inputs, outputs}, limits).shader;
    const int64_t groups = kernel.calls == CustomKernel::Calls::kRows
                               ? calls
                               : divide_up(calls, int64_t{workgroup_of(kernel, limits)});
    const int64_t columns = std::min<int64_t>(groups, limits.max_groups[0]);
    const int64_t lines = divide_up(groups, columns);
    if (lines > limits.max_groups[1]) {
        return unsupported("{} workgroups of a custom operator", groups)
            .with_needed(fmt::format("at most {} x {}", columns, limits.max_groups[1]));
    }
    dispatch.groups = {uint32_t(columns), uint32_t(lines), 1};
    add_operands(node, dispatch);
    dispatch.scalars = {uint32_t(calls)};
    dispatch.parameters = std::as_bytes(std::span(shapes));
    dispatch.estimated_ns = moved_bytes(node.inputs, node.outputs) / 4;
    return writer.dispatch(dispatch);
}

}  // namespace leat::vulkan
