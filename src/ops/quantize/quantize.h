// QuantizeLinear: y = saturate(round(x / scale) + zero).  DequantizeLinear: y = (x - zero) scale.
// DynamicQuantizeLinear: QuantizeLinear to u8 with the scale and zero point that suit x, which are
// results, too.
//
// QuantizeLinear-28. x: f16, bf16, f32, i32. y: i8, u8, i16, u16, i4, u4, i2, u2, f8 but e8m0,
//   f4e2m1, f6: the type of the zero point, else of attribute output_dtype, else u8.
// DequantizeLinear-28. x: the types of y above, and i32. y: f16, bf16, f32: that of attribute
//   output_dtype, else of the scale.
// scale: f16, bf16, f32, e8m0. zero: as the quantized tensor; absent: 0. Both have one shape: one
//   element; one for each index of attribute axis; or, with attribute block_size, the shape of x
//   with ceil(extent / block_size) along the axis.
// Layouts: x and y any but of packed types, the others row-major.
// DynamicQuantizeLinear-11. x f32, y u8, scale f32 [], zero u8 [].
// Numerics: the quotient is rounded to attribute precision, else to the type of the scale (f32 for
// e8m0), then to an integer, half to even; the sum saturates. NaN, of which the standard says
// nothing, gives the lowest integer. Floating results are rounded from the quotient as Cast does;
// their zero point counts for f4e2m1 and f6 only. x - zero is exact, then rounded to f32, as is the
// product. The dynamic range is that of x and 0 without NaN; where it is empty the scale is 1.
#pragma once

#include <cstdint>

#include "graph/op_def.h"
#include "ops/elementwise/element_access.h"

namespace leat {

inline constexpr DTypeSet kQuantizedTypes =
    dtype_set(DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16) | kPackedIntegerTypes |
    (kSmallFloatTypes & ~dtype_bit(DType::kFloat8E8M0));

// Which element of scale and zero point belongs to an element of x.
struct ScaleGrid {
    enum class Kind : uint8_t { kTensor, kAxis, kBlocks };

    Kind kind = Kind::kTensor;
    int axis = 0;
    int64_t extent = 1;  // of x along the axis
    int64_t inner = 1;   // elements of x behind the axis
    int64_t block = 1;   // indices of the axis that share a scale
    int64_t blocks = 1;  // along the axis

    // Shapes that inference accepted.
    static Result<ScaleGrid> make(const NodeData& node, const Shape& x, const Shape& scale);

    // The scale of element i of x, in row-major order.
    int64_t index(int64_t i) const {
        const int64_t k = i / inner % extent;
        switch (kind) {
            case Kind::kTensor:
                return 0;
            case Kind::kAxis:
                return k;
            default:
                return (i / (inner * extent) * blocks + k / block) * inner + i % inner;
        }
    }
};

// The type that the quotient is rounded to.
DType quotient_type(const NodeData& node, DType scale);

// What DynamicQuantizeLinear makes of the range of x. Precondition: lowest <= 0 <= highest.
struct DynamicScale {
    float scale;
    uint8_t zero;
};
DynamicScale dynamic_scale(float lowest, float highest);
// As outputs 1 and 2 of DynamicQuantizeLinear, where they are wanted.
void store_dynamic_scale(DynamicScale scale, std::span<const TensorArg> outputs);

Status quantize_linear_reference(const ReferenceArgs& args);
Status dequantize_linear_reference(const ReferenceArgs& args);
Status dynamic_quantize_linear_reference(const ReferenceArgs& args);

}  // namespace leat
