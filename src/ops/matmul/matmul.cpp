#include "ops/matmul/matmul.h"

#include <algorithm>
#include <vector>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status matmul_reference(const ReferenceArgs& args);
Status gemm_reference(const ReferenceArgs& args);

namespace {

constexpr DTypeSet kMatMulTypes = kFloatTypes | kWideIntTypes;

Status mismatch(const TypeInfo& a, const TypeInfo& b, const DimSpec& a_k, const DimSpec& b_k) {
    return invalid_argument("A's columns must equal B's rows")
        .with_found(fmt::format("A is {}, B is {}: {} columns against {} rows", a.to_string(),
                                b.to_string(), a_k.extent(), b_k.extent()))
        .with_needed(fmt::format("{} rows of B", a_k.extent()));
}

bool differ(const DimSpec& a, const DimSpec& b) {
    return a.is_fixed() && b.is_fixed() && a.extent() != b.extent();
}

Status check_ranks(const TypeInfo& a, const TypeInfo& b) {
    for (const TypeInfo* operand : {&a, &b}) {
        if (operand->rank() == 0) {
            return invalid_argument("input {} must not be a scalar", operand == &a ? "A" : "B")
                .with_found(operand->to_string())
                .with_needed("rank 1 or more");
        }
    }
    return {};
}

Status check_operands(const InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMatMulTypes, "A"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kMatMulTypes, "B"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    return check_ranks(context.input(0), context.input(1));
}

// The batch axes of the result, with room for two more.
Result<std::vector<DimSpec>> matmul_batch(const std::vector<DimSpec>& a,
                                          const std::vector<DimSpec>& b) {
    const auto batch_end = [](const std::vector<DimSpec>& dims) {
        return dims.begin() + std::max<std::ptrdiff_t>(std::ssize(dims) - 2, 0);
    };
    std::vector<DimSpec> dims;
    if (b.size() <= 2 || (a.size() == b.size() &&
                          std::equal(a.begin(), batch_end(a), b.begin(), batch_end(b), same_dim))) {
        dims.reserve(std::max<size_t>(a.size(), 2));
        dims.assign(a.begin(), batch_end(a));
        return dims;
    }
    const auto batch_of = [&](const std::vector<DimSpec>& of) {
        return TypeInfo::tensor(DType::kFloat32, std::vector<DimSpec>(of.begin(), batch_end(of)));
    };
    LEAT_ASSIGN_OR_RETURN(auto batch, broadcast_dims(batch_of(a), batch_of(b)));
    dims.reserve(std::max(a.size(), b.size()));
    if (batch) {
        dims.assign(batch->begin(), batch->end());
    }
    return dims;
}

Status infer_matmul(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_operands(context));
    const TypeInfo& a = context.input(0);
    LEAT_ASSIGN_OR_RETURN(auto dims, matmul_dims(a, context.input(1)));
    context.set_output(0, a.dtype, std::move(dims));
    return {};
}

// c must broadcast to [m, n], never the other way round.
Status check_gemm_bias(const InferContext& context, const DimSpec& m, const DimSpec& n) {
    if (!is_own_input(context.node(), 2)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_dtype(context, 2, kMatMulTypes, "C"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    if (!context.has_input(2) || !context.input(2).dims) {
        return {};
    }
    const std::vector<DimSpec>& c = *context.input(2).dims;
    const auto fits = [](const DimSpec& from, const DimSpec& to) {
        return !differ(from, to) || from.extent() == 1;
    };
    const bool fits_columns = c.empty() || fits(c.back(), n);
    const bool fits_rows = c.size() < 2 || fits(c[0], m);
    if (c.size() > 2 || !fits_columns || !fits_rows) {
        return invalid_argument("C must broadcast to the result")
            .with_found(context.input(2).to_string())
            .with_needed(fmt::format("a shape that broadcasts to {} x {}", m.extent(), n.extent()));
    }
    return {};
}

Status infer_gemm(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_operands(context));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 2, "A"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 2, "B"));
    const TypeInfo& a = context.input(0);
    const TypeInfo& b = context.input(1);
    const std::vector<DimSpec> any(2, DimSpec::unknown());
    const std::vector<DimSpec>& a_dims = a.dims ? *a.dims : any;
    const std::vector<DimSpec>& b_dims = b.dims ? *b.dims : any;
    const auto transpose_a = size_t(context.node().attr("transA", int64_t{0}) != 0);
    const auto transpose_b = size_t(context.node().attr("transB", int64_t{0}) != 0);
    const DimSpec& a_k = a_dims[1 - transpose_a];
    const DimSpec& b_k = b_dims[transpose_b];
    if (differ(a_k, b_k)) {
        return mismatch(a, b, a_k, b_k);
    }
    const DimSpec& m = a_dims[transpose_a];
    const DimSpec& n = b_dims[1 - transpose_b];
    LEAT_RETURN_IF_ERROR(check_gemm_bias(context, m, n));
    context.set_output(0, a.dtype, std::vector<DimSpec>{m, n});
    return {};
}

