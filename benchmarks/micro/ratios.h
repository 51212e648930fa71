// Ratios of a comparison over many problems, and the time that one took.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>
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

// Three rules over forecasts of the checking corpus's large graphs.
struct RuleRatios {
    Ratios accelerator;
    Ratios host;
    Ratios cut;
    double slowest_ms = 0;

    void print(double submit_ns, std::string_view host_rule) const {
        fmt::print("100 to 2,000 tasks, submission {:g} us, {} graphs, slowest {:.1f} ms\n",
                   submit_ns * 1e-3, accelerator.all.size(), slowest_ms);
        print("all on the accelerator, serial", accelerator);
        print(host_rule, host);
        print("minimum cut, serial", cut);
    }

  private:
    static void print(std::string_view rule, const Ratios& ratios) {
        fmt::print("  {} over the forecast: geometric mean {:.3f}, least {:.3f}\n", rule,
                   ratios.geometric_mean(), ratios.least());
    }
};

}  // namespace leat::micro
