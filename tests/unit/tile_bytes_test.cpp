// What kernels say of the bytes that their tiles read and write is true: with noise in all other
// bytes of the inputs a tile gives the same results, and it writes nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "base/parts.h"
#include "base/split_mix.h"
#include "memory/weight_store.h"

namespace leat {
namespace {

struct Operand {
    Shape shape;
    bool is_constant = false;
    bool is_channels_last = false;
};

struct OpCase {
    std::string name;
    std::string op;
    std::vector<Operand> inputs;
    Operand output;
    Attributes attributes;
    // Some tiles do without some bytes of input 0, and write only some bytes.
    bool reads_parts = true;
    bool writes_parts = true;
};

constexpr float kUnwritten = -1234.5F;

class Buffer {
  public:
    Buffer(const Operand& operand, uint64_t seed)
        : values(size_t(operand.shape.element_count())),
          arg_(row_major_arg(DType::kFloat32, operand.shape, nullptr)) {
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = float(mixed(seed * 1000003 + i) >> 40) * 0x1p-24F - 0.25F;
        }
        if (operand.is_channels_last) {
            arg_.strides = channels_last_strides(operand.shape);
        }
    }
    TensorArg arg() {
        TensorArg arg = arg_;
        arg.data = reinterpret_cast<std::byte*>(values.data());
        return arg;
    }
    // The element is in the bytes.
    static bool is_in(size_t element, const ByteRange& bytes) {
        const auto begin = int64_t(element * sizeof(float));
        return bytes.begin < begin + int64_t{sizeof(float)} && begin < bytes.end;
    }
    // Those outside the bytes become numbers that no result should know of.
    void spoil_outside(const ByteRange& bytes) {
        for (size_t i = 0; i < values.size(); ++i) {
            values[i] = is_in(i, bytes) ? values[i] : 1e30F;
        }
    }

    std::vector<float> values;

  private:
    TensorArg arg_;
};

class PreparedKernel {
  public:
    explicit PreparedKernel(const OpCase& op) : output_(op.output, 99) {
        node_.op_type = op.op;
        node_.def = find_op("", op.op);
        node_.attributes = op.attributes;
        std::vector<TensorArg> args;
        std::vector<const Tensor*> constants;
        tensors_.reserve(op.inputs.size());
        for (const Operand& operand : op.inputs) {
            node_.inputs.push_back({int32_t(inputs_.size())});
            Buffer& buffer = inputs_.emplace_back(operand, inputs_.size());
            args.push_back(buffer.arg());
            constants.push_back(nullptr);
            if (operand.is_constant) {
                tensors_.push_back(*Tensor::from<float>(operand.shape, buffer.values));
                constants.back() = &tensors_.back();
            } else {
                args.back().data = nullptr;
            }
        }
        node_.outputs.push_back({int32_t(inputs_.size())});
        const TensorArg output = output_.arg();
        PrepareContext context{node_, args, {&output, 1}, constants, PlacedWeights(weights_)};
        Result<std::unique_ptr<HostKernel>> made = (*find_backend("cpu"))->prepare(context);
        EXPECT_TRUE(made.ok()) << made.error().message();
        kernel = std::move(made).value();
        scratch_.resize(size_t(kernel->scratch_bytes) + 64);
    }

    // The output of some tiles, where all inputs but the constants have noise outside the bytes.
    std::vector<float> run(int64_t begin, int64_t end, const std::vector<ByteRange>& read) {
        std::vector<Buffer> inputs = inputs_;
        std::vector<TensorArg> args;
        for (size_t i = 0; i < inputs.size(); ++i) {
            inputs[i].spoil_outside(read[i]);
            args.push_back(inputs[i].arg());
        }
        std::fill(output_.values.begin(), output_.values.end(), kUnwritten);
        const TensorArg output = output_.arg();
        const auto address = reinterpret_cast<uintptr_t>(scratch_.data());
        std::byte* aligned = scratch_.data() + (64 - address % 64) % 64;
        const Status status = kernel->run({args, {&output, 1}, aligned}, begin, end);
        EXPECT_TRUE(status.ok()) << status.message();
        return output_.values;
    }
    std::vector<ByteRange> bytes_read(int64_t begin, int64_t end) const {
        std::vector<ByteRange> read;
        for (size_t i = 0; i < inputs_.size(); ++i) {
            read.push_back(kernel->bytes_read(i, begin, end));
        }
        return read;
    }
    int64_t input_bytes() const { return int64_t(inputs_[0].values.size() * sizeof(float)); }
    int64_t output_bytes() const { return int64_t(output_.values.size() * sizeof(float)); }

    // The packed copy of the only large constant.
    std::span<float> packed() const {
        const auto slabs = weights_.slabs();
        EXPECT_EQ(slabs.size(), 1U);
        return {reinterpret_cast<float*>(slabs.front()->data()),
                size_t(slabs.front()->size_bytes()) / sizeof(float)};
    }

    std::unique_ptr<HostKernel> kernel;