Cost gemm_cost(const NodeData& node,
               std::span<const TensorArg> inputs,
               std::span<const TensorArg> outputs) {
    const int64_t k = inputs[0].shape[node.attr("transA", int64_t{0}) != 0 ? 0 : 1];
    return {2.0 * double(outputs[0].shape.element_count()) * double(k),
            moved_bytes(inputs, outputs)};
}

bool gemm_gives_rows(const ShardArgs& args) {
    const bool transposes_a = args.node.attr("transA", int64_t{0}) != 0;
    const bool has_c = args.inputs.size() > 2;
    return !transposes_a && args.parts[0] == ShardPart::kRows &&
           args.parts[1] == ShardPart::kWhole &&
           (!has_c || broadcasts_to_rows(args.inputs[2], args.parts[2], args.outputs[0].shape));
}

// Strides of an operand's matrices along y's batch axes; 0 where its extent is 1.
Strides batch_strides(const Shape& operand, const Shape& batch) {
    Strides strides{};
    int64_t stride = 1;
    const int lead = batch.rank() - std::max(operand.rank() - 2, 0);
    for (int axis = batch.rank() - 1; axis >= lead; --axis) {
        const int64_t extent = operand[axis - lead];
        strides[size_t(axis)] = extent == 1 ? 0 : stride;
        stride *= extent;
    }
    return strides;
}

constexpr AttributeSchema kGemmAttributes[] = {
    {.name = "alpha", .kind = AttributeKind::kFloat},
    {.name = "beta", .kind = AttributeKind::kFloat},
    {.name = "broadcast", .kind = AttributeKind::kInt, .before = 7},
    {.name = "transA", .kind = AttributeKind::kInt},
    {.name = "transB", .kind = AttributeKind::kInt},
};

}  // namespace

Result<std::optional<std::vector<DimSpec>>> matmul_dims(const TypeInfo& a, const TypeInfo& b) {
    using Dims = std::optional<std::vector<DimSpec>>;
    LEAT_RETURN_IF_ERROR(check_ranks(a, b));
    if (!a.dims || !b.dims) {
        return Dims();
    }
    const size_t a_rank = a.dims->size();
    const size_t b_rank = b.dims->size();
    const DimSpec& a_k = a.dims->back();
    const DimSpec& b_k = b_rank == 1 ? b.dims->front() : (*b.dims)[b_rank - 2];
    if (differ(a_k, b_k)) {
        return mismatch(a, b, a_k, b_k);
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<DimSpec> dims, matmul_batch(*a.dims, *b.dims));
    if (a_rank > 1) {
        dims.push_back((*a.dims)[a_rank - 2]);
    }
    if (b_rank > 1) {
        dims.push_back(b.dims->back());
    }
    return Dims(std::move(dims));
}

Cost matmul_cost(const NodeData& /*node*/,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    const Shape& a = inputs[0].shape;
    const int64_t k = a.rank() > 0 ? a[a.rank() - 1] : 1;
    return {2.0 * double(outputs[0].shape.element_count()) * double(k),
            moved_bytes(inputs, outputs)};
}

