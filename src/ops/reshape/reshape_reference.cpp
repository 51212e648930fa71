#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/split_mix.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"
#include "ops/random/random.h"
#include "ops/reshape/reshape.h"

namespace leat {
namespace {

// As NumPy's RandomState(seed).random_sample(): numbers in [0, 1) of 53 bits.
class DropoutNumbers {
  public:
    explicit DropoutNumbers(uint32_t seed) : engine_(seed) {}
    double next() {
        const auto high = uint64_t(engine_()) >> 5U;
        const auto low = uint64_t(engine_()) >> 6U;
        return double(high << 26U | low) * 0x1p-53;
    }

  private:
    std::mt19937 engine_;
};

// NumPy takes seeds of 32 bits alone; all bits of another one count.
uint32_t dropout_seed(const NodeData& node) {
    const auto seed =
        node.has_attr("seed") ? uint64_t(node.attr("seed", int64_t{0})) : fresh_seed();
    return uint32_t(seed >> 32U == 0 ? seed : mixed(seed));
}

}  // namespace

Result<double> dropped_ratio(const TensorArg& ratio, const TensorArg& training_mode) {
    constexpr double kDefaultRatio = 0.5;
    if (!training_mode.present() || *training_mode.as<uint8_t>() == 0) {
        return 0.0;
    }
    const double share = ratio.present() ? load_real(ratio.dtype, ratio.data, 0) : kDefaultRatio;
    if (!(share >= 0 && share < 1)) {
        return invalid_argument("the ratio of Dropout is out of range")
            .with_found(fmt::format("{}", share))
            .with_needed("a number in [0, 1)");
    }
    return share;
}

Status view_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    if (x.data != y.data) {
        copy_elements(x.dtype, x.data, 0, y.data, 0, x.shape.element_count());
    }
    return {};
}

Status dropout_reference(const ReferenceArgs& args) {
    const auto operand = [&args](int i) {
        const TensorArg* given = find_arg(args.inputs, i);
        return given == nullptr ? TensorArg{} : *given;
    };
    LEAT_ASSIGN_OR_RETURN(const double ratio, dropped_ratio(operand(1), operand(2)));
    const TensorArg& x = args.inputs[0];
    const TensorArg* const y = find_arg(args.outputs, 0);
    const TensorArg* const mask = find_arg(args.outputs, 1);
    const int64_t count = x.shape.element_count();
    if (ratio == 0) {
        if (mask != nullptr) {
            std::fill_n(mask->as<uint8_t>(), count, uint8_t{1});
        }
        return y == nullptr ? Status() : view_reference(args);
    }
    if (!contains(kRealTypes, x.dtype)) {
        return invalid_argument("Dropout in training is of numbers")
            .with_found(std::string(name_of(x.dtype)))
            .with_needed("a floating-point type");
    }
    DropoutNumbers numbers(dropout_seed(args.node));
    for (int64_t i = 0; i < count; ++i) {
        const bool is_kept = numbers.next() >= ratio;
        if (mask != nullptr) {
            mask->as<uint8_t>()[i] = is_kept ? 1 : 0;
        }
        if (y != nullptr) {
            const double kept = is_kept ? load_real(x.dtype, x.data, i) / (1 - ratio) : 0;
            store_real(y->dtype, y->data, i, kept);
        }
    }
    return {};
}

}  // namespace leat
