// Runs every OpCase in two parts where OpDef::gives_rows says that they give the rows of one run,
// on the reference kernel and on the CPU kernel that the backend would choose: the bits must be the
// same. The choice of a kernel may depend on the number of rows, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "conformance/op_run.h"

namespace leat::testing {
namespace {

// Rows [begin, begin + rows) of a tensor of whole bytes.
Tensor rows_of(const Tensor& whole, int64_t begin, int64_t rows) {
    Shape shape = whole.shape();
    shape[0] = rows;
    Tensor part = *Tensor::allocate(whole.dtype(), shape);
    const int64_t row_bytes = whole.byte_count() / whole.shape()[0];
    std::copy_n(whole.bytes() + begin * row_bytes, part.byte_count(), part.mutable_bytes());
    return part;
}

bool can_be_divided(const Tensor& tensor, int64_t batch) {
    return tensor.defined() && tensor.dtype() != DType::kString && bits_of(tensor.dtype()) >= 8 &&
           tensor.shape().rank() > 0 && tensor.shape()[0] == batch;
}

// Rows that all results have; 0: they have none in common, or no two, or only a run knows.
int64_t batch_of(const PreparedCase& prepared) {
    int64_t batch = 0;
    for (const ValueFact& fact : prepared.outputs()) {
        const Shape shape = fact.type.fixed_shape().value_or(Shape());
        const int64_t rows = shape.rank() > 0 ? shape[0] : 0;
        if (fact.type.dtype == DType::kString || bits_of(fact.type.dtype) < 8 || rows < 2 ||
            (batch != 0 && rows != batch)) {
            return 0;
        }
        batch = rows;
    }
    return batch;
}

bool gives_rows(const PreparedCase& prepared, uint32_t divided) {
    std::vector<TensorArg> inputs;
    std::vector<ShardPart> parts;
    for (size_t i = 0; i < prepared.inputs().size(); ++i) {
        const Tensor& input = prepared.inputs()[i];
        const bool is_divided = (divided >> i & 1U) != 0;
        inputs.push_back(input.defined() ? arg_of(input) : TensorArg());
        inputs.back().data = is_divided ? nullptr : inputs.back().data;
        parts.push_back(is_divided ? ShardPart::kRows : ShardPart::kWhole);
    }
    std::vector<TensorArg> outputs;
    for (const ValueFact& fact : prepared.outputs()) {
        outputs.push_back(row_major_arg(fact.type.dtype, *fact.type.fixed_shape(), nullptr));
    }
    return prepared.def().gives_rows({prepared.node(), inputs, outputs, parts});
}

// The same case for some rows; null if its results do not have as many.
std::unique_ptr<PreparedCase> shard_of(const OpCase& op_case,
                                       const PreparedCase& whole,
                                       uint32_t divided,
                                       int64_t begin,
                                       int64_t rows) {
    OpCase part = op_case;
    for (size_t i = 0; i < part.inputs.size(); ++i) {
        if ((divided >> i & 1U) != 0) {
            part.inputs[i].value = rows_of(whole.inputs()[i], begin, rows);
        } else {
            part.inputs[i].value = whole.inputs()[i];
        }
    }
    Result<std::unique_ptr<PreparedCase>> made = PreparedCase::make(part);
    if (!made.ok()) {
        return nullptr;
    }
    for (size_t i = 0; i < whole.outputs().size(); ++i) {
        Shape shape = *whole.outputs()[i].type.fixed_shape();
        shape[0] = rows;
        if ((*made)->outputs()[i].type.fixed_shape() != shape) {
            return nullptr;
        }
    }
    return *std::move(made);
}

struct Run {
    std::string kernel;
    std::vector<Tensor> results;
};

// By the first CPU kernel that covers the case, or the reference kernel.
Run run_like_backend(PreparedCase& prepared, Layout layout) {
    for (const cpu::CpuKernelEntry* entry : kernels_of(prepared.node().op_type)) {
        const auto made = prepared.make_kernel(entry->make, layout);
        EXPECT_TRUE(made.ok()) << made.error().message();
        if (made.ok() && *made != nullptr) {
            return {std::string((*made)->kernel_name),
                    *prepared.run_kernel(**made, layout, TileOrder::kAllAtOnce)};
        }
    }
    return {"reference", *prepared.run_reference()};
}

void expect_rows(const Run& part, const Run& whole, int64_t begin, const std::string& what) {
    for (size_t i = 0; i < whole.results.size(); ++i) {
        const Tensor want = rows_of(whole.results[i], begin, part.results[i].shape()[0]);
        EXPECT_TRUE(bitwise_equal(part.results[i], want))
            << what << ", rows from " << begin << " of output " << i << " differ; kernel '"
            << part.kernel << "', of the whole '" << whole.kernel << "'";
    }
}

// True if it ran: shards of one row and of the others.
bool check_shards(const OpCase& op_case, PreparedCase& whole, uint32_t divided, int64_t batch) {
    const std::string what = fmt::format("{}, divided inputs {:#b}", op_case.name, divided);
    const auto first = shard_of(op_case, whole, divided, 0, 1);
    const auto second = shard_of(op_case, whole, divided, 1, batch - 1);
    if (first == nullptr || second == nullptr) {
        return false;
    }
    const Run expected{"reference", *whole.run_reference()};
    expect_rows({"reference", *first->run_reference()}, expected, 0, what);
    expect_rows({"reference", *second->run_reference()}, expected, 1, what);
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast, Layout::kTransposed}) {
        if (!whole.allows(layout)) {
            continue;
        }
        const Run run = run_like_backend(whole, layout);
        expect_rows(run_like_backend(*first, layout), run, 0, what);
        expect_rows(run_like_backend(*second, layout), run, 1, what);
    }
    return true;
}

TEST(OpShards, GiveTheRowsOfOneRun) {
    std::set<std::string_view> unproven;
    for (const OpDef* def : all_ops()) {
        if (def->gives_rows != nullptr) {
            unproven.insert(def->name);
        }
    }
    for (const OpCase& op_case : all_cases()) {
        auto made = PreparedCase::make(op_case);
        ASSERT_TRUE(made.ok()) << made.error().message();
        PreparedCase& whole = **made;
        const int64_t batch = batch_of(whole);
        if (batch == 0 || whole.def().gives_rows == nullptr) {
            continue;
        }
        uint32_t candidates = 0;
        for (size_t i = 0; i < whole.inputs().size(); ++i) {
            const bool may_be =
                !op_case.inputs[i].constant && can_be_divided(whole.inputs()[i], batch);
            candidates |= uint32_t(may_be) << i;
        }
        for (uint32_t divided = 1; divided <= candidates; ++divided) {
            if ((divided & ~candidates) == 0 && gives_rows(whole, divided) &&
                check_shards(op_case, whole, divided, batch)) {
                unproven.erase(whole.def().name);
            }
        }
    }
    // Layout has no cases, and the operand of ConstantOfShape is a shape: it is never divided.
    EXPECT_THAT(unproven, ::testing::ElementsAre("ConstantOfShape", "Layout"))
        << "operators without a case that can be divided";
}

}  // namespace
}  // namespace leat::testing
