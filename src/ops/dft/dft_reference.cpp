#include <algorithm>

#include "ops/axis_split.h"
#include "ops/dft/dft.h"
#include "ops/dft/unit_root.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

using DftComplex = std::complex<double>;

// From here on a convolution of a power of two costs less than the sums of a prime factor.
constexpr int64_t kMostDftFactor = 61;

// Without the checks for infinities of std::complex: these come out as NaN in any case.
DftComplex dft_product(DftComplex a, DftComplex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Prime factors, but fours instead of pairs of twos; empty if one is too large.
std::vector<int64_t> dft_factors(int64_t n) {
    std::vector<int64_t> factors;
    const auto take = [&](int64_t p) {
        for (; n % p == 0; n /= p) {
            factors.push_back(p);
        }
    };
    take(4);
    for (int64_t p = 2; p <= kMostDftFactor; ++p) {
        take(p);
    }
    if (n > 1) {
        factors.clear();
    }
    return factors;
}

DftComplex load_dft_element(const TensorArg& x, int64_t i, int64_t parts) {
    return {load_real(x.dtype, x.data, i * parts),
            parts == 2 ? load_real(x.dtype, x.data, i * parts + 1) : 0};
}

void store_dft_element(const TensorArg& y, int64_t i, int64_t parts, DftComplex value) {
    store_real(y.dtype, y.data, i * parts, value.real());
    if (parts == 2) {
        store_real(y.dtype, y.data, i * parts + 1, value.imag());
    }
}

}  // namespace

FourierPlan::FourierPlan(int64_t length, bool is_inverse)
    : length_(length), is_inverse_(is_inverse), factors_(dft_factors(length)) {
    const auto root = [is_inverse](int64_t k, int64_t n) {
        const Complex positive = unit_root(k, n);
        return is_inverse ? positive : std::conj(positive);
    };
    if (length == 1 || !factors_.empty()) {
        roots_.reserve(size_t(length));
        for (int64_t k = 0; k < length; ++k) {
            roots_.push_back(root(k, length));
        }
        input_.resize(size_t(length));
        terms_.resize(size_t(kMostDftFactor));
        return;
    }
    // k n = (k^2 + n^2 - (k - n)^2) / 2 makes the sum a convolution with the chirp.
    int64_t padded = 1;
    while (padded < 2 * length - 1) {
        padded *= 2;
    }
    inner_.emplace_back(padded, false);
    inner_.emplace_back(padded, true);
    chirp_.resize(size_t(length));
    kernel_.assign(size_t(padded), 0);
    padded_.resize(size_t(padded));
    int64_t square = 0;  // k^2 modulo 2 * length
    for (int64_t k = 0; k < length; ++k) {
        chirp_[size_t(k)] = root(square, 2 * length);
        const Complex inverse = std::conj(chirp_[size_t(k)]);
        kernel_[size_t(k)] = inverse;
        kernel_[size_t((padded - k) % padded)] = inverse;
        square = (square + 2 * k + 1) % (2 * length);
    }
    inner_[0].run(kernel_.data());
}

void FourierPlan::run(Complex* x) {
    if (length_ == 1) {
        return;
    }
    if (factors_.empty()) {
        run_chirp(x);
        return;
    }
    std::copy(x, x + length_, input_.begin());
    run_factors(input_.data(), 1, length_, 0, x);
}

// Decimation in time: p transforms of every p-th element, and butterflies of p terms.
void FourierPlan::run_factors(
    const Complex* from, int64_t stride, int64_t length, size_t factor, Complex* to) {
    if (length == 1) {
        *to = *from;
        return;
    }
    const int64_t p = factors_[factor];
    const int64_t part = length / p;
    for (int64_t r = 0; r < p; ++r) {
        run_factors(from + r * stride, stride * p, part, factor + 1, to + r * part);
    }
    const int64_t turn = length_ / p;  // roots_[turn] is the first p-th root
    for (int64_t k = 0; k < part; ++k) {
        for (int64_t r = 0; r < p; ++r) {
            terms_[size_t(r)] = dft_product(to[k + r * part], roots_[size_t(r * k * stride)]);
        }
        for (int64_t q = 0; q < p; ++q) {
            Complex sum = terms_[0];
            for (int64_t r = 1; r < p; ++r) {
                sum += dft_product(terms_[size_t(r)], roots_[size_t(q * r % p * turn)]);
            }
            to[k + q * part] = sum;
        }
    }
}

void FourierPlan::run_chirp(Complex* x) {
    std::fill(padded_.begin(), padded_.end(), Complex(0));
    for (int64_t k = 0; k < length_; ++k) {
        padded_[size_t(k)] = dft_product(x[k], chirp_[size_t(k)]);
    }
    inner_[0].run(padded_.data());
    for (size_t k = 0; k < padded_.size(); ++k) {
        padded_[k] = dft_product(padded_[k], kernel_[k]);
    }
    inner_[1].run(padded_.data());
    const double scale = 1 / double(padded_.size());
    for (int64_t k = 0; k < length_; ++k) {
        x[k] = dft_product(padded_[size_t(k)], chirp_[size_t(k)]) * scale;
    }
}

