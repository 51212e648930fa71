// Submissions, points, order, visibility and callbacks.
#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "contract/context.h"

namespace leat::contract {
namespace {

constexpr int64_t kBytes = 4096;
constexpr auto kSoon = std::chrono::milliseconds(60);

// 64 MiB where the backend cannot be made slow: then the work itself takes a while.
int64_t slow_bytes(const Context& context) {
    return context.target().slow.empty() ? int64_t{64} << 20 : kBytes;
}

void expect_filled(Context& context, LeatPlacement at, int64_t bytes, uint8_t pattern) {
    for (const uint8_t byte : context.bytes_of(at, bytes)) {
        expect(byte == pattern, fmt::format("found byte {}, needed {}", byte, pattern));
    }
}

void check_timelines(Context& context) {
    context.start();
    const int32_t queue = context.compute_queue();
    PluginError error;
    uint64_t value = 1;
    Context::expect_ok(context.api().timeline_value(context.backend(), queue, &value, error.get()),
                       "timeline_value", error);
    expect(value == 0, fmt::format("a new timeline is at {}", value));
    expect(context.poll({queue, 0}) == kLeatOk, "point 0 is not reached from the beginning");
    LeatSlab* slab = context.slab(kBytes);
    uint64_t last = 0;
    for (uint8_t i = 1; i <= 20; ++i) {
        const LeatPoint point = context.fill(queue, {slab, 0}, kBytes, i);
        context.wait_ok(point);
        Context::expect_ok(
            context.api().timeline_value(context.backend(), queue, &value, error.get()),
            "timeline_value", error);
        expect(value >= point.value && value >= last, "the timeline fell or lags behind a point");
        last = value;
    }
}

void check_returns_before_waits(Context& context) {
    context.start(context.target().slow);
    const int64_t bytes = slow_bytes(context);
    LeatSlab* slab = context.slab(bytes);
    const LeatPoint first = context.fill(context.compute_queue(), {slab, 0}, bytes, 1);
    const LeatPoint second = context.fill(context.compute_queue(), {slab, 0}, bytes, 2, {first});
    expect(context.poll(second) == kLeatPending, "the call returned when all was done");
    context.wait_ok(second);
}

void check_queue_order(Context& context) {
    context.start(context.target().slow);
    LeatSlab* slab = context.slab(kBytes);
    std::vector<LeatPoint> points;
    for (uint8_t i = 1; i <= 5; ++i) {
        points.push_back(context.fill(context.compute_queue(), {slab, 0}, kBytes, i));
    }
    while (context.poll(points.back()) == kLeatPending) {
        for (size_t i = 1; i < points.size(); ++i) {
            const bool later = context.poll(points[i]) == kLeatOk;
            expect(!later || context.poll(points[i - 1]) == kLeatOk,
                   "a point was reached before the one in front of it");
        }
    }
    expect_filled(context, {slab, 0}, kBytes, 5);
}

void check_cross_queue_waits(Context& context) {
    context.start(context.target().slow);
    const int64_t bytes = slow_bytes(context);
    LeatSlab* slab = context.slab(bytes);
    uint8_t* to = context.host_bytes(bytes);
    // Two, so that a copy which does not wait ends before the second.
    (void)context.fill(context.compute_queue(), {slab, 0}, bytes, 6);
    const LeatPoint filled = context.fill(context.compute_queue(), {slab, 0}, bytes, 7);
    const LeatPoint copied =
        context.copy_out(context.other_queue(), {slab, 0}, to, bytes, {filled});
    context.wait_ok(copied);
    const bool has_waited = context.poll(filled) == kLeatOk;
    context.wait_ok(filled);
    expect(has_waited, "a submission ended before what it waits for");
    expect(to[0] == 7 && to[bytes - 1] == 7, "a submission began before what it waits for ended");
}

void check_signal_after_copy(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    uint8_t* from = context.host_bytes(kBytes);
    uint8_t* to = context.host_bytes(kBytes);
    std::memset(from, 0x5A, size_t(kBytes));
    context.wait_ok(context.copy_in(context.compute_queue(), from, {slab, 0}, kBytes));
    context.wait_ok(context.copy_out(context.compute_queue(), {slab, 0}, to, kBytes));
    expect(std::memcmp(from, to, size_t(kBytes)) == 0,
           "the point was reached before the copy was done");
}

void check_signal_after_fill(Context& context) {
    context.start();
    PluginError error;
    LeatSlab* slab = context.slab(kBytes);
    if (context.device().domains[0]->is_mappable == 0) {
        throw Unimplemented{"its memory cannot be mapped"};
    }
    void* memory = nullptr;
    Context::expect_ok(context.api().map_slab(context.backend(), slab, &memory, error.get()),
                       "map_slab", error);
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, kBytes, 3));
    Context::expect_ok(context.api().flush_slab(context.backend(), slab, 0, kBytes, error.get()),
                       "flush_slab", error);
    const auto* bytes = static_cast<const uint8_t*>(memory);
    expect(bytes[0] == 3 && bytes[kBytes - 1] == 3, "the host does not see a fill after its point");
}

