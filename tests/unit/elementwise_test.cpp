// Element-wise operators against literals from the ONNX documentation and numpy, the float
// functions against the C library in double, and the small floating formats against their tables.
#include "ops/elementwise/elementwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/op_def.h"
#include "ops/cast/cast.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/unary_f32.h"
#include "ops/unary/unary.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What one node does with known inputs, through inference and the reference kernel.
struct Evaluation {
    NodeData node;
    std::vector<Tensor> inputs;
    std::vector<ValueFact> outputs = std::vector<ValueFact>(1);

    Evaluation(const char* op_type, std::vector<Tensor> values, Attributes attributes = {})
        : inputs(std::move(values)) {
        node.name = "n";
        node.op_type = op_type;
        node.attributes = std::move(attributes);
        node.def = find_op("", op_type);
        node.outputs = {ValueId{100}};
    }
    Status infer() {
        std::vector<ValueFact> facts(inputs.size());
        std::vector<const ValueFact*> pointers;
        for (size_t i = 0; i < inputs.size(); ++i) {
            node.inputs.push_back(ValueId{int32_t(i)});
            facts[i].type = TypeInfo::tensor(inputs[i].dtype(), inputs[i].shape());
            facts[i].value = inputs[i];
            pointers.push_back(inputs[i].defined() ? &facts[i] : nullptr);
        }
        return infer_node(node, pointers, outputs);
    }
    Result<Tensor> run() {
        LEAT_RETURN_IF_ERROR(infer());
        std::vector<const Tensor*> pointers;
        for (const Tensor& input : inputs) {
            pointers.push_back(input.defined() ? &input : nullptr);
        }
        LEAT_ASSIGN_OR_RETURN(std::vector<Tensor> results, evaluate_node(node, pointers, outputs));
        return results[0];
    }
};

template <class T>
Tensor vec(std::vector<T> values) {
    const auto count = int64_t(values.size());
    return Tensor::from<T>({count}, values).value();
}

template <class T>
std::vector<T> result(const char* op_type, std::vector<Tensor> inputs, Attributes attributes = {}) {
    const Result<Tensor> y = Evaluation(op_type, std::move(inputs), std::move(attributes)).run();
    EXPECT_TRUE(y.ok()) << y.error().message();
    if (!y.ok() || y->dtype() != kDTypeOf<T>) {
        return {};
    }
    const auto data = y->data<T>();
    return {data.begin(), data.end()};
}

// ---- literals ----

TEST(Unary, GivesTheDocumentedActivations) {
    EXPECT_THAT(
        result<float>("HardSigmoid", {vec<float>({-1, 0, 1})}, {{"alpha", 0.5F}, {"beta", 0.75F}}),
        ElementsAre(0.25F, 0.75F, 1.0F));
    EXPECT_THAT(result<float>("LeakyRelu", {vec<float>({-1, 0, 1})}, {{"alpha", 0.1F}}),
                ElementsAre(-0.1F, 0.0F, 1.0F));
    EXPECT_THAT(result<float>("ThresholdedRelu", {vec<float>({-1.5F, 0, 1.2F, 2, 2.2F})},
                              {{"alpha", 2.0F}}),
                ElementsAre(0.0F, 0.0F, 0.0F, 0.0F, 2.2F));
    EXPECT_THAT(
        result<float>("Shrink", {vec<float>({-2, -1, 0, 1, 2})}, {{"lambd", 1.5F}, {"bias", 1.5F}}),
        ElementsAre(-0.5F, 0.0F, 0.0F, 0.0F, 0.5F));
    EXPECT_THAT(result<float>("Softsign", {vec<float>({-1, 0, 1})}),
                ElementsAre(-0.5F, 0.0F, 0.5F));
    EXPECT_THAT(result<float>("HardSwish", {vec<float>({-4, 0, 3})}),
                ElementsAre(-0.0F, 0.0F, 3.0F));
}

TEST(Unary, RoundsHalvesToEven) {
    EXPECT_THAT(result<float>("Round", {vec<float>({0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 0.9F})}),
                ElementsAre(0.0F, 2.0F, 2.0F, -0.0F, -2.0F, 1.0F));
}

