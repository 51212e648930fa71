#include "conformance/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/float_formats.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

template <class T>
double load_as_double(const std::byte* bytes, int64_t index) {
    T value;
    std::memcpy(&value, bytes + index * int64_t(sizeof(T)), sizeof(T));
    return double(value);
}

template <class T>
double load_small_float(const std::byte* bytes, int64_t index) {
    T value;
    std::memcpy(&value, bytes + index * 2, 2);
    return double(to_float(value));
}

bool is_complex(DType dtype) {
    return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}

int64_t compared_elements(const Tensor& tensor) {
    return tensor.element_count() * (is_complex(tensor.dtype()) ? 2 : 1);
}

bool element_matches(double got, double want, Tolerance tolerance) {
    if (std::isnan(got) || std::isnan(want)) {
        return std::isnan(got) && std::isnan(want);
    }
    if (std::isinf(got) || std::isinf(want)) {
        return got == want;
    }
    return std::fabs(got - want) <= tolerance.absolute + tolerance.relative * std::fabs(want);
}

void compare_numbers(const Tensor& got,
                     const Tensor& want,
                     Tolerance tolerance,
                     Difference& difference) {
    int64_t count = compared_elements(want);
    for (int64_t i = 0; i < count; ++i) {
        double a = element_as_double(got, i);
        double b = element_as_double(want, i);
        double distance = std::fabs(a - b);
        if (std::isfinite(distance)) {
            difference.max_absolute = std::max(difference.max_absolute, distance);
            difference.largest = std::max(difference.largest, std::fabs(b));
            if (b != 0) {
                difference.max_relative =
                    std::max(difference.max_relative, distance / std::fabs(b));
            }
        }
        if (!element_matches(a, b, tolerance) && difference.mismatches++ == 0) {
            difference.reason =
                fmt::format("element {} is {}, expected {} (difference {:.3g})", i, a, b, distance);
        }
    }
    if (difference.mismatches > 0) {
        difference.reason += fmt::format("; {} of {} elements differ, by at most {:.3g}",
                                         difference.mismatches, count, difference.max_absolute);
    }
}

void compare_strings(const Tensor& got, const Tensor& want, Difference& difference) {
    auto a = got.data<std::string>();
    auto b = want.data<std::string>();
    for (size_t i = 0; i < b.size(); ++i) {
        if (a[i] != b[i] && difference.mismatches++ == 0) {
            difference.reason = fmt::format("element {} is '{}', expected '{}'", i, a[i], b[i]);
        }
    }
}

Difference compare_tensors(const Tensor& got, const Tensor& want, Tolerance tolerance) {
    Difference difference;
    if (got.dtype() != want.dtype() || !(got.shape() == want.shape())) {
        difference.matches = false;
        difference.reason =
            fmt::format("is {}, expected {}", describe_type(got), describe_type(want));
        return difference;
    }
    if (want.dtype() == DType::kString) {
        compare_strings(got, want, difference);
    } else if (is_real_number(want.dtype()) || is_complex(want.dtype())) {
        compare_numbers(got, want, tolerance, difference);
    } else if (want.byte_count() > 0 &&
               std::memcmp(got.bytes(), want.bytes(), size_t(want.byte_count())) != 0) {
        difference.mismatches = 1;
        difference.reason = "bytes differ";
    }
    difference.matches = difference.mismatches == 0;
    return difference;
}

std::string_view kind_name(Value::Kind kind) {
    return kind == Value::Kind::kTensor     ? "tensor"
           : kind == Value::Kind::kSequence ? "sequence"
                                            : "optional";
}

}  // namespace

bool is_floating(DType dtype) {
    return contains(kFloatTypes, dtype);
}

bool is_real_number(DType dtype) {
    return contains(kNumericTypes | dtype_set(DType::kBool), dtype);
}

