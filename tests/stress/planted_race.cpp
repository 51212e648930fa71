// A program with a missing wait: step 1 reads what step 0 writes. Built only with the thread
// sanitizer, which must report the race; this proves that it would report one in the executor too.
#include <cstdio>
#include <vector>

#include "leat/scheduler/executor.h"
#include "support/step_program.h"

namespace {

using namespace leat;             // NOLINT(google-build-using-namespace): a program of its own
using namespace leat::scheduler;  // NOLINT(google-build-using-namespace)

constexpr int64_t kTiles = 64;

bool touch(void* context, TaskId step, TaskScope& scope) {
    auto& cells = *static_cast<std::vector<int64_t>*>(context);
    for (int64_t tile = scope.tile_begin(); tile < scope.tile_end(); ++tile) {
        if (step == TaskId{0}) {
            cells[size_t(tile)] += 1;
        } else {
            for (int64_t other = 0; other < kTiles; ++other) {
                cells[size_t(kTiles + tile)] += cells[size_t(other)];
            }
        }
    }
    return true;
}

}  // namespace

int main() {
    ExecutorOptions options;
    options.threads = 4;
    options.pin = false;
    options.source = ThreadSource::kStdThread;
    Executor executor(options);
    const Program program =
        std::move(compile_steps({{kTiles, 1e6, {}}, {kTiles, 1e6, {/* should be 0 */}}}, 4))
            .value();
    ProgramState state(program);
    std::vector<int64_t> cells(size_t(2 * kTiles), 0);
    for (int round = 0; round < 2000; ++round) {
        if (!executor.run(state, {touch, &cells}).ok()) {
            return 1;
        }
    }
    std::printf("the sum is %lld\n", static_cast<long long>(cells[size_t(kTiles)]));
    return 0;
}
