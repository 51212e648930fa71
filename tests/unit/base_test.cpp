#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/files/text_file.h"
#include "base/find_named.h"
#include "base/float_formats.h"
#include "base/hash_index.h"
#include "base/id_vector.h"
#include "base/inline_vector.h"
#include "base/number_order.h"
#include "base/out_of_memory.h"
#include "base/transformed.h"
#include "graph/graph_data.h"
#include "leat/leat.h"

namespace leat {
namespace {

TEST(Status, MessageNamesEveryPart) {
    Status status = invalid_argument("wrong shape")
                        .with_file("m.onnx")
                        .with_node("node 'a' (Add)")
                        .with_found("2x3")
                        .with_needed("2x4")
                        .with_hint("check the exporter");
    EXPECT_EQ(
        status.message(),
        "invalid_argument: m.onnx: node 'a' (Add): wrong shape; found 2x3; needed 2x4 (check the "
        "exporter)");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(Status, KeepsInnermostContext) {
    Status status = parse_error("x").with_node("inner");
    status = std::move(status).with_node("outer");
    EXPECT_EQ(status.node(), "inner");
}

TEST(Transformed, KeepsTheOrderAndTakesAMember) {
    struct Row {
        std::string name;
        int value;
    };
    const std::vector<Row> rows{{"b", 2}, {"a", 1}};
    EXPECT_EQ(transformed(rows, &Row::name), (std::vector<std::string>{"b", "a"}));
    EXPECT_EQ(transformed(rows, [](const Row& row) { return row.value * 10; }),
              (std::vector<int>{20, 10}));
    EXPECT_TRUE(transformed(std::vector<Row>{}, &Row::name).empty());
}

TEST(FindNamed, GivesTheFirstRowOfTheNameOrNull) {
    struct Row {
        const char* name;
        int value;
    };
    const Row rows[] = {{"a", 1}, {"b", 2}, {"b", 3}};
    ASSERT_NE(find_named(rows, "b"), nullptr);
    EXPECT_EQ(find_named(rows, "b")->value, 2);
    EXPECT_EQ(find_named(rows, ""), nullptr);
    EXPECT_EQ(find_named(rows, "ab"), nullptr);
}

// For where there is no memory for a text: what it allocates is counted by a test of the whole.
TEST(Status, BareOneHasACodeAndTakesNoParts) {
    const Status timeout = Status::bare(StatusCode::kTimeout);
    Status full =
        Status::bare(StatusCode::kOutOfMemory).with_file("m.onnx").with_node("n").with_hint("h");
    EXPECT_FALSE(full.ok());
    EXPECT_EQ(full.code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(full.message(), "out_of_memory");
    EXPECT_EQ(full.file(), "");
    Status copy = timeout;
    EXPECT_EQ(copy.message(), "timeout");
    copy = full;
    full = invalid_argument("x");
    EXPECT_EQ(copy.message(), "out_of_memory");
    EXPECT_EQ(timeout.message(), "timeout");
}

TEST(CatchBadAlloc, TurnsItIntoAStatus) {
    const auto fails = []() -> Result<int> { throw std::bad_alloc(); };
    const Result<int> caught = catch_bad_alloc("count", fails);
    EXPECT_EQ(caught.error().code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(caught.error().message(),
              "out_of_memory: no memory left to count: free some, or use smaller shapes");
    EXPECT_EQ(*catch_bad_alloc("count", []() -> Result<int> { return 3; }), 3);
}

TEST(Result, ValueOfErrorEndsTheProcessWithTheMessage) {
    Result<int> result = not_found("no such thing");
    EXPECT_DEATH((void)result.value(), "not_found: no such thing");
}

TEST(TextFile, SplitsAtEverySeparatorButTheLast) {
    EXPECT_THAT(split("a,,b,", ','), ::testing::ElementsAre("a", "", "b"));
    EXPECT_THAT(split(",", ','), ::testing::ElementsAre(""));
    EXPECT_THAT(split("", ','), ::testing::IsEmpty());
}

TEST(TextFile, WhatCannotBeReadHasNoLines) {
    EXPECT_THAT(read_lines("/no/such/file"), ::testing::IsEmpty());
    EXPECT_THAT(read_lines("/proc"), ::testing::IsEmpty());
    EXPECT_EQ(read_first_line("/dev/null"), std::nullopt);
    EXPECT_GT(read_lines("/proc/self/smaps").size(), 100) << "more than one block";
}

TEST(Shape, MakeRejectsOverflowNegativeAndRank) {
    const int64_t big[] = {int64_t{1} << 40, int64_t{1} << 40};
    const int64_t negative[] = {2, -1};
    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    EXPECT_FALSE(Shape::make(big));
    EXPECT_FALSE(Shape::make(negative));
    EXPECT_FALSE(Shape::make(nine));
    EXPECT_EQ(Shape({2, 0, 3}).element_count(), 0);
    EXPECT_EQ(Shape{}.element_count(), 1);
}

TEST(DType, NamesAndNumbersAreTheStandards) {
    EXPECT_EQ(int(DType::kBfloat16), 16);
    EXPECT_EQ(int(DType::kInt2), 26);
    EXPECT_EQ(int(DType::kFloat6E3M2), 28);
    for (int i = 1; i < kDTypeCount; ++i) {
        EXPECT_EQ(dtype_from_name(name_of(DType(i))), DType(i));
    }
    EXPECT_EQ(storage_bytes(DType::kInt4, 3), 2);
    EXPECT_EQ(storage_bytes(DType::kFloat6E2M3, 5), 4);
    EXPECT_EQ(storage_bytes(DType::kFloat64, int64_t{1} << 60), std::nullopt);
}

// A program may cast the number of another framework, or of a later ONNX.
TEST(DType, KnowsWhichNumbersItDoesNotKnow) {
    for (const int number : {kDTypeCount, kDTypeCount + 1, 200, 255}) {
        const auto dtype = DType(number);
        EXPECT_FALSE(is_known_dtype(dtype));
        EXPECT_EQ(name_of(dtype), "unknown");
        EXPECT_EQ(bits_of(dtype), 0);
        EXPECT_EQ(storage_bytes(dtype, 10), std::nullopt);
        const Tensor view = Tensor::view(dtype, {10}, &number, nullptr);
        EXPECT_EQ(view.byte_count(), 0);
        EXPECT_TRUE(view.is_aligned());
        EXPECT_THAT(Tensor::allocate(dtype, {10}).error().message(),
                    ::testing::HasSubstr(fmt::format("unknown type {}", number)));
    }
    EXPECT_EQ(dtype_from_name("unknown"), std::nullopt);
    EXPECT_EQ(dtype_from_number(26), DType::kInt2);
    for (const int64_t number : {int64_t{-1}, int64_t{29}, int64_t{257}, INT64_MAX, INT64_MIN}) {
        EXPECT_EQ(dtype_from_number(number), DType::kUndefined) << number;
    }
}

TEST(FloatFormats, HalfRoundTripsEveryFiniteValue) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const Float16 half{uint16_t(bits)};
        const float wide = to_float(half);
        if (!std::isnan(wide)) {
            ASSERT_EQ(to_float16(wide).bits, bits);
        }
    }
    EXPECT_EQ(to_float16(65519.0F).bits, 0x7bff);
    EXPECT_EQ(to_float16(65520.0F).bits, 0x7c00);
    EXPECT_EQ(to_float16(0x1p-25F).bits, 0);
    EXPECT_EQ(to_float16(0x1.8p-25F).bits, 1);
    // 1 + 2^-11 + 2^-40 lies above the tie; rounding through float first would lose that.
    EXPECT_EQ(to_float16(1.0 + 0x1p-11 + 0x1p-40).bits, 0x3c01);
}

TEST(InlineVector, IsAsAVectorBelowAndBeyondItsRoom) {
    InlineVector<int32_t, 2> list;
    for (int32_t i = 0; i < 5; ++i) {
        EXPECT_THAT(std::vector<int32_t>(list.begin(), list.end()), ::testing::SizeIs(size_t(i)));
        list.push_back(i);
    }
    EXPECT_THAT(list, ::testing::ElementsAre(0, 1, 2, 3, 4));
    InlineVector<int32_t, 2> copy = list;
    InlineVector<int32_t, 2> few = {7, 8};
    EXPECT_FALSE(copy == few);
    copy.truncate(2);
    EXPECT_THAT(copy, ::testing::ElementsAre(0, 1));
    few = std::move(list);
    EXPECT_THAT(few, ::testing::ElementsAre(0, 1, 2, 3, 4));
    list = copy;
    EXPECT_THAT(list, ::testing::ElementsAre(0, 1));
    copy = InlineVector<int32_t, 2>();
    EXPECT_TRUE(copy.empty());
}

TEST(InlineVector, LosesOneElement) {
    InlineVector<int32_t, 2> list = {1, 2, 3};
    list.erase(list.begin() + 1);
    EXPECT_EQ(list, (InlineVector<int32_t, 2>{1, 3}));
    list.erase(list.begin() + 1);
    EXPECT_EQ(list, (InlineVector<int32_t, 2>{1}));
}

TEST(NameTable, IsAsAMapOfNames) {
    std::vector<std::string> names;
    names.reserve(3000);
    for (int i = 0; i < 3000; ++i) {
        names.push_back(std::to_string(i * 7919 % 2000));
    }
    NameTable<int> table;
    std::map<std::string_view, int> expected;
    EXPECT_FALSE(table.contains("1"));
    for (int i = 0; i < 3000; ++i) {
        const std::string_view name = names[size_t(i)];
        ASSERT_EQ(table.insert(name, i), expected.emplace(name, i).second) << name;
        if (i % 5 == 0) {
            table.set(name, -i);
            expected[name] = -i;
        }
    }
    EXPECT_EQ(table.size(), expected.size());
    for (int i = -10; i < 2100; ++i) {
        const std::string name = std::to_string(i);
        const auto found = expected.find(name);
        ASSERT_EQ(table.contains(name), found != expected.end()) << name;
        if (found != expected.end()) {
            ASSERT_EQ(*table.find(name), found->second) << name;
        }
    }
}

// Places for other numbers with the same hash lie between.
TEST(HashIndex, FindsTheFirstOfNumbersThatMatch) {
    HashIndex index;
    const auto is_of_seven = [](uint32_t number) { return number % 7 == 3; };
    EXPECT_EQ(index.find(5, is_of_seven), HashIndex::kNone);
    for (uint32_t number = 0; number < 1000; ++number) {
        index.insert(number % 2 == 0 ? ~size_t{0} : size_t{15}, number);
        ASSERT_EQ(index.find(15, is_of_seven), number < 3 ? HashIndex::kNone : 3) << number;
        ASSERT_EQ(index.find(~size_t{0}, is_of_seven), number < 10 ? HashIndex::kNone : 10);
    }
}

TEST(Tensor, CopiesCheckTheElementCount) {
    Result<Tensor> wrong = Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3});
    ASSERT_FALSE(wrong.ok());
    EXPECT_THAT(wrong.error().message(), ::testing::HasSubstr("3 elements"));
    Result<Tensor> strings = Tensor::from<std::string>({2}, std::vector<std::string>{"a", "b"});
    EXPECT_EQ(strings->data<std::string>()[1], "b");
}

TEST(Tensor, BeginsZeroAtACacheLineWhateverItsSize) {
    for (int64_t count = 0; count <= 600; ++count) {
        const Result<Tensor> tensor = Tensor::allocate(DType::kUint8, {count});
        ASSERT_TRUE(tensor.ok());
        ASSERT_NE(tensor->bytes(), nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes()) % 64, 0U) << count;
        const std::span<const uint8_t> elements = tensor->data<uint8_t>();
        EXPECT_TRUE(
            std::all_of(elements.begin(), elements.end(), [](uint8_t e) { return e == 0; }));
    }
}