namespace {

// The lines of a DFT.
struct DftLines {
    AxisSplit from;  // without the parts
    int64_t from_parts = 1;
    AxisSplit to;
    int64_t to_parts = 2;
    int64_t length = 0;
    bool is_inverse = false;
    bool is_half = false;  // x is half of a spectrum
};

// Elements of the line into `line`, which has zeros everywhere else.
void load_dft_line(const TensorArg& x, const DftLines& lines, int64_t base, DftComplex* line) {
    const int64_t needed = lines.is_half ? lines.length / 2 + 1 : lines.length;
    const int64_t count = std::min(lines.from.extent, needed);
    for (int64_t k = 0; k < count; ++k) {
        line[k] = load_dft_element(x, base + k * lines.from.inner, lines.from_parts);
    }
    if (!lines.is_half) {
        return;
    }
    // The other half is its conjugate.
    for (int64_t k = 1; 2 * k < lines.length; ++k) {
        line[lines.length - k] = std::conj(line[k]);
    }
}

}  // namespace

Status dft_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int rank = x.shape.rank();
    int64_t axis = -2;
    if (const TensorArg* given = find_arg(args.inputs, 2)) {
        axis = load_integer(given->dtype, given->data, 0);
    }
    LEAT_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, rank));
    if (normal == rank - 1) {
        return invalid_argument("the last axis holds the parts of complex numbers")
            .with_found(fmt::format("axis {}", axis))
            .with_needed("another axis");
    }
    DftLines lines;
    lines.is_inverse = args.node.attr("inverse", int64_t{0}) != 0;
    lines.is_half = lines.is_inverse && args.node.attr("onesided", int64_t{0}) != 0;
    lines.from_parts = x.shape[rank - 1];
    lines.to_parts = y.shape[rank - 1];
    lines.from = {x.shape.element_count(0, normal), x.shape[normal],
                  x.shape.element_count(normal + 1, rank - 1)};
    lines.to = {lines.from.outer, y.shape[normal], lines.from.inner};
    lines.length = lines.is_half ? 2 * (lines.from.extent - 1) : lines.from.extent;
    if (const TensorArg* given = find_arg(args.inputs, 1)) {
        lines.length = load_integer(given->dtype, given->data, 0);
    }
    if (y.shape.element_count() == 0 || lines.length < 1) {
        return {};
    }
    FourierPlan plan(lines.length, lines.is_inverse);
    std::vector<DftComplex> line(size_t(lines.length));
    const double scale = lines.is_inverse ? 1 / double(lines.length) : 1;
    for (int64_t i = 0; i < lines.from.outer * lines.from.inner; ++i) {
        if (args.stop.is_asked_for()) {
            return Status::bare(StatusCode::kCancelled);
        }
        const int64_t outer = i / lines.from.inner;
        const int64_t inner = i % lines.from.inner;
        std::fill(line.begin(), line.end(), DftComplex(0));
        load_dft_line(x, lines, outer * lines.from.extent * lines.from.inner + inner, line.data());
        plan.run(line.data());
        const int64_t base = outer * lines.to.extent * lines.to.inner + inner;
        for (int64_t k = 0; k < lines.to.extent; ++k) {
            store_dft_element(y, base + k * lines.to.inner, lines.to_parts,
                              line[size_t(k)] * scale);
        }
    }
    return {};
}

Status stft_reference(const ReferenceArgs& args) {
    const TensorArg& signal = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const TensorArg* const window = find_arg(args.inputs, 2);
    const TensorArg* const given = find_arg(args.inputs, 3);
    const int64_t step = load_integer(args.inputs[1].dtype, args.inputs[1].data, 0);
    const int64_t extent = signal.shape[1];
    const int64_t length = given != nullptr    ? load_integer(given->dtype, given->data, 0)
                           : window != nullptr ? window->shape[0]
                                               : extent;
    const int64_t parts = signal.shape.rank() == 2 ? 1 : signal.shape[2];
    const int64_t frames = y.shape[1];
    const int64_t bins = y.shape[2];
    if (y.shape.element_count() == 0) {
        return {};
    }
    FourierPlan plan(length, false);
    std::vector<DftComplex> frame;
    frame.resize(size_t(length));
    for (int64_t i = 0; i < y.shape[0] * frames; ++i) {
        if (args.stop.is_asked_for()) {
            return Status::bare(StatusCode::kCancelled);
        }
        const int64_t first = i / frames * extent + i % frames * step;
        for (int64_t k = 0; k < length; ++k) {
            const double weight = window == nullptr ? 1 : load_real(window->dtype, window->data, k);
            frame[size_t(k)] = load_dft_element(signal, first + k, parts) * weight;
        }
        plan.run(frame.data());
        for (int64_t k = 0; k < bins; ++k) {
            store_dft_element(y, i * bins + k, 2, frame[size_t(k)]);
        }
    }
    return {};
}

}  // namespace leat
