// Element types by their numbers (leat::DType).
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
