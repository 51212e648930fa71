// Reductions as plain loops: for each result, a walk over the elements that it combines.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ops/element.h"
#include "ops/reduce/reduce.h"
#include "ops/slice/slice.h"

namespace leat {

namespace {

// Some axes of a row-major tensor: extents and strides, outermost first.
struct AxisSet {
    std::array<int64_t, kMaxRank> extents{};
    std::array<int64_t, kMaxRank> strides{};
    int count = 0;

    void append(int64_t extent, int64_t stride) {
        extents[size_t(count)] = extent;
        strides[size_t(count)] = stride;
        ++count;
    }
    int64_t element_count() const {
        int64_t product = 1;
        for (int i = 0; i < count; ++i) {
            product *= extents[size_t(i)];
        }
        return product;
    }
};

// f(offset) for every index combination of the axes from `axis` on, in row-major order.
template <class F>
void visit(const AxisSet& axes, int64_t offset, F&& f, int axis = 0) {
    if (axis == axes.count) {
        f(offset);
        return;
    }
    for (int64_t i = 0; i < axes.extents[size_t(axis)]; ++i) {
        visit(axes, offset + i * axes.strides[size_t(axis)], f, axis + 1);
    }
}

template <class T>
T extreme(const T* x, const AxisSet& axes, int64_t base, bool is_max) {
    T best = type_limit<T>(is_max);
    visit(axes, base, [&](int64_t offset) {
        const auto value = comparable(x[offset]);
        const auto current = comparable(best);
        // A NaN is unequal to itself and stays.
        if ((is_max ? value > current : value < current) || value != value) {
            best = x[offset];
        }
    });
    return best;
}

// Sum and its relatives in the accumulator of T; `term` maps an element.
template <class T, class Term>
Accumulator<T> total(const T* x, const AxisSet& axes, int64_t base, Term&& term) {
    Accumulator<T> sum{};
    visit(axes, base, [&](int64_t offset) { sum += term(widen(x[offset])); });
    return sum;
}

template <class T>
Accumulator<T> magnitude(Accumulator<T> x) {
    if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> && T(x) < 0 ? 0 - x : x;
    } else {
        return std::fabs(x);
    }
}

template <class T>
T mean(Accumulator<T> sum, int64_t count) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        return count == 0 ? T{} : T(int64_t(sum) / count);
    } else if constexpr (std::is_integral_v<T>) {
        return count == 0 ? T{} : T(sum / uint64_t(count));
    } else {
        return narrow<T>(sum / double(count));
    }
}

// A real result in T; integers saturate, since a cast out of range is undefined.
template <class T>
T from_double(double x) {
    if constexpr (std::is_integral_v<T>) {
        if (std::isnan(x) || x <= double(std::numeric_limits<T>::lowest())) {
            return std::numeric_limits<T>::lowest();
        }
        return x >= double(std::numeric_limits<T>::max()) ? std::numeric_limits<T>::max() : T(x);
    } else {
        return narrow<T>(x);
    }
}

// log(sum(exp(x))) with the maximum taken out.
template <class T>
double log_sum_exp(const T* x, const AxisSet& axes, int64_t base) {
    double largest = -std::numeric_limits<double>::infinity();
    visit(axes, base,
          [&](int64_t offset) { largest = std::fmax(largest, double(comparable(x[offset]))); });
    const double shift = std::isfinite(largest) ? largest : 0.0;
    double sum = 0;
    visit(axes, base,
          [&](int64_t offset) { sum += std::exp(double(comparable(x[offset])) - shift); });
    return std::log(sum) + shift;
}

// Sum of f(x) in double, for the kinds whose result is a real function of a sum.
template <class T, class Term>
double real_total(const T* x, const AxisSet& axes, int64_t base, Term&& term) {
    double sum = 0;
    visit(axes, base, [&](int64_t offset) { sum += term(double(comparable(x[offset]))); });
    return sum;
}

template <class T>
T reduce_one(ReduceKind kind, const T* x, const AxisSet& axes, int64_t base) {
    using Sum = Accumulator<T>;
    const auto same = [](Sum v) { return v; };
    switch (kind) {
        case ReduceKind::kSum:
            return narrow<T>(total(x, axes, base, same));
        case ReduceKind::kMean:
            return mean<T>(total(x, axes, base, same), axes.element_count());
        case ReduceKind::kMax:
            return extreme(x, axes, base, true);
        case ReduceKind::kMin:
            return extreme(x, axes, base, false);
        case ReduceKind::kProd: {
            Sum product{1};
            visit(axes, base, [&](int64_t offset) { product *= widen(x[offset]); });
            return narrow<T>(product);
        }
        case ReduceKind::kL1:
            return narrow<T>(total(x, axes, base, magnitude<T>));
        case ReduceKind::kSumSquare:
            return narrow<T>(total(x, axes, base, [](Sum v) { return v * v; }));
        case ReduceKind::kL2:
            return from_double<T>(
                std::sqrt(real_total(x, axes, base, [](double v) { return v * v; })));
        case ReduceKind::kLogSum:
            return from_double<T>(std::log(real_total(x, axes, base, [](double v) { return v; })));
        case ReduceKind::kLogSumExp:
            return from_double<T>(log_sum_exp(x, axes, base));
    }
    return T{};
}

template <class T>
Status run_reduce(const ReferenceArgs& args, const AxisSet& kept, const AxisSet& reduced) {
    const ReduceKind kind = reduce_kind(args.node.op_type);
    const T* x = args.inputs[0].as<const T>();
    T* y = args.outputs[0].as<T>();
    visit(kept, 0, [&](int64_t base) { *y++ = reduce_one(kind, x, reduced, base); });
    return {};
}

}  // namespace

Status reduce_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const auto axes = find_ints(args.inputs, 1);
    LEAT_ASSIGN_OR_RETURN(const uint32_t mask,
                          reduced_axes(args.node, axes ? &*axes : nullptr, x.shape.rank()));
    AxisSet kept;
    AxisSet reduced;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        const int64_t stride = x.shape.element_count(axis + 1, x.shape.rank());
        AxisSet& set = (mask >> unsigned(axis) & 1U) != 0 ? reduced : kept;
        set.append(x.shape[axis], stride);
    }
    if (x.dtype == DType::kBool) {  // a byte that holds 0 or 1
        LEAT_RETURN_IF_ERROR(run_reduce<uint8_t>(args, kept, reduced));
        auto* y = args.outputs[0].as<uint8_t>();
        // The extreme of an empty set is false or true.
        std::transform(y, y + args.outputs[0].shape.element_count(), y,
                       [](uint8_t v) { return uint8_t(v != 0 ? 1 : 0); });
        return {};
    }
    return dispatch_number(x.dtype, [&](auto element) {
        return run_reduce<typename decltype(element)::type>(args, kept, reduced);
    });
}

}  // namespace leat
