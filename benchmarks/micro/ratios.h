// Ratios of a comparison over many problems, and the time that one took.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

namespace leat::micro {

// Of this thread.
inline double processor_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

struct Ratios {
    std::vector<double> all;

    double geometric_mean() const {
        double sum = 0;
        for (const double ratio : all) {
            sum += std::log(ratio);
        }
        return std::exp(sum / double(all.size()));
    }
    double least() const { return *std::min_element(all.begin(), all.end()); }
    double most() const { return *std::max_element(all.begin(), all.end()); }
};

}  // namespace leat::micro