void check_reuse_after_signal(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    uint8_t* from = context.host_bytes(kBytes);
    for (int i = 1; i <= 50; ++i) {
        std::memset(from, i, size_t(kBytes));
        context.wait_ok(context.copy_in(context.compute_queue(), from, {slab, 0}, kBytes));
        std::memset(from, 0xFF, size_t(kBytes));
        expect_filled(context, {slab, 0}, kBytes, uint8_t(i));
    }
}

void check_stays_in_range(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(3 * kBytes);
    uint8_t* from = context.host_bytes(kBytes);
    std::memset(from, 9, size_t(kBytes));
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, 3 * kBytes, 1));
    context.wait_ok(context.copy_in(context.compute_queue(), from, {slab, kBytes}, kBytes));
    expect_filled(context, {slab, 0}, kBytes, 1);
    expect_filled(context, {slab, kBytes}, kBytes, 9);
    expect_filled(context, {slab, 2 * kBytes}, kBytes, 1);
    context.wait_ok(context.fill(context.compute_queue(), {slab, kBytes}, kBytes, 4));
    expect_filled(context, {slab, 0}, kBytes, 1);
    expect_filled(context, {slab, 2 * kBytes}, kBytes, 1);
}

struct Heard {
    std::atomic<int> calls{0};
    std::atomic<LeatCode> code{kLeatPending};
    std::atomic<bool> is_on_caller{false};
    std::thread::id caller = std::this_thread::get_id();
    static void hear(void* user, LeatCode code) {
        auto& heard = *static_cast<Heard*>(user);
        heard.is_on_caller = std::this_thread::get_id() == heard.caller;
        heard.code = code;
        heard.calls.fetch_add(1);
    }
};

void ask(Context& context, LeatPoint point, Heard& heard) {
    PluginError error;
    Context::expect_ok(
        context.api().on_reached(context.backend(), point, &Heard::hear, &heard, error.get()),
        "on_reached", error);
}

void wait_for_calls(const Heard& heard) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (heard.calls == 0) {
        expect(std::chrono::steady_clock::now() < deadline, "a callback never comes");
        std::this_thread::yield();
    }
}

void check_callback_once(Context& context) {
    static Heard pending;
    static Heard reached;
    pending.calls = reached.calls = 0;
    context.start(context.target().slow);
    LeatSlab* slab = context.slab(kBytes);
    const LeatPoint point = context.fill(context.compute_queue(), {slab, 0}, kBytes, 1);
    ask(context, point, pending);
    context.wait_ok(point);
    ask(context, point, reached);
    wait_for_calls(pending);
    wait_for_calls(reached);
    std::this_thread::sleep_for(kSoon);
    expect(pending.calls == 1 && reached.calls == 1,
           fmt::format("callbacks were made {} and {} times", pending.calls.load(),
                       reached.calls.load()));
    expect(pending.code == kLeatOk && reached.code == kLeatOk, "a callback got an error");
}

void check_callback_thread(Context& context) {
    Heard heard;
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    const LeatPoint point = context.fill(context.compute_queue(), {slab, 0}, kBytes, 1);
    context.wait_ok(point);
    ask(context, point, heard);
    wait_for_calls(heard);
    expect(!heard.is_on_caller, "a callback ran on the thread that asked for it");
}

void check_callback_after_signal(Context& context) {
    Heard heard;
    context.start(context.target().slow);
    const int64_t bytes = slow_bytes(context);
    LeatSlab* slab = context.slab(bytes);
    const LeatPoint point = context.fill(context.compute_queue(), {slab, 0}, bytes, 1);
    ask(context, point, heard);
    wait_for_calls(heard);
    expect(context.poll(point) == kLeatOk, "a callback came before its point was reached");
}

constexpr Check kChecks[] = {
    {"timelines", check_timelines},
    {"returns_before_waits", check_returns_before_waits},
    {"queue_order", check_queue_order},
    {"cross_queue_waits", check_cross_queue_waits},
    {"signal_after_copy", check_signal_after_copy},
    {"signal_after_fill", check_signal_after_fill},
    {"reuse_after_signal", check_reuse_after_signal},
    {"stays_in_range", check_stays_in_range},
    {"callback_once", check_callback_once},
    {"callback_thread", check_callback_thread},
    {"callback_after_signal", check_callback_after_signal},
};

}  // namespace

std::span<const Check> queue_checks() {
    return kChecks;
}

}  // namespace leat::contract
