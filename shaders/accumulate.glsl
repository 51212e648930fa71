// Elements of the type that the build names (-DELEMENT_F32, ..., _I64), and what sums of them are
// kept in:
//   STORED         in memory, ELEMENT_BYTES each
//   WIDE           what sums and products are computed in: float for f16, bf16 and f32; for integers
//                  64 bits, so that sums wrap as those of 64-bit integers do
//   REAL           what roots and logarithms are computed in: double for integers
//   widen, narrow  between STORED and WIDE; f16 and bf16 are rounded to nearest even
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require

#if defined ELEMENT_F32
#define STORED float
#define WIDE float
#define REAL float
#define ELEMENT_BYTES 4
#elif defined ELEMENT_F64
#define REAL_IS_DOUBLE
#define STORED double
#define WIDE double
#define REAL double
#define ELEMENT_BYTES 8
#elif defined ELEMENT_F16
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define STORED float16_t
#define WIDE float
#define REAL float
#define ELEMENT_BYTES 2
#elif defined ELEMENT_BF16
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#define STORED uint16_t
#define WIDE float
#define REAL float
#define ELEMENT_BYTES 2
#else
#define ELEMENT_IS_INTEGER
#define REAL_IS_DOUBLE
#define REAL double
#if defined ELEMENT_I8 || defined ELEMENT_U8
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#if defined ELEMENT_I8
#define STORED int8_t
#define WIDE int64_t
#define LOWEST int64_t(-128)
#define HIGHEST int64_t(127)
#define ELEMENT_BYTES 1
#elif defined ELEMENT_U8
#define STORED uint8_t
#define WIDE uint64_t
#define LOWEST uint64_t(0)
#define HIGHEST uint64_t(255)
#define ELEMENT_BYTES 1
#elif defined ELEMENT_I32
#define STORED int
#define WIDE int64_t
#define LOWEST int64_t(-2147483647 - 1)
#define HIGHEST int64_t(2147483647)
#define ELEMENT_BYTES 4
#elif defined ELEMENT_U32
#define STORED uint
#define WIDE uint64_t
#define LOWEST uint64_t(0)
#define HIGHEST uint64_t(0xffffffffu)
#define ELEMENT_BYTES 4
#elif defined ELEMENT_I64
#define STORED int64_t
#define WIDE int64_t
#define LOWEST (-9223372036854775807l - 1l)
#define HIGHEST 9223372036854775807l
#define ELEMENT_BYTES 8
#else
#define STORED uint64_t
#define WIDE uint64_t
#define LOWEST uint64_t(0)
#define HIGHEST 0xfffffffffffffffful
#define ELEMENT_BYTES 8
#endif
#endif

#if defined ELEMENT_BF16
float widen(uint16_t x) {
    return uintBitsToFloat(uint(x) << 16);
}
uint16_t narrow(float x) {
    const uint bits = floatBitsToUint(x);
    if (isnan(x)) {
        return uint16_t(bits >> 16 | 0x40u);
    }
    return uint16_t((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
#else
WIDE widen(STORED x) {
    return WIDE(x);
}
STORED narrow(WIDE x) {
    return STORED(x);
}
#endif

layout(buffer_reference, scalar, buffer_reference_align = ELEMENT_BYTES) readonly buffer ElementsIn {
    STORED at[];
};
layout(buffer_reference, scalar, buffer_reference_align = ELEMENT_BYTES) writeonly buffer
    ElementsOut {
    STORED at[];
};
