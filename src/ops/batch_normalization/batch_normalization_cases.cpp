// Conformance cases of BatchNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

OpCase normalization(const char* name,
                     Shape shape,
                     DType dtype = DType::kFloat32,
                     bool constant = true) {
    const Shape channels{shape.rank() > 1 ? shape[1] : 1};
    CaseInput parameter = random_input(channels, dtype);
    parameter.constant = constant;
    CaseInput variance = random_input(channels, dtype, 0.5, 2);
    variance.constant = constant;
    OpCase op_case{std::string("BatchNormalization/") + name,
                   "BatchNormalization",
                   {random_input(shape, dtype), parameter, parameter, parameter, variance}};
    op_case.atol = 1e-5;
    return op_case;
}

OpCase training(const char* name, Shape shape) {
    OpCase op_case = normalization(name, shape, DType::kFloat32, false);
    op_case.attributes = {{"training_mode", int64_t{1}}, {"momentum", 0.8F}};
    op_case.output_count = 3;
    return op_case;
}

}  // namespace

std::vector<OpCase> batch_normalization_cases() {
    std::vector<OpCase> cases{
        normalization("images", {2, 5, 9, 11}),
        normalization("many_channels", {1, 130, 7, 7}),
        normalization("large_plane", {1, 3, 100, 90}),
        normalization("not_constant", {2, 19, 5, 5}, DType::kFloat32, false),
        normalization("1d", {3, 4, 33}),
        normalization("3d", {1, 9, 3, 4, 5}),
        normalization("matrix", {6, 37}),
        normalization("vector", {6}),
        normalization("batch_zero", {0, 3, 4, 4}),
        normalization("f64", {1, 3, 4, 4}, DType::kFloat64),
        training("training", {2, 5, 9, 11}),
        training("training_matrix", {20, 7}),
        normalization("f16", {1, 3, 4, 4}, DType::kFloat16),
    };
    cases.back().rtol = cases.back().atol = 2e-2;
    for (const DType dtype : {DType::kFloat16, DType::kFloat64}) {
        OpCase trained = training("training_", {2, 3, 5, 4});
        trained.name += name_of(dtype);
        for (CaseInput& input : trained.inputs) {
            input.dtype = dtype;
        }
        if (dtype == DType::kFloat16) {
            trained.rtol = trained.atol = 2e-2;
        }
        cases.push_back(std::move(trained));
    }
    OpCase epsilon = normalization("epsilon", {2, 3, 4, 5});
    epsilon.attributes = {{"epsilon", 0.02F}};
    cases.push_back(std::move(epsilon));
    return cases;
}

}  // namespace leat::testing
