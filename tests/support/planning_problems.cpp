#include "support/planning_problems.h"

#include <algorithm>

#include "base/split_mix.h"

namespace leat::testing {
namespace {

class NetworkBuilder {
  public:
    explicit NetworkBuilder(uint64_t seed)
        : random_(seed), size_bytes_(int64_t{64} * between(64, 4096)) {}

    int32_t between(int32_t least, int32_t most) { return least + random_.below(most - least + 1); }
    int64_t size_bytes() const { return size_bytes_; }
    int32_t steps() const { return int32_t(problem_.predecessors.size()); }

    // A step that reads what the given steps wrote.
    int32_t step(const std::vector<int32_t>& reads, int64_t size_bytes) {
        const int32_t number = steps();
        std::vector<int32_t> sorted = reads;
        std::sort(sorted.begin(), sorted.end());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        for (const int32_t read : sorted) {
            problem_.buffers[size_t(read)].users.push_back(number);
        }
        problem_.predecessors.push_back(std::move(sorted));
        UsedBuffer buffer;
        buffer.size_bytes = (size_bytes + 63) / 64 * 64;
        buffer.users = {number};
        problem_.buffers.push_back(std::move(buffer));
        return number;
    }
    // Half the area, twice the channels.
    void shrink() { size_bytes_ = std::max<int64_t>(size_bytes_ / 2, 256); }
    void grow() { size_bytes_ *= 2; }

    PlanningProblem finish() {
        for (UsedBuffer& buffer : problem_.buffers) {
            buffer.is_kept = buffer.users.size() == 1;
        }
        return std::move(problem_);
    }