TEST(Unary, WrapsIntegersLikeNumpy) {
    EXPECT_THAT(result<int8_t>("Abs", {vec<int8_t>({-128, -1, 3})}), ElementsAre(-128, 1, 3));
    EXPECT_THAT(result<uint64_t>("Sign", {vec<uint64_t>({0, ~uint64_t{0}})}), ElementsAre(0, 1));
}

TEST(Unary, RejectsATypeThatTheStandardDoesNotList) {
    const Status status = Evaluation("Sin", {vec<int32_t>({1})}).infer();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("found i32"));
}

TEST(Binary, DividesIntegersTowardZeroWithoutTraps) {
    EXPECT_THAT(result<int32_t>("Div", {vec<int32_t>({7, -7, 7, 5, INT32_MIN}),
                                        vec<int32_t>({2, 2, -2, 0, -1})}),
                ElementsAre(3, -3, -3, 0, INT32_MIN));
}

TEST(Binary, ModTakesTheSignOfTheDivisorAndFmodOfTheDividend) {
    const std::vector<Tensor> operands = {vec<int32_t>({-4, 7, 5, 4, -7, 8}),
                                          vec<int32_t>({2, -3, 8, -2, 3, 5})};
    EXPECT_THAT(result<int32_t>("Mod", operands), ElementsAre(0, -2, 5, 0, 2, 3));
    EXPECT_THAT(result<int32_t>("Mod", operands, {{"fmod", int64_t{1}}}),
                ElementsAre(0, 1, 5, 0, -1, 3));
}

TEST(Binary, PowHasTheTypeOfTheBase) {
    EXPECT_THAT(result<int64_t>("Pow", {vec<int64_t>({2, 3, 4}), vec<float>({0.5F, 2, 3})}),
                ElementsAre(1, 9, 64));
    EXPECT_THAT(result<float>("Pow", {vec<float>({2, 4, 9}), vec<int32_t>({3, 2, -1})}),
                ElementsAre(8.0F, 16.0F, 1.0F / 9));
}

TEST(Binary, ShiftsBeyondTheWidthGiveZero) {
    EXPECT_THAT(
        result<uint8_t>("BitShift", {vec<uint8_t>({16, 4, 1, 255}), vec<uint8_t>({1, 2, 8, 4})},
                        {{"direction", std::string("LEFT")}}),
        ElementsAre(32, 16, 0, 240));
}

// The values of onnx's reference evaluator.
TEST(Binary, ShiftsOfSignedNumbersKeepTheSign) {
    const Tensor amounts = vec<int8_t>({1, 3, 1, 8, -1, 7});
    EXPECT_THAT(result<int8_t>("BitShift", {vec<int8_t>({-8, -1, 7, -128, -3, 127}), amounts},
                               {{"direction", std::string("RIGHT")}}),
                ElementsAre(-4, -1, 3, -1, -1, 0));
    EXPECT_THAT(result<int8_t>("BitShift", {vec<int8_t>({64, -1, 127, -128, 5, 3}), amounts},
                               {{"direction", std::string("LEFT")}}),
                ElementsAre(-128, -8, -2, 0, 0, -128));
}

TEST(Binary, ShapesThatDoNotBroadcastAreNamed) {
    const Status status = Evaluation("Add", {vec<float>({1, 2, 3}), vec<float>({1, 2})}).infer();
    EXPECT_THAT(status.message(), HasSubstr("f32[3] and f32[2]"));
}

TEST(Variadic, MaxKeepsNan) {
    const auto y = result<float>("Max", {vec<float>({1, kNan, 3}), vec<float>({2, 2, kNan})});
    EXPECT_EQ(y[0], 2);
    EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[2]));
}

