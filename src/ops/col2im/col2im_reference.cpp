#include <algorithm>
#include <complex>
#include <string>
#include <type_traits>

#include "ops/col2im/col2im.h"
#include "ops/element.h"
#include "ops/slice/slice.h"

namespace leat {
namespace {

using GridPosition = std::array<int64_t, kMaxRank>;

// The next index of a grid in row-major order.
void next_grid_position(GridPosition& position, const std::vector<int64_t>& extents) {
    for (size_t axis = extents.size(); axis-- > 0;) {
        if (++position[axis] < extents[axis]) {
            return;
        }
        position[axis] = 0;
    }
}

// add(pixel, column) for each element of the columns of one channel that lies on the image: the
// number of its pixel, and its own.
template <class Add>
void for_each_pixel(const ColumnBlocks& blocks, const Add& add) {
    const size_t rank = blocks.image.size();
    GridPosition tap{};
    for (int64_t t = 0; t < blocks.block_elements; ++t) {
        GridPosition at{};
        for (int64_t b = 0; b < blocks.blocks; ++b) {
            int64_t pixel = 0;
            bool is_inside = true;
            for (size_t i = 0; i < rank; ++i) {
                const int64_t along =
                    at[i] * blocks.stride[i] + tap[i] * blocks.dilation[i] - blocks.pad_begin[i];
                is_inside = is_inside && along >= 0 && along < blocks.image[i];
                pixel = is_inside ? pixel * blocks.image[i] + along : 0;
            }
            if (is_inside) {
                add(pixel, t * blocks.blocks + b);
            }
            next_grid_position(at, blocks.count);
        }
        next_grid_position(tap, blocks.block);
    }
}

// Sum: what elements are added in. widen and narrow convert to it and back.
template <class T, class Sum, class Widen, class Narrow>
void add_columns(const ReferenceArgs& args,
                 const ColumnBlocks& blocks,
                 const Widen& widen_element,
                 const Narrow& narrow_sum) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t columns = blocks.block_elements * blocks.blocks;
    const int64_t pixels = y.shape.element_count(2, y.shape.rank());
    std::vector<Sum> sums(static_cast<size_t>(pixels));
    for (int64_t image = 0; image < y.shape[0] * y.shape[1]; ++image) {
        const T* const from = x.as<const T>() + image * columns;
        std::fill(sums.begin(), sums.end(), Sum());
        for_each_pixel(blocks, [&](int64_t pixel, int64_t column) {
            sums[size_t(pixel)] += widen_element(from[column]);
        });
        std::transform(sums.begin(), sums.end(), y.as<T>() + image * pixels, narrow_sum);
    }
}

template <class T>
void add_columns_of(const ReferenceArgs& args, const ColumnBlocks& blocks) {
    const auto same = [](const T& element) -> const T& { return element; };
    add_columns<T, T>(args, blocks, same, same);
}

}  // namespace

Status col2im_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    auto made = ColumnBlocks::make(args.node, read_ints(args.inputs[1]), read_ints(args.inputs[2]));
    if (!made.ok()) {
        return std::move(made).error().with_node(args.node.label());
    }
    const ColumnBlocks& blocks = *made;
    if (x.shape[1] != y.shape[1] * blocks.block_elements || x.shape[2] != blocks.blocks) {
        return invalid_argument("the columns do not fit the image")
            .with_node(args.node.label())
            .with_found(x.shape.to_string())
            .with_needed(fmt::format("{} and {} on axes 1 and 2",
                                     y.shape[1] * blocks.block_elements, blocks.blocks));
    }
    if (y.shape.element_count() == 0) {
        return {};
    }
    switch (x.dtype) {
        case DType::kString:
            add_columns_of<std::string>(args, blocks);
            return {};
        case DType::kComplex64:
            add_columns<std::complex<float>, std::complex<double>>(
                args, blocks, [](std::complex<float> a) { return std::complex<double>(a); },
                [](std::complex<double> a) { return std::complex<float>(a); });
            return {};
        case DType::kComplex128:
            add_columns_of<std::complex<double>>(args, blocks);
            return {};
        case DType::kBool:
            add_columns<uint8_t, int64_t>(
                args, blocks, [](uint8_t a) { return int64_t{a != 0}; },
                [](int64_t count) { return uint8_t(count != 0); });
            return {};
        default:
            return dispatch_number(x.dtype, [&](auto element) -> Status {
                using T = typename decltype(element)::type;
                add_columns<T, Accumulator<T>>(args, blocks, widen<T>, narrow<T>);
                return {};
            });
    }
}

}  // namespace leat