TEST(Tensor, OfNoShapeIsRefused) {
    using ::testing::HasSubstr;
    const auto refusal = [](DType dtype, const Shape& shape) {
        const Status status = Tensor::allocate(dtype, shape).error();
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        return status.message();
    };
    for (const DType dtype : {DType::kFloat32, DType::kInt4, DType::kString}) {
        EXPECT_THAT(refusal(dtype, {-1, 5}), HasSubstr("axis 0 is negative; found shape -1x5"));
        EXPECT_THAT(refusal(dtype, {-1, -5}), HasSubstr("axis 0 is negative"));
        EXPECT_THAT(refusal(dtype, {2, INT64_MIN}), HasSubstr("axis 1 is negative"));
        EXPECT_THAT(refusal(dtype, {int64_t{1} << 40, int64_t{1} << 40}),
                    HasSubstr("too many elements"));
    }
    EXPECT_THAT(refusal(DType::kFloat64, {int64_t{1} << 31, int64_t{1} << 30}),
                HasSubstr("too many bytes"));
    EXPECT_THAT(refusal(DType::kString, {int64_t{1} << 60}), HasSubstr("too many bytes"));
    EXPECT_THAT(Tensor::from<float>({-1, -2}, std::vector<float>{1, 2}).error().message(),
                HasSubstr("axis 0 is negative"));
    EXPECT_TRUE(Tensor::allocate(DType::kFloat32, {0, int64_t{1} << 62}).ok());
}