// As numpy has it: a NaN is above and below every number, and the first of several comes first.
TEST(Nan, IsFoundWhereverItStands) {
    const auto row = vec<float>({1, -kInfinity, kNan, kInfinity, kNan, 3});
    const Attributes last{{"select_last_index", int64_t{1}}};
    EXPECT_THAT(result<int64_t>("ArgMax", {row}), ElementsAre(2));
    EXPECT_THAT(result<int64_t>("ArgMin", {row}), ElementsAre(2));
    EXPECT_THAT(result<int64_t>("ArgMax", {row}, last), ElementsAre(4));
    EXPECT_THAT(result<int64_t>("ArgMin", {row}, last), ElementsAre(4));
    EXPECT_THAT(result<float>("Hardmax", {row}), ElementsAre(0, 0, 1, 0, 0, 0));
    for (const char* op : {"ReduceMax", "ReduceMin"}) {
        EXPECT_TRUE(std::isnan(result<float>(op, {row})[0])) << op;
    }
}

TEST(Nan, StaysInWindowsOfMaxPool) {
    const Tensor image = vec<float>({1, kNan, 3, 4,          //
                                     5, 6, 7, 8,             //
                                     9, 10, -kInfinity, 12,  //
                                     13, 14, 15, kNan})
                             .reshaped({1, 1, 4, 4});
    const auto y =
        result<float>("MaxPool", {image}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
    EXPECT_THAT(std::vector<float>(y.begin() + 2, y.begin() + 8),
                ElementsAre(8, 10, 10, 12, 14, 15));
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]) && std::isnan(y[8]));
    EXPECT_TRUE(std::isnan(result<float>("GlobalMaxPool", {image})[0]));
}

TEST(Clip, CrossedBoundsGiveTheUpperOne) {
    EXPECT_THAT(result<float>("Clip", {vec<float>({-2, 0, 6}), vec<float>({2}).reshaped({}),
                                       vec<float>({1}).reshaped({})}),
                ElementsAre(1.0F, 1.0F, 1.0F));
}

// ---- Cast ----

Attributes to(DType dtype) {
    return {{"to", int64_t(dtype)}};
}

TEST(Cast, WritesNumbersAsNumpyDoes) {
    EXPECT_THAT(result<std::string>("Cast",
                                    {vec<float>({0.9767611F, 1, -0.0F, 1e-5F, 1e16F, 1234567936.0F,
                                                 1e-4F, kNan, -kInfinity})},
                                    to(DType::kString)),
                ElementsAre("0.9767611", "1.0", "-0.0", "1e-05", "1e+16", "1234568000.0", "0.0001",
                            "nan", "-inf"));
    EXPECT_THAT(result<std::string>("Cast", {vec<double>({0.1, 1.5e300, 123456789012345678.0})},
                                    to(DType::kString)),
                ElementsAre("0.1", "1.5e+300", "1.2345678901234568e+17"));
    EXPECT_THAT(result<std::string>("Cast", {vec<int64_t>({-5, 0})}, to(DType::kString)),
                ElementsAre("-5", "0"));
    const std::vector<Float16> halves = {{0x2e66}, {0x7bff}, {0x0001}};
    EXPECT_THAT(result<std::string>("Cast", {vec<Float16>(halves)}, to(DType::kString)),
                ElementsAre("0.1", "65500.0", "6e-08"));
}

TEST(Cast, ReadsNumbers) {
    const auto y = result<float>(
        "Cast", {vec<std::string>({"3.14", " 1e-5 ", "+INF", "-inf", "NaN", "1E8", "1e60"})},
        to(DType::kFloat32));
    EXPECT_EQ(y[0], 3.14F);
    EXPECT_EQ(y[1], 1e-5F);
    EXPECT_EQ(y[2], kInfinity);
    EXPECT_EQ(y[3], -kInfinity);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 1e8F);
    EXPECT_EQ(y[6], kInfinity);
    EXPECT_THAT(result<int64_t>("Cast", {vec<std::string>({"9223372036854775807", "-7", "100.5"})},
                                to(DType::kInt64)),
                ElementsAre(INT64_MAX, -7, 100));
}

TEST(Cast, NamesAStringThatIsNoNumber) {
    const Result<Tensor> y =
        Evaluation("Cast", {vec<std::string>({"1", "Hello"})}, to(DType::kFloat32)).run();
    ASSERT_FALSE(y.ok());
    EXPECT_THAT(y.error().message(), HasSubstr("'Hello'"));
}

