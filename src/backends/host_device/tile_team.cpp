#include "backends/host_device/tile_team.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/caught_exception.h"

namespace leat::host_device {
namespace {

// Claims for each worker: enough that a late one does not hold up the others.
constexpr int64_t kClaimsPerWorker = 4;

// Kernels of plain loops allocate, and others work on what an exception would leave.
Status run_caught(const HostKernel& kernel, const KernelArgs& args, int64_t begin, int64_t end) {
    try {
        return kernel.run(args, begin, end);
    } catch (...) {
        return caught_exception("a kernel");
    }
}

}  // namespace

TileTeam::TileTeam(int workers) {
    threads_.reserve(size_t(workers) - 1);
    try {
        for (int i = 1; i < workers; ++i) {
            threads_.emplace_back([this, i] { work(i); });
        }
    } catch (const std::exception&) {
        // No thread, or no memory for one: those that there are share the tiles.
    }
}

TileTeam::~TileTeam() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

int TileTeam::workers_for(const HostKernel& kernel) const {
    return int(std::clamp<int64_t>(kernel.tile_count, 1, workers()));
}

Status TileTeam::run(const HostKernel& kernel, const KernelArgs& args, int64_t scratch_stride) {
    if (threads_.empty() || kernel.tile_count <= 1) {
        return run_caught(kernel, args, 0, kernel.tile_count);
    }
    {
        const std::lock_guard lock(mutex_);
        kernel_ = &kernel;
        args_ = args;
        scratch_stride_ = scratch_stride;
        tiles_at_once_ = std::max<int64_t>(1, kernel.tile_count / (workers() * kClaimsPerWorker));
        next_tile_.store(0, std::memory_order_relaxed);
        first_error_ = Status();
        busy_ = threads_.size();
        ++job_;
        changed_.notify_all();
    }
    run_tiles(0);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return busy_ == 0; });
    return std::move(first_error_);
}

void TileTeam::run_tiles(int worker) {
    KernelArgs args = args_;
    args.scratch = args.scratch == nullptr ? nullptr : args.scratch + worker * scratch_stride_;
    for (;;) {
        const int64_t begin = next_tile_.fetch_add(tiles_at_once_, std::memory_order_relaxed);
        if (begin >= kernel_->tile_count) {
            return;
        }
        Status status = run_caught(*kernel_, args, begin,
                                   std::min(begin + tiles_at_once_, kernel_->tile_count));
        if (!status.ok()) {
            const std::lock_guard lock(mutex_);
            if (first_error_.ok()) {
                first_error_ = std::move(status);
            }
            next_tile_.store(kernel_->tile_count, std::memory_order_relaxed);
        }
    }
}

void TileTeam::work(int worker) {
    uint64_t done = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_stopping_ || job_ != done; });
        if (is_stopping_) {
            return;
        }
        done = job_;
        if (worker < workers_for(*kernel_)) {
            lock.unlock();
            run_tiles(worker);
            lock.lock();
        }
        --busy_;
        changed_.notify_all();
    }
}

}  // namespace leat::host_device