  private:
    SplitMix random_;
    int64_t size_bytes_;
    PlanningProblem problem_;
};

int32_t chain_block(NetworkBuilder& net, int32_t input) {
    return net.step({input}, net.size_bytes() * net.between(1, 6));
}

// Bottleneck: narrow, narrow, wide, sum; sometimes with a projection of the input.
int32_t residual_block(NetworkBuilder& net, int32_t input) {
    const bool projects = net.between(0, 3) == 0;
    if (projects) {
        net.shrink();
    }
    const int64_t size = net.size_bytes();
    int32_t at = net.step({input}, size / 4);
    at = net.step({at}, size / 4);
    at = net.step({at}, size);
    const int32_t shortcut = projects ? net.step({input}, size) : input;
    return net.step({at, shortcut}, size);
}

int32_t inception_block(NetworkBuilder& net, int32_t input) {
    std::vector<int32_t> ends;
    int64_t sum = 0;
    const int32_t branches = net.between(3, 6);
    for (int32_t branch = 0; branch < branches; ++branch) {
        int32_t at = input;
        int64_t size = 0;
        const int32_t length = net.between(1, 4);
        for (int32_t i = 0; i < length; ++i) {
            size = net.size_bytes() / net.between(2, 12);
            at = net.step({at}, size);
        }
        ends.push_back(at);
        sum += size;
    }
    return net.step(ends, sum);
}

int32_t dense_block(NetworkBuilder& net, int32_t input) {
    std::vector<int32_t> parts = {input};
    int64_t sum = net.size_bytes();
    const int64_t growth = net.size_bytes() / 8;
    const int32_t layers = net.between(3, 8);
    for (int32_t i = 0; i < layers; ++i) {
        const int32_t joined = net.step(parts, sum);
        const int32_t narrow = net.step({joined}, growth * 4);
        parts.push_back(net.step({narrow}, growth));
        sum += growth;
    }
    const int32_t joined = net.step(parts, sum);
    net.shrink();
    return net.step({joined}, net.size_bytes());
}

int32_t transformer_block(NetworkBuilder& net, int32_t input) {
    const int64_t size = net.size_bytes();
    const int32_t norm = net.step({input}, size);
    const int32_t query = net.step({norm}, size);
    const int32_t key = net.step({norm}, size);
    const int32_t value = net.step({norm}, size);
    const int32_t scores = net.step({query, key}, size * net.between(1, 5) / 2);
    const int32_t weights = net.step({scores}, size * 2);
    const int32_t mixed = net.step({weights, value}, size);
    const int32_t projected = net.step({mixed}, size);
    const int32_t sum = net.step({projected, input}, size);
    const int32_t norm2 = net.step({sum}, size);
    const int32_t wide = net.step({norm2}, size * 4);
    const int32_t active = net.step({wide}, size * 4);
    const int32_t narrow = net.step({active}, size);
    return net.step({narrow, sum}, size);
}

void u_net(NetworkBuilder& net, int32_t at, int32_t steps) {
    std::vector<int32_t> skips;
    const int32_t depth = std::clamp(steps / 6, 1, 12);
    for (int32_t level = 0; level < depth; ++level) {
        at = net.step({at}, net.size_bytes());
        at = net.step({at}, net.size_bytes());
        skips.push_back(at);
        net.shrink();
        at = net.step({at}, net.size_bytes());
    }
    for (; !skips.empty(); skips.pop_back()) {
        net.grow();
        at = net.step({at}, net.size_bytes());
        at = net.step({at, skips.back()}, net.size_bytes() * 2);
        at = net.step({at}, net.size_bytes());
    }
}

}  // namespace

std::string name_of(NetworkKind kind) {
    constexpr const char* kNames[] = {"chain", "residual",    "inception",
                                      "dense", "transformer", "u-net"};
    return kNames[size_t(kind)];
}

PlanningProblem network_problem(NetworkKind kind, int32_t steps, uint64_t seed) {
    NetworkBuilder net(seed);
    int32_t at = net.step({}, net.size_bytes() * 2);
    if (kind == NetworkKind::kUNet) {
        u_net(net, at, steps);
        return net.finish();
    }
    using Block = int32_t (*)(NetworkBuilder&, int32_t);
    constexpr Block kBlocks[] = {chain_block, residual_block, inception_block, dense_block,
                                 transformer_block};
    while (net.steps() < steps) {
        at = kBlocks[size_t(kind)](net, at);
        if (net.between(0, 7) == 0) {
            net.shrink();
        }
    }
    return net.finish();
}

PlanningProblem random_problem(int32_t steps, int32_t buffers, uint64_t seed) {
    SplitMix random(seed);
    PlanningProblem problem;
    problem.predecessors.resize(size_t(steps));
    for (int32_t step = 1; step < steps; ++step) {
        std::vector<int32_t>& before = problem.predecessors[size_t(step)];
        for (int32_t edges = random.below(4); edges > 0; --edges) {
            before.push_back(random.below(step));
        }
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    const int64_t grain = int64_t{1} << random.below(9);
    const bool is_mixed = random.below(4) == 0;
    problem.buffers.resize(size_t(buffers));
    for (UsedBuffer& buffer : problem.buffers) {
        buffer.size_bytes = random.below(12) == 0 ? 0 : 1 + random.below(2000);
        buffer.alignment_bytes = is_mixed ? int64_t{1} << random.below(9) : grain;
        const int32_t users = random.below(16) == 0 ? 0 : 1 + random.below(4);
        const int32_t first = random.below(steps);
        for (int32_t i = 0; i < users; ++i) {
            buffer.users.push_back(first + random.below(std::min(steps - first, 6)));
        }
        std::sort(buffer.users.begin(), buffer.users.end());
        const auto last = std::unique(buffer.users.begin(), buffer.users.end());
        buffer.users.truncate(size_t(last - buffer.users.begin()));
        buffer.is_kept = random.below(10) == 0;
    }
    return problem;
}

std::vector<PlannedBuffer> in_step_order(const PlanningProblem& problem) {
    std::vector<PlannedBuffer> planned;
    planned.reserve(problem.buffers.size());
    for (const UsedBuffer& buffer : problem.buffers) {
        PlannedBuffer lifetime{.size_bytes = buffer.size_bytes,
                               .alignment_bytes = buffer.alignment_bytes};
        if (buffer.users.empty()) {
            lifetime.size_bytes = 0;
        } else {
            lifetime.begin_step = buffer.users.front();
            lifetime.end_step = buffer.is_kept ? problem.steps() : buffer.users.back() + 1;
        }
        planned.push_back(lifetime);
    }
    return planned;
}

}  // namespace leat::testing
