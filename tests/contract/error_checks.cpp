// Errors: arguments, poison, failed queues, cancelling, loss of the device, memory that runs out.
#include <fmt/core.h>

#include <chrono>

#include "contract/context.h"

namespace leat::contract {
namespace {

constexpr int64_t kBytes = 4096;

void expect_code(LeatCode found, LeatCode needed, const char* what) {
    if (found == kLeatUnimplemented && needed != kLeatUnimplemented) {
        throw Unimplemented{what};
    }
    expect(found == needed, fmt::format("{}: found code {}, needed {}", what, found, needed));
}

void check_struct_sizes(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    auto fill = plugin::made<LeatFill>();
    fill.to.slab = slab;
    fill.bytes = kBytes;
    fill.pattern_bytes = 4;
    fill.header.struct_bytes = uint32_t(offsetof(LeatFill, pattern));
    const LeatSubmission submission = context.submission(context.compute_queue());
    PluginError error;
    expect_code(context.api().submit_fill(context.backend(), &submission, &fill, error.get()),
                kLeatVersionMismatch, "a struct whose size contradicts its version");
    expect(!error.text().empty(), "the error has no text");
    // A larger struct of a later version is fine: it only appends.
    struct Later {
        LeatFill fill;
        uint64_t appended;
    } later = {fill, 1};
    later.fill.header.struct_bytes = uint32_t(sizeof(Later));
    later.fill.header.version = LEAT_PLUGIN_VERSION + 1;
    expect_code(context.api().submit_fill(context.backend(), &submission, &later.fill, error.get()),
                kLeatOk, "a struct of a later version");
    context.wait_ok(submission.signal);
}

void check_extensions(Context& context) {
    context.start();
    expect(context.api().get_extension(context.backend(), "leat.no_such_extension") == nullptr,
           "an extension that does not exist has a table");
    LeatSlab* slab = context.slab(kBytes);
    if (const void* table = context.api().get_extension(context.backend(), LEAT_DRIVER_EXTENSION)) {
        const auto& drivers = *static_cast<const LeatDriverExtension*>(table);
        expect(drivers.header.struct_bytes >= sizeof(LeatDriverExtension),
               "the table of drivers is smaller than in version 1");
        expect(drivers.driver(context.backend(), 1'000'000) == nullptr,
               "a device that does not exist has a driver");
        const char* driver = drivers.driver(context.backend(), 0);
        expect(driver == nullptr || *driver != '\0', "the name of a driver is empty");
    }
    auto unknown = plugin::made<LeatChained>();
    unknown.name = "leat.no_such_struct";
    auto fill = plugin::made<LeatFill>();
    fill.header.next = &unknown;
    fill.to.slab = slab;
    fill.bytes = kBytes;
    fill.pattern_bytes = 4;
    const LeatSubmission submission = context.submission(context.compute_queue());
    PluginError error;
    expect_code(context.api().submit_fill(context.backend(), &submission, &fill, error.get()),
                kLeatOk, "a chain with a struct that nobody knows");
    context.wait_ok(submission.signal);
}

void check_bad_ranges(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    PluginError error;
    const LeatSubmission submission = context.submission(context.compute_queue());
    for (const int64_t offset : {int64_t{1}, kBytes, int64_t{-1}, INT64_MAX}) {
        auto fill = plugin::made<LeatFill>();
        fill.to = {slab, offset};
        fill.bytes = kBytes;
        fill.pattern_bytes = 4;
        expect_code(context.api().submit_fill(context.backend(), &submission, &fill, error.get()),
                    kLeatInvalidArgument, "a range outside its slab");
    }
    LeatSlab* none = nullptr;
    expect_code(
        context.api().allocate_slab(context.backend(), context.domain(), 0, &none, error.get()),
        kLeatInvalidArgument, "a slab of no bytes");
    // What failed was not submitted: its signal value may be used.
    auto fill = plugin::made<LeatFill>();
    fill.to = {slab, 0};
    fill.bytes = kBytes;
    fill.pattern_bytes = 4;
    expect_code(context.api().submit_fill(context.backend(), &submission, &fill, error.get()),
                kLeatOk, "the same signal value after an error");
    context.wait_ok(submission.signal);
}

void fail_queue(Context& context, int32_t queue, LeatCode code) {
    PluginError error;
    Context::expect_ok(context.api().fail(context.backend(), queue, code, error.get()), "fail",
                       error);
}

void check_poison(Context& context) {
    context.start();
    LeatSlab* slab = context.slab(kBytes);
    const int32_t good = context.compute_queue();
    const int32_t bad = context.other_queue();
    context.wait_ok(context.fill(good, {slab, 0}, kBytes, 1));
    fail_queue(context, bad, kLeatInternal);
    const LeatPoint failed = context.fill(bad, {slab, 0}, kBytes, 2);
    const LeatPoint poisoned = context.fill(good, {slab, 0}, kBytes, 3, {failed});
    const LeatPoint after = context.fill(good, {slab, 0}, kBytes, 4, {poisoned});
    expect_code(context.wait(failed), kLeatInternal, "a point of a failed queue");
    expect_code(context.wait(poisoned), kLeatInternal, "a point that waits for a failed one");
    expect_code(context.wait(after), kLeatInternal, "a point that waits for a poisoned one");
    expect(context.bytes_of({slab, 0}, 1)[0] == 1, "a poisoned submission did its work");
    PluginError error;
    Context::expect_ok(
        context.api().forget_failures(context.backend(), good, poisoned.value, error.get()),
        "forget_failures", error);
    context.wait_ok(context.fill(good, {slab, 0}, kBytes, 5));
}

void check_fail_queue(Context& context) {
    context.start(context.target().slow);
    LeatSlab* slab = context.slab(kBytes);
    const int32_t queue = context.other_queue();
    std::vector<LeatPoint> points;
    for (uint8_t i = 0; i < 4; ++i) {
        points.push_back(context.fill(queue, {slab, 0}, kBytes, i));
    }
    fail_queue(context, queue, kLeatInternal);
    points.push_back(context.fill(queue, {slab, 0}, kBytes, 9));
    LeatCode last = kLeatOk;
    for (const LeatPoint point : points) {
        const LeatCode code = context.wait(point);
        expect(code == kLeatInternal || (code == kLeatOk && last == kLeatOk),
               fmt::format("a point of a failed queue completed with code {}", code));
        last = code;
    }
    expect_code(last, kLeatInternal, "a point after the failure");
    expect_code(context.poll({queue, points.back().value + 10}), kLeatInternal,
                "a point that was never submitted");
}

void check_cancel(Context& context) {
    if (context.target().slow.empty()) {
        throw Unimplemented{"it cannot be made slow, so nothing is there to cancel"};
    }
    context.start(context.target().slow);
    LeatSlab* slab = context.slab(kBytes);
    const int32_t queue = context.compute_queue();
    const LeatPoint first = context.fill(queue, {slab, 0}, kBytes, 1, {}, 5);
    const LeatPoint wanted = context.fill(queue, {slab, 0}, kBytes, 2, {}, 6);
    const LeatPoint dropped = context.fill(queue, {slab, 0}, kBytes, 3, {}, 7);
    const LeatPoint other = context.fill(queue, {slab, 0}, kBytes, 4, {first}, 8);
    const LeatPoint waiting = context.fill(queue, {slab, 0}, kBytes, 6, {dropped});
    PluginError error;
    Context::expect_ok(context.api().cancel(context.backend(), 7, error.get()), "cancel", error);
    expect_code(context.wait(dropped), kLeatCancelled, "a point of the cancelled request");
    expect_code(context.wait(waiting), kLeatCancelled, "a point that waits for a cancelled one");
    context.wait_ok(first);
    context.wait_ok(wanted);
    context.wait_ok(other);
    expect(context.bytes_of({slab, 0}, 1)[0] == 4, "the work of other requests was not done");
}

void check_device_lost(Context& context) {
    if (context.target().losing.empty()) {
        throw Unimplemented{"its device cannot be lost on purpose"};
    }
    context.start(context.target().losing);
    LeatSlab* slab = context.slab(2 * kBytes);
    std::vector<LeatPoint> points;
    for (uint8_t i = 1; i <= 6; ++i) {
        points.push_back(context.fill(context.compute_queue(), {slab, 0}, kBytes, i));
    }
    // No point orders the queues, so the other one has bytes of its own.
    const LeatPoint elsewhere = context.fill(context.other_queue(), {slab, kBytes}, kBytes, 7);
    for (size_t i = 0; i < points.size(); ++i) {
        const LeatCode code = context.wait(points[i]);
        expect(i < 2 || code == kLeatDeviceLost,
               fmt::format("point {} after the loss completed with code {}", i + 1, code));
    }
    const LeatCode other_code = context.wait(elsewhere);
    expect(other_code == kLeatDeviceLost || other_code == kLeatOk, "the other queue went wrong");
    expect_code(context.wait(context.fill(context.other_queue(), {slab, kBytes}, kBytes, 8)),
                kLeatDeviceLost, "a submission after the loss");
    context.stop();
    context.start();
    LeatSlab* next = context.slab(kBytes);
    context.wait_ok(context.fill(context.compute_queue(), {next, 0}, kBytes, 1));
}

void check_out_of_memory(Context& context) {
    if (context.target().small_memory.empty()) {
        throw Unimplemented{"its memory cannot be made small"};
    }
    context.start(context.target().small_memory);
    PluginError error;
    LeatSlab* none = nullptr;
    expect_code(context.api().allocate_slab(context.backend(), context.domain(), int64_t{64} << 20,
                                            &none, error.get()),
                kLeatOutOfMemory, "a slab larger than the memory");
    expect(!error.text().empty(), "the error has no text");
    LeatSlab* slab = context.slab(kBytes);
    context.wait_ok(context.fill(context.compute_queue(), {slab, 0}, kBytes, 1));
}

constexpr Check kChecks[] = {
    {"struct_sizes", check_struct_sizes}, {"extensions", check_extensions},
    {"bad_ranges", check_bad_ranges},     {"poison", check_poison},
    {"fail_queue", check_fail_queue},     {"cancel", check_cancel},
    {"device_lost", check_device_lost},   {"out_of_memory", check_out_of_memory},
};

}  // namespace

std::span<const Check> error_checks() {
    return kChecks;
}

}  // namespace leat::contract
