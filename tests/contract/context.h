// What checks work with: a running backend, and the calls of the ABI as functions that throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "leat/plugin_backend.h"

namespace leat::contract {

// How a check ends early.
struct Failure {
    std::string reason;
};
struct Unimplemented {
    std::string reason;
};

void expect(bool holds, const std::string& reason);

// Not thread-safe, but for expect_ok(), slab() and free_slab().
class Context {
  public:
    explicit Context(const Target& target);
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    // Waits for what still runs, and frees.
    ~Context();

    const Target& target() const { return target_; }
    // Creates the backend with the target's settings and these.
    void start(const BackendSettings& further = {});
    // Frees what the check has made and shuts down.
    void stop();
    void close();

    const LeatBackendApi& api() const { return plugin_->api(); }
    LeatBackend* backend() const { return backend_; }
    const LeatHostApi& host_api() const { return host_; }
    int64_t host_allocations() const { return allocations_; }
    // The first device; Unimplemented if there is none.
    const LeatDeviceInfo& device() const;
    int32_t compute_queue() const { return queue_of(kLeatQueueCompute, -1); }
    // Another one than the compute queue; Unimplemented if there is none.
    int32_t other_queue() const { return queue_of(kLeatQueueCopy, compute_queue()); }
    int32_t domain() const { return device().domains[0]->domain; }

    // Throws Unimplemented or Failure unless the code is kLeatOk. `error` is that of the call.
    static void expect_ok(LeatCode code, const char* what, const PluginError& error);

    LeatSlab* slab(int64_t bytes);
    void free_slab(LeatSlab* slab);
    // Zeroed host memory that lives as long as the context.
    uint8_t* host_bytes(int64_t bytes);

    // A submission with the next signal value of the queue.
    LeatSubmission submission(int32_t queue, const std::vector<LeatPoint>& waits = {});
    LeatPoint copy_in(int32_t queue,
                      const void* from,
                      LeatPlacement to,
                      int64_t bytes,
                      const std::vector<LeatPoint>& waits = {});
    LeatPoint copy_out(int32_t queue,
                       LeatPlacement from,
                       void* to,
                       int64_t bytes,
                       const std::vector<LeatPoint>& waits = {});
    LeatPoint fill(int32_t queue,
                   LeatPlacement to,
                   int64_t bytes,
                   uint8_t pattern,
                   const std::vector<LeatPoint>& waits = {},
                   uint64_t request = 0);
    LeatCode poll(LeatPoint point);
    // The code that the point completes with; a Failure after ten seconds.
    LeatCode wait(LeatPoint point);
    void wait_ok(LeatPoint point);
    // The bytes of a slab's range, read by a copy.
    std::vector<uint8_t> bytes_of(LeatPlacement from, int64_t bytes);

  private:
    void wait_for_open_submissions();
    int32_t queue_of(int32_t kind, int32_t but) const;
    LeatPoint submit_copy(int32_t queue, const LeatCopy& copy, const std::vector<LeatPoint>& waits);

    const Target& target_;
    HostServices services_;
    LeatHostApi host_;
    std::atomic<int64_t> allocations_{0};
    std::unique_ptr<LoadedPlugin> plugin_;
    LeatBackend* backend_ = nullptr;
    std::vector<LeatSlab*> slabs_;
    std::deque<std::vector<uint8_t>> host_memory_;
    std::deque<std::vector<LeatPoint>> waits_;
    std::vector<uint64_t> signals_;
};

// Of this process.
int count_threads();

}  // namespace leat::contract