TEST(Cast, KeepsLowBitsOfIntegersAndSaturatesFloats) {
    EXPECT_THAT(result<int8_t>("Cast", {vec<int16_t>({200, -129, 5})}, to(DType::kInt8)),
                ElementsAre(-56, 127, 5));
    EXPECT_THAT(result<uint8_t>("Cast", {vec<float>({300, -1, 2.9F, kNan})}, to(DType::kUint8)),
                ElementsAre(255, 0, 2, 0));
}

TEST(Cast, RejectsAnUnknownTarget) {
    EXPECT_THAT(Evaluation("Cast", {vec<float>({1})}, {{"to", int64_t{99}}}).infer().message(),
                HasSubstr("99"));
}

TEST(CastLike, TakesTheTypeOfItsSecondOperand) {
    EXPECT_THAT(result<int64_t>("CastLike", {vec<float>({2.9F, -1}), vec<int64_t>({7})}),
                ElementsAre(2, -1));
    EXPECT_THAT(result<std::string>("CastLike", {vec<int64_t>({-5}), vec<std::string>({"a", "b"})}),
                ElementsAre("-5"));
}

TEST(BitCast, KeepsBits) {
    EXPECT_THAT(
        result<uint32_t>("BitCast", {vec<float>({1, -0.0F, kInfinity})}, to(DType::kUint32)),
        ElementsAre(0x3f800000U, 0x80000000U, 0x7f800000U));
    EXPECT_THAT(result<int8_t>("BitCast", {vec<uint8_t>({255, 128, 1})}, to(DType::kInt8)),
                ElementsAre(-1, -128, 1));
}

TEST(BitCast, RejectsAnotherWidthAndStrings) {
    const auto message = [](const Tensor& x, DType dtype) {
        return Evaluation("BitCast", {x}, to(dtype)).infer().message();
    };
    EXPECT_THAT(message(vec<float>({1}), DType::kInt64), HasSubstr("f32 to i64"));
    EXPECT_THAT(message(vec<float>({1}), DType::kString), HasSubstr("string"));
    EXPECT_THAT(message(vec<std::string>({"a"}), DType::kInt64), HasSubstr("string"));
}

// ---- the small floating formats ----

TEST(SmallFloat, EveryCodeSurvivesDecodingAndEncoding) {
    for (const DType dtype :
         {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ,
          DType::kFloat8E8M0, DType::kFloat4E2M1, DType::kFloat6E2M3, DType::kFloat6E3M2}) {
        for (int code = 0; code < 1 << bits_of(dtype); ++code) {
            const double value = decode_small_float(dtype, uint8_t(code));
            const NarrowOptions exact = {false, NarrowOptions::Round::kNearest};
            const uint8_t again = encode_small_float(dtype, value, exact);
            if (std::isnan(value)) {
                EXPECT_TRUE(std::isnan(decode_small_float(dtype, again)))
                    << name_of(dtype) << " " << code;
            } else {
                EXPECT_EQ(int(again), code) << name_of(dtype);
            }
        }
    }
}

TEST(SmallFloat, HasTheDocumentedLimits) {
    EXPECT_EQ(decode_small_float(DType::kFloat8E4M3FN, 0x7e), 448);
    EXPECT_EQ(decode_small_float(DType::kFloat8E4M3FNUZ, 0x7f), 240);
    EXPECT_EQ(decode_small_float(DType::kFloat8E5M2, 0x7b), 57344);
    EXPECT_EQ(decode_small_float(DType::kFloat8E5M2FNUZ, 0x7f), 57344);
    EXPECT_EQ(decode_small_float(DType::kFloat8E4M3FN, 0x01), 0x1p-9);
    EXPECT_EQ(encode_small_float(DType::kFloat4E2M1, kNan), 0x08);
    EXPECT_EQ(encode_small_float(DType::kFloat4E2M1, kInfinity), 0x07);
    EXPECT_EQ(decode_small_float(DType::kFloat4E2M1, 0x0f), -6);
    EXPECT_EQ(decode_small_float(DType::kFloat8E8M0, 0), 0x1p-127);
    EXPECT_EQ(decode_small_float(DType::kFloat6E2M3, 0x1f), 7.5);
    EXPECT_EQ(decode_small_float(DType::kFloat6E2M3, 0x21), -0.125);
    EXPECT_EQ(decode_small_float(DType::kFloat6E3M2, 0x1f), 28);
    EXPECT_EQ(encode_small_float(DType::kFloat6E3M2, -100), 0x3f);
    EXPECT_EQ(encode_small_float(DType::kFloat6E3M2, 0.09375), 0x02) << "half way, to even";
}

