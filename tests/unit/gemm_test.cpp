// Products, convolutions and their epilogues on the CPU kernels, over many odd shapes, against
// loops in double precision; and the promise that no bit depends on how work is cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/epilogue.h"
#include "memory/domains/weight_store.h"
#include "ops/conv/conv.h"

namespace leat {
namespace {

// A tensor in memory of exactly its size, so that the address sanitizer sees every access beyond
// it.
struct Operand {
    Operand(Shape tensor_shape, Strides tensor_strides, uint32_t seed)
        : shape(tensor_shape), strides(tensor_strides) {
        int64_t last = shape.element_count() == 0 ? -1 : 0;
        for (int axis = 0; axis < shape.rank() && last >= 0; ++axis) {
            last += (shape[axis] - 1) * strides[size_t(axis)];
        }
        elements = std::vector<float>(static_cast<size_t>(last + 1));
        std::minstd_rand random(seed);
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (float& x : elements) {
            x = uniform(random);
        }
    }
    Operand(Shape tensor_shape, uint32_t seed)
        : Operand(tensor_shape, row_major_strides(tensor_shape), seed) {}

    TensorArg arg() const {
        TensorArg result = row_major_arg(DType::kFloat32, shape, elements.data());
        result.strides = strides;
        return result;
    }

    Shape shape;
    Strides strides;
    std::vector<float> elements;
    bool constant = false;
};

Operand constant(Operand operand) {
    operand.constant = true;
    return operand;
}

NodeData make_node(std::string_view op_type, Attributes attributes = {}) {
    NodeData node;
    node.name = "test";
    node.op_type = std::string(op_type);
    node.def = find_op("", op_type);
    node.attributes = std::move(attributes);
    return node;
}

EpilogueStep step(std::string_view op_type, int operand_input = -1, Attributes attributes = {}) {
    EpilogueStep result;
    result.op = find_op("", op_type);
    result.operand_input = operand_input;
    result.attributes = std::move(attributes);
    return result;
}

// Runs the first kernel that covers the node: its tiles together, then one by one from the last.
// Results must be equal bit by bit. Elements of y that are not part of the result must not change.
void run(const NodeData& node, const std::vector<Operand>& inputs, Operand& y) {
    std::vector<TensorArg> args;
    std::vector<Tensor> tensors(inputs.size());
    std::vector<const Tensor*> constants;
    for (size_t i = 0; i < inputs.size(); ++i) {
        args.push_back(inputs[i].arg());
        tensors[i] =
            Tensor::view(DType::kFloat32, inputs[i].shape, inputs[i].elements.data(), nullptr);
        constants.push_back(inputs[i].constant ? &tensors[i] : nullptr);
    }
    const TensorArg output = y.arg();
    WeightStore store;
    const PlacedWeights weights(store);
    cpu::PrepareContext context{node, args, {&output, 1}, constants, weights};
    std::unique_ptr<cpu::CpuKernel> kernel;
    for (const auto& table : cpu::all_cpu_kernels()) {
        for (const cpu::CpuKernelEntry& entry : table) {
            if (kernel == nullptr && entry.op_type == node.op_type) {
                auto made = entry.make(context);
                ASSERT_TRUE(made.ok()) << made.error().message();
                kernel = std::move(made).value();
            }
        }
    }
    ASSERT_NE(kernel, nullptr);
    std::vector<std::byte> scratch(size_t(kernel->scratch_bytes) + 64);
    const size_t past = reinterpret_cast<uintptr_t>(scratch.data()) % 64;
    const cpu::KernelArgs call{args, {&output, 1}, scratch.data() + (64 - past) % 64};
    const std::vector<float> before = y.elements;
    ASSERT_TRUE(kernel->run(call, 0, kernel->tile_count).ok());
    const std::vector<float> together = y.elements;
    y.elements.assign(before.begin(), before.end());
    for (int64_t tile = kernel->tile_count; tile-- > 0;) {
        ASSERT_TRUE(kernel->run(call, tile, tile + 1).ok());
    }
    ASSERT_TRUE(together.empty() || std::memcmp(together.data(), y.elements.data(),
                                                together.size() * sizeof(float)) == 0)
        << "tiles change bits";
}

void expect_near(const std::vector<float>& got,
                 const std::vector<double>& want,
                 const std::string& what) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-4 + 1e-5 * std::fabs(want[i])) << what << ", element " << i;
    }
}