double element_as_double(const Tensor& tensor, int64_t index) {
    const std::byte* bytes = tensor.bytes();
    switch (tensor.dtype()) {
        case DType::kFloat32:
        case DType::kComplex64:
            return load_as_double<float>(bytes, index);
        case DType::kFloat64:
        case DType::kComplex128:
            return load_as_double<double>(bytes, index);
        case DType::kFloat16:
            return load_small_float<Float16>(bytes, index);
        case DType::kBfloat16:
            return load_small_float<BFloat16>(bytes, index);
        case DType::kInt8:
            return load_as_double<int8_t>(bytes, index);
        case DType::kUint16:
            return load_as_double<uint16_t>(bytes, index);
        case DType::kInt16:
            return load_as_double<int16_t>(bytes, index);
        case DType::kInt32:
            return load_as_double<int32_t>(bytes, index);
        case DType::kInt64:
            return load_as_double<int64_t>(bytes, index);
        case DType::kUint32:
            return load_as_double<uint32_t>(bytes, index);
        case DType::kUint64:
            return load_as_double<uint64_t>(bytes, index);
        default:
            return load_as_double<uint8_t>(bytes, index);
    }
}

Difference compare_values(const Value& got, const Value& want, Tolerance tolerance) {
    if (got.kind() == Value::Kind::kTensor && want.kind() == Value::Kind::kTensor) {
        return compare_tensors(got.tensor(), want.tensor(), tolerance);
    }
    Difference total;
    if (got.kind() != want.kind() || got.elements().size() != want.elements().size()) {
        total.matches = false;
        total.reason = fmt::format("is {}, expected {}", describe_type(got), describe_type(want));
        return total;
    }
    for (size_t i = 0; i < want.elements().size(); ++i) {
        Difference part = compare_values(got.elements()[i], want.elements()[i], tolerance);
        if (!part.matches && total.matches) {
            total.matches = false;
            total.reason =
                fmt::format("in element {} of the {}: {}", i, kind_name(want.kind()), part.reason);
        }
        total.mismatches += part.mismatches;
        total.max_absolute = std::max(total.max_absolute, part.max_absolute);
        total.max_relative = std::max(total.max_relative, part.max_relative);
        total.largest = std::max(total.largest, part.largest);
    }
    return total;
}

bool same_bits(const Value& got, const Value& want) {
    if (got.kind() != want.kind() || got.elements().size() != want.elements().size()) {
        return false;
    }
    for (size_t i = 0; i < got.elements().size(); ++i) {
        if (!same_bits(got.elements()[i], want.elements()[i])) {
            return false;
        }
    }
    if (!got.is_tensor()) {
        return true;
    }
    const Tensor& x = got.tensor();
    const Tensor& y = want.tensor();
    if (x.dtype() != y.dtype() || !(x.shape() == y.shape())) {
        return false;
    }
    if (x.dtype() == DType::kString) {
        return compare_values(got, want, {0, 0}).matches;
    }
    return x.byte_count() == 0 || std::memcmp(x.bytes(), y.bytes(), size_t(x.byte_count())) == 0;
}

double largest_magnitude(const Value& value) {
    double largest = 0;
    for (const Value& element : value.elements()) {
        largest = std::max(largest, largest_magnitude(element));
    }
    if (value.is_tensor() &&
        (is_real_number(value.tensor().dtype()) || is_complex(value.tensor().dtype()))) {
        for (int64_t i = 0; i < compared_elements(value.tensor()); ++i) {
            double magnitude = std::fabs(element_as_double(value.tensor(), i));
            if (std::isfinite(magnitude)) {
                largest = std::max(largest, magnitude);
            }
        }
    }
    return largest;
}

std::string describe_type(const Value& value) {
    if (value.kind() != Value::Kind::kTensor) {
        return fmt::format("{} of {}", kind_name(value.kind()), value.elements().size());
    }
    return fmt::format("{} {}", name_of(value.tensor().dtype()),
                       value.tensor().shape().to_string());
}

std::string describe_value(const Value& value) {
    std::string text = describe_type(value);
    if (!value.is_tensor() || !is_real_number(value.tensor().dtype())) {
        return text;
    }
    const Tensor& tensor = value.tensor();
    int64_t count = tensor.element_count();
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    double sum = 0;
    int64_t not_finite = 0;
    for (int64_t i = 0; i < count; ++i) {
        double x = element_as_double(tensor, i);
        if (!std::isfinite(x)) {
            ++not_finite;
            continue;
        }
        low = std::min(low, x);
        high = std::max(high, x);
        sum += x;
    }
    int64_t finite = count - not_finite;
    if (finite > 0) {
        text +=
            fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", low, high, sum / double(finite));
    }
    if (not_finite > 0) {
        text += fmt::format("  not finite: {}", not_finite);
    }
    return text;
}

}  // namespace leat