  private:
    NodeData node_;
    std::vector<Buffer> inputs_;
    std::vector<Tensor> tensors_;
    Buffer output_;
    WeightStore weights_;
    std::vector<std::byte> scratch_;
};

std::vector<int64_t> ints(std::initializer_list<int64_t> values) {
    return values;
}

Attributes window(int64_t kernel, int64_t stride, int64_t pad) {
    return {{"kernel_shape", ints({kernel, kernel})},
            {"strides", ints({stride, stride})},
            {"pads", ints({pad, pad, pad, pad})}};
}

Attributes grouped(Attributes attributes, int64_t groups) {
    attributes["group"] = groups;
    return attributes;
}

std::vector<OpCase> windowed_cases() {
    const Operand image{{1, 64, 56, 56}, false, true};
    const Operand large{{1, 64, 112, 112}, false, true};
    const Operand images{{3, 32, 28, 30}, false, true};
    return {
        {"conv_1x1", "Conv", {image, {{64, 64, 1, 1}, true}}, image, window(1, 1, 0)},
        {"conv_1x1_columns",
         "Conv",
         {image, {{512, 64, 1, 1}, true}},
         {{1, 512, 56, 56}, false, true},
         window(1, 1, 0)},
        {"conv_1x1_stride",
         "Conv",
         {image, {{256, 64, 1, 1}, true}},
         {{1, 256, 28, 28}, false, true},
         window(1, 2, 0)},
        {"conv_3x3_padded", "Conv", {image, {{64, 64, 3, 3}, true}}, image, window(3, 1, 1)},
        {"conv_3x3",
         "Conv",
         {image, {{64, 64, 3, 3}, true}},
         {{1, 64, 54, 54}, false, true},
         window(3, 1, 0)},
        {"conv_batch",
         "Conv",
         {images, {{64, 32, 3, 3}, true}},
         {{3, 64, 14, 15}, false, true},
         window(3, 2, 1)},
        {"conv_row_major",
         "Conv",
         {{{1, 64, 56, 56}}, {{64, 64, 1, 1}, true}},
         {{1, 64, 56, 56}},
         window(1, 1, 0),
         false,
         false},
        {"conv_stem",
         "Conv",
         {{{2, 3, 64, 64}, false, true}, {{64, 3, 7, 7}, true}},
         {{2, 64, 32, 32}, false, true},
         window(7, 2, 3)},
        {"conv_groups",
         "Conv",
         {images, {{64, 8, 3, 3}, true}},
         {{3, 64, 28, 30}, false, true},
         grouped(window(3, 1, 1), 4)},
        {"depthwise",
         "Conv",
         {large, {{64, 1, 3, 3}, true}},
         {{1, 64, 56, 56}, false, true},
         grouped(window(3, 2, 1), 64)},
        {"depthwise_batch",
         "Conv",
         {images, {{32, 1, 5, 5}, true}},
         {{3, 32, 28, 30}, false, true},
         grouped(window(5, 1, 2), 32)},
        {"max_pool", "MaxPool", {large}, {{1, 64, 56, 56}, false, true}, window(3, 2, 1)},
        {"average_pool_row_major",
         "AveragePool",
         {{{1, 64, 112, 112}}},
         {{1, 64, 56, 56}},
         window(2, 2, 0)},
    };
}

std::vector<OpCase> other_cases() {
    const Operand image{{1, 64, 56, 56}, false, true};
    const Operand rows{{4, 64, 96}};
    return {
        {"matmul", "MatMul", {rows, {{96, 512}, true}}, {{4, 64, 512}}, {}},
        {"matmul_batched", "MatMul", {{{8, 64, 96}}, {{8, 96, 64}}}, {{8, 64, 64}}, {}},
        {"gemm_transposed",
         "Gemm",
         {{{256, 128}}, {{512, 128}, true}, {{512}, true}},
         {{256, 512}},
         {{"transB", int64_t{1}}}},
        {"gemm_left_transposed",
         "Gemm",
         {{{128, 256}}, {{128, 512}, true}},
         {{256, 512}},
         {{"transA", int64_t{1}}}},
        {"softmax", "Softmax", {{{64, 16, 256}}}, {{64, 16, 256}}, {}},
        {"layer_normalization",
         "LayerNormalization",
         {{{2048, 256}}, {{256}, true}, {{256}, true}},
         {{2048, 256}},
         {}},
        {"batch_normalization",
         "BatchNormalization",
         {{{2, 64, 112, 112}, false, true}, {{64}, true}, {{64}, true}, {{64}, true}, {{64}, true}},
         {{2, 64, 112, 112}, false, true},
         {}},
        {"unary", "Sigmoid", {image}, image, {}},
        {"binary", "Add", {image, image}, image, {}},
        {"binary_broadcast", "Mul", {rows, {{96}}}, rows, {}},
        {"binary_layouts", "Add", {{{1, 64, 56, 56}}, image}, image, {}, false},
        {"transpose",
         "Transpose",
         {{{256, 512}}},
         {{512, 256}},
         {{"perm", ints({1, 0})}},
         false,
         false},
    };
}

class TileBytes : public ::testing::TestWithParam<OpCase> {};

// A range of tiles in the first column, against what the whole operator gives.
void check_tiles(PreparedKernel& prepared,
                 const std::vector<float>& expected,
                 int64_t begin,
                 int64_t end) {
    const HostKernel& kernel = *prepared.kernel;
    const std::vector<ByteRange> read = prepared.bytes_read(begin, end);
    const ByteRange written = kernel.bytes_written(begin, end);
    const int64_t column_tiles = kernel.column_tiles();
    for (int64_t first = 0; first < kernel.tile_count; first += column_tiles) {
        const std::vector<float> output = prepared.run(first + begin, first + end, read);
        for (size_t i = 0; i < output.size(); ++i) {
            if (output[i] == kUnwritten) {
                continue;
            }
            ASSERT_TRUE(Buffer::is_in(i, written))
                << "element " << i << " of tiles [" << first + begin << ", " << first + end << ")";
            ASSERT_EQ(std::bit_cast<uint32_t>(output[i]), std::bit_cast<uint32_t>(expected[i]))
                << "element " << i << " of tiles [" << first + begin << ", " << first + end << ")";
        }
    }
}

TEST_P(TileBytes, NoneButThoseAreUsed) {
    const OpCase& op = GetParam();
    PreparedKernel prepared(op);
    const HostKernel& kernel = *prepared.kernel;
    const int64_t column_tiles = kernel.column_tiles();
    ASSERT_GT(column_tiles, 1);
    ASSERT_EQ(kernel.tile_count % kernel.tile_columns, 0);
    const std::vector<ByteRange> everything(op.inputs.size(), kAllBytes);
    const std::vector<float> expected = prepared.run(0, kernel.tile_count, everything);
    bool reads_parts = false;
    bool writes_parts = false;
    for (int64_t tile = 0; tile < column_tiles; ++tile) {
        const ByteRange read = kernel.bytes_read(0, tile, tile + 1);
        const ByteRange written = kernel.bytes_written(tile, tile + 1);
        reads_parts |= read.begin > 0 || read.end < prepared.input_bytes();
        writes_parts |= written.begin > 0 || written.end < prepared.output_bytes();
        check_tiles(prepared, expected, tile, tile + 1);
    }
    check_tiles(prepared, expected, 0, column_tiles / 2);
    check_tiles(prepared, expected, column_tiles / 3, column_tiles);
    EXPECT_EQ(reads_parts, op.reads_parts);
    EXPECT_EQ(writes_parts, op.writes_parts);
}

std::vector<OpCase> cases_with_large_constants() {
    const Operand image{{1, 64, 8, 8}, false, true};
    return {
        {"matmul", "MatMul", {{{32, 64}}, {{64, 8192}, true}}, {{32, 8192}}, {}},
        {"matmul_groups", "MatMul", {{{8, 16, 64}}, {{8, 64, 256}, true}}, {{8, 16, 256}}, {}},
        {"conv",
         "Conv",
         {image, {{4096, 64, 1, 1}, true}},
         {{1, 4096, 8, 8}, false, true},
         window(1, 1, 0)},
        {"conv_groups",
         "Conv",
         {{{1, 512, 8, 8}, false, true}, {{1024, 64, 1, 1}, true}},
         {{1, 1024, 8, 8}, false, true},
         grouped(window(1, 1, 0), 8)},
    };
}

class PackedBytes : public ::testing::TestWithParam<OpCase> {};

// As WeightReads::kInTileOrder says: each quarter of the tiles, with noise in all of the constant
// but its quarter and an eighth on both sides.
TEST_P(PackedBytes, AreReadInTheOrderOfTiles) {
    PreparedKernel prepared(GetParam());
    const int64_t tiles = prepared.kernel->tile_count;
    ASSERT_GE(tiles, 8);
    const std::vector<ByteRange> everything(GetParam().inputs.size(), kAllBytes);
    const std::span<float> packed = prepared.packed();
    const std::vector<float> kept(packed.begin(), packed.end());
    for (int64_t quarter = 0; quarter < 4; ++quarter) {
        const int64_t begin = part_begin(tiles, 4, quarter);
        const int64_t end = part_begin(tiles, 4, quarter + 1);
        const std::vector<float> expected = prepared.run(begin, end, everything);
        for (size_t i = 0; i < packed.size(); ++i) {
            const int64_t eighth = part_at(int64_t(packed.size()), 8, int64_t(i));
            const bool may_be_read = eighth >= 2 * quarter - 1 && eighth <= 2 * quarter + 2;
            packed[i] = may_be_read ? kept[i] : 1e30F;
        }
        EXPECT_EQ(prepared.run(begin, end, everything), expected) << "quarter " << quarter;
        std::copy(kept.begin(), kept.end(), packed.begin());
    }
}

std::string name_of(const ::testing::TestParamInfo<OpCase>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Windows, TileBytes, ::testing::ValuesIn(windowed_cases()), &name_of);
INSTANTIATE_TEST_SUITE_P(Operators,
                         PackedBytes,
                         ::testing::ValuesIn(cases_with_large_constants()),
                         &name_of);
INSTANTIATE_TEST_SUITE_P(Others, TileBytes, ::testing::ValuesIn(other_cases()), &name_of);

}  // namespace
}  // namespace leat
