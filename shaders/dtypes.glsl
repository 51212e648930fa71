// Element types by their numbers (leat::DType), and tensors of elements of a width. After
// push_block.glsl.
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

const uint kF32 = 1;
const uint kU8 = 2;
const uint kI8 = 3;
const uint kU16 = 4;
const uint kI16 = 5;
const uint kI32 = 6;
const uint kI64 = 7;
const uint kBool = 9;
const uint kF16 = 10;
const uint kF64 = 11;
const uint kU32 = 12;
const uint kU64 = 13;
const uint kBf16 = 16;
const uint kF8e4m3fn = 17;
const uint kF8e4m3fnuz = 18;
const uint kF8e5m2 = 19;
const uint kF8e5m2fnuz = 20;
const uint kF8e8m0 = 24;

layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Elements8 {
    uint8_t at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Elements16 {
    uint16_t at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Elements32 {
    uint at[];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Elements64 {
    uvec2 at[];
};