// Copies share what they hold until one of them changes it.
TEST(Value, SharesItsElementsUntilTheyChange) {
    const auto floats = [](float x) { return *Tensor::from<float>({1}, std::vector<float>{x}); };
    Value a = Value::sequence({floats(1), floats(2)});
    Value b = a;
    EXPECT_EQ(a.elements().data(), b.elements().data());
    b.mutable_elements().emplace_back(floats(3));
    EXPECT_EQ(a.elements().size(), 2U);
    ASSERT_EQ(b.elements().size(), 3U);
    EXPECT_EQ(b.elements()[0].tensor().bytes(), a.elements()[0].tensor().bytes());
    const Value* const own = b.elements().data();
    b.mutable_elements().pop_back();  // nobody else has the list
    EXPECT_EQ(b.elements().data(), own);
    b = a;
    a = Value();
    a.mutable_elements().emplace_back(floats(4));
    EXPECT_EQ(b.elements().size(), 2U);
    const Value c = std::move(b);
    EXPECT_EQ(c.elements().size(), 2U);
    EXPECT_TRUE(Value::optional({}).elements().empty());
    EXPECT_EQ(Value::optional({c}).elements()[0].elements().data(), c.elements().data());
}

TEST(NumberOrder, HoldsWhereAllPairsCompareAlike) {
    const NumberOrder order(std::vector<int64_t>{5, 1, 5, 9});
    EXPECT_TRUE(order.holds_for(std::vector<int64_t>{5, 1, 5, 9}));
    EXPECT_TRUE(order.holds_for(std::vector<int64_t>{20, -3, 20, 21}));
    EXPECT_FALSE(order.holds_for(std::vector<int64_t>{5, 1, 6, 9}));
    EXPECT_FALSE(order.holds_for(std::vector<int64_t>{6, 1, 5, 9}));
    EXPECT_FALSE(order.holds_for(std::vector<int64_t>{5, 5, 5, 9}));
    EXPECT_FALSE(order.holds_for(std::vector<int64_t>{5, 1, 5, 4}));
    EXPECT_FALSE(order.holds_for(std::vector<int64_t>{5, 1, 5}));
}

