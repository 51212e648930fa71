#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>

namespace leat::bench {
namespace {

constexpr size_t kResamples = 2000;

double median_in_place(std::vector<double>& values) {
    if (values.empty()) {
        return 0;
    }
    size_t middle = values.size() / 2;
    std::nth_element(values.begin(), values.begin() + ptrdiff_t(middle), values.end());
    double upper = values[middle];
    if (values.size() % 2 == 1) {
        return upper;
    }
    return (upper + *std::max_element(values.begin(), values.begin() + ptrdiff_t(middle))) / 2;
}

double resampled_median(const std::vector<double>& values, std::mt19937_64& random) {
    std::vector<double> drawn(values.size());
    for (double& value : drawn) {
        value = values[size_t(random() % values.size())];
    }
    return median_in_place(drawn);
}

// The middle 95 % of what `resample` gives.
template <class Resample>
void set_interval(Ratio& ratio, const Resample& resample) {
    std::mt19937_64 random(1);  // fixed: the same files give the same interval
    std::vector<double> resampled(kResamples);
    std::generate(resampled.begin(), resampled.end(), [&] { return resample(random); });
    std::sort(resampled.begin(), resampled.end());
    ratio.low = percentile_of_sorted(resampled, 2.5);
    ratio.high = percentile_of_sorted(resampled, 97.5);
}

std::vector<double> block_medians_of(const std::vector<double>& samples) {
    constexpr size_t kBlocks = 20;
    size_t blocks = std::min(kBlocks, samples.size());
    std::vector<double> medians;
    for (size_t i = 0; i < blocks; ++i) {
        auto begin = samples.begin() + ptrdiff_t(i * samples.size() / blocks);
        auto end = samples.begin() + ptrdiff_t((i + 1) * samples.size() / blocks);
        medians.push_back(median({begin, end}));
    }
    return medians;
}

}  // namespace

int64_t samples_needed(double percentile) {
    percentile = std::max(percentile, 100 - percentile);
    if (percentile <= 50 || percentile >= 100) {
        return 1;
    }
    if (percentile <= 90) {
        return int64_t(std::ceil(1 + (percentile - 50) / 40 * 63 - 1e-9));
    }
    // 6.4 / (1 - 0.90) = 64 and 6.62 / (1 - 0.99) = 662.
    double above = percentile <= 95 ? 6.4 : 6.62;
    double share = (100 - percentile) / 100;  // 1e-16 at least: the quotient is an int64_t
    return int64_t(std::ceil(above / share - 1e-6));
}

double percentile_of_sorted(const std::vector<double>& sorted, double percentile) {
    double position = percentile / 100 * double(sorted.size() - 1);
    auto below = size_t(std::floor(position));
    size_t above = std::min(below + 1, sorted.size() - 1);
    double share = position - double(below);
    return sorted[below] + share * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
    return median_in_place(values);
}

Summary summarize(const std::vector<double>& samples, const std::vector<double>& percentiles) {
    Summary summary;
    summary.count = int64_t(samples.size());
    for (double rank : percentiles) {
        summary.percentiles.push_back({rank, std::nullopt, samples_needed(rank)});
    }
    if (samples.empty()) {
        return summary;
    }
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    summary.min = sorted.front();
    summary.max = sorted.back();
    summary.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / double(sorted.size());
    double squares = 0;
    for (double value : sorted) {
        squares += (value - summary.mean) * (value - summary.mean);
    }
    summary.stddev = sorted.size() > 1 ? std::sqrt(squares / double(sorted.size() - 1)) : 0;
    summary.median = percentile_of_sorted(sorted, 50);
    std::vector<double> deviations = sorted;
    for (double& value : deviations) {
        value = std::fabs(value - summary.median);
    }
    summary.mad = median_in_place(deviations);
    auto middle = samples.begin() + ptrdiff_t(samples.size() / 2);
    double first = median({samples.begin(), middle});
    double second = median({middle, samples.end()});
    summary.drift = first > 0 ? second / first - 1 : 0;
    for (Summary::Percentile& percentile : summary.percentiles) {
        if (summary.count >= percentile.needed) {
            percentile.value = percentile_of_sorted(sorted, percentile.rank);
        }
    }
    summary.block_medians = block_medians_of(samples);
    return summary;
}

std::vector<Bin> histogram(const std::vector<double>& samples, int bin_count) {
    if (samples.empty() || bin_count <= 0) {
        return {};
    }
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    double low = sorted.front();
    double high = percentile_of_sorted(sorted, 99.5);
    double width = (high - low) / bin_count;
    std::vector<Bin> bins;
    bins.reserve(size_t(bin_count));
    for (int i = 0; i < bin_count; ++i) {
        bins.push_back({low + width * i, low + width * (i + 1), 0});
    }
    bins.back().high = sorted.back();
    for (double value : sorted) {
        auto index = width > 0 ? int64_t((value - low) / width) : 0;
        ++bins[size_t(std::clamp<int64_t>(index, 0, bin_count - 1))].count;
    }
    return bins;
}

Ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b) {
    Ratio ratio;
    if (a.empty() || b.empty() || median(a) <= 0) {
        return ratio;
    }
    ratio.value = median(b) / median(a);
    set_interval(ratio, [&](std::mt19937_64& random) {
        const double base = resampled_median(a, random);
        return resampled_median(b, random) / base;
    });
    ratio.min = ratio.low;
    ratio.max = ratio.high;
    return ratio;
}

Ratio ratio_of_rounds(const std::vector<double>& a, const std::vector<double>& b) {
    Ratio ratio;
    std::vector<double> ratios;
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i] > 0) {
            ratios.push_back(b[i] / a[i]);
        }
    }
    if (ratios.empty()) {
        return ratio;
    }
    ratio.value = median(ratios);
    ratio.min = *std::min_element(ratios.begin(), ratios.end());
    ratio.max = *std::max_element(ratios.begin(), ratios.end());
    set_interval(ratio, [&](std::mt19937_64& random) { return resampled_median(ratios, random); });
    return ratio;
}

}  // namespace leat::bench
