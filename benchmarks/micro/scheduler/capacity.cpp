#include "capacity.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "bodies.h"

namespace leat::micro {
namespace {

constexpr int64_t kSliceNs = 40'000'000;
constexpr int64_t kIterationsPerCheck = 2'000;  // about 2 us between two looks at the clock

int64_t work_for(int64_t duration_ns) {
    const int64_t end = now_ns() + duration_ns;
    int64_t rounds = 0;
    for (; now_ns() < end; ++rounds) {
        multiply_chain(kIterationsPerCheck, uint64_t(rounds));
    }
    return rounds;
}

int64_t work_together(int threads) {
    std::atomic<int> arrived{0};
    std::atomic<int64_t> total{0};
    const auto work = [&] {
        arrived.fetch_add(1);
        while (arrived.load() < threads) {
        }
        total.fetch_add(work_for(kSliceNs));
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) {
        others.emplace_back(work);
    }
    work();
    for (std::thread& other : others) {
        other.join();
    }
    return total.load();
}

}  // namespace

double effective_cores(int threads) {
    double best = 0;
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto alone = double(std::max<int64_t>(1, work_together(1)));
        best = std::max(best, double(work_together(threads)) / alone);
    }
    return std::min(best, double(threads));
}

}  // namespace leat::micro
