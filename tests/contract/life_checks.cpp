// Devices and lifetimes: memory, threads, shutdown, concurrent calls.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/plugin/text_sink.h"
#include "base/json.h"
#include "contract/compiled.h"
#include "contract/context.h"

namespace leat::contract {
namespace {

constexpr int64_t kBytes = 4096;

// Threads that have been joined leave the count a moment later.
bool falls_to(int threads, std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (count_threads() > threads) {
        if (std::chrono::steady_clock::now() > deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

// Not counting threads that have been joined a moment ago.
int settled_thread_count() {
    int least = count_threads();
    for (int i = 0; i < 50; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        least = std::min(least, count_threads());
    }
    return least;
}

void check_devices(Context& context) {
    context.start();
    const LeatDeviceInfo& device = context.device();
    expect(device.name != nullptr && device.domain_count > 0 && device.queue_count > 0,
           "a device needs a name, memory and a queue");
    for (int32_t i = 0; i < device.domain_count; ++i) {
        const int64_t alignment = device.domains[i]->alignment_bytes;
        expect(alignment > 0 && (alignment & (alignment - 1)) == 0,
               fmt::format("alignment {} is no power of two", alignment));
    }
    bool from_host = false;
    bool to_host = false;
    for (int32_t i = 0; i < device.link_count; ++i) {
        expect(device.links[i]->bytes_per_s > 0, "a link without bandwidth");
        from_host |= device.links[i]->from_domain == LEAT_HOST_DOMAIN;
        to_host |= device.links[i]->to_domain == LEAT_HOST_DOMAIN;
    }
    expect(from_host && to_host, "no link from the host, or none to it");
}

// Names of the devices that the text describes, as far as it describes them rightly.
std::vector<std::string> described_names(const std::string& text) {
    const Result<Json> json = Json::parse(text);
    expect(json.ok(), json.error().message());
    const Json& available = (*json)["available"];
    const Json& reason = (*json)["reason"];
    const Json& devices = (*json)["devices"];
    expect(available.is_bool() && reason.is_string() && devices.is_array(),
           "a description needs 'available', 'reason' and a list of 'devices'");
    expect(available.boolean() == !devices.items().empty(),
           fmt::format("'available' is {} with {} devices", available.boolean(),
                       devices.items().size()));
    expect(
        available.boolean() == reason.text().empty(),
        fmt::format("'available' is {} with the reason '{}'", available.boolean(), reason.text()));
    std::vector<std::string> names;
    for (const Json& device : devices.items()) {
        names.push_back(device["name"].text());
        expect(!names.back().empty(), "a device without a name is described");
    }
    return names;
}

std::string describe(const Context& context, const LeatDeviceDescription& description) {
    std::string text;
    const LeatSink sink = text_sink(text);
    PluginError error;
    Context::expect_ok(description.describe(&context.host_api(), &sink, error.get()), "describe",
                       error);
    return text;
}

void check_device_description(Context& context) {
    const LeatChained* chained =
        plugin::find_chained(context.api().header, LEAT_DEVICE_DESCRIPTION);
    if (chained == nullptr) {
        throw Unimplemented{"it does not describe its devices"};
    }
    const auto description = plugin::read_chained<LeatDeviceDescription>(chained);
    expect(description.describe != nullptr, "the struct of descriptions is too small, or empty");
    const std::vector<std::string> names = described_names(describe(context, description));
    context.start();
    expect(described_names(describe(context, description)) == names,
           "other devices are described while a backend runs");
    for (int32_t i = 0; context.api().device(context.backend(), i) != nullptr; ++i) {
        const std::string name = context.api().device(context.backend(), i)->name;
        expect(std::find(names.begin(), names.end(), name) != names.end(),
               fmt::format("device '{}' is not described", name));
    }
    auto full = plugin::made<LeatSink>();
    full.write = [](void*, const void*, int64_t) -> LeatCode { return kLeatOutOfMemory; };
    const LeatCode code = description.describe(&context.host_api(), &full, nullptr);
    expect(code == kLeatOutOfMemory,
           fmt::format("a host without room for the description got code {}", code));
}

void check_busy(Context& context) {
    context.start();
    PluginError error;
    LeatSlab* slab = context.slab(kBytes);
    const LeatCode code = context.api().shutdown(context.backend(), error.get());
    expect(code == kLeatBusy, fmt::format("shutdown with a slab alive gave code {}", code));
    auto live = plugin::made<LeatLiveObjects>();
    Context::expect_ok(context.api().live_objects(context.backend(), &live, error.get()),
                       "live_objects", error);
    expect(live.slabs == 1 && live.executables == 0 && live.instances == 0,
           fmt::format("{} slabs are said to live; needed 1", live.slabs));
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, kBytes, 1));
}

void check_shutdown_joins_threads(Context& context) {
    const int before = settled_thread_count();
    context.start();
    const int running = count_threads();
    const int32_t declared = context.device().thread_count;
    expect(running - before <= declared,
           fmt::format("{} threads run; {} are declared", running - before, declared));
    LeatSlab* slab = context.slab(kBytes);
    const LeatPoint first = context.fill(context.compute_queue(), {slab, 0}, kBytes, 1);
    context.wait_ok(context.fill(context.other_queue(), {slab, 0}, kBytes, 2, {first}));
    context.stop();
    const bool are_gone = falls_to(before, std::chrono::milliseconds(100));
    // The file is closed next: nothing of it may run then.
    (void)falls_to(before, std::chrono::seconds(2));
    expect(are_gone, "a thread of the backend outlives shutdown");
}

void check_last_callbacks(Context& context) {
    context.start(context.target().slow);
    static std::atomic<int> calls;
    calls = 0;
    LeatSlab* slab = context.slab(kBytes);
    PluginError error;
    const LeatPoint point = context.fill(context.compute_queue(), {slab, 0}, kBytes, 1);
    const auto hear = [](void*, LeatCode) { calls.fetch_add(1); };
    Context::expect_ok(
        context.api().on_reached(context.backend(), point, hear, nullptr, error.get()),
        "on_reached", error);
    context.wait_ok(point);
    context.stop();
    expect(calls == 1,
           fmt::format("{} callbacks were made before the end; needed 1", calls.load()));
}

void check_import(Context& context) {
    context.start();
    const int64_t alignment = context.device().domains[0]->import_alignment_bytes;
    if (alignment == 0) {
        throw Unimplemented{"it imports no host memory"};
    }
    size_t room_bytes = size_t(2 * kBytes + alignment);
    void* room = context.host_bytes(int64_t(room_bytes));
    auto* memory =
        static_cast<uint8_t*>(std::align(size_t(alignment), size_t(2 * kBytes), room, room_bytes));
    PluginError error;
    LeatSlab* slab = nullptr;
    Context::expect_ok(context.api().import_slab(context.backend(), context.domain(), memory,
                                                 kBytes, &slab, error.get()),
                       "import_slab", error);
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, kBytes, 6));
    const bool is_filled = memory[0] == 6 && memory[kBytes - 1] == 6 && memory[kBytes] == 0;
    context.api().free_slab(context.backend(), slab);
    expect(is_filled, "a fill of imported memory is not seen in it");
    expect(memory[0] == 6, "freeing the slab took the memory");
}

void check_export(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    PluginError error;
    int64_t handle = -1;
    Context::expect_ok(
        context.api().export_slab(context.backend(), slab, "opaque_fd", &handle, error.get()),
        "export_slab", error);
    expect(handle >= 0, "no handle");
}

// Three threads compile and allocate while this one submits.
void check_concurrent_calls(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    std::atomic<int> failures{0};
    const auto work = [&] {
        for (int i = 0; i < 20; ++i) {
            LeatSlab* own = nullptr;
            const LeatCode code = context.api().allocate_slab(context.backend(), context.domain(),
                                                              kBytes, &own, nullptr);
            failures.fetch_add(code == kLeatOk ? 0 : 1);
            if (code == kLeatOk) {
                context.api().free_slab(context.backend(), own);
            }
            failures.fetch_add(compiles_and_frees(context) ? 0 : 1);
        }
    };
    std::jthread first(work);
    std::jthread second(work);
    std::jthread third(work);
    LeatPoint last{};
    for (int i = 0; i < 200; ++i) {
        last = context.fill(context.compute_queue(), {slab, 0}, kBytes, uint8_t(i));
        (void)context.poll(last);
    }
    first.join();
    second.join();
    third.join();
    context.wait_ok(last);
    expect(failures == 0, fmt::format("{} concurrent calls failed", failures.load()));
}

void check_two_backends(Context& context) {
    context.start();
    Context other(context.target());
    other.start();
    LeatSlab* slab = context.slab(kBytes);
    LeatSlab* other_slab = other.slab(kBytes);
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, kBytes, 1));
    other.wait_ok(other.fill(other.compute_queue(), {other_slab, 0}, kBytes, 2));
    other.stop();
    expect(context.bytes_of({slab, 0}, 1)[0] == 1, "one backend's end disturbed another");
}

constexpr Check kChecks[] = {
    {"devices", check_devices},
    {"device_description", check_device_description},
    {"busy", check_busy},
    {"shutdown_joins_threads", check_shutdown_joins_threads},
    {"last_callbacks", check_last_callbacks},
    {"import", check_import},
    {"export", check_export},
    {"concurrent_calls", check_concurrent_calls},
    {"two_backends", check_two_backends},
};

}  // namespace

std::span<const Check> life_checks() {
    return kChecks;
}

}  // namespace leat::contract
