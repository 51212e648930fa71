// Tiles of cooperative matrices, with matrices that are emulated: everything but the device's own
// instructions, of which vulkan_matrix_test.cpp looks at the words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/list_writer.h"
#include "conformance/reference_node.h"
#include "conformance/vulkan_kernel_run.h"
#include "ops/conv/conv_problem_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/matrix_tile_vulkan.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kBatch = 2;

struct Product {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    bool is_a_by_column = false;  // transposed in memory
    bool is_b_by_column = false;
    uint32_t padding = 0;  // elements behind each line of A and of B
};

// Integers between -4 and 3, of which sums of a few hundred products are exact in f16.
std::vector<double> small_integers(size_t count, uint32_t seed) {
    std::vector<double> values(count);
    for (double& value : values) {
        seed = seed * 1664525U + 1013904223U;
        value = double(seed >> 29) - 4.0;
    }
    return values;
}

std::vector<std::byte> stored(DType dtype, const std::vector<double>& values) {
    std::vector<std::byte> bytes(size_t(*storage_bytes(dtype, int64_t(values.size()))));
    for (size_t i = 0; i < values.size(); ++i) {
        store_real(dtype, bytes.data(), int64_t(i), values[i]);
    }
    return bytes;
}

std::vector<double> loaded(DType dtype, const std::vector<std::byte>& bytes, size_t count) {
    std::vector<double> values(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = load_real(dtype, bytes.data(), int64_t(i));
    }
    return values;
}

// Strides of an operand of `rows` and `columns`.
struct Strides {
    uint32_t row;
    uint32_t column;
    uint32_t matrix;
};
Strides strides_of(uint32_t rows, uint32_t columns, bool is_by_column, uint32_t padding) {
    const uint32_t line = (is_by_column ? rows : columns) + padding;
    const uint32_t matrix = line * (is_by_column ? columns : rows);
    return is_by_column ? Strides{1, line, matrix} : Strides{line, 1, matrix};
}

KernelLimits emulating_limits(const Device& device) {
    KernelLimits limits = kernel_limits(device.info());
    limits.f16_matrices = limits.bf16_matrices = MatrixShape{16, 16, 16, true};
    limits.is_fast = true;
    return limits;
}

GemmProblem problem_of(const Product& product, const Strides& a, const Strides& b) {
    GemmProblem problem;
    problem.m = product.m;
    problem.n = product.n;
    problem.k = product.k;
    problem.a_row = a.row;
    problem.a_k = a.column;
    problem.b_k = b.row;
    problem.b_column = b.column;
    problem.alpha = 2;
    problem.beta = 3;
    problem.has_c = 1;
    problem.c_row = 1;  // C is a column, the same of all products
    problem.batch_count = kBatch;
    problem.batch_rank = 1;
    problem.batch_extents[0] = kBatch;
    problem.a_batch[0] = a.matrix;
    problem.b_batch[0] = b.matrix;
    return problem;
}

