// The memory of results whose extents only the run knows.
#include "base/grown_tensor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace leat {
namespace {

std::string* strings_of(const Result<std::byte*>& memory) {
    return reinterpret_cast<std::string*>(*memory);
}

TEST(GrownTensor, KeepsItsPartsWhereThereIsNoMemory) {
    GrownTensor tensor;
    const auto begin = [&tensor](int64_t part_bytes) {
        tensor.begin(DType::kUint8, {0, part_bytes}, part_bytes);
    };
    begin(int64_t{1} << 20);
    ASSERT_TRUE(tensor.add_part().ok());
    *tensor.last_part() = std::byte(7);
    // No allocator is asked for that: the address sanitizer's would end the process.
    begin(int64_t{1} << 61);
    EXPECT_FALSE(tensor.add_part().ok());
    EXPECT_EQ(tensor.shape()[0], 0);
    EXPECT_EQ(*tensor.data(), std::byte(7));
    begin(std::numeric_limits<int64_t>::max());
    EXPECT_FALSE(tensor.add_part().ok());
    begin(0);
    ASSERT_TRUE(tensor.add_part().ok());
    EXPECT_EQ(tensor.view().shape(), Shape({1, 0}));
    EXPECT_EQ(tensor.view().byte_count(), 0);
}

TEST(GrownTensor, HasRoomForAShape) {
    GrownTensor tensor;
    const Result<std::byte*> memory = tensor.set_shape(DType::kFloat64, {2, 3});
    ASSERT_TRUE(memory.ok());
    reinterpret_cast<double*>(*memory)[5] = 1.5;
    const Tensor view = tensor.view();
    EXPECT_EQ(view.dtype(), DType::kFloat64);
    EXPECT_EQ(view.shape(), Shape({2, 3}));
    EXPECT_EQ(view.data<double>()[5], 1.5);
}

TEST(GrownTensor, GrowsByAQuarterAtLeast) {
    GrownTensor tensor;
    ASSERT_TRUE(tensor.set_shape(DType::kUint8, {8000}).ok());
    EXPECT_EQ(tensor.capacity_bytes(), 8000);
    ASSERT_TRUE(tensor.set_shape(DType::kUint8, {8001}).ok());
    EXPECT_EQ(tensor.capacity_bytes(), 10'000);
    ASSERT_TRUE(tensor.set_shape(DType::kFloat32, {5000}).ok());
    EXPECT_EQ(tensor.capacity_bytes(), 20'000);
}

TEST(GrownTensor, UsesItsMemoryAgain) {
    GrownTensor tensor;
    std::byte* const memory = *tensor.set_shape(DType::kUint8, {8000});
    EXPECT_EQ(*tensor.set_shape(DType::kFloat64, {10, 100}), memory);
    EXPECT_EQ(*tensor.set_shape(DType::kInt16, {0, 3}), memory);
    EXPECT_EQ(tensor.view().byte_count(), 0);
    EXPECT_EQ(*tensor.set_shape(DType::kInt16, {}), memory);
    EXPECT_EQ(tensor.capacity_bytes(), 8000);
    tensor.release();
    EXPECT_EQ(tensor.capacity_bytes(), 0);
}

TEST(GrownTensor, HasMemoryOfItsOwnForStrings) {
    constexpr int64_t kString = sizeof(std::string);
    GrownTensor tensor;
    ASSERT_TRUE(tensor.set_shape(DType::kUint8, {8000}).ok());
    const Result<std::byte*> first = tensor.set_shape(DType::kString, {4});
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(tensor.capacity_bytes(), 4 * kString);
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(strings_of(first)[i], "");
        strings_of(first)[i] = std::string(100, char('a' + i));
    }
    const Tensor held = tensor.view();
    const Result<std::byte*> fewer = tensor.set_shape(DType::kString, {2, 1});
    EXPECT_EQ(*fewer, *first);
    EXPECT_EQ(strings_of(fewer)[1], std::string(100, 'b'));
    const Result<std::byte*> more = tensor.set_shape(DType::kString, {5});
    ASSERT_TRUE(more.ok());
    EXPECT_EQ(tensor.capacity_bytes(), 5 * kString);
    EXPECT_EQ(strings_of(more)[4], "");
    ASSERT_TRUE(tensor.set_shape(DType::kString, {6}).ok());
    EXPECT_EQ(tensor.capacity_bytes(), 6 * kString);
    EXPECT_EQ(held.data<std::string>()[3], std::string(100, 'd'));
}

TEST(GrownTensor, TakesNoNumbersForStrings) {
    GrownTensor tensor;
    *strings_of(tensor.set_shape(DType::kString, {3})) = std::string(100, 'x');
    ASSERT_TRUE(tensor.set_shape(DType::kUint8, {3}).ok());
    EXPECT_EQ(tensor.view().dtype(), DType::kUint8);
    *strings_of(tensor.set_shape(DType::kString, {3})) = std::string(100, 'y');
    tensor.begin(DType::kUint8, {0, 8}, 8);
    ASSERT_TRUE(tensor.add_part().ok());
    *tensor.last_part() = std::byte(7);
    EXPECT_EQ(tensor.view().shape(), Shape({1, 8}));
}

TEST(GrownTensor, ClearsTheBitsBehindPackedElements) {
    GrownTensor tensor;
    std::byte* const memory = *tensor.set_shape(DType::kUint8, {2});
    memory[0] = memory[1] = std::byte(0xff);
    EXPECT_EQ(*tensor.set_shape(DType::kInt4, {3}), memory);
    EXPECT_EQ(memory[1], std::byte(0));
}

TEST(GrownTensor, KeepsWhatThereIsWhereAShapeIsTooLarge) {
    GrownTensor tensor;
    std::byte* const memory = *tensor.set_shape(DType::kInt32, {7});
    const int64_t large = int64_t{1} << 40;
    // More elements and more bytes than 64 bits count.
    EXPECT_EQ(tensor.set_shape(DType::kUint8, {large, large}).error().code(),
              StatusCode::kOutOfMemory);
    EXPECT_EQ(tensor.set_shape(DType::kFloat64, {int64_t{1} << 61}).error().code(),
              StatusCode::kOutOfMemory);
    EXPECT_FALSE(tensor.set_shape(DType::kUint8, {int64_t{1} << 61}).ok());
    EXPECT_FALSE(tensor.set_shape(DType::kString, {int64_t{1} << 60}).ok());
    EXPECT_EQ(tensor.view().dtype(), DType::kInt32);
    EXPECT_EQ(tensor.view().shape(), Shape({7}));
    EXPECT_EQ(tensor.data(), memory);
}

}  // namespace
}  // namespace leat
