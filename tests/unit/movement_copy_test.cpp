// The strided-copy engine against plain loops, and Layout, whose cases are about strides.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ops/layout/layout.h"
#include "ops/movement/movement.h"
#include "ops/movement/movement_cpu.h"

namespace leat {
namespace {

struct CopyCase {
    Shape shape;
    Strides source{};
    Strides destination{};
    int64_t source_offset = 0;
    int64_t source_elements = 1;
    int64_t destination_elements = 1;
};

// Extents of a random shape; sources may repeat, reverse, skip and permute, destinations skip and
// permute.
CopyCase random_case(std::mt19937& random, const std::vector<int64_t>& extents) {
    const auto pick = [&random](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    CopyCase result;
    const int rank = pick(0, 5);
    for (int axis = 0; axis < rank; ++axis) {
        result.shape.append(extents[size_t(pick(0, int(extents.size()) - 1))]);
    }
    std::vector<size_t> order(static_cast<size_t>(rank));
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    int64_t step = 1;
    for (const size_t axis : order) {
        const int64_t extent = result.shape[int(axis)];
        const int kind = pick(0, 5);
        result.source[axis] = kind == 0 ? 0 : kind == 1 ? -step : step;
        if (kind == 1) {
            result.source_offset += step * (extent - 1);
        }
        if (kind != 0) {
            step *= extent * (kind == 2 ? 2 : 1);
        }
    }
    result.source_elements = step;
    std::shuffle(order.begin(), order.end(), random);
    step = 1;
    for (const size_t axis : order) {
        result.destination[axis] = step;
        step *= result.shape[int(axis)] * (pick(0, 4) == 0 ? 2 : 1);
    }
    result.destination_elements = step;
    return result;
}

void expect_copies_like_plain_loops(const CopyCase& copy_case, DType dtype) {
    const int bytes = cpu::element_bytes(dtype);
    std::vector<std::byte> source(size_t(copy_case.source_elements * bytes));
    for (size_t i = 0; i < source.size(); ++i) {
        source[i] = std::byte((i * 131) >> 3);
    }
    std::vector<std::byte> want(size_t(copy_case.destination_elements * bytes));
    std::vector<std::byte> got(want.size());
    copy_strided_plain(dtype, copy_case.shape,
                       {source.data(), copy_case.source_offset, copy_case.source},
                       {want.data(), 0, copy_case.destination});
    const auto axes = cpu::copy_axes(copy_case.shape, copy_case.source, copy_case.destination);
    const StridedCopy copy(axes, bytes, copy_case.source_offset, 0);
    // Units in two calls, the second half first.
    const int64_t half = copy.unit_count() / 2;
    copy.run(source.data(), got.data(), half, copy.unit_count());
    copy.run(source.data(), got.data(), 0, half);
    EXPECT_EQ(got, want) << "shape " << copy_case.shape.to_string() << ", " << name_of(dtype);
}

TEST(StridedCopy, CopiesLikePlainLoops) {
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) {
        const CopyCase copy_case = random_case(random, {1, 2, 3, 4, 5, 7});
        for (const DType dtype :
             {DType::kUint8, DType::kFloat16, DType::kFloat32, DType::kInt64, DType::kComplex128}) {
            expect_copies_like_plain_loops(copy_case, dtype);
        }
    }
}

TEST(StridedCopy, CopiesLikePlainLoopsWhenCutIntoUnits) {
    std::mt19937 random(8);
    for (int i = 0; i < 60; ++i) {
        CopyCase copy_case = random_case(random, {1, 3, 16, 37, 130});
        if (copy_case.source_elements < 4'000'000 && copy_case.destination_elements < 4'000'000) {
            expect_copies_like_plain_loops(copy_case, i % 2 == 0 ? DType::kFloat32 : DType::kUint8);
        }
    }
}

TEST(StridedCopy, CutsLargeCopiesIntoUnits) {
    const std::vector<CopyAxis> row = {{1'000'000, 1, 1}};
    EXPECT_GT(StridedCopy(row, 4, 0, 0).unit_count(), 50);
    const std::vector<CopyAxis> matrix = {{1000, 1, 1000}, {1000, 1000, 1}};
    EXPECT_GT(StridedCopy(matrix, 4, 0, 0).unit_count(), 50);
}

TEST(StridedCopy, HasNoUnitsWhenEmpty) {
    const std::vector<CopyAxis> axes = {{3, 1, 1}, {0, 1, 1}};
    EXPECT_EQ(StridedCopy(axes, 4, 0, 0).unit_count(), 0);
}

// x [2,3,5,4], row-major or channels-last, to the other layout and back.
TEST(LayoutOp, ConvertsBothWays) {
    const Shape shape{2, 3, 5, 4};
    std::vector<float> x(size_t(shape.element_count()));
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(i);
    }
    std::vector<float> middle(x.size());
    std::vector<float> back(x.size());
    TensorArg rows = row_major_arg(DType::kFloat32, shape, x.data());
    TensorArg channels_last = row_major_arg(DType::kFloat32, shape, middle.data());
    channels_last.strides = channels_last_strides(shape);
    NodeData node;
    ASSERT_TRUE(layout_reference({node, {&rows, 1}, {&channels_last, 1}}).ok());
    EXPECT_EQ(middle[1], x[20]);  // channel 1 of the first pixel

    const auto kernel = cpu::make_copy_kernel({cpu::copy_job(0, channels_last, 0, rows)}, "test");
    TensorArg result = row_major_arg(DType::kFloat32, shape, back.data());
    ASSERT_TRUE(kernel->run({{&channels_last, 1}, {&result, 1}}, 0, kernel->tile_count).ok());
    EXPECT_EQ(back, x);
}

TEST(CopyElements, KeepsNeighboursOfPackedElements) {
    const uint8_t source[] = {0x21, 0x43};  // i4: 1, 2, 3, 4
    uint8_t destination[] = {0xff, 0xff};
    copy_elements(DType::kInt4, reinterpret_cast<const std::byte*>(source), 1,
                  reinterpret_cast<std::byte*>(destination), 2, 1);
    EXPECT_EQ(destination[0], 0xff);
    EXPECT_EQ(destination[1], 0xf2);
}

}  // namespace
}  // namespace leat