// Rows of the result are rows of a matrix a, or products of a batch.
bool matmul_gives_rows(const ShardArgs& args) {
    const TensorArg& a = args.inputs[0];
    const TensorArg& b = args.inputs[1];
    if (a.shape.rank() == 2 && b.shape.rank() <= 2) {
        return rows_of_first_input(args);
    }
    // The batch axes of the operands broadcast, a column b counts as one matrix for all.
    const int rank = std::max(a.shape.rank(), b.shape.rank());
    const auto fits = [&](size_t i) {
        const TensorArg& operand = args.inputs[i];
        const bool has_axis_0 = operand.shape.rank() == rank && rank >= 3;
        return args.parts[i] == ShardPart::kRows
                   ? has_axis_0
                   : args.parts[i] == ShardPart::kWhole && (!has_axis_0 || operand.shape[0] == 1);
    };
    return rank >= 3 && fits(0) && fits(1);
}

MatMulGeometry MatMulGeometry::make(const Shape& a, const Shape& b) {
    MatMulGeometry geometry;
    geometry.k = a[a.rank() - 1];
    geometry.m = a.rank() > 1 ? a[a.rank() - 2] : 1;
    geometry.n = b.rank() > 1 ? b[b.rank() - 1] : 1;
    const int a_batch = std::max(a.rank() - 2, 0);
    const int b_batch = std::max(b.rank() - 2, 0);
    const int rank = std::max(a_batch, b_batch);
    for (int axis = 0; axis < rank; ++axis) {
        const int64_t from_a = axis < rank - a_batch ? 1 : a[axis - (rank - a_batch)];
        const int64_t from_b = axis < rank - b_batch ? 1 : b[axis - (rank - b_batch)];
        geometry.batch.append(from_a == 1 ? from_b : from_a);
    }
    geometry.a_batch_strides = batch_strides(a, geometry.batch);
    geometry.b_batch_strides = batch_strides(b, geometry.batch);
    return geometry;
}

int64_t MatMulGeometry::matrix(int64_t index, const Strides& strides) const {
    int64_t offset = 0;
    for (int axis = batch.rank() - 1; axis >= 0; --axis) {
        offset += index % batch[axis] * strides[size_t(axis)];
        index /= batch[axis];
    }
    return offset;
}

GemmGeometry GemmGeometry::make(const NodeData& node,
                                const Shape& a,
                                const Shape& b,
                                const Shape* c) {
    GemmGeometry geometry;
    geometry.transpose_a = node.attr("transA", int64_t{0}) != 0;
    geometry.transpose_b = node.attr("transB", int64_t{0}) != 0;
    geometry.alpha = node.attr("alpha", 1.0F);
    geometry.beta = node.attr("beta", 1.0F);
    geometry.m = a[geometry.transpose_a ? 1 : 0];
    geometry.k = a[geometry.transpose_a ? 0 : 1];
    geometry.n = b[geometry.transpose_b ? 0 : 1];
    if (c != nullptr && c->rank() > 0) {
        const int64_t columns = (*c)[c->rank() - 1];
        geometry.c_column_stride = columns == 1 ? 0 : 1;
        geometry.c_row_stride = c->rank() == 2 && (*c)[0] != 1 ? columns : 0;
    }
    return geometry;
}

std::span<const OpDef> matmul_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "MatMul",
         .min_inputs = 2,
         .max_inputs = 2,
         .infer = infer_matmul,
         .reference = matmul_reference,
         .cost = matmul_cost,
         .transposed_inputs = 0b10,
         .gives_rows = matmul_gives_rows},
        {.name = "Gemm",
         .min_inputs = 2,
         .max_inputs = 3,
         .attributes = kGemmAttributes,
         .infer = infer_gemm,
         .reference = gemm_reference,
         .cost = gemm_cost,
         .gives_rows = gemm_gives_rows},
    };
    return kOps;
}

}  // namespace leat