// 2 A B + 3 C of a batch of two, by the kernel of this name.
void expect_product(const std::shared_ptr<Device>& device, DType dtype, const Product& product) {
    const auto made = VulkanRig::make_on(device);
    ASSERT_TRUE(made.ok()) << made.error().message();
    VulkanRig& rig = **made;
    const auto [m, n, k, a_by_column, b_by_column, padding] = product;
    const Strides a_strides = strides_of(m, k, a_by_column, padding);
    const Strides b_strides = strides_of(k, n, b_by_column, padding);
    const std::vector<double> a = small_integers(size_t{kBatch} * a_strides.matrix, 1);
    const std::vector<double> b = small_integers(size_t{kBatch} * b_strides.matrix, 2);
    const std::vector<double> c = small_integers(m, 3);
    const size_t results = size_t{kBatch} * m * n;
    std::vector<PlacedOperand> places;
    places.reserve(4);
    for (const size_t count : {a.size(), b.size(), c.size(), results}) {
        const int64_t bytes = *storage_bytes(dtype, int64_t(count));
        places.push_back({rig.add_buffer(bytes), 0, bytes});
    }
    rig.write(places[0].buffer, stored(dtype, a));
    rig.write(places[1].buffer, stored(dtype, b));
    rig.write(places[2].buffer, stored(dtype, c));
    ListWriter writer(rig.list(), emulating_limits(*device));
    writer.begin_node(std::span(places).first(3), std::span(places).last(1));
    const Status written =
        write_gemm(problem_of(product, a_strides, b_strides),
                   {dtype, input_ref(0), input_ref(1), input_ref(2), output_ref(0)}, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    ASSERT_EQ(writer.shaders().size(), 1U);
    EXPECT_EQ(writer.shaders()[0].name,
              fmt::format("gemm_matrix_tile_{}_emulated", name_of(dtype)));
    rig.add_pipeline(writer.shaders()[0]);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());

    std::vector<double> wanted(results);
    for (size_t i = 0; i < results; ++i) {
        const size_t batch = i / (size_t{m} * n);
        const size_t row = i / n % m;
        const size_t column = i % n;
        double sum = 0;
        for (size_t at = 0; at < k; ++at) {
            sum += a[batch * a_strides.matrix + row * a_strides.row + at * a_strides.column] *
                   b[batch * b_strides.matrix + at * b_strides.row + column * b_strides.column];
        }
        wanted[i] = 2 * sum + 3 * c[row];
    }
    const auto bytes = rig.read<std::byte>(places[3].buffer, size_t(places[3].size_bytes));
    // As the type stores them: bf16 has eight bits.
    EXPECT_EQ(loaded(dtype, bytes, results), loaded(dtype, stored(dtype, wanted), results));
}

// Lines of whole eights and others, by rows and by columns; tiles that are full, and that are not.
// Each is a pipeline of its own.
constexpr Product kProducts[] = {
    {128, 128, 64},
    {72, 136, 40, true, true},
    {33, 45, 37, false, false, 3},
    {136, 45, 72, true, false},
};

class MatrixTile : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(MatrixTile, GivesTheProduct) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto [dtype, number] = GetParam();
    const Product& product = kProducts[number];
    SCOPED_TRACE(fmt::format("{} x {} x {}, A by {}, B by {}, padding {}", product.m, product.n,
                             product.k, product.is_a_by_column ? "column" : "row",
                             product.is_b_by_column ? "column" : "row", product.padding));
    expect_product(device, dtype, product);
}

INSTANTIATE_TEST_SUITE_P(
    Products,
    MatrixTile,
    ::testing::Combine(::testing::Values(DType::kFloat16, DType::kBfloat16, DType::kFloat32),
                       ::testing::Range(0, int(std::size(kProducts)))),
    [](const auto& test) {
        return fmt::format("{}_{}", name_of(std::get<0>(test.param)), std::get<1>(test.param));
    });

// ---- Convolutions ----

struct Convolution {
    WindowParameters window;
    uint32_t batch = 1;
    uint32_t groups = 1;
    uint32_t in_channels = 1;  // of a group, as the next
    uint32_t out_channels = 1;
};

ConvProblem problem_of(const Convolution& convolution) {
    ConvProblem problem;
    problem.window = convolution.window;
    problem.batch = convolution.batch;
    problem.groups = convolution.groups;
    problem.in_channels = convolution.in_channels;
    problem.out_channels = convolution.out_channels;
    problem.has_bias = 1;
    problem.has_scale = 1;
    return problem;
}

// The row-major number's indices.
std::array<int64_t, 3> indices_of(int64_t number, const WindowParameters::Numbers& extents) {
    return {number / (int64_t{extents[1]} * extents[2]), number / extents[2] % extents[1],
            number % extents[2]};
}