TEST(SmallFloat, RoundsToEvenAndSaturatesAsAsked) {
    const auto e4m3 = [](double x, bool saturate) {
        return int(encode_small_float(DType::kFloat8E4M3FN, x, {saturate, {}}));
    };
    EXPECT_EQ(e4m3(464, true), 0x7e);   // a tie between 448 and 480, which does not exist
    EXPECT_EQ(e4m3(464, false), 0x7e);  // to even: still 448
    EXPECT_EQ(e4m3(465, false), 0x7f);
    EXPECT_EQ(e4m3(-1e9, true), 0xfe);
    EXPECT_EQ(e4m3(17, true), e4m3(16, true));
    EXPECT_EQ(e4m3(19, true), e4m3(20, true));
    EXPECT_EQ(int(encode_small_float(DType::kFloat8E5M2, HUGE_VAL, {false, {}})), 0x7c);
    EXPECT_EQ(int(encode_small_float(DType::kFloat8E4M3FNUZ, -0.0, {})), 0);
}

// As the reference evaluator of onnx has it.
TEST(SmallFloat, QuantizedZerosKeepTheirSign) {
    const Tensor x = *Tensor::from<float>({4}, std::vector<float>{-0.0F, 0.0F, -1e-30F, 1.0F});
    const Tensor one = *Tensor::from<float>({}, std::vector<float>{1.0F});
    Evaluation quantize("QuantizeLinear", {x, one},
                        {{"output_dtype", int64_t(DType::kFloat8E4M3FN)}});
    const Result<Tensor> y = quantize.run();
    ASSERT_TRUE(y.ok()) << y.error().message();
    const std::vector<int> codes(reinterpret_cast<const uint8_t*>(y->bytes()),
                                 reinterpret_cast<const uint8_t*>(y->bytes()) + 4);
    EXPECT_THAT(codes, ElementsAre(0x80, 0, 0x80, 0x38));
}

// ---- float functions ----

// Sine and others lose relative accuracy near their zeros only; `absolute` allows for that.
void expect_accuracy(const char* op,
                     double (*exact)(double),
                     double low,
                     double high,
                     double relative,
                     double absolute) {
    const auto function = find_unary_f32(op, {});
    ASSERT_TRUE(function.has_value()) << op;
    std::vector<float> x(100003);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(low + (high - low) * double(i) / double(x.size() - 1));
    }
    std::vector<float> y(x.size());
    (*function)(x.data(), y.data(), int64_t(x.size()));
    double worst = 0;
    float worst_x = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double want = exact(double(x[i]));
        const double error =
            (std::fabs(double(y[i]) - want) - absolute) / std::max(std::fabs(want), 1e-37);
        if (!(error <= worst)) {
            worst = error;
            worst_x = x[i];
        }
    }
    EXPECT_LE(worst, relative) << op << " at " << worst_x;
}

