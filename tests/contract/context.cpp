#include "contract/context.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <thread>

namespace leat::contract {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(10);
// What a backend that breaks the contract may still be doing to memory that is freed next.
constexpr auto kAftermath = std::chrono::milliseconds(150);

}  // namespace

void expect(bool holds, const std::string& reason) {
    if (!holds) {
        throw Failure{reason};
    }
}

int count_threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return int(std::distance(begin(tasks), end(tasks)));
}

Context::Context(const Target& target) : target_(target), host_(services_.api()) {
    host_.host = this;
    host_.log = [](void*, int32_t, const char*) {};
    host_.cache_directory = [](void*) -> const char* { return nullptr; };
    host_.allocate = [](void* context, int64_t bytes, int64_t alignment) {
        auto& self = *static_cast<Context*>(context);
        self.allocations_.fetch_add(1);
        const LeatHostApi& services = self.services_.api();
        return services.allocate(services.host, bytes, alignment);
    };
    host_.parallel_for = [](void*, int64_t count, void (*body)(void*, int64_t), void* user) {
        for (int64_t i = 0; i < count; ++i) {
            body(user, i);
        }
    };
    auto plugin = target.table != nullptr ? LoadedPlugin::of_table(*target.table, services_)
                                          : LoadedPlugin::open(target.file, services_);
    expect(plugin.ok(), plugin.error().message());
    plugin_ = *std::move(plugin);
}

Context::~Context() {
    try {
        if (backend_ != nullptr) {
            if (std::uncaught_exceptions() > 0) {
                wait_for_open_submissions();
                std::this_thread::sleep_for(kAftermath);
            }
            stop();
        }
    } catch (const Failure&) {
        backend_ = nullptr;  // the check has failed for another reason, which is reported
    } catch (const Unimplemented&) {
        backend_ = nullptr;
    }
}

// A check that ends early leaves work behind, which uses slabs that are freed next.
void Context::wait_for_open_submissions() {
    const Clock::time_point deadline = Clock::now() + kPatience;
    auto live = plugin::made<LeatLiveObjects>();
    while (api().live_objects(backend_, &live, nullptr) == kLeatOk && live.submissions > 0 &&
           Clock::now() < deadline) {
        std::this_thread::yield();
    }
}

void Context::start(const BackendSettings& further) {
    BackendSettings settings = target_.settings;
    settings.insert(further.begin(), further.end());
    const SettingsView given(settings);
    PluginError error;
    signals_.assign(16, 0);
    expect_ok(api().create(&host_, given.get(), &backend_, error.get()), "create", error);
}

void Context::stop() {
    for (LeatSlab* slab : slabs_) {
        api().free_slab(backend_, slab);
    }
    slabs_.clear();
    PluginError error;
    expect_ok(api().shutdown(backend_, error.get()), "shutdown", error);
    backend_ = nullptr;
}

void Context::close() {
    const Status status = plugin_->unload();
    expect(status.ok(), status.message());
}

const LeatDeviceInfo& Context::device() const {
    const LeatDeviceInfo* info = api().device(backend_, 0);
    if (info == nullptr) {
        throw Unimplemented{"it has no device"};
    }
    return *info;
}

int32_t Context::queue_of(int32_t kind, int32_t but) const {
    const LeatDeviceInfo& info = device();
    for (int32_t i = 0; i < info.queue_count; ++i) {
        if ((info.queues[i]->kinds & kind) != 0 && info.queues[i]->queue != but) {
            return info.queues[i]->queue;
        }
    }
    throw Unimplemented{"its device has no such queue"};
}

void Context::expect_ok(LeatCode code, const char* what, const PluginError& error) {
    if (code == kLeatUnimplemented) {
        throw Unimplemented{std::string(error.text())};
    }
    expect(code == kLeatOk, fmt::format("{}: code {}: {}", what, code, error.text()));
}

LeatSlab* Context::slab(int64_t bytes) {
    PluginError error;
    LeatSlab* made_slab = nullptr;
    expect_ok(api().allocate_slab(backend_, domain(), bytes, &made_slab, error.get()),
              "allocate_slab", error);
    slabs_.push_back(made_slab);
    return made_slab;
}

