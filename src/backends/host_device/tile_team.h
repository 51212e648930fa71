// Threads that run the tiles of one kernel at a time, beside the thread that asks for it.
//
// A queue's thread may not use the host's parallel_for (plugin.h), so a device has its own. The
// destructor joins the threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/host_kernel.h"

namespace leat::host_device {

class TileTeam {
  public:
    // `workers` >= 1: the caller of run() is one of them. Fewer where the system gives fewer
    // threads.
    explicit TileTeam(int workers);
    TileTeam(const TileTeam&) = delete;
    TileTeam& operator=(const TileTeam&) = delete;
    ~TileTeam();

    int workers() const { return int(threads_.size()) + 1; }
    // Workers that may run tiles of the kernel: no more than there are tiles.
    int workers_for(const HostKernel& kernel) const;
    // Runs all tiles; worker i < workers_for(kernel) has args.scratch + i * scratch_stride. The
    // first error, of which no more than one is told; tiles that have not begun then do not. By one
    // thread at a time.
    Status run(const HostKernel& kernel, const KernelArgs& args, int64_t scratch_stride);

  private:
    void work(int worker);
    void run_tiles(int worker);

    // What all work on; written while nobody works.
    const HostKernel* kernel_ = nullptr;
    KernelArgs args_;
    int64_t scratch_stride_ = 0;
    int64_t tiles_at_once_ = 1;
    std::atomic<int64_t> next_tile_{0};

    std::mutex mutex_;
    std::condition_variable changed_;
    Status first_error_;
    uint64_t job_ = 0;  // counts calls of run()
    size_t busy_ = 0;   // threads that have not finished the job
    bool is_stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace leat::host_device