// Element `index` of y before scale and bias, from its definition.
double sum_of(const ConvProblem& problem,
              const std::vector<double>& x,
              const std::vector<double>& w,
              int64_t index) {
    const WindowParameters& window = problem.window;
    const int64_t plane = int64_t{window.y_extents[0]} * window.y_extents[1] * window.y_extents[2];
    const int64_t taps = int64_t{window.taps[0]} * window.taps[1] * window.taps[2];
    const int64_t channels = int64_t{problem.groups} * problem.out_channels;
    const std::array<int64_t, 3> at = indices_of(index % plane, window.y_extents);
    const int64_t channel = index / plane % channels;
    const int64_t image = index / plane / channels;
    double sum = 0;
    for (int64_t i = 0; i < problem.in_channels * taps; ++i) {
        const std::array<int64_t, 3> tap = indices_of(i % taps, window.taps);
        int64_t place =
            (image * problem.groups + channel / problem.out_channels) * problem.in_channels +
            i / taps;
        bool is_inside = true;
        for (size_t axis = 0; axis < 3; ++axis) {
            const int64_t position = at[axis] * window.stride[axis] +
                                     tap[axis] * window.dilation[axis] - window.pad_begin[axis];
            is_inside = is_inside && position >= 0 && position < window.x_extents[axis];
            place = place * window.x_extents[axis] + position;
        }
        sum += is_inside ? x[size_t(place)] * w[size_t(channel * problem.in_channels * taps + i)]
                         : 0.0;
    }
    return sum;
}

