// Statistics of latencies: percentiles that need enough samples, noise, and ratios with their
// uncertainty.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace leat::bench {

// Samples that a percentile (0..100) needs to mean anything: 64 for the 90th and 662 for the 99th
// are MLPerf's early-stopping floors of single-stream latency; between and beyond, six samples
// above the percentile at least. The median needs 1, and so do 0 and 100, which are the extremes of
// whatever samples there are. Below the median it is the same with samples below.
int64_t samples_needed(double percentile);

// Linear interpolation between closest ranks. Precondition: `sorted` is sorted and not empty.
double percentile_of_sorted(const std::vector<double>& sorted, double percentile);

double median(std::vector<double> values);  // 0 for none

struct Summary {
    int64_t count = 0;
    double min = 0;
    double max = 0;
    double mean = 0;
    double stddev = 0;  // of a sample (n - 1)
    double median = 0;
    double mad = 0;    // median absolute deviation from the median
    double drift = 0;  // median of the second half over that of the first, minus 1
    struct Percentile {
        double rank = 0;              // 99.9
        std::optional<double> value;  // nullopt: too few samples
        int64_t needed = 0;
    };
    std::vector<Percentile> percentiles;
    // Medians of up to 20 consecutive blocks: what a later comparison resamples, because
    // neighbouring samples are not independent.
    std::vector<double> block_medians;
};
// `samples` in the order of measuring.
Summary summarize(const std::vector<double>& samples, const std::vector<double>& percentiles);

struct Bin {
    double low = 0;  // half-open [low, high); the last one includes its end
    double high = 0;
    int64_t count = 0;
};
// Equal bins over [min, p99.5]; what lies above falls into the last. Empty for no samples.
std::vector<Bin> histogram(const std::vector<double>& samples, int bin_count);

// A ratio and its 95 % bootstrap interval.
struct Ratio {
    double value = 1;
    double low = 1;
    double high = 1;
    double min = 1;  // spread over rounds, when there are rounds
    double max = 1;
};
// median(b) / median(a) for independent groups.
Ratio ratio_of_medians(const std::vector<double>& a, const std::vector<double>& b);
// Median over rounds of b[i] / a[i]. Precondition: equal sizes.
Ratio ratio_of_rounds(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace leat::bench