std::vector<double> product(
    const Operand& a, const Operand& b, int64_t m, int64_t n, int64_t k, Strides b_strides) {
    std::vector<double> y;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
                sum += double(a.elements[size_t(i * k + l)]) *
                       b.elements[size_t(l * b_strides[0] + j * b_strides[1])];
            }
            y.push_back(sum);
        }
    }
    return y;
}

TEST(Gemm, MultipliesOddShapes) {
    std::minstd_rand random(1);
    for (int round = 0; round < 150; ++round) {
        const int64_t m = 1 + int64_t(random() % (round % 2 == 0 ? 70 : 8));
        const int64_t n = 1 + int64_t(random() % 70);
        const int64_t k = 1 + int64_t(random() % 70);
        const Operand a(Shape{m, k}, 2);
        const Operand b(Shape{k, n}, 3);
        const std::vector<double> want = product(a, b, m, n, k, {n, 1});
        for (const bool weights : {false, true}) {
            Operand y(Shape{m, n}, 4);
            run(make_node("MatMul"), {a, weights ? constant(b) : b}, y);
            expect_near(y.elements, want, fmt::format("{}x{}x{} weights={}", m, n, k, weights));
        }
    }
}

TEST(Gemm, MultipliesLongAndWideShapes) {
    const int64_t shapes[][3] = {
        {1, 300, 700}, {3, 200, 1000}, {40, 33, 1025}, {200, 70, 512}, {150, 500, 260}};
    for (const auto& [m, n, k] : shapes) {
        const Operand a(Shape{m, k}, 2);
        const Operand b(Shape{k, n}, 3);
        for (const bool weights : {false, true}) {
            Operand y(Shape{m, n}, 4);
            run(make_node("MatMul"), {a, weights ? constant(b) : b}, y);
            expect_near(y.elements, product(a, b, m, n, k, {n, 1}),
                        fmt::format("{}x{}x{} weights={}", m, n, k, weights));
        }
    }
}

TEST(Gemm, TransposedOperands) {
    for (const bool weights : {false, true}) {
        for (const int64_t m : {1, 5, 37}) {
            const int64_t n = 45;
            const int64_t k = 29;
            const Operand a(Shape{m, k}, 2);
            Operand a_transposed(Shape{k, m}, 2);
            for (int64_t i = 0; i < m * k; ++i) {
                a_transposed.elements[size_t(i % k * m + i / k)] = a.elements[size_t(i)];
            }
            const Operand b(Shape{n, k}, 3);
            Operand y(Shape{m, n}, 4);
            run(make_node("Gemm",
                          {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 0.5F}}),
                {a_transposed, weights ? constant(b) : b}, y);
            std::vector<double> want = product(a, b, m, n, k, {1, k});
            for (double& x : want) {
                x *= 0.5;
            }
            expect_near(y.elements, want, fmt::format("m={} weights={}", m, weights));
        }
    }
}

// A request for one row and one for many give the same bits for that row.
TEST(Gemm, BitsOfARowDoNotDependOnOtherRows) {
    const int64_t k = 700;
    const int64_t n = 100;
    const Operand all(Shape{64, k}, 2);
    const Operand b = constant(Operand(Shape{k, n}, 3));
    Operand y(Shape{64, n}, 4);
    run(make_node("MatMul"), {all, b}, y);
    for (const int64_t row : {0, 17, 63}) {
        Operand one(Shape{1, k}, 5);
        std::copy_n(all.elements.begin() + row * k, k, one.elements.begin());
        Operand result(Shape{1, n}, 6);
        run(make_node("MatMul"), {one, b}, result);
        EXPECT_TRUE(std::equal(result.elements.begin(), result.elements.end(),
                               y.elements.begin() + row * n));
    }
}

