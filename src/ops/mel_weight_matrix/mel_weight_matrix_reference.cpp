#include <cmath>

#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/mel_weight_matrix/mel_weight_matrix.h"

namespace leat {
namespace {

constexpr double kMelFactor = 2595;
constexpr double kMelHertz = 700;

double mel_of_hertz(double hertz) {
    return kMelFactor * std::log1p(hertz / kMelHertz) / std::log(10.0);
}

// Where the steps begin, in bins of the spectrum.
class MelBins {
  public:
    explicit MelBins(const ReferenceArgs& args)
        : bins_(args.outputs[0].shape[0]),
          length_(double(load_integer(args.inputs[1].dtype, args.inputs[1].data, 0)) + 1),
          rate_(double(load_integer(args.inputs[2].dtype, args.inputs[2].data, 0))),
          low_(mel_of_hertz(load_real(args.inputs[3].dtype, args.inputs[3].data, 0))),
          step_((mel_of_hertz(load_real(args.inputs[4].dtype, args.inputs[4].data, 0)) - low_) /
                double(args.outputs[0].shape[1] + 2)) {}

    // The last bin of a filter is the first one without weight: it may lie behind the spectrum.
    Result<int64_t> operator[](int64_t i) const {
        const double hertz =
            kMelHertz * std::expm1((low_ + double(i) * step_) / kMelFactor * std::log(10.0));
        const double bin = std::floor(length_ * hertz / rate_);
        if (!(bin >= 0 && bin <= double(bins_))) {
            return invalid_argument("a mel filter lies beyond the spectrum: bin {}", bin)
                .with_found(fmt::format("{} Hz", hertz))
                .with_needed(fmt::format("0 to {} Hz, the bins 0 to {}",
                                         rate_ * double(bins_) / length_, bins_ - 1));
        }
        return int64_t(bin);
    }

  private:
    int64_t bins_;
    double length_;
    double rate_;
    double low_;
    double step_;
};

}  // namespace

Status mel_weight_matrix_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const int64_t bins = y.shape[0];
    const int64_t bands = y.shape[1];
    for (int64_t i = 0; i < bins * bands; ++i) {
        store_real(y.dtype, y.data, i, 0);
    }
    if (bands == 0) {
        return {};
    }
    const MelBins begins(args);
    for (int64_t i = 0; i < bands; ++i) {
        LEAT_ASSIGN_OR_RETURN(const int64_t low, begins[i]);
        LEAT_ASSIGN_OR_RETURN(const int64_t center, begins[i + 1]);
        LEAT_ASSIGN_OR_RETURN(const int64_t high, begins[i + 2]);
        if (low > center || center > high || center >= bins) {
            return invalid_argument("the bins of a mel filter are out of range or order")
                .with_found(fmt::format("{}, {} and {}", low, center, high))
                .with_needed(fmt::format("rising ones, the second below {}", bins));
        }
        for (int64_t k = low; k < center; ++k) {
            store_real(y.dtype, y.data, k * bands + i, double(k - low) / double(center - low));
        }
        store_real(y.dtype, y.data, center * bands + i, 1);
        for (int64_t k = center; k < high; ++k) {
            store_real(y.dtype, y.data, k * bands + i, double(high - k) / double(high - center));
        }
    }
    return {};
}

}  // namespace leat
