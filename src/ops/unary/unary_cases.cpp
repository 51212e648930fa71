#include <limits>

#include "conformance/op_case.h"
#include "ops/elementwise/element_access.h"
#include "ops/unary/unary.h"

namespace leat::testing {

std::vector<OpCase> unary_cases();

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Arguments of interest and a sweep of the line.
Tensor sweep() {
    std::vector<float> values = {
        0.0F,   -0.0F,   1.0F,  -1.0F,  0.5F,   -0.5F,    1.5F,  2.5F,      -2.5F,     1e-30F,
        1e30F,  -1e30F,  1e-8F, -1e-8F, 1e-4F,  -1e-4F,   88.0F, 89.0F,     -88.0F,    -103.0F,
        104.0F, 1000.0F, 1e5F,  -1e5F,  1e-41F, -1000.0F, kNan,  kInfinity, -kInfinity};
    for (float x = -20.0F; x < 20.0F; x += 0.0371F) {
        values.push_back(x);
    }
    return *Tensor::from<float>({int64_t(values.size())}, values);
}

CaseInput random(DType dtype, const Shape& shape, double low = -3, double high = 3) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    input.low = low;
    input.high = high;
    return input;
}

OpCase make(const UnaryOp& op,
            std::string_view suffix,
            CaseInput input,
            Attributes attributes = {}) {
    OpCase c;
    c.name = std::string(op.name) + "/" + std::string(suffix);
    c.op_type = std::string(op.name);
    c.inputs = {std::move(input)};
    c.attributes = std::move(attributes);
    c.rtol = 1e-6;
    c.atol =
        1e-37;  // the reference keeps subnormal results, fast kernels may lose some bits of them
    // Cancellation near zeros of the function leaves an error of the size of a float's step at 1.
    const bool cancels = op.name == "Gelu" || op.name == "HardSigmoid" || op.name == "HardSwish" ||
                         op.name == "Sin" || op.name == "Cos" || op.name == "Mish" ||
                         op.name == "Swish" || op.name == "Tan";
    if (cancels) {
        c.rtol = 2e-6;
        c.atol = 4e-7;
    }
    return c;
}

void add_dtypes(const UnaryOp& op, std::vector<OpCase>& cases) {
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = DType(i);
        if (contains(op.dtypes, dtype)) {
            cases.push_back(make(op, name_of(dtype), random(dtype, {3, 5})));
        }
    }
}

// Values other than the defaults for every parameter of the operator, if it has any.
void add_attributes(const UnaryOp& op, std::vector<OpCase>& cases) {
    Attributes attributes;
    float value = 0.75F;
    for (const UnaryParameter& parameter : op.parameters) {
        if (!parameter.name.empty()) {
            attributes.emplace(std::string(parameter.name), value);
            value /= 2;
        }
    }
    if (attributes.empty()) {
        return;
    }
    CaseInput line;
    line.value = sweep();
    cases.push_back(make(op, "attributes", line, attributes));
}

}  // namespace

std::vector<OpCase> unary_cases() {
    std::vector<OpCase> cases;
    for (const UnaryOp& op : unary_table()) {
        add_dtypes(op, cases);
        if (!contains(op.dtypes, DType::kFloat32)) {
            continue;
        }
        CaseInput line;
        line.value = sweep();
        cases.push_back(make(op, "sweep", line));
        cases.push_back(make(op, "nchw", random(DType::kFloat32, {2, 3, 5, 7})));
        cases.push_back(make(op, "many_tiles", random(DType::kFloat32, {3, 5, 1000, 7})));
        cases.push_back(make(op, "empty", random(DType::kFloat32, {2, 0, 3})));
        cases.push_back(make(op, "scalar", random(DType::kFloat32, {})));
        cases.push_back(make(op, "rank8", random(DType::kFloat32, {1, 2, 1, 3, 2, 1, 2, 3})));
        add_attributes(op, cases);
    }
    CaseInput line;
    line.value = sweep();
    cases.push_back(
        make(*find_unary("Gelu"), "tanh", line, {{"approximate", std::string("tanh")}}));
    CaseInput ties;
    const std::vector<double> halves = {0.5,          1.5,          2.5,  3.5,  7.5,  1e6 + 0.5,
                                        0x1p51 + 0.5, 0x1p51 + 1.5, -0.5, -1.5, -2.5, 0.3,
                                        2.7,          -0.3,         -2.7, 1e300};
    ties.value = *Tensor::from<double>({int64_t(halves.size())}, halves);
    cases.push_back(make(*find_unary("Round"), "ties_f64", ties));
    return cases;
}

}  // namespace leat::testing