void Context::free_slab(LeatSlab* slab) {
    slabs_.erase(std::find(slabs_.begin(), slabs_.end(), slab));
    api().free_slab(backend_, slab);
}

uint8_t* Context::host_bytes(int64_t bytes) {
    return host_memory_.emplace_back(size_t(bytes), uint8_t{0}).data();
}

LeatSubmission Context::submission(int32_t queue, const std::vector<LeatPoint>& waits) {
    auto made_submission = plugin::made<LeatSubmission>();
    const std::vector<LeatPoint>& kept = waits_.emplace_back(waits);
    made_submission.wait_count = int32_t(kept.size());
    made_submission.waits = kept.data();
    made_submission.signal = {queue, ++signals_.at(size_t(queue))};
    return made_submission;
}

LeatPoint Context::submit_copy(int32_t queue,
                               const LeatCopy& copy,
                               const std::vector<LeatPoint>& waits) {
    const LeatSubmission made_submission = submission(queue, waits);
    PluginError error;
    expect_ok(api().submit_copy(backend_, &made_submission, &copy, error.get()), "submit_copy",
              error);
    return made_submission.signal;
}

LeatPoint Context::copy_in(int32_t queue,
                           const void* from,
                           LeatPlacement to,
                           int64_t bytes,
                           const std::vector<LeatPoint>& waits) {
    auto copy = plugin::made<LeatCopy>();
    copy.from_host = from;
    copy.to = to;
    copy.bytes = bytes;
    return submit_copy(queue, copy, waits);
}

LeatPoint Context::copy_out(int32_t queue,
                            LeatPlacement from,
                            void* to,
                            int64_t bytes,
                            const std::vector<LeatPoint>& waits) {
    auto copy = plugin::made<LeatCopy>();
    copy.from = from;
    copy.to_host = to;
    copy.bytes = bytes;
    return submit_copy(queue, copy, waits);
}

LeatPoint Context::fill(int32_t queue,
                        LeatPlacement to,
                        int64_t bytes,
                        uint8_t pattern,
                        const std::vector<LeatPoint>& waits,
                        uint64_t request) {
    auto made_fill = plugin::made<LeatFill>();
    made_fill.to = to;
    made_fill.bytes = bytes;
    made_fill.pattern = pattern * uint64_t{0x01010101};
    made_fill.pattern_bytes = 4;
    LeatSubmission made_submission = submission(queue, waits);
    made_submission.request = request;
    PluginError error;
    expect_ok(api().submit_fill(backend_, &made_submission, &made_fill, error.get()), "submit_fill",
              error);
    return made_submission.signal;
}

LeatCode Context::poll(LeatPoint point) {
    PluginError error;
    const LeatCode code = api().poll(backend_, point, error.get());
    if (code == kLeatUnimplemented) {
        throw Unimplemented{std::string(error.text())};
    }
    return code;
}

LeatCode Context::wait(LeatPoint point) {
    const Clock::time_point deadline = Clock::now() + kPatience;
    for (;;) {
        const LeatCode code = poll(point);
        if (code != kLeatPending) {
            return code;
        }
        expect(Clock::now() < deadline,
               fmt::format("point {} of queue {} is never reached", point.value, point.queue));
        std::this_thread::yield();
    }
}

void Context::wait_ok(LeatPoint point) {
    const LeatCode code = wait(point);
    expect(code == kLeatOk, fmt::format("a point completed with code {}", code));
}

std::vector<uint8_t> Context::bytes_of(LeatPlacement from, int64_t bytes) {
    uint8_t* to = host_bytes(bytes);
    wait_ok(copy_out(compute_queue(), from, to, bytes));
    return {to, to + bytes};
}

Report run_check(const Check& check, const Target& target) {
    try {
        Context context(target);
        check.run(context);
        if (context.backend() != nullptr) {
            context.stop();
        }
        context.close();
        return {};
    } catch (const Failure& failure) {
        return {Verdict::kFailed, failure.reason};
    } catch (const Unimplemented& absent) {
        return {Verdict::kUnimplemented, absent.reason};
    }
}

}  // namespace leat::contract