TEST(UnaryF32, StaysWithinAMillionthOfTheExactFunction) {
    expect_accuracy(
        "Exp", [](double x) { return std::exp(x); }, -87, 88.5, 3e-7, 0);
    expect_accuracy(
        "Log", [](double x) { return std::log(x); }, 1e-6, 100, 5e-7, 1e-7);
    expect_accuracy(
        "Log", [](double x) { return std::log(x); }, 1e-40, 1e-36, 5e-7, 0);
    expect_accuracy(
        "Tanh", [](double x) { return std::tanh(x); }, -12, 12, 5e-7, 0);
    expect_accuracy(
        "Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 5e-7, 0);
    expect_accuracy(
        "Erf", [](double x) { return std::erf(x); }, -6, 6, 5e-7, 0);
    expect_accuracy(
        "Sin", [](double x) { return std::sin(x); }, -40, 40, 5e-7, 1e-7);
    expect_accuracy(
        "Cos", [](double x) { return std::cos(x); }, -40, 40, 5e-7, 1e-7);
    expect_accuracy(
        "Sin", [](double x) { return std::sin(x); }, 1e4, 1e6, 5e-7, 4e-7);
    expect_accuracy(
        "Softplus", [](double x) { return std::log1p(std::exp(x)); }, -80, 80, 1e-6, 0);
    expect_accuracy(
        "Elu", [](double x) { return x < 0 ? std::expm1(x) : x; }, -30, 30, 1e-6, 0);
    expect_accuracy(
        "Gelu", [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, -10, 10, 3e-6,
        0);
}

TEST(UnaryF32, DoesNotDependOnPlaceOrCount) {
    std::vector<float> x(67);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(i) * 0.37F - 12;
    }
    for (const UnaryOp& op : unary_table()) {
        const auto function = find_unary_f32(op.name, {});
        if (!function) {
            continue;
        }
        std::vector<float> whole(x.size());
        (*function)(x.data(), whole.data(), int64_t(x.size()));
        for (size_t begin = 0; begin < x.size(); begin += 5) {
            std::vector<float> part(x.begin() + int64_t(begin), x.end());
            for (const int64_t n : {int64_t{1}, int64_t{3}, int64_t(part.size())}) {
                std::vector<float> y = part;
                (*function)(y.data(), y.data(), std::min(n, int64_t(part.size())));
                EXPECT_EQ(std::memcmp(y.data(), whole.data() + begin,
                                      size_t(std::min(n, int64_t(part.size()))) * 4),
                          0)
                    << op.name << " n " << n << " from " << begin;
            }
        }
    }
}

TEST(UnaryF32, ClipTakesItsBoundsFromAttributes) {
    const auto clip = find_unary_f32("Clip", {{"min", 0.0F}, {"max", 6.0F}});
    ASSERT_TRUE(clip.has_value());
    float x[] = {-1, 3, 7, kNan};
    (*clip)(x, x, 4);
    EXPECT_EQ(x[0], 0);
    EXPECT_EQ(x[1], 3);
    EXPECT_EQ(x[2], 6);
    EXPECT_TRUE(std::isnan(x[3]));
    EXPECT_FALSE(find_unary_f32("Softmax", {}).has_value());
    EXPECT_EQ(find_binary_f32("Pow"), nullptr);
}

// ---- functions of two operands ----

struct BinaryCase {
    const char* name;
    float (*f)(float x, float y);
};
const BinaryCase kBinaryCases[] = {
    {"Add", [](float x, float y) { return x + y; }},
    {"Div", [](float x, float y) { return x / y; }},
    {"Max", [](float x, float y) { return std::isnan(x) || x > y ? x : y; }},
    {"Min", [](float x, float y) { return std::isnan(x) || x < y ? x : y; }},
    {"Mul", [](float x, float y) { return x * y; }},
    {"PRelu", [](float x, float y) { return x < 0 ? x * y : x; }},
    {"Sub", [](float x, float y) { return x - y; }},
};

// An operand of `rows` rows of n elements, in memory of exactly its size, so that the address
// sanitizer sees every access beyond it.
struct BinaryOperand {
    BinaryOperand(int64_t rows, int64_t n, int64_t row_stride, int64_t stride, float first)
        : elements(size_t((rows - 1) * row_stride + (n - 1) * stride + 1)),
          view{elements.data(), row_stride, stride} {
        for (size_t i = 0; i < elements.size(); ++i) {
            elements[i] = i % 13 == 5 ? kNan : i % 17 == 3 ? -kInfinity : first + float(i) * 0.37F;
        }
    }
    float at(int64_t row, int64_t i) const {
        return elements[size_t(row * view.row_stride + i * view.stride)];
    }
    std::vector<float> elements;
    F32Rows view;
};

// Way 0 to 15: which operands have strides, and how their rows lie.
void expect_bits_of(const BinaryCase& c, int64_t rows, int64_t n, int way) {
    const int64_t x_stride = way & 1;
    const int64_t y_stride = way >> 1 & 1;
    const int64_t row = way >> 2 & 1;  // of strides for both, or for x
    const BinaryOperand x(rows, n, row * (n + 2), x_stride, -7);
    const BinaryOperand y(rows, n, (way >> 3 & 1) * n, y_stride, -3.5F);
    const int64_t z_row = n + way % 3;
    std::vector<float> z(size_t((rows - 1) * z_row + n), 99);
    std::vector<float> want = z;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < n; ++i) {
            want[size_t(r * z_row + i)] = c.f(x.at(r, i), y.at(r, i));
        }
    }
    find_binary_f32(c.name)(x.view, y.view, z.data(), z_row, rows, n);
    for (size_t i = 0; i < z.size(); ++i) {
        const bool is_same =
            std::isnan(want[i]) ? std::isnan(z[i])
                                : std::bit_cast<uint32_t>(z[i]) == std::bit_cast<uint32_t>(want[i]);
        ASSERT_TRUE(is_same) << c.name << ", " << rows << " rows of " << n << ", way " << way
                             << ", element " << i << ": " << z[i] << ", not " << want[i];
    }
}

