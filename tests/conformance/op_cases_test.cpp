// Runs every OpCase of every operator folder: the reference kernel, then each CPU kernel that
// covers the case, in each layout, with tiles one by one, in reverse and all at once (bitwise
// equal), out of place and in place, against the reference.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <ostream>

#include "conformance/op_run.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

// For GoogleTest's messages.
static std::ostream& operator<<(std::ostream& stream, const OpCase& op_case) {
    return stream << op_case.name;
}

namespace {

std::string test_name_of(const OpCase& op_case) {
    std::string name = op_case.name;
    for (char& c : name) {
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
}

bool within(double got, double want, double rtol, double atol) {
    if (std::isnan(want) || std::isnan(got)) {
        return std::isnan(want) && std::isnan(got);
    }
    return got == want || std::fabs(got - want) <= atol + rtol * std::fabs(want);
}

// Empty if all elements agree, else the first that does not.
std::string difference(const Tensor& got, const Tensor& want, const OpCase& op_case) {
    const DType dtype = want.dtype();
    // Complex numbers are compared part by part.
    const bool complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
    const DType part = dtype == DType::kComplex64 ? DType::kFloat32
                       : complex                  ? DType::kFloat64
                                                  : dtype;
    const bool is_float = contains(kFloatTypes | kSmallFloatTypes, part);
    for (int64_t i = 0; i < want.element_count() * (complex ? 2 : 1); ++i) {
        if (dtype == DType::kString) {
            const std::string& a = got.data<std::string>()[size_t(i)];
            const std::string& b = want.data<std::string>()[size_t(i)];
            if (a != b) {
                return fmt::format("element {}: got '{}', reference '{}'", i, a, b);
            }
            continue;
        }
        const double a = load_real(part, got.bytes(), i);
        const double b = load_real(part, want.bytes(), i);
        // Integers are exact unless the case allows a step (rounding of quantised results).
        const bool exact = !is_float && op_case.atol < 1;
        if (exact ? load_integer(part, got.bytes(), i) != load_integer(part, want.bytes(), i)
                  : !within(a, b, is_float ? op_case.rtol : 0, op_case.atol)) {
            return fmt::format("element {} of {}: got {:.9g}, reference {:.9g}, rtol {} atol {}", i,
                               want.shape().to_string(), a, b, op_case.rtol, op_case.atol);
        }
    }
    return {};
}

class OpCases : public ::testing::TestWithParam<OpCase> {
  protected:
    std::string reproducer() const {
        return fmt::format("reproduce: conformance_ops --gtest_filter='*/OpCases.*/{}'",
                           test_name_of(GetParam()));
    }
    // All outputs against `want`; bitwise or within the case's tolerance.
    void expect_outputs(const std::vector<Tensor>& got,
                        const std::vector<Tensor>& want,
                        bool bitwise,
                        const std::string& what) const {
        for (size_t i = 0; i < want.size(); ++i) {
            if (bitwise) {
                EXPECT_TRUE(bitwise_equal(got[i], want[i]))
                    << what << " changes bits of output " << i << "; " << reproducer();
                continue;
            }
            const std::string text = difference(got[i], want[i], GetParam());
            EXPECT_TRUE(text.empty())
                << what << ", output " << i << ": " << text << "; " << reproducer();
        }
    }
    void check_kernel(PreparedCase& prepared,
                      const cpu::CpuKernelEntry& entry,
                      CaseLayout layout,
                      const std::vector<Tensor>& want) const;
};

void OpCases::check_kernel(PreparedCase& prepared,
                           const cpu::CpuKernelEntry& entry,
                           CaseLayout layout,
                           const std::vector<Tensor>& want) const {
    auto made = prepared.make_kernel(entry.make, layout);
    ASSERT_TRUE(made.ok()) << made.error().message() << "; " << reproducer();
    if (*made == nullptr) {
        return;
    }
    const cpu::CpuKernel& kernel = **made;
    const std::string what = fmt::format(
        "kernel '{}', {}, {} tiles", kernel.kernel_name,
        layout == CaseLayout::kRowMajor ? "row-major" : "channels-last", kernel.tile_count);
    EXPECT_FALSE(kernel.kernel_name.empty()) << reproducer();
    const auto whole = prepared.run_kernel(kernel, layout, TileOrder::kAllAtOnce);
    ASSERT_TRUE(whole.ok()) << what << ": " << whole.error().message() << "; " << reproducer();
    expect_outputs(*whole, want, false, what);
    for (const TileOrder order : {TileOrder::kOneByOne, TileOrder::kReverse}) {
        const auto split = prepared.run_kernel(kernel, layout, order);
        ASSERT_TRUE(split.ok()) << what << ": " << split.error().message() << "; " << reproducer();
        expect_outputs(*split, *whole, true, what + ": another order of tiles");
    }
    for (int i = 0; i < int(prepared.inputs().size()); ++i) {
        if (prepared.inputs()[size_t(i)].defined() && prepared.allows_in_place(i, layout)) {
            const auto over = prepared.run_kernel(kernel, layout, TileOrder::kAllAtOnce, i);
            ASSERT_TRUE(over.ok())
                << what << ": " << over.error().message() << "; " << reproducer();
            expect_outputs(*over, *whole, true, fmt::format("{}: running over input {}", what, i));
        }
    }
}

TEST_P(OpCases, MatchReference) {
    auto made = PreparedCase::make(GetParam());
    ASSERT_TRUE(made.ok()) << made.error().message() << "; " << reproducer();
    PreparedCase& prepared = **made;
    const auto want = prepared.run_reference();
    ASSERT_TRUE(want.ok()) << want.error().message() << "; " << reproducer();
    for (const cpu::CpuKernelEntry* entry : kernels_of(GetParam().op_type)) {
        for (const CaseLayout layout : {CaseLayout::kRowMajor, CaseLayout::kChannelsLast}) {
            if (prepared.allows(layout)) {
                check_kernel(prepared, *entry, layout, *want);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpCases, ::testing::ValuesIn(all_cases()), [](const auto& info) {
    return test_name_of(info.param);
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpCases);

}  // namespace
}  // namespace leat::testing
