#include <cmath>

#include "base/check.h"
#include "base/find_named.h"
#include "ops/binary/binary.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

// Real numbers, signed integers (sign-extended) and unsigned ones; results keep the low bits.
struct BinaryExpression {
    std::string_view name;
    double (*real)(double x, double y);
    int64_t (*integer)(int64_t x, int64_t y);
    uint64_t (*natural)(uint64_t x, uint64_t y);
};

int64_t wrapped(uint64_t x) {
    return int64_t(x);
}

int64_t divide(int64_t x, int64_t y) {
    return y == 0 ? 0 : y == -1 ? wrapped(0 - uint64_t(x)) : x / y;
}
uint64_t divide_natural(uint64_t x, uint64_t y) {
    return y == 0 ? 0 : x / y;
}

int64_t remainder(int64_t x, int64_t y) {
    return y == 0 || y == -1 ? 0 : x % y;
}
uint64_t remainder_natural(uint64_t x, uint64_t y) {
    return y == 0 ? 0 : x % y;
}

int64_t modulo(int64_t x, int64_t y) {
    const int64_t r = remainder(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
double modulo_real(double x, double y) {
    const double r = std::fmod(x, y);
    if (r == 0) {
        return std::copysign(0.0, y);
    }
    return (r < 0) != (y < 0) ? r + y : r;
}

uint64_t power_natural(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            result *= base;
        }
        base *= base;
    }
    return result;
}
int64_t power(int64_t base, int64_t exponent) {
    if (exponent >= 0) {
        return wrapped(power_natural(uint64_t(base), uint64_t(exponent)));
    }
    if (base == 1 || base == -1) {
        return (exponent & 1) != 0 ? base : 1;
    }
    return 0;
}

uint64_t shift_left(uint64_t x, uint64_t y) {
    return y >= 64 ? 0 : x << y;
}
uint64_t shift_right(uint64_t x, uint64_t y) {
    return y >= 64 ? 0 : x >> y;
}

// Of signed numbers; what is shifted in from above are copies of the sign.
int64_t shift_left_signed(int64_t x, int64_t y) {
    return wrapped(shift_left(uint64_t(x), uint64_t(y)));
}
int64_t shift_right_signed(int64_t x, int64_t y) {
    return x >> (y < 0 || y > 63 ? 63 : y);
}

using Real = double;
using Int = int64_t;
using Nat = uint64_t;

constexpr BinaryExpression kBinaryExpressions[] = {
    {"Add", [](Real x, Real y) { return x + y; },
     [](Int x, Int y) { return wrapped(Nat(x) + Nat(y)); }, [](Nat x, Nat y) { return x + y; }},
    {"BitwiseAnd", nullptr, [](Int x, Int y) { return x & y; }, [](Nat x, Nat y) { return x & y; }},
    {"BitwiseOr", nullptr, [](Int x, Int y) { return x | y; }, [](Nat x, Nat y) { return x | y; }},
    {"BitwiseXor", nullptr, [](Int x, Int y) { return x ^ y; }, [](Nat x, Nat y) { return x ^ y; }},
    {"Div", [](Real x, Real y) { return x / y; }, divide, divide_natural},
    {"Fmod", [](Real x, Real y) { return std::fmod(x, y); }, remainder, remainder_natural},
    {"Mod", modulo_real, modulo, remainder_natural},
    {"Mul", [](Real x, Real y) { return x * y; },
     [](Int x, Int y) { return wrapped(Nat(x) * Nat(y)); }, [](Nat x, Nat y) { return x * y; }},
    {"PRelu", [](Real x, Real y) { return x < 0 ? y * x : x; },
     [](Int x, Int y) { return x < 0 ? wrapped(Nat(x) * Nat(y)) : x; },
     [](Nat x, Nat) { return x; }},
    {"Pow", [](Real x, Real y) { return std::pow(x, y); }, power, power_natural},
    {"ShiftLeft", nullptr, shift_left_signed, shift_left},
    {"ShiftRight", nullptr, shift_right_signed, shift_right},
    {"Sub", [](Real x, Real y) { return x - y; },
     [](Int x, Int y) { return wrapped(Nat(x) - Nat(y)); }, [](Nat x, Nat y) { return x - y; }},
};

}  // namespace

Status binary_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.inputs[1];
    const TensorArg& z = args.outputs[0];
    const std::string_view name = binary_expression(args.node);
    const BinaryExpression* e = find_named(kBinaryExpressions, name);
    LEAT_CHECK(e != nullptr, "{} is no binary operator", name);
    // Pow's exponent has its own type: integers stay exact only if both are of one kind.
    const bool natural = contains(kUnsignedTypes, x.dtype) && contains(kUnsignedTypes, y.dtype);
    const bool integer = contains(kIntTypes, x.dtype) && contains(kIntTypes, y.dtype);
    for_each_broadcast(z.shape, args.inputs, [&](int64_t o, const auto& at) {
        if (natural) {
            const uint64_t value = e->natural(uint64_t(load_integer(x.dtype, x.data, at[0])),
                                              uint64_t(load_integer(y.dtype, y.data, at[1])));
            store_integer(z.dtype, z.data, o, int64_t(value));
        } else if (integer) {
            store_integer(z.dtype, z.data, o,
                          e->integer(load_integer(x.dtype, x.data, at[0]),
                                     load_integer(y.dtype, y.data, at[1])));
        } else {
            store_real(
                z.dtype, z.data, o,
                e->real(load_real(x.dtype, x.data, at[0]), load_real(y.dtype, y.data, at[1])));
        }
    });
    return {};
}

}  // namespace leat