// Rows of every length around those of vectors, and every way to broadcast.
TEST(BinaryF32, GivesTheBitsOfOneOperationForAnyRows) {
    constexpr int kWays = 16;
    constexpr int64_t kRows[] = {1, 2, 5};
    for (const BinaryCase& c : kBinaryCases) {
        for (int64_t n = 1; n <= 70; n += n < 36 ? 1 : 7) {
            for (int i = 0; i < kWays * int(std::size(kRows)); ++i) {
                expect_bits_of(c, kRows[i / kWays], n, i % kWays);
            }
        }
    }
}

// ---- loops ----

// Four elements of 6 bits lie in three bytes, the first in the lowest bits.
TEST(PackedTypes, OfSixBitsCrossBytes) {
    std::byte bytes[3] = {};
    const double values[] = {0.125, -0.125, 7.5, -7.5};  // codes 0x01, 0x21, 0x1f, 0x3f
    for (int i = 0; i < 4; ++i) {
        store_real(DType::kFloat6E2M3, bytes, i, values[i]);
    }
    EXPECT_THAT(bytes, ElementsAre(std::byte{0x41}, std::byte{0xf8}, std::byte{0xfd}));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(load_real(DType::kFloat6E2M3, bytes, i), values[i]);
    }
    store_real(DType::kFloat6E2M3, bytes, 1, 0);
    EXPECT_EQ(load_real(DType::kFloat6E2M3, bytes, 0), 0.125);
    EXPECT_EQ(load_real(DType::kFloat6E2M3, bytes, 2), 7.5);
}

