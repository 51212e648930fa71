// Elements of the quantized operators by their type, a constant of the shader, and the rounding that
// they share. After push_block.glsl. Bytes and 16-bit numbers are i8, u8, i16, u16.
#include "dtypes.glsl"

int load_integer(uvec2 tensor, uint i, uint type) {
    switch (type) {
        case kU8:
            return int(uint(Elements8(tensor).at[i]));
        case kI8:
            return bitfieldExtract(int(uint(Elements8(tensor).at[i])), 0, 8);
        case kU16:
            return int(uint(Elements16(tensor).at[i]));
        case kI16:
            return bitfieldExtract(int(uint(Elements16(tensor).at[i])), 0, 16);
        default:
            return int(Elements32(tensor).at[i]);
    }
}

void store_integer(uvec2 tensor, uint i, uint type, int value) {
    if (type == kU8 || type == kI8) {
        Elements8(tensor).at[i] = uint8_t(uint(value) & 0xffu);
    } else {
        Elements16(tensor).at[i] = uint16_t(uint(value) & 0xffffu);
    }
}

// Four bytes of a word as numbers.
ivec4 bytes_of(uint word, uint type) {
    const ivec4 wide = ivec4(uvec4(word, word >> 8, word >> 16, word >> 24) & 0xffu);
    return type == kI8 ? bitfieldExtract(wide, 0, 8) : wide;
}

// What makes signed bytes of bytes of a type: u8 become such less 128.
#define SIGN_FLIP(type) ((type) == kU8 ? 0x80u : 0u)

int signed_zero(int zero, uint type) {
    return type == kU8 ? zero - 128 : zero;
}

bool is_nan_bits(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

// saturate(round(x) + zero) for an integer type, half to even; NaN gives the lowest. Limited before
// it is rounded: the limits are integers.
int saturated(float x, int zero, uint type) {
    const bool is_byte = type == kU8 || type == kI8;
    const bool is_unsigned = type == kU8 || type == kU16;
    const int steps = is_byte ? 255 : 65535;
    const int lowest = is_unsigned ? 0 : is_byte ? -128 : -32768;
    const float low = float(lowest - zero);
    const float high = float(lowest + steps - zero);
    const float limited = is_nan_bits(x) || x <= low ? low : x >= high ? high : x;
    return int(roundEven(limited)) + zero;
}