// The same vector as the first of two columns takes the kernel of matrices.
TEST(VectorProduct, HasTheBitsOfAColumn) {
    std::minstd_rand random(1);
    for (int round = 0; round < 120; ++round) {
        const int64_t m = 1 + int64_t(random() % (round % 3 == 0 ? 300 : 40));
        const int64_t k = 1 + int64_t(random() % (round % 5 == 0 ? 900 : 40));
        const Operand a(Shape{m, k}, 2);
        Operand transposed(Shape{k, m}, 2);
        for (int64_t i = 0; i < m * k; ++i) {
            transposed.elements[size_t(i % k * m + i / k)] = a.elements[size_t(i)];
        }
        const Operand x(Shape{k, 1}, 3);
        Operand columns(Shape{k, 2}, 4);
        for (int64_t i = 0; i < k; ++i) {
            columns.elements[size_t(2 * i)] = x.elements[size_t(i)];
        }
        Operand wide(Shape{m, 2}, 5);
        run(make_node("MatMul"), {a, columns}, wide);
        std::vector<float> want;
        for (int64_t i = 0; i < m; ++i) {
            want.push_back(wide.elements[size_t(2 * i)]);
        }
        const std::string what = fmt::format("{}x{}", m, k);
        expect_near(want, product(a, x, m, 1, k, {1, 1}), what);
        Operand y(Shape{m, 1}, 6);
        run(make_node("MatMul"), {a, x}, y);
        EXPECT_EQ(y.elements, want) << what;
        y.elements.assign(y.elements.size(), 0);
        run(make_node("Gemm", {{"transA", int64_t{1}}}), {transposed, constant(x)}, y);
        EXPECT_EQ(y.elements, want) << what << ", transposed";
        Operand row(Shape{1, m}, 7);
        Operand x_row(Shape{1, k}, 3);
        run(make_node("Gemm", {{"transB", int64_t{1}}}), {x_row, a}, row);
        EXPECT_EQ(row.elements, want) << what << ", as a row";
    }
}

// Each matrix has a vector of its own, or both share one; results lie apart from each other.
TEST(VectorProduct, OfSeveralMatrices) {
    const int64_t m = 21;
    const int64_t k = 10;
    const Operand a(Shape{3, m, k}, 2);
    for (const int64_t vectors : {1, 3}) {
        const Operand x(Shape{vectors, k, 1}, 3);
        Operand y(Shape{3, m, 1}, Strides{2 * m + 1, 2, 1}, 4);
        const std::vector<float> before = y.elements;
        run(make_node("MatMul"), {a, x}, y);
        for (int64_t i = 0; i < 3 * m; ++i) {
            double sum = 0;
            for (int64_t l = 0; l < k; ++l) {
                sum += double(a.elements[size_t(i * k + l)]) *
                       x.elements[size_t(i / m % vectors * k + l)];
            }
            const int64_t at = i / m * (2 * m + 1) + i % m * 2;
            ASSERT_NEAR(y.elements[size_t(at)], sum, 1e-5) << "element " << i;
            ASSERT_TRUE(at + 1 >= int64_t(before.size()) ||
                        y.elements[size_t(at + 1)] == before[size_t(at + 1)]);
        }
    }
}

// As AppliesStepsInOrder has it, where rows are what a vector of results goes through.
TEST(VectorProduct, AppliesStepsInOrder) {
    for (const int64_t m : {5, 40, 300}) {
        const int64_t k = 12;
        const Operand a(Shape{2, m, k}, 2);
        const Operand x(Shape{k}, 3);
        const Operand bias = constant(Operand(Shape{m}, 4));
        const Operand residual(Shape{2, m}, 5);
        const Operand scale(Shape{2, 1}, 6);
        const Operand by_row(Shape{1, m}, 7);
        const Operand one = constant(Operand(Shape{1}, 9));
        NodeData node = make_node("MatMul");
        node.own_input_count = 2;
        node.epilogue = {step("Add", 2), step("Add", 3),
                         step("Relu"),   step("Mul", 4),
                         step("Sub", 5), step("Tanh"),
                         step("Add", 6), step("Clip", -1, {{"min", -0.5F}, {"max", 0.75F}})};
        node.epilogue[4].result_is_rhs = true;
        Operand y(Shape{2, m}, 8);
        run(node, {a, x, bias, residual, scale, by_row, one}, y);
        std::vector<double> want = product(a, x, 2 * m, 1, k, {1, 1});
        for (int64_t i = 0; i < 2 * m; ++i) {
            double& sum = want[size_t(i)];
            sum = std::max(sum + bias.elements[size_t(i % m)] + residual.elements[size_t(i)], 0.0);
            sum = by_row.elements[size_t(i % m)] - sum * scale.elements[size_t(i / m)];
            sum = std::clamp(std::tanh(sum) + one.elements[0], -0.5, 0.75);
        }
        expect_near(y.elements, want, fmt::format("m={}", m));
    }
}

