#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/split_mix.h"
#include "ops/elementwise/element_access.h"
#include "ops/random/philox.h"
#include "ops/random/random.h"

namespace leat {
namespace {

// The key of a node's stream.
uint64_t random_key(const NodeData& node) {
    if (!node.has_attr("seed")) {
        return fresh_seed();
    }
    return mixed(std::bit_cast<uint32_t>(node.attr("seed", 0.0F)) + uint64_t{1});
}

// Number i of the stream.
double random_unit(uint64_t key, int64_t i) {
    return philox_units(key, uint64_t(i) / 2)[size_t(i) % 2];
}

}  // namespace

uint64_t fresh_seed() {
    static std::atomic<uint64_t> calls{0};
    // The address differs between processes, the time between those that have the same one.
    const auto place = uint64_t(reinterpret_cast<uintptr_t>(&calls));
    const auto time = uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
    return mixed(mixed(mixed(place) ^ time) + calls.fetch_add(1, std::memory_order_relaxed));
}

// Box and Muller's: two normal numbers of two uniform ones.
Status random_normal_reference(const ReferenceArgs& args) {
    constexpr double kTau = 6.28318530717958647692;
    const TensorArg& y = args.outputs[0];
    const double mean = args.node.attr("mean", 0.0F);
    const double scale = args.node.attr("scale", 1.0F);
    const uint64_t key = random_key(args.node);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; i += 2) {
        const auto [u, v] = philox_units(key, uint64_t(i) / 2);
        const double radius = std::sqrt(-2 * std::log1p(-u));
        store_real(y.dtype, y.data, i, mean + scale * radius * std::cos(kTau * v));
        if (i + 1 < count) {
            store_real(y.dtype, y.data, i + 1, mean + scale * radius * std::sin(kTau * v));
        }
    }
    return {};
}

Status random_uniform_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const double low = args.node.attr("low", 0.0F);
    const double high = args.node.attr("high", 1.0F);
    const uint64_t key = random_key(args.node);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        store_real(y.dtype, y.data, i, low + (high - low) * random_unit(key, i));
        // Half of what rounds to low lies below it: what rounds to high is the other half.
        if (load_real(y.dtype, y.data, i) >= high) {
            store_real(y.dtype, y.data, i, low);
        }
    }
    return {};
}

Status bernoulli_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const uint64_t key = random_key(args.node);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        const double p = load_real(x.dtype, x.data, i);
        if (!(p >= 0 && p <= 1)) {
            return invalid_argument("element {} of the input is no probability", i)
                .with_found(fmt::format("{}", p))
                .with_needed("a number in [0, 1]");
        }
        store_real(y.dtype, y.data, i, random_unit(key, i) < p ? 1 : 0);
    }
    return {};
}

namespace {

// sums[c] = sum of exp(x[row, i]) for i <= c, but for a factor.
Status cumulated_weights(const TensorArg& x, int64_t row, std::vector<double>& sums) {
    const auto classes = int64_t(sums.size());
    double most = -HUGE_VAL;
    for (int64_t c = 0; c < classes; ++c) {
        const double weight = load_real(x.dtype, x.data, row * classes + c);
        sums[size_t(c)] = weight;
        most = weight > most ? weight : most;
        if (std::isnan(weight) || weight == HUGE_VAL) {
            return invalid_argument("the input has no log-probability at [{}, {}]", row, c)
                .with_found(fmt::format("{}", weight))
                .with_needed("a number less than infinity");
        }
    }
    if (most == -HUGE_VAL) {
        return invalid_argument("row {} of the input has no class that may be drawn", row)
            .with_found(fmt::format("{} classes of probability 0", classes))
            .with_needed("one with a finite log-probability");
    }
    double sum = 0;
    for (double& weight : sums) {
        sum += std::exp(weight - most);
        weight = sum;
    }
    return {};
}

}  // namespace

Status multinomial_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t samples = y.shape[1];
    const uint64_t key = random_key(args.node);
    if (y.shape.element_count() == 0) {
        return {};
    }
    std::vector<double> sums;
    sums.resize(size_t(x.shape[1]));
    for (int64_t row = 0; row < y.shape[0]; ++row) {
        LEAT_RETURN_IF_ERROR(cumulated_weights(x, row, sums));
        for (int64_t i = row * samples; i < (row + 1) * samples; ++i) {
            // Rounding may give the whole sum, which is none of the classes: the last one that
            // adds to it is meant.
            const double drawn =
                std::min(random_unit(key, i) * sums.back(), std::nextafter(sums.back(), 0.0));
            const auto found = std::upper_bound(sums.begin(), sums.end(), drawn);
            store_integer(y.dtype, y.data, i, found - sums.begin());
        }
    }
    return {};
}

}  // namespace leat
