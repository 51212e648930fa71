// Runs every OpCase of every operator folder: the reference kernel, then each CPU kernel that
// covers the case, in each layout, with tiles one by one, in reverse and all at once (bitwise
// equal), out of place and in place, against the reference.
#include <gtest/gtest.h>

#include "conformance/op_difference.h"
#include "conformance/op_run.h"

namespace leat::testing {

namespace {

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
                      Layout layout,
                      const std::vector<Tensor>& want) const;
    // A kernel that several workers share may be made otherwise, and gives the same bits.
    void check_team(PreparedCase& prepared,
                    const cpu::CpuKernelEntry& entry,
                    Layout layout,
                    const std::vector<Tensor>& alone) const;
    // The reference kernel, and what all others that cover the case make of it.
    void check_kernels(PreparedCase& prepared) const;
};

void OpCases::check_kernel(PreparedCase& prepared,
                           const cpu::CpuKernelEntry& entry,
                           Layout layout,
                           const std::vector<Tensor>& want) const {
    auto made = prepared.make_kernel(entry.make, layout);
    ASSERT_TRUE(made.ok()) << made.error().message() << "; " << reproducer();
    if (*made == nullptr) {
        return;
    }
    const cpu::CpuKernel& kernel = **made;
    const std::string what = fmt::format("kernel '{}', {}, {} tiles", kernel.kernel_name,
                                         name_of(layout), kernel.tile_count);
    EXPECT_FALSE(kernel.kernel_name.empty()) << reproducer();
    const auto whole = prepared.run_kernel(kernel, layout, TileOrder::kAllAtOnce);
    ASSERT_TRUE(whole.ok()) << what << ": " << whole.error().message() << "; " << reproducer();
    expect_outputs(*whole, want, false, what);
    for (const TileOrder order : {TileOrder::kOneByOne, TileOrder::kReverse}) {
        const auto split = prepared.run_kernel(kernel, layout, order);
        ASSERT_TRUE(split.ok()) << what << ": " << split.error().message() << "; " << reproducer();
        expect_outputs(*split, *whole, true, what + ": another order of tiles");
    }
    check_team(prepared, entry, layout, *whole);
    for (int i = 0; i < int(prepared.inputs().size()); ++i) {
        if (prepared.inputs()[size_t(i)].defined() && prepared.allows_in_place(i, layout)) {
            const auto over = prepared.run_kernel(kernel, layout, TileOrder::kAllAtOnce, i);
            ASSERT_TRUE(over.ok())
                << what << ": " << over.error().message() << "; " << reproducer();
            expect_outputs(*over, *whole, true, fmt::format("{}: running over input {}", what, i));
        }
    }
}

void OpCases::check_team(PreparedCase& prepared,
                         const cpu::CpuKernelEntry& entry,
                         Layout layout,
                         const std::vector<Tensor>& alone) const {
    for (const int workers : {2, 3, 4}) {
        auto made = prepared.make_kernel(entry.make, layout, workers);
        ASSERT_TRUE(made.ok()) << made.error().message() << "; " << reproducer();
        const cpu::CpuKernel& kernel = **made;
        if (kernel.shared_bytes == 0) {
            continue;
        }
        const std::string what = fmt::format("kernel '{}' for {} workers, {} tiles",
                                             kernel.kernel_name, workers, kernel.tile_count);
        for (const TileOrder order : {TileOrder::kAllAtOnce, TileOrder::kOneByOne,
                                      TileOrder::kReverse, TileOrder::kInParallel}) {
            const auto got = prepared.run_kernel(kernel, layout, order);
            ASSERT_TRUE(got.ok()) << what << ": " << got.error().message() << "; " << reproducer();
            expect_outputs(*got, alone, true, what);
        }
    }
}

void OpCases::check_kernels(PreparedCase& prepared) const {
    const auto want = prepared.run_reference();
    ASSERT_TRUE(want.ok()) << want.error().message() << "; " << reproducer();
    for (const cpu::CpuKernelEntry* entry : kernels_of(GetParam().op_type)) {
        for (const Layout layout :
             {Layout::kRowMajor, Layout::kChannelsLast, Layout::kTransposed}) {
            if (prepared.allows(layout)) {
                check_kernel(prepared, *entry, layout, *want);
            }
        }
    }
}

TEST_P(OpCases, MatchReference) {
    auto made = PreparedCase::make(GetParam());
    ASSERT_TRUE(made.ok()) << made.error().message() << "; " << reproducer();
    check_kernels(**made);
}

// An operator refuses to go without an input, or all its kernels do without it.
TEST_P(OpCases, RefuseOrMatchWithoutAnInput) {
    for (size_t i = 0; i < GetParam().inputs.size(); ++i) {
        SCOPED_TRACE(fmt::format("without input {}", i));
        OpCase lacking = GetParam();
        lacking.inputs[i] = CaseInput();
        lacking.inputs[i].absent = true;
        if (auto made = PreparedCase::make(lacking); made.ok()) {
            check_kernels(**made);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpCases, ::testing::ValuesIn(all_cases()), [](const auto& info) {
    return test_name_of(info.param);
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OpCases);

}  // namespace
}  // namespace leat::testing
