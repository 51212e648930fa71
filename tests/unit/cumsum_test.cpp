// CumProd: the standard's examples. CumSum has them in ONNX's own tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;

OneNode products(const Tensor& x, int64_t axis, int64_t exclusive, int64_t reverse) {
    return {"CumProd",
            {x, tensor_of<int64_t>({}, {axis})},
            {{"exclusive", exclusive}, {"reverse", reverse}},
            0,
            1,
            0b10};
}

TEST(CumProd, GivesTheStandardsExamples) {
    const Tensor x = tensor_of<float>({3}, {1, 2, 3});
    expect_result(products(x, 0, 0, 0), tensor_of<float>({3}, {1, 2, 6}));
    expect_result(products(x, 0, 1, 0), tensor_of<float>({3}, {1, 1, 2}));
    expect_result(products(x, 0, 0, 1), tensor_of<float>({3}, {6, 6, 3}));
    expect_result(products(x, 0, 1, 1), tensor_of<float>({3}, {6, 3, 1}));
}

TEST(CumProd, WorksAlongAnyAxis) {
    const Tensor want = tensor_of<float>({2, 3}, {1, 2, 3, 4, 10, 18});
    expect_result(products(counted({2, 3}), 0, 0, 0), want);
    expect_result(products(counted({2, 3}), -2, 0, 0), want);
    expect_result(products(counted({2, 3}), 1, 0, 0),
                  tensor_of<float>({2, 3}, {1, 2, 6, 4, 20, 120}));
}

TEST(CumProd, LetsIntegersWrapAround) {
    const int32_t million = 1'000'000;
    expect_result(products(tensor_of<int32_t>({3}, {million, -million, 3}), 0, 0, 0),
                  tensor_of<int32_t>({3}, {million, 727379968, -2112827392}));
}

TEST(CumProd, NamesAnAxisThatIsNotThere) {
    EXPECT_THAT(error_of(products(counted({2, 3}), 2, 0, 0)), HasSubstr("found 2"));
}

}  // namespace
}  // namespace leat::testing
