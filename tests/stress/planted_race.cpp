// A program with a missing wait: step 1 reads what step 0 writes. Built only with the thread
// sanitizer, which must report the race; this proves that it would report one in the executor too.
#include <cstdio>
#include <vector>

#include "leat/scheduler/executor.h"

namespace {

using namespace leat;             // NOLINT(google-build-using-namespace): a program of its own
using namespace leat::scheduler;  // NOLINT(google-build-using-namespace)

constexpr int64_t kTiles = 64;

Status touch(void* context, int32_t step, int64_t begin, int64_t end, int /*worker*/) {
    auto& cells = *static_cast<std::vector<int64_t>*>(context);
    for (int64_t tile = begin; tile < end; ++tile) {
        if (step == 0) {
            cells[size_t(tile)] += 1;
        } else {
            for (int64_t other = 0; other < kTiles; ++other) {
                cells[size_t(kTiles + tile)] += cells[size_t(other)];
            }
        }
    }
    return {};
}

}  // namespace

int main() {
    const auto executor = make_parallel_executor({4, false, ThreadSource::kStdThread});
    const Program program =
        std::move(Program::make({{kTiles, 1e6, {}}, {kTiles, 1e6, {/* should be 0 */}}})).value();
    ProgramState state(program, 4);
    std::vector<int64_t> cells(size_t(2 * kTiles), 0);
    for (int round = 0; round < 2000; ++round) {
        if (!executor->run(program, state, {touch, &cells}, {}).ok()) {
            return 1;
        }
    }
    std::printf("the sum is %lld\n", static_cast<long long>(cells[size_t(kTiles)]));
    return 0;
}
