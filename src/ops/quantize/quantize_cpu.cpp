// QuantizeLinear and DequantizeLinear between f32 and integers as element-wise kernels: the scale
// and the zero point are operands that broadcast. DynamicQuantizeLinear in one tile: its scale
// depends on all elements.
#include <array>

#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/quantize/quantize.h"
#include "ops/quantize/saturate.h"

#ifndef LEAT_QUANTIZE_ROWS
#define LEAT_QUANTIZE_ROWS
namespace leat {
struct QuantizeRow {
    DType quantized;
    std::string_view quantize_name;
    cpu::RowFunction quantize;
    std::string_view dequantize_name;
    cpu::RowFunction dequantize;
};
struct QuantizeFunctions {
    const QuantizeRow* rows;  // ends where dequantize is null
    DynamicScale (*range)(const float* x, int64_t n);
    void (*quantize)(const float* x, uint8_t* y, int64_t n, DynamicScale scale);
};
}  // namespace leat
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/quantize/quantize_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DI = hn::RebindToSigned<D>;
using VI = hn::Vec<DI>;
constexpr D kTag;
constexpr DI kIntTag;
constexpr int64_t kLanes = int64_t(hn::MaxLanes(D()));

template <class T>
T quantize_one(float x, float scale, int zero) {
    return saturate<T>(x / scale, zero);
}

template <class T>
HWY_INLINE void quantize_vector(const float* x, V scale, VI zero, V low, V high, T* y) {
    const V quotient = hn::Div(hn::LoadU(kTag, x), scale);
    const V above = hn::IfThenElse(hn::Gt(quotient, low), quotient, low);
    const V limited = hn::IfThenElse(hn::Lt(above, high), above, high);
    const VI rounded = hn::Add(hn::NearestInt(limited), zero);
    const hn::Rebind<T, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, rounded), narrow, y);
}

// One scale for n elements.
template <class T>
void quantize_dense(const float* x, float scale, int zero, T* y, int64_t n) {
    const V factor = hn::Set(kTag, scale);
    const V low = hn::Set(kTag, lowest_before<T>(zero));
    const V high = hn::Set(kTag, highest_before<T>(zero));
    const VI offset = hn::Set(kIntTag, zero);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        quantize_vector<T>(x + i, factor, offset, low, high, y + i);
    }
    for (; i < n; ++i) {
        y[i] = quantize_one<T>(x[i], scale, zero);
    }
}

// A scale for each element.
template <class T>
void quantize_each(const float* x, const float* scale, const T* zero, T* y, int64_t n) {
    const hn::Rebind<T, D> narrow;
    const V low = hn::Set(kTag, lowest_before<T>(0));
    const V high = hn::Set(kTag, highest_before<T>(0));
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        VI offset = hn::Zero(kIntTag);
        if (zero != nullptr) {
            offset = hn::PromoteTo(kIntTag, hn::LoadU(narrow, zero + i));
        }
        const V shift = hn::ConvertTo(kTag, offset);
        quantize_vector<T>(x + i, hn::LoadU(kTag, scale + i), offset, hn::Sub(low, shift),
                           hn::Sub(high, shift), y + i);
    }
    for (; i < n; ++i) {
        y[i] = quantize_one<T>(x[i], scale[i], zero != nullptr ? int(zero[i]) : 0);
    }
}

template <class T>
void quantize_row(const cpu::Row& row) {
    const float* x = row.input<float>(0);
    const float* scale = row.input<float>(1);
    const bool has_zero = row.input_count > 2;
    const T* zero = has_zero ? row.input<T>(2) : nullptr;
    const int64_t zero_stride = has_zero ? row.input_strides[2] : 0;
    T* y = reinterpret_cast<T*>(row.output);
    const bool is_dense = row.input_strides[0] == 1 && row.output_stride == 1;
    if (is_dense && row.input_strides[1] == 0 && zero_stride == 0) {
        quantize_dense<T>(x, *scale, has_zero ? int(*zero) : 0, y, row.count);
        return;
    }
    if (is_dense && row.input_strides[1] == 1 && (!has_zero || zero_stride == 1)) {
        quantize_each<T>(x, scale, zero, y, row.count);
        return;
    }
    for (int64_t i = 0; i < row.count; ++i) {
        y[i * row.output_stride] =
            quantize_one<T>(x[i * row.input_strides[0]], scale[i * row.input_strides[1]],
                            has_zero ? int(zero[i * zero_stride]) : 0);
    }
}