TEST(PackedTypes, HaveZerosBehindTheLastElement) {
    NodeData node;
    node.op_type = "Cast";
    node.attributes = {{"to", int64_t(DType::kUint4)}};
    node.def = find_op("", "Cast");
    const std::vector<float> x = {1, 2, 3};
    std::byte y[3] = {std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
    const TensorArg input = row_major_arg(DType::kFloat32, Shape{3}, x.data());
    const TensorArg output = row_major_arg(DType::kUint4, Shape{3}, y);
    ASSERT_TRUE(run_reference({node, {&input, 1}, {&output, 1}}).ok());
    EXPECT_THAT(y, ElementsAre(std::byte{0x21}, std::byte{0x03}, std::byte{0xff}));
}

TEST(RowLoops, MergeAxesOfEqualLayout) {
    const TensorArg a = row_major_arg(DType::kFloat32, {2, 3, 4, 5}, nullptr);
    const TensorArg operands[] = {a, a};
    const cpu::RowLoops loops = cpu::make_row_loops(a, operands);
    EXPECT_EQ(loops.axes.size(), 1U);
    EXPECT_EQ(loops.axes[0].extent, 120);
}

TEST(RowLoops, FollowTheOutputsLayoutAndKeepBroadcastAxes) {
    TensorArg y = row_major_arg(DType::kFloat32, {2, 3, 4, 5}, nullptr);
    y.strides = channels_last_strides(y.shape);
    const TensorArg operands[] = {y, row_major_arg(DType::kFloat32, {3, 1, 1}, nullptr)};
    const cpu::RowLoops loops = cpu::make_row_loops(y, operands);
    ASSERT_EQ(loops.axes.size(), 2U);
    EXPECT_EQ(loops.axes[0].extent, 40);  // n, h and w
    EXPECT_EQ(loops.axes[1].extent, 3);
    EXPECT_EQ(loops.axes[0].input_strides[1], 0);
    EXPECT_EQ(loops.axes[1].input_strides[1], 1);
}

// ---- shape arithmetic ----

// Elements of the result for symbolic operands.
std::vector<DimSpec> extents_of(const char* op, std::vector<std::vector<DimSpec>> operands) {
    NodeData node;
    node.op_type = op;
    node.def = find_op("", op);
    node.outputs = {ValueId{100}};
    if (std::string_view(op) == "Cast") {
        node.attributes = to(DType::kInt64);
    }
    std::vector<ValueFact> facts(operands.size());
    std::vector<const ValueFact*> pointers;
    for (size_t i = 0; i < operands.size(); ++i) {
        const bool condition = std::string_view(op) == "Where" && i == 0;
        facts[i].type = TypeInfo::tensor(condition ? DType::kBool : DType::kInt64,
                                         Shape{int64_t(operands[i].size())});
        facts[i].extents = operands[i];
        node.inputs.push_back({int32_t(i)});
        pointers.push_back(&facts[i]);
    }
    std::vector<ValueFact> outputs(1);
    const Status status = infer_node(node, pointers, outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    return outputs[0].extents.value_or(std::vector<DimSpec>{"none"});
}

TEST(ShapeArithmetic, FollowsNamesThroughOperators) {
    EXPECT_EQ(extents_of("Mul", {{"batch", 2}, {8, 3}})[0].name(), "8*batch");
    EXPECT_EQ(extents_of("Mul", {{"batch", 2}, {8, 3}})[1].extent(), 6);
    EXPECT_EQ(extents_of("Add", {{"past"}, {1}})[0].name(), "past+1");
    EXPECT_EQ(extents_of("Sub", {{"a", 7}, {"a", 3}})[0].extent(), 0);
    EXPECT_EQ(extents_of("Div", {{9, "a"}, {2, 1}})[0].extent(), 4);
    EXPECT_EQ(extents_of("Cast", {{"a", 7}})[0].name(), "a");
    EXPECT_EQ(extents_of("Where", {{1, 0}, {"a", 7}, {5, "b"}})[0].name(), "a");
    EXPECT_EQ(extents_of("Where", {{1, 0}, {"a", 7}, {5, "b"}})[1].name(), "b");
}

// Expand in exported models: Where(Equal(shape, -1), ones, shape).
TEST(ShapeArithmetic, ASymbolicExtentIsNeverMinusOne) {
    NodeData node;
    node.op_type = "Equal";
    node.def = find_op("", "Equal");
    node.inputs = {ValueId{0}, ValueId{1}};
    node.outputs = {ValueId{100}};
    ValueFact shape;
    shape.type = TypeInfo::tensor(DType::kInt64, Shape{2});
    shape.extents = std::vector<DimSpec>{"batch", 3};
    ValueFact minus_one;
    minus_one.type = TypeInfo::tensor(DType::kInt64, Shape{});
    minus_one.value = vec<int64_t>({-1}).reshaped({});
    const ValueFact* inputs[] = {&shape, &minus_one};
    std::vector<ValueFact> outputs(1);
    ASSERT_TRUE(infer_node(node, inputs, outputs).ok());
    ASSERT_TRUE(outputs[0].extents.has_value());
    EXPECT_EQ((*outputs[0].extents)[0].extent(), 0);
    EXPECT_EQ((*outputs[0].extents)[1].extent(), 0);
}

}  // namespace
}  // namespace leat
