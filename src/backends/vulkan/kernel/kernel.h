// What an operator's folder gives the Vulkan backend: kernels that write commands for one node.
//
// A folder src/ops/FOO has FOO_vulkan.cpp with
//   std::span<const vulkan::KernelEntry> FOO_vulkan_kernels();
// and its name in `vulkan_folders` of src/ops/meson.build. Shaders are in `shaders`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/record/command_list.h"
#include "graph/op_def.h"

namespace leat::vulkan {

// Invocations of a workgroup, in shaders that do not say otherwise.
constexpr uint32_t kWorkgroup = 64;

// A shader with its specialisation constants: one of shader_list() by name, or, where `source` is
// not empty, GLSL that is compiled when the kernel is made. Name and constants identify it.
struct ShaderUse {
    std::string name;
    std::vector<uint32_t> constants = {};
    std::string source = {};
    // Bit i: operand i, of which can_be_window() is true, is a texel buffer, binding i of set 0;
    // its texels are four floats where the second has bit i, too, else one.
    uint32_t windows = 0;
    uint32_t vector_windows = 0;
    // Of the shader's cooperative matrices: the subgroups that hold them, and whether their f16 is
    // bf16, which GLSL does not have.
    uint32_t required_subgroup_size = 0;  // 0: any
    bool has_bfloat16_matrices = false;
    // Loops in loops that are unrolled: where a driver reads SPIR-V anew in each process, the words
    // of `source` are worth being reduced before they are kept (spirv_reduction.h).
    bool has_deep_loops = false;
};

// An operand of the node, or what KernelWriter::scratch or index_report gave.
struct OperandRef {
    enum class Kind : uint8_t { kInput, kOutput, kScratch, kReport };
    Kind kind = Kind::kInput;
    int32_t index = 0;
    int64_t offset_bytes = 0;  // where the kernel's operand begins
    int64_t size_bytes = -1;   // of what the kernel touches; -1: all the rest
};
inline OperandRef input_ref(int32_t index, int64_t offset_bytes = 0) {
    return {OperandRef::Kind::kInput, index, offset_bytes};
}
inline OperandRef output_ref(int32_t index, int64_t offset_bytes = 0) {
    return {OperandRef::Kind::kOutput, index, offset_bytes};
}

// A dispatch; the kernel's operands are `reads`, `writes`, `late_reads`, at most kMaxOperands.
struct KernelDispatch {
    ShaderUse shader;
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::vector<OperandRef> reads;
    std::vector<OperandRef> writes;  // may be read, too
    std::vector<OperandRef> late_reads = {};
    std::array<uint32_t, kScalars> scalars{};
    std::span<const std::byte> parameters = {};  // copied; empty: none
    int64_t estimated_ns = 0;
};

// Which variant of a kernel was the fastest where somebody measured. Safe to use from any thread.
class MeasuredVariants {
  public:
    virtual ~MeasuredVariants() = default;
    // The variant's number, which the kernel's folder gives; nothing where nobody measured. Extents
    // of a kernel's problem, such as m, n and k.
    virtual std::optional<uint32_t> fastest(std::string_view kernel,
                                            const std::array<uint32_t, 3>& extents) const = 0;
};

// Where a kernel with indices that are data tells the host of one that is out of range: the run
// fails. Each dispatch has its own, so kernels do not wait for each other.
struct IndexReport {
    std::string node;              // its label
    std::vector<int64_t> extents;  // of the axes that indices belong to
};
// indices.glsl as C++; zeros: all were in range.
struct ToldIndex {
    uint32_t is_taken = 0;
    uint32_t axis = 0;  // among IndexReport::extents
    uint32_t low = 0;   // words of the index
    uint32_t high = 0;
};

// Matrices that the invocations of a subgroup hold together: A [m, k], B [k, n], sums [m, n] in
// f32, of integers in i32.
struct MatrixShape {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    bool is_emulated = false;  // for tests: by ordinary instructions
};

// What kernels may choose by.
struct KernelLimits {
    bool is_cpu = false;  // register tiles without barriers beat shared memory
    uint32_t subgroup_size = 32;
    uint32_t max_workgroup_invocations = 128;
    uint32_t shared_memory_bytes = 16384;
    std::array<uint32_t, 3> max_groups{65535, 65535, 65535};
    // Of an operand that is bound as a texel buffer; 0: none can be.
    int64_t max_window_texels = 0;
    int64_t window_alignment_bytes = 256;
    const MeasuredVariants* measured = nullptr;  // null: shipped choices
    std::optional<MatrixShape> f16_matrices;
    std::optional<MatrixShape> bf16_matrices;
    std::optional<MatrixShape> i8_matrices;  // signed bytes, sums of i32
    // On CPU devices: of the loops of chains that are attached to the kernel, for each element that
    // it reads or stores (attached_chains_vulkan.h).
    int64_t attached_iterations = 0;
    bool is_fast = false;  // products and convolutions of f32 may round their operands to f16
    // Arithmetic of these types; a dispatch of a shader that needs more is unsupported.
    bool has_float16 = true;
    bool has_float64 = true;
    bool has_int8 = true;
    bool has_int16 = true;
    bool has_int64 = true;

