#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "ops/element.h"
#include "ops/movement/movement.h"
#include "ops/open_result.h"
#include "ops/unique/unique.h"

namespace leat {
namespace {

template <class Part>
struct ComplexElement {
    Part real;
    Part imaginary;
    bool is_nan() const { return real != real || imaginary != imaginary; }
};

// True if a stands before b in ascending order.
template <class T>
bool is_before(const T& a, const T& b) {
    return exceeds(comparable(b), comparable(a));
}
bool is_before(const std::string& a, const std::string& b) {
    return a < b;
}
template <class Part>
bool is_before(const ComplexElement<Part>& a, const ComplexElement<Part>& b) {
    if (a.is_nan() || b.is_nan()) {
        return b.is_nan() && !a.is_nan();
    }
    return a.real < b.real || (a.real == b.real && a.imaginary < b.imaginary);
}

// Some slices that are equal.
struct EqualSlices {
    int64_t first = 0;
    int64_t count = 0;
};

struct UniqueSlices {
    std::vector<EqualSlices> groups;  // in the order of y
    std::vector<int64_t> inverse;     // by slice of x: its group
};

// -1: slice i stands before slice j, 0: they are equal, 1: it stands behind it.
template <class T>
int compare_slices(const T* x, const AxisSplit& loop, int64_t i, int64_t j) {
    for (int64_t outer = 0; outer < loop.outer; ++outer) {
        const T* const a = x + (outer * loop.extent + i) * loop.inner;
        const T* const b = x + (outer * loop.extent + j) * loop.inner;
        for (int64_t k = 0; k < loop.inner; ++k) {
            if (is_before(a[k], b[k])) {
                return -1;
            }
            if (is_before(b[k], a[k])) {
                return 1;
            }
        }
    }
    return 0;
}

template <class T>
UniqueSlices find_unique(const T* x, const AxisSplit& loop, bool sorted) {
    auto order = std::vector<int64_t>(size_t(loop.extent));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const int compared = compare_slices(x, loop, i, j);
        return compared != 0 ? compared < 0 : i < j;
    });
    UniqueSlices found;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || compare_slices(x, loop, order[i - 1], order[i]) != 0) {
            found.groups.push_back({order[i], 0});
        }
        ++found.groups.back().count;
    }
    if (!sorted) {
        std::sort(found.groups.begin(), found.groups.end(),
                  [](const EqualSlices& a, const EqualSlices& b) { return a.first < b.first; });
    }
    // By first slice: the group's number in y.
    auto number_of = std::vector<int64_t>(order.size());
    for (size_t g = 0; g < found.groups.size(); ++g) {
        number_of[size_t(found.groups[g].first)] = int64_t(g);
    }
    found.inverse.resize(order.size());
    int64_t first = 0;
    for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || compare_slices(x, loop, order[i - 1], order[i]) != 0) {
            first = order[i];
        }
        found.inverse[size_t(order[i])] = number_of[size_t(first)];
    }
    return found;
}

Status write_slices(const ReferenceArgs& args, const AxisSplit& loop, const UniqueSlices& found) {
    const TensorArg& x = args.inputs[0];
    const int64_t count = int64_t(found.groups.size());
    LEAT_ASSIGN_OR_RETURN(const Shape shape, with_axis_or_all(args.node, x.shape, count));
    LEAT_ASSIGN_OR_RETURN(std::byte* const y, give_shape(args.outputs[kUniqueY], shape));
    for (int64_t outer = 0; outer < loop.outer; ++outer) {
        for (int64_t g = 0; g < count; ++g) {
            const int64_t first = found.groups[size_t(g)].first;
            copy_elements(x.dtype, x.data, (outer * loop.extent + first) * loop.inner, y,
                          (outer * count + g) * loop.inner, loop.inner);
        }
    }
    return {};
}

Status write_unique(const ReferenceArgs& args, const AxisSplit& loop, const UniqueSlices& found) {
    if (args.outputs[kUniqueY].present()) {
        LEAT_RETURN_IF_ERROR(write_slices(args, loop, found));
    }
    const Shape per_group({int64_t(found.groups.size())});
    if (const TensorArg* indices = find_arg(args.outputs, kUniqueIndices)) {
        LEAT_ASSIGN_OR_RETURN(int64_t* const to, give_shape<int64_t>(*indices, per_group));
        std::transform(found.groups.begin(), found.groups.end(), to,
                       [](const EqualSlices& group) { return group.first; });
    }
    if (const TensorArg* inverse = find_arg(args.outputs, kUniqueInverse)) {
        std::copy(found.inverse.begin(), found.inverse.end(), inverse->as<int64_t>());
    }
    if (const TensorArg* counts = find_arg(args.outputs, kUniqueCounts)) {
        LEAT_ASSIGN_OR_RETURN(int64_t* const to, give_shape<int64_t>(*counts, per_group));
        std::transform(found.groups.begin(), found.groups.end(), to,
                       [](const EqualSlices& group) { return group.count; });
    }
    return {};
}

}  // namespace

Status unique_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, AxisSplit::of_axis_or_all(args.node, x.shape));
    const bool sorted = args.node.attr("sorted", int64_t{1}) != 0;
    const auto run = [&](auto element) {
        using T = typename decltype(element)::type;
        return write_unique(args, loop, find_unique(x.as<const T>(), loop, sorted));
    };
    switch (x.dtype) {
        case DType::kBool:
            return run(ElementType<uint8_t>());
        case DType::kString:
            return run(ElementType<std::string>());
        case DType::kComplex64:
            return run(ElementType<ComplexElement<float>>());
        case DType::kComplex128:
            return run(ElementType<ComplexElement<double>>());
        default:
            return dispatch_number(x.dtype, run);
    }
}

}  // namespace leat
