// Tiles of cooperative matrices, with matrices that are emulated: everything but the device's own
// instructions, of which vulkan_matrix_test.cpp looks at the words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/kernel_pipeline.h"
#include "backends/vulkan/list_writer.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/gemm_vulkan.h"
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

}  // namespace
}  // namespace leat::vulkan