    bool has_every_type() const {
        return has_float16 && has_float64 && has_int8 && has_int16 && has_int64;
    }
};

// Commands of a node run after all commands written before, as far as they touch the same bytes.
// Used by one thread.
class KernelWriter {
  public:
    virtual ~KernelWriter() = default;
    virtual const KernelLimits& limits() const = 0;
    // Device memory for the node alone, aligned to 256 bytes, undefined at first.
    virtual OperandRef scratch(int64_t size_bytes) = 0;
    // A ToldIndex, zeros when the run begins; one dispatch writes it.
    virtual OperandRef index_report(IndexReport report) = 0;
    // Whether a kernel may have the operand as a texel buffer: where it begins is known when
    // commands are recorded, and is a multiple of the limits' alignment.
    virtual bool can_be_window(const OperandRef& operand) const = 0;
    // unsupported, with the features, where the device lacks some that the shader needs.
    virtual Status dispatch(const KernelDispatch& dispatch) = 0;
    virtual Status copy(OperandRef from, OperandRef to, int64_t size_bytes) = 0;
    // size_bytes: a multiple of 4.
    virtual Status fill(OperandRef to, int64_t size_bytes, uint32_t pattern) = 0;
};

// Makes the first `size_bytes` of an operand one that can be a window, by a copy where it is none,
// and narrows it to them.
Status make_window(OperandRef& operand, int64_t size_bytes, KernelWriter& writer);

// One node with fixed shapes. Operands are dense and row-major, begin at multiples of 64 bytes and
// may be empty (then nothing of them may be touched). `data` is set for those that the host knows:
// constants and host inputs.
struct KernelNode {
    const NodeData& node;
    std::span<const TensorArg> inputs;   // present() is false where absent
    std::span<const TensorArg> outputs;  // the same
};

// True for a node of leat's operator, and not for a program's of the same name.
inline bool is_own(const NodeData& node, std::string_view op_type) {
    return node.def != nullptr && node.op_type == op_type;
}

// Element types of a node's operands; kUndefined where one is absent.
struct KernelTypes {
    std::span<const DType> inputs;
    std::span<const DType> outputs;
};

// As KernelTypes has them.
std::vector<DType> types_of(std::span<const TensorArg> args);

// The refusal of an entry that runs every node of its operator.
inline std::string refuse_nothing(const NodeData& /*node*/, const KernelTypes& /*types*/) {
    return {};
}

struct KernelEntry {
    std::string_view op_type;
    // Why this entry cannot run the node, whatever its shapes are; empty if it can.
    std::string (*refusal)(const NodeData& node, const KernelTypes& types);
    Status (*write)(const KernelNode& node, KernelWriter& writer);
    // Bit i: input i is read on the host before the run, beside OpDef::shape_inputs: the kernel
    // finds its elements in `data`.
    uint32_t host_inputs = 0;
};

// The kernels of all folders; generated from src/ops/meson.build.
std::span<const std::span<const KernelEntry>> all_kernels();

// The first entry for the node that does not refuse it; otherwise null, and why.
struct KernelChoice {
    const KernelEntry* entry = nullptr;
    std::string reason;
};
KernelChoice choose_kernel(const NodeData& node, const KernelTypes& types);

// Mesa's software device (22.3) ends the loops of an invocation after 65,535 iterations of all of
// them together, without a word: the result is wrong. So on CPU devices no invocation has more than
// these.
inline constexpr int64_t kMostIterations = 60'000;

// What a loop counts there: its bodies, with the loops in them, and the check that ends it.
constexpr int64_t loop_iterations(int64_t count, int64_t of_body = 0) {
    return count * (1 + of_body) + 1;
}

// Of storing a tile of registers, with the chains of what is stored: rows in a loop.
constexpr int64_t stored_tile_iterations(const KernelLimits& limits) {
    constexpr int64_t kRows = 16;
    constexpr int64_t kColumns = 8;
    return loop_iterations(kRows, kColumns * limits.attached_iterations);
}

// Workgroups of `size` invocations for `count` elements in x, each invocation striding over the
// rest; at least 1. An element's own work has loops over axes at most.
std::array<uint32_t, 3> groups_for(int64_t count, uint32_t size, const KernelLimits& limits);

// The same for elements whose own loops have this many iterations (loop_iterations); unsupported
// where an invocation would have too many for the device.
Result<std::array<uint32_t, 3>> groups_with_loops(int64_t count,
                                                  uint32_t size,
                                                  int64_t iterations,
                                                  const KernelLimits& limits);

}  // namespace leat::vulkan