// Bias, scale by column, residual, an operand by row, a function, and bounds, in an order that only
// partly fits the registers.
TEST(Epilogue, AppliesStepsInOrder) {
    for (const int64_t n : {16, 35}) {
        const int64_t m = 20;
        const int64_t k = 12;
        const Operand a(Shape{m, k}, 2);
        const Operand b = constant(Operand(Shape{k, n}, 3));
        const Operand bias = constant(Operand(Shape{n}, 4));
        const Operand residual(Shape{m, n}, 5);
        const Operand scale(Shape{1, n}, 6);
        const Operand by_row(Shape{m, 1}, 7);
        NodeData node = make_node("MatMul");
        node.own_input_count = 2;
        node.epilogue = {step("Add", 2),
                         step("Add", 3),
                         step("Relu"),
                         step("Mul", 4),
                         step("Sub", 5),
                         step("Tanh"),
                         step("Clip", -1, {{"min", -0.5F}, {"max", 0.25F}})};
        node.epilogue[4].result_is_rhs = true;
        Operand y(Shape{m, n}, 8);
        run(node, {a, b, bias, residual, scale, by_row}, y);
        std::vector<double> want = product(a, b, m, n, k, {n, 1});
        for (int64_t i = 0; i < m * n; ++i) {
            double& x = want[size_t(i)];
            x = std::max(x + bias.elements[size_t(i % n)] + residual.elements[size_t(i)], 0.0);
            x = by_row.elements[size_t(i / n)] - x * scale.elements[size_t(i % n)];
            x = std::clamp(std::tanh(x), -0.5, 0.25);
        }
        expect_near(y.elements, want, fmt::format("n={}", n));
    }
}

TEST(Epilogue, ResidualAndBoundsInRegisters) {
    for (const int64_t n : {16, 48, 53}) {
        const int64_t m = 31;
        const int64_t k = 300;
        const Operand a(Shape{m, k}, 2);
        const Operand b = constant(Operand(Shape{k, n}, 3));
        const Operand residual(Shape{m, n}, 5);
        NodeData node = make_node("MatMul");
        node.own_input_count = 2;
        node.epilogue = {step("Add", 2), step("Clip", -1, {{"min", -1.0F}, {"max", 1.0F}})};
        Operand y(Shape{m, n}, 8);
        run(node, {a, b, residual}, y);
        std::vector<double> want = product(a, b, m, n, k, {n, 1});
        for (size_t i = 0; i < want.size(); ++i) {
            want[i] = std::clamp(want[i] + residual.elements[i], -1.0, 1.0);
        }
        expect_near(y.elements, want, fmt::format("n={}", n));
    }
}

// The same elements in another order in memory.
Operand in_layout(const Operand& operand, Layout layout) {
    Operand result(operand.shape, strides_of(layout, operand.shape), 1);
    const int rank = operand.shape.rank();
    for (int64_t i = 0; i < operand.shape.element_count(); ++i) {
        int64_t from = 0;
        int64_t to = 0;
        int64_t left = i;
        for (int axis = rank; axis-- > 0;) {
            const int64_t at = left % operand.shape[axis];
            left /= operand.shape[axis];
            from += at * operand.strides[size_t(axis)];
            to += at * result.strides[size_t(axis)];
        }
        result.elements[size_t(to)] = operand.elements[size_t(from)];
    }
    return result;
}

struct MatMulShapes {
    Shape a;
    Shape b;
    Shape y;
};

// Of random extents; operands broadcast, or lack the axis of rows.
MatMulShapes random_product(std::minstd_rand& random) {
    const auto pick = [&](std::initializer_list<int64_t> of) {
        return of.begin()[random() % of.size()];
    };
    const int64_t m = pick({1, 1, 1, 2, 5, 7, 15, 40});
    const int64_t n = pick({1, 2, 3, 4, 15, 16, 31, 53, 64, 130, 600});
    const int64_t k = pick({1, 2, 3, 4, 5, 7, 8, 30, 64});
    const int64_t heads = pick({1, 2, 3});
    switch (random() % 5) {
        case 0:
            return {{k}, {heads, k, n}, {heads, n}};
        case 1:
            return {{2, heads, m, k}, {k, n}, {2, heads, m, n}};
        case 2:
            return {{2, 1, m, k}, {heads, k, n}, {2, heads, m, n}};
        case 3:
            return {{m, k}, {heads, k, n}, {heads, m, n}};
        default:
            return {{heads, m, k}, {heads, k, n}, {heads, m, n}};
    }
}

