#include "conformance/op_difference.h"

#include <cctype>
#include <cmath>
#include <ostream>

#include "ops/elementwise/element_access.h"

namespace leat::testing {
namespace {

bool within(double got, double want, double rtol, double atol) {
    if (std::isnan(want) || std::isnan(got)) {
        return std::isnan(want) && std::isnan(got);
    }
    if (rtol == 0 && atol == 0) {
        return got == want && std::signbit(got) == std::signbit(want);
    }
    return got == want || std::fabs(got - want) <= atol + rtol * std::fabs(want);
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const OpCase& op_case) {
    return stream << op_case.name;
}

std::string test_name_of(const OpCase& op_case) {
    std::string name = op_case.name;
    for (char& c : name) {
        c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    }
    return name;
}

std::string difference(const Tensor& got, const Tensor& want, const OpCase& op_case) {
    const DType dtype = want.dtype();
    // Complex numbers are compared part by part.
    const bool complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
    const DType part = dtype == DType::kComplex64 ? DType::kFloat32
                       : complex                  ? DType::kFloat64
                                                  : dtype;
    const bool is_float = contains(kFloatTypes | kSmallFloatTypes, part);
    if (got.dtype() != dtype || got.shape() != want.shape()) {
        return fmt::format("got {}[{}], reference {}[{}]", name_of(got.dtype()),
                           got.shape().to_string(), name_of(dtype), want.shape().to_string());
    }
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
        const bool other_code = is_float && bits_of(part) == 8 && op_case.rtol == 0 &&
                                op_case.atol == 0 && got.bytes()[i] != want.bytes()[i];
        if (other_code ||
            (exact ? load_integer(part, got.bytes(), i) != load_integer(part, want.bytes(), i)
                   : !within(a, b, is_float ? op_case.rtol : 0, op_case.atol))) {
            return fmt::format("element {} of {}: got {:.9g}, reference {:.9g}, rtol {} atol {}", i,
                               want.shape().to_string(), a, b, op_case.rtol, op_case.atol);
        }
    }
    return {};
}

}  // namespace leat::testing