// 2 w x + bias, by matrices.
void expect_convolution(const std::shared_ptr<Device>& device,
                        DType dtype,
                        const ConvProblem& problem) {
    const auto made = VulkanRig::make_on(device);
    ASSERT_TRUE(made.ok()) << made.error().message();
    VulkanRig& rig = **made;
    const size_t channels = size_t{problem.groups} * problem.out_channels;
    const std::vector<double> x = small_integers(size_t(problem.x_elements()), 1);
    const std::vector<double> w = small_integers(size_t(problem.w_elements()), 2);
    const std::vector<double> bias = small_integers(channels, 3);
    const auto results = size_t(problem.y_elements());
    std::vector<PlacedOperand> places;
    places.reserve(4);
    for (const size_t count : {x.size(), w.size(), bias.size(), results}) {
        const int64_t bytes = *storage_bytes(dtype, int64_t(count));
        places.push_back({rig.add_buffer(bytes), 0, bytes});
    }
    rig.write(places[0].buffer, stored(dtype, x));
    rig.write(places[1].buffer, stored(dtype, w));
    rig.write(places[2].buffer, stored(dtype, bias));
    const std::vector<float> scale(channels, 2);
    ListWriter writer(rig.list(), emulating_limits(*device));
    writer.begin_node(std::span(places).first(3), std::span(places).last(1));
    const Status written = write_conv(
        problem, {dtype, input_ref(0), input_ref(1), input_ref(2), output_ref(0), scale}, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    ASSERT_EQ(writer.shaders().size(), 1U);
    EXPECT_EQ(writer.shaders()[0].name,
              fmt::format("conv_matrix_tile_{}_emulated", name_of(dtype)));
    rig.add_pipeline(writer.shaders()[0]);
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE(rig.run(**recording).ok());

    const auto plane = int64_t(results / channels / problem.batch);
    std::vector<double> wanted(results);
    for (size_t i = 0; i < results; ++i) {
        const size_t channel = i / size_t(plane) % channels;
        wanted[i] = 2 * sum_of(problem, x, w, int64_t(i)) + bias[channel];
    }
    const auto bytes = rig.read<std::byte>(places[3].buffer, size_t(places[3].size_bytes));
    EXPECT_EQ(loaded(dtype, bytes, results), loaded(dtype, stored(dtype, wanted), results));
}

// extents of x and y, taps, stride, dilation, padding before and after
constexpr Convolution kConvolutions[] = {
    // Lines of weights of whole eights; rows of y that are no whole units; two images.
    {{{1, 9, 11}, {1, 9, 11}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, 2, 1, 8, 40},
    // Groups, strides and dilation; lines of 45; more channels than a tile has.
    {{{1, 13, 20}, {1, 5, 9}, {1, 3, 3}, {1, 2, 2}, {1, 2, 1}, {0, 0, 0}, {0, 0, 0}}, 1, 2, 5, 136},
    // Three axes, and a kernel of one that does not read every position.
    {{{3, 5, 7}, {3, 4, 6}, {3, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}}, 1, 1, 3, 33},
    {{{1, 12, 15}, {1, 6, 8}, {1, 1, 1}, {1, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, 1, 1, 40, 33},
};

class ConvMatrixTile : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(ConvMatrixTile, GivesTheConvolution) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto [dtype, number] = GetParam();
    expect_convolution(device, dtype, problem_of(kConvolutions[number]));
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions,
    ConvMatrixTile,
    ::testing::Combine(::testing::Values(DType::kFloat16, DType::kBfloat16, DType::kFloat32),
                       ::testing::Range(0, int(std::size(kConvolutions)))),
    [](const auto& test) {
        return fmt::format("{}_{}", name_of(std::get<0>(test.param)), std::get<1>(test.param));
    });

// ---- Where they were measured ----

using testing::ChosenVariant;

// The shader of a product [40, 50] of depth 60 in f16, for which no device is needed.
std::string shader_by(const MeasuredVariants& measured) {
    KernelLimits limits;
    limits.f16_matrices = MatrixShape{16, 16, 16};
    limits.max_workgroup_invocations = 1024;
    limits.shared_memory_bytes = 49152;
    limits.measured = &measured;
    CommandList list;
    std::vector<PlacedOperand> places;
    places.reserve(3);
    for (const int64_t elements : {40 * 60, 60 * 50, 40 * 50}) {
        places.push_back({list.add_buffer(2 * elements), 0, 2 * elements});
    }
    ListWriter writer(list, limits);
    writer.begin_node(std::span(places).first(2), std::span(places).last(1));
    GemmProblem problem;
    problem.m = 40;
    problem.n = problem.b_k = 50;
    problem.k = problem.a_row = 60;
    const Status written = write_gemm(
        problem, {DType::kFloat16, input_ref(0), input_ref(1), {}, output_ref(0)}, writer);
    EXPECT_TRUE(written.ok()) << written.message();
    return writer.shaders()[0].name;
}

TEST(MeasuredMatrixTile, IsTakenUnlessItWasSlower) {
    const ChosenVariant matrices("gemm_matrix_tile_f16", kMatrices);
    EXPECT_EQ(shader_by(matrices), "gemm_matrix_tile_f16");
    EXPECT_EQ(matrices.asked(), (std::array<uint32_t, 3>{40, 50, 60}));
    EXPECT_EQ(shader_by(ChosenVariant("gemm_matrix_tile_f16", kNoMatrices)),
              "gemm_shared_tile_f16");
    EXPECT_EQ(shader_by(ChosenVariant("gemm_matrix_tile_bf16", kNoMatrices)),
              "gemm_matrix_tile_f16");
}

// ---- Bytes ----

using testing::random_tensor;

// Every element that the type has.
Tensor random_bytes(DType dtype, const Shape& shape, uint64_t seed) {
    const double low = dtype == DType::kInt8 ? -128 : 0;
    return random_tensor(dtype, shape, seed, low, low + 256);
}

// The node's sums by matrices of bytes, against the reference kernel: not one may differ.
void expect_sums(const std::shared_ptr<Device>& device,
                 const NodeData& node,
                 std::span<const Tensor> inputs,
                 std::string_view shader) {
    std::vector<TensorArg> args;
    std::vector<DType> types;
    std::vector<const Tensor*> operands;
    args.reserve(inputs.size());
    types.reserve(inputs.size());
    operands.reserve(inputs.size());
    for (const Tensor& input : inputs) {
        args.push_back(row_major_arg(input.dtype(), input.shape(), nullptr));
        types.push_back(input.dtype());
        operands.push_back(&input);
    }
    const Tensor want = testing::evaluated(node, operands);
    const DType sums = want.dtype();
    const KernelChoice choice = choose_kernel(node, {types, std::span(&sums, 1)});
    ASSERT_NE(choice.entry, nullptr) << choice.reason;
    KernelLimits limits = kernel_limits(device->info());
    limits.i8_matrices = MatrixShape{16, 16, 32, true};
    // The shader that is meant: others would give the same.
    CommandList list;
    std::vector<PlacedOperand> places;
    places.reserve(inputs.size() + 1);
    for (const Tensor& input : inputs) {
        places.push_back({list.add_buffer(input.byte_count()), 0, input.byte_count()});
    }
    places.push_back({list.add_buffer(want.byte_count()), 0, want.byte_count()});
    const TensorArg result = row_major_arg(sums, want.shape(), nullptr);
    const KernelNode kernel_node{node, args, std::span(&result, 1)};
    ListWriter writer(list, limits);
    writer.begin_node(std::span(places).first(inputs.size()), std::span(places).last(1));
    ASSERT_TRUE(choice.entry->write(kernel_node, writer).ok());
    EXPECT_EQ(writer.shaders()[0].name, shader);

    Tensor got = *Tensor::allocate(sums, want.shape());
    testing::run_in_one_dispatch(
        device, {limits}, inputs, std::span(&got, 1),
        [&](KernelWriter& own) { return choice.entry->write(kernel_node, own); });
    const auto found = got.data<int32_t>();
    const auto wanted = want.data<int32_t>();
    EXPECT_EQ(std::vector<int32_t>(found.begin(), found.end()),
              std::vector<int32_t>(wanted.begin(), wanted.end()));
}

class ByteTile : public ::testing::TestWithParam<std::tuple<DType, DType>> {};

TEST_P(ByteTile, GivesTheProduct) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto [a, b] = GetParam();
    const NodeData node = testing::node_of("MatMulInteger", 4);
    constexpr const char* kShader = "integer_product_tile_i8_emulated";
    // Zero points for each row and column, a broadcast batch, nothing whole.
    expect_sums(device, node,
                std::vector<Tensor>{random_bytes(a, {3, 133, 45}, 1), random_bytes(b, {45, 35}, 2),
                                    random_bytes(a, {3, 133, 1}, 3), random_bytes(b, {1, 35}, 4)},
                kShader);
    // One for all; lines of whole units.
    expect_sums(device, node,
                std::vector<Tensor>{random_bytes(a, {64, 48}, 5), random_bytes(b, {2, 48, 144}, 6),
                                    random_bytes(a, {}, 7), random_bytes(b, {}, 8)},
                kShader);
    expect_sums(device, testing::node_of("MatMulInteger", 2),
                std::vector<Tensor>{random_bytes(a, {64, 48}, 5), random_bytes(b, {2, 48, 144}, 6)},
                kShader);
}

TEST_P(ByteTile, GivesTheConvolution) {
    LEAT_DEVICE_OR_SKIP(device);
    const auto [x, w] = GetParam();
    constexpr const char* kShader = "integer_conv_tile_i8_emulated";
    // Padding counts as x's zero point; groups, strides, a zero point for each output channel.
    expect_sums(
        device,
        testing::node_of("ConvInteger", 4,
                         {{"group", int64_t{2}},
                          {"pads", std::vector<int64_t>{1, 2, 1, 0}},
                          {"strides", std::vector<int64_t>{1, 2}}}),
        std::vector<Tensor>{random_bytes(x, {2, 10, 9, 14}, 1), random_bytes(w, {66, 5, 3, 3}, 2),
                            random_bytes(x, {}, 3), random_bytes(w, {66}, 4)},
        kShader);
    expect_sums(
        device, testing::node_of("ConvInteger", 2, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}),
        std::vector<Tensor>{random_bytes(x, {1, 16, 7, 8}, 5), random_bytes(w, {33, 16, 3, 3}, 6)},
        kShader);
}

INSTANTIATE_TEST_SUITE_P(Types,
                         ByteTile,
                         ::testing::Combine(::testing::Values(DType::kInt8, DType::kUint8),
                                            ::testing::Values(DType::kInt8, DType::kUint8)),
                         [](const auto& test) {
                             return fmt::format("{}_{}", name_of(std::get<0>(test.param)),
                                                name_of(std::get<1>(test.param)));
                         });

}  // namespace
}  // namespace leat::vulkan