TEST(MatMul, ReadsATransposedMatrixAsItIs) {
    std::minstd_rand random(5);
    for (int round = 0; round < 400; ++round) {
        const MatMulShapes shapes = random_product(random);
        const Operand a(shapes.a, 2);
        const Operand b(shapes.b, 3);
        NodeData node = make_node("MatMul");
        std::vector<Operand> inputs = {a, b};
        if (round % 3 == 0) {
            node.own_input_count = 2;
            node.epilogue = {step("Add", 2), step("Tanh")};
            inputs.emplace_back(shapes.y, 4);
        }
        Operand want(shapes.y, 5);
        run(node, inputs, want);
        inputs[1] = in_layout(b, Layout::kTransposed);
        Operand y(shapes.y, 6);
        run(node, inputs, y);
        // Sums have one order, however the matrix lies.
        EXPECT_EQ(y.elements, want.elements)
            << shapes.a.to_string() << " times " << shapes.b.to_string() << ", round " << round;
    }
}

TEST(Gemm, PacksTransposedMatricesOfManyRows) {
    for (const int64_t n : {2, 12, 16, 31, 32, 65, 200}) {
        for (const int64_t k : {1, 3, 4, 6, 33}) {
            const Operand a(Shape{20, k}, 2);
            const Operand b(Shape{n, k}, 3);
            Operand y(Shape{20, n}, 5);
            run(make_node("Gemm", {{"transB", int64_t{1}}}), {a, b}, y);
            expect_near(y.elements, product(a, b, 20, n, k, {1, k}), fmt::format("{} {}", n, k));
        }
    }
}

TEST(Epilogue, NanPassesBounds) {
    Operand a(Shape{7, 3}, 2);
    a.elements[4] = std::nanf("");
    NodeData node = make_node("MatMul");
    node.own_input_count = 2;
    node.epilogue = {step("Relu")};
    Operand y(Shape{7, 16}, 4);
    run(node, {a, constant(Operand(Shape{3, 16}, 3))}, y);
    EXPECT_TRUE(std::isnan(y.elements[16]));
    EXPECT_FALSE(std::isnan(y.elements[0]));
}

struct ConvCase {
    Shape x;
    Shape w;
    Attributes attributes;
    bool channels_last;
};

// Output extents of a convolution without auto_pad.
Shape conv_result(const ConvCase& c) {
    const NodeData node = make_node("Conv", c.attributes);
    const auto window = Window::from_node(node, c.w.extents().subspan(2)).value();
    Shape y{c.x[0], c.w[0]};
    for (int axis = 0; axis < window.rank; ++axis) {
        y.append(window.output_extent(axis, c.x[axis + 2]));
    }
    return y;
}

void check_conv(const ConvCase& c, const std::string& what) {
    const Shape result = conv_result(c);
    const auto strides = [&](const Shape& shape) {
        return c.channels_last ? channels_last_strides(shape) : row_major_strides(shape);
    };
    const Operand x(c.x, strides(c.x), 2);
    const Operand w = constant(Operand(c.w, 3));
    const Operand bias = constant(Operand(Shape{c.w[0]}, 4));
    Operand y(result, strides(result), 5);
    NodeData node = make_node("Conv", c.attributes);
    run(node, {x, w, bias}, y);

    Operand plain_x(c.x, 2);
    Operand plain_y(result, 6);
    const int64_t pixels = c.x.element_count(2, c.x.rank());
    for (int64_t i = 0; i < c.x.element_count() && c.channels_last; ++i) {
        const int64_t pixel = i % pixels;
        const int64_t channel = i / pixels % c.x[1];
        plain_x.elements[size_t(i)] =
            x.elements[size_t(((i / pixels / c.x[1]) * pixels + pixel) * c.x[1] + channel)];
    }
    const TensorArg inputs[] = {plain_x.arg(), w.arg(), bias.arg()};
    const TensorArg output = plain_y.arg();
    ASSERT_TRUE(node.def->reference({node, inputs, {&output, 1}}).ok());
    const int64_t y_pixels = result.element_count(2, result.rank());
    for (int64_t i = 0; i < result.element_count(); ++i) {
        int64_t at = i;
        if (c.channels_last) {
            at = ((i / y_pixels / result[1]) * y_pixels + i % y_pixels) * result[1] +
                 i / y_pixels % result[1];
        }
        ASSERT_NEAR(y.elements[size_t(at)], plain_y.elements[size_t(i)], 1e-4)
            << what << ", element " << i;
    }
}