// A zero point of i32 makes the difference one of 64 bits.
template <class T>
float dequantize_one(T x, float scale, int64_t zero) {
    return float(int64_t(x) - zero) * scale;
}

template <class T>
HWY_INLINE V dequantize_vector(const T* x, V scale, VI zero) {
    if constexpr (sizeof(T) == sizeof(int32_t)) {
        return hn::Mul(hn::ConvertTo(kTag, hn::LoadU(kIntTag, x)), scale);
    } else {
        const hn::Rebind<T, D> narrow;
        const VI wide = hn::PromoteTo(kIntTag, hn::LoadU(narrow, x));
        return hn::Mul(hn::ConvertTo(kTag, hn::Sub(wide, zero)), scale);
    }
}

template <class T>
void dequantize_row(const cpu::Row& row) {
    const T* x = row.input<T>(0);
    const float* scale = row.input<float>(1);
    const bool has_zero = row.input_count > 2;
    const T* zero = has_zero ? row.input<T>(2) : nullptr;
    const int64_t zero_stride = has_zero ? row.input_strides[2] : 0;
    const int64_t scale_stride = row.input_strides[1];
    auto* y = reinterpret_cast<float*>(row.output);
    int64_t i = 0;
    const bool is_dense = row.input_strides[0] == 1 && row.output_stride == 1;
    const bool needs_i64 = has_zero && sizeof(T) == sizeof(int32_t);
    if (is_dense && scale_stride == 0 && zero_stride == 0 && !needs_i64) {
        const V factor = hn::Set(kTag, *scale);
        const VI offset = hn::Set(kIntTag, has_zero ? int32_t(*zero) : 0);
        for (; i + kLanes <= row.count; i += kLanes) {
            hn::StoreU(dequantize_vector<T>(x + i, factor, offset), kTag, y + i);
        }
    } else if (is_dense && scale_stride == 1 && !has_zero) {
        for (; i + kLanes <= row.count; i += kLanes) {
            const V factor = hn::LoadU(kTag, scale + i);
            hn::StoreU(dequantize_vector<T>(x + i, factor, hn::Zero(kIntTag)), kTag, y + i);
        }
    }
    for (; i < row.count; ++i) {
        y[i * row.output_stride] =
            dequantize_one<T>(x[i * row.input_strides[0]], scale[i * scale_stride],
                              has_zero ? int64_t(zero[i * zero_stride]) : 0);
    }
}

// NaN are passed over.
DynamicScale range_of(const float* x, int64_t n) {
    V low = hn::Zero(kTag);
    V high = low;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const V v = hn::LoadU(kTag, x + i);
        low = hn::IfThenElse(hn::Lt(v, low), v, low);
        high = hn::IfThenElse(hn::Gt(v, high), v, high);
    }
    float lowest = hn::GetLane(hn::MinOfLanes(kTag, low));
    float highest = hn::GetLane(hn::MaxOfLanes(kTag, high));
    for (; i < n; ++i) {
        lowest = x[i] < lowest ? x[i] : lowest;
        highest = x[i] > highest ? x[i] : highest;
    }
    return dynamic_scale(lowest, highest);
}

void quantize_dynamic(const float* x, uint8_t* y, int64_t n, DynamicScale scale) {
    quantize_dense<uint8_t>(x, scale.scale, scale.zero, y, n);
}

}  // namespace