TEST(InlineVector, ResizesWithZeros) {
    InlineVector<int32_t, 2> numbers = {7, 8};
    numbers.resize(1);
    EXPECT_EQ(numbers, (InlineVector<int32_t, 2>{7}));
    numbers.resize(4);
    EXPECT_EQ(numbers, (InlineVector<int32_t, 2>{7, 0, 0, 0}));
}

template <class List, class Id>
concept IsIndexedBy = requires(List& list, Id id) {
    list[id];
};
static_assert(IsIndexedBy<IdVector<ValueId, int>, ValueId>);
static_assert(!IsIndexedBy<IdVector<ValueId, int>, size_t>);
static_assert(!IsIndexedBy<IdVector<ValueId, int>, NodeId>);

TEST(IdVector, HoldsAnElementForEachId) {
    IdVector<ValueId, int> numbers(3, 7);
    numbers[ValueId{1}] = 8;
    EXPECT_THAT(numbers.list(), testing::ElementsAre(7, 8, 7));
    EXPECT_EQ(numbers[ValueId{1}], 8);
}

TEST(IdVector, PacksBooleans) {
    IdVector<ValueId, bool> marks(std::vector<bool>{false, true});
    marks[ValueId{0}] = marks[ValueId{1}];
    const IdVector<ValueId, bool>& seen = marks;
    EXPECT_TRUE(seen[ValueId{0}]);
    EXPECT_EQ(seen, (IdVector<ValueId, bool>(2, true)));
}

TEST(Stopwatch, LapsAddUpToTheTotal) {
    Stopwatch watch;
    const int64_t first = watch.lap_ns();
    const int64_t second = watch.lap_ns();
    EXPECT_GE(first, 0);
    EXPECT_GE(second, 0);
    EXPECT_GE(watch.total_ns(), first + second);
}

}  // namespace
}  // namespace leat