TEST(Conv, MatchesLoopsOverManyGeometries) {
    std::minstd_rand random(7);
    const auto pick = [&](int64_t low, int64_t high) {
        return low + int64_t(random() % uint64_t(high - low + 1));
    };
    using Ints = std::vector<int64_t>;
    int done = 0;
    while (done < 150) {
        const int64_t groups = pick(0, 2) == 0 ? pick(1, 5) : 1;
        const bool depthwise = pick(0, 3) == 0;
        const int64_t channels = depthwise ? pick(2, 40) : groups * pick(1, 40 / groups);
        const int64_t outputs = depthwise ? channels : groups * pick(1, 40 / groups);
        ConvCase c{{pick(1, 2), channels, pick(1, 14), pick(1, 20)},
                   {outputs, depthwise ? 1 : channels / groups, pick(1, 5), pick(1, 7)},
                   {{"group", depthwise ? channels : groups},
                    {"strides", Ints{pick(1, 3), pick(1, 3)}},
                    {"dilations", Ints{pick(1, 2), pick(1, 2)}},
                    {"pads", Ints{pick(0, 3), pick(0, 3), pick(0, 3), pick(0, 3)}}},
                   pick(0, 2) != 0};
        const Shape y = conv_result(c);
        if (y[2] < 1 || y[3] < 1) {
            continue;
        }
        ++done;
        check_conv(
            c, fmt::format("case {}: x {} w {} group {} channels_last {}", done, c.x.to_string(),
                           c.w.to_string(), depthwise ? channels : groups, c.channels_last));
    }
}

TEST(Conv, OneAndThreeSpatialAxes) {
    using Ints = std::vector<int64_t>;
    for (const bool channels_last : {false, true}) {
        for (const int64_t channels : {3, 20}) {
            check_conv({{2, channels, 40},
                        {18, channels, 5},
                        {{"pads", Ints{2, 1}}, {"strides", Ints{2}}},
                        channels_last},
                       "1d");
            check_conv({{1, channels, 5, 6, 7},
                        {9, channels, 3, 2, 3},
                        {{"pads", Ints{1, 0, 1, 1, 1, 1}}},
                        channels_last},
                       "3d");
            check_conv({{1, channels, 5, 6, 7},
                        {channels, 1, 3, 3, 3},
                        {{"group", channels}, {"pads", Ints{1, 1, 1, 1, 1, 1}}},
                        channels_last},
                       "3d depthwise");
        }
    }
}

// Several images, so that blocks end inside of them, and enough rows for several blocks.
TEST(Conv, ManyPaddedRows) {
    using Ints = std::vector<int64_t>;
    check_conv({{3, 17, 15, 14}, {33, 17, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true},
               "sorted rows");
    check_conv({{1, 16, 131, 130}, {5, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true},
               "rows in order");
}

// As for a concatenation in place: pixels of y are further apart than its channels.
TEST(Conv, StridedDestination) {
    for (const int64_t groups : {1, 24}) {
        for (const bool residual : {false, true}) {
            const Shape result{1, 24, 6, 5};
            constexpr int64_t kPixel = 40;
            constexpr int64_t kRow = 5 * kPixel;
            const Strides wide{6 * kRow, 1, kRow, kPixel};
            const Operand x(Shape{1, 24, 6, 5}, channels_last_strides(Shape{1, 24, 6, 5}), 2);
            const Operand w = constant(Operand(Shape{24, 24 / groups, 3, 3}, 3));
            const Operand other(result, channels_last_strides(result), 9);
            NodeData node =
                make_node("Conv", {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"group", groups}});
            node.own_input_count = 2;
            std::vector<Operand> inputs = {x, w};
            if (residual) {
                inputs.push_back(other);
                node.epilogue = {step("Add", 2), step("HardSwish"), step("Relu")};
            }
            Operand dense(result, channels_last_strides(result), 4);
            Operand y(result, wide, 5);
            const std::vector<float> before = y.elements;
            run(node, inputs, dense);
            run(node, inputs, y);
            for (int64_t i = 0; i < int64_t(y.elements.size()); ++i) {
                const int64_t channel = i % 40;
                const float want = channel < 24 ? dense.elements[size_t(i / 40 * 24 + channel)]
                                                : before[size_t(i)];
                ASSERT_EQ(y.elements[size_t(i)], want) << "element " << i;
            }
        }
    }
}

}  // namespace
}  // namespace leat
