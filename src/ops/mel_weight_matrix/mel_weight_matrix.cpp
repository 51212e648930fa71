#include "ops/mel_weight_matrix/mel_weight_matrix.h"

#include <array>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

constexpr int64_t kMostMelExtent = int64_t{1} << 56;

// Integer operand i as an extent; unknown where it is. An error if it is less than `least`.
Result<DimSpec> mel_count(const InferContext& context, int i, const char* what, int64_t least) {
    if (const auto values = context.ints(i)) {
        if ((*values)[0] < least || (*values)[0] > kMostMelExtent) {
            return invalid_argument("{} is out of range", what)
                .with_found(fmt::format("{}", (*values)[0]))
                .with_needed(fmt::format("{} to {}", least, kMostMelExtent));
        }
        return DimSpec((*values)[0]);
    }
    const auto extents = context.extents(i);
    return extents && extents->size() == 1 ? (*extents)[0] : DimSpec::unknown();
}

Status infer_mel_weight_matrix(InferContext& context) {
    constexpr std::array kNames = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                                   "upper_edge_hertz"};
    for (int i = 0; i < 5; ++i) {
        const char* const name = kNames[size_t(i)];
        LEAT_RETURN_IF_ERROR(i < 3 ? check_index_type(context, i, name)
                                   : require_dtype(context, i, kFloatTypes, name));
        if (!may_have_one_element(context.input(i))) {
            return invalid_argument("{} must have one element", name)
                .with_found(context.input(i).to_string());
        }
    }
    const int64_t number = context.node().attr("output_datatype", int64_t(DType::kFloat32));
    const DType dtype = dtype_from_number(number);
    if (!contains(kNumericTypes, dtype)) {
        return invalid_argument("attribute output_datatype is no type of a matrix")
            .with_found(fmt::format("{}", number))
            .with_needed("the number of a type of integers or floats of 16 bits or more");
    }
    LEAT_ASSIGN_OR_RETURN(const DimSpec bands, mel_count(context, 0, kNames[0], 0));
    LEAT_ASSIGN_OR_RETURN(const DimSpec length, mel_count(context, 1, kNames[1], 0));
    LEAT_RETURN_IF_ERROR(mel_count(context, 2, kNames[2], 1).error());
    const DimSpec bins = length.is_fixed() ? DimSpec(length.extent() / 2 + 1) : DimSpec::unknown();
    context.set_output(0, dtype, Dims{bins, bands});
    return {};
}

constexpr AttributeSchema kMelWeightMatrixAttributes[] = {
    {.name = "output_datatype", .kind = AttributeKind::kInt},
};

constexpr OpDef kMelWeightMatrixOps[] = {
    {.name = "MelWeightMatrix",
     .min_inputs = 5,
     .max_inputs = 5,
     .attributes = kMelWeightMatrixAttributes,
     .infer = infer_mel_weight_matrix,
     .reference = mel_weight_matrix_reference,
     .shape_inputs = 0b11},
};

}  // namespace

std::span<const OpDef> mel_weight_matrix_ops() {
    return kMelWeightMatrixOps;
}

}  // namespace leat