QuantizeFunctions quantize_functions() {
    static constexpr QuantizeRow kRows[] = {
        {DType::kUint8, "quantize_f32_u8", quantize_row<uint8_t>, "dequantize_u8_f32",
         dequantize_row<uint8_t>},
        {DType::kInt8, "quantize_f32_i8", quantize_row<int8_t>, "dequantize_i8_f32",
         dequantize_row<int8_t>},
        {DType::kUint16, "quantize_f32_u16", quantize_row<uint16_t>, "dequantize_u16_f32",
         dequantize_row<uint16_t>},
        {DType::kInt16, "quantize_f32_i16", quantize_row<int16_t>, "dequantize_i16_f32",
         dequantize_row<int16_t>},
        {DType::kInt32, {}, nullptr, "dequantize_i32_f32", dequantize_row<int32_t>},
        {DType::kUndefined, {}, nullptr, {}, nullptr},
    };
    return {kRows, range_of, quantize_dynamic};
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(quantize_functions);

constexpr double kNsPerElement = 0.15;  // AVX-512, data in L2

const QuantizeRow* find_row(DType quantized) {
    const QuantizeRow* row = HWY_DYNAMIC_DISPATCH(quantize_functions)().rows;
    while (row->dequantize != nullptr && row->quantized != quantized) {
        ++row;
    }
    return row;
}

// The kernel of either operator, null where scales are not f32 or belong to blocks.
Result<std::unique_ptr<cpu::CpuKernel>> make_rows(cpu::PrepareContext& context,
                                                  std::string_view name,
                                                  cpu::RowFunction function) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const ScaleGrid grid,
                          ScaleGrid::make(context.node, x.shape, context.inputs[1].shape));
    const bool is_f32 = context.inputs[1].dtype == DType::kFloat32 &&
                        quotient_type(context.node, DType::kFloat32) == DType::kFloat32;
    if (function == nullptr || !is_f32 || grid.kind == ScaleGrid::Kind::kBlocks) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    // Scales of an axis broadcast as a tensor [extent, 1, ..., 1].
    const TensorArg* zero = find_arg(context.inputs, 2);
    std::array<TensorArg, 3> operands{x, context.inputs[1]};
    if (zero != nullptr) {
        operands[2] = *zero;
    }
    Shape shape;
    if (grid.kind == ScaleGrid::Kind::kAxis) {
        shape.append(x.shape[grid.axis]);
        for (int axis = grid.axis + 1; axis < x.shape.rank(); ++axis) {
            shape.append(1);
        }
    }
    for (TensorArg& operand : std::span(operands).subspan(1)) {
        operand.shape = shape;
        operand.strides = row_major_strides(shape);
    }
    cpu::RowKernelSpec spec;
    spec.name = name;
    spec.function = function;
    spec.ns_per_element = kNsPerElement;
    return cpu::make_row_kernel(spec, y, std::span(operands).first(zero != nullptr ? 3 : 2));
}

Result<std::unique_ptr<cpu::CpuKernel>> make_quantize(cpu::PrepareContext& context) {
    const QuantizeRow* row = find_row(context.outputs[0].dtype);
    const bool is_f32 = context.inputs[0].dtype == DType::kFloat32;
    return make_rows(context, row->quantize_name, is_f32 ? row->quantize : nullptr);
}

Result<std::unique_ptr<cpu::CpuKernel>> make_dequantize(cpu::PrepareContext& context) {
    const QuantizeRow* row = find_row(context.inputs[0].dtype);
    const bool is_f32 = context.outputs[0].dtype == DType::kFloat32;
    return make_rows(context, row->dequantize_name, is_f32 ? row->dequantize : nullptr);
}

class DynamicQuantizeKernel final : public cpu::CpuKernel {
  public:
    explicit DynamicQuantizeKernel(int64_t count) : count_(count) {
        kernel_name = "dynamic_quantize_f32";
        cost_ns = 2 * kNsPerElement * double(count);
    }
    Status run(const cpu::KernelArgs& args,
               int64_t /*tile_begin*/,
               int64_t /*tile_end*/) const override {
        const float* x = args.inputs[0].as<const float>();
        const DynamicScale scale = functions_.range(x, count_);
        functions_.quantize(x, args.outputs[0].as<uint8_t>(), count_, scale);
        store_dynamic_scale(scale, args.outputs);
        return {};
    }

  private:
    QuantizeFunctions functions_ = HWY_DYNAMIC_DISPATCH(quantize_functions)();
    int64_t count_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_dynamic_quantize(cpu::PrepareContext& context) {
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<DynamicQuantizeKernel>(context.inputs[0].shape.element_count()));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> quantize_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 3> kEntries{{
        {"QuantizeLinear", make_quantize},
        {"DequantizeLinear", make_dequantize},
        {"DynamicQuantizeLinear", make_dynamic_quantize},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
