#include "contract/paced_device.h"

#include <fmt/core.h>

#include <cstdlib>

namespace leat::contract {

Target built_sim() {
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    Target target;
    target.file = fmt::format("{}/leat_sim.so", folder == nullptr ? "." : folder);
    return target;
}

LeatSlab* PacedDevice::slab(int32_t device, int64_t bytes) {
    PluginError error;
    LeatSlab* slab = nullptr;
    Context::expect_ok(
        context_.api().allocate_slab(backend(), this->device(device).domains[0]->domain, bytes,
                                     &slab, error.get()),
        "allocate_slab", error);
    slabs_.push_back(slab);
    return slab;
}

PacedDevice::~PacedDevice() {
    for (LeatSlab* slab : slabs_) {
        context_.api().free_slab(backend(), slab);
    }
}

// `call` submits with the entry of that name.
template <class Call>
PacedDevice::Submitted PacedDevice::submit(int32_t queue,
                                           const std::vector<LeatPoint>& waits,
                                           const char* name,
                                           const Call& call) {
    LeatSubmission submission = context_.submission(queue, waits);
    const ToldTimes& times = times_.emplace_back(submission);
    PluginError error;
    Context::expect_ok(call(submission, error.get()), name, error);
    return {submission.signal, &times};
}

PacedDevice::Submitted PacedDevice::fill(int32_t queue,
                                         LeatSlab* slab,
                                         int64_t bytes,
                                         const std::vector<LeatPoint>& waits) {
    auto fill = plugin::made<LeatFill>();
    fill.to = {slab, 0};
    fill.bytes = bytes;
    fill.pattern_bytes = 1;
    return submit(queue, waits, "submit_fill", [&](const LeatSubmission& one, LeatError* error) {
        return context_.api().submit_fill(backend(), &one, &fill, error);
    });
}

PacedDevice::Submitted PacedDevice::copy(int32_t queue,
                                         const LeatCopy& copy,
                                         const std::vector<LeatPoint>& waits) {
    return submit(queue, waits, "submit_copy", [&](const LeatSubmission& one, LeatError* error) {
        return context_.api().submit_copy(backend(), &one, &copy, error);
    });
}

PacedDevice::Submitted PacedDevice::copy_in(int32_t queue,
                                            LeatSlab* to,
                                            int64_t bytes,
                                            const std::vector<LeatPoint>& waits) {
    auto request = plugin::made<LeatCopy>();
    request.from_host = context_.host_bytes(bytes);
    request.to = {to, 0};
    request.bytes = bytes;
    return copy(queue, request, waits);
}

PacedDevice::Submitted PacedDevice::copy_out(int32_t queue,
                                             LeatSlab* from,
                                             int64_t bytes,
                                             const std::vector<LeatPoint>& waits) {
    auto request = plugin::made<LeatCopy>();
    request.from = {from, 0};
    request.to_host = context_.host_bytes(bytes);
    request.bytes = bytes;
    return copy(queue, request, waits);
}

PacedDevice::Submitted PacedDevice::copy_on_host(int32_t queue, int64_t bytes) {
    auto request = plugin::made<LeatCopy>();
    request.from_host = context_.host_bytes(bytes);
    request.to_host = context_.host_bytes(bytes);
    request.bytes = bytes;
    return copy(queue, request, {});
}

LeatCode PacedDevice::wait(LeatPoint point) {
    Token token;
    PluginError error;
    Context::expect_ok(
        context_.api().on_reached(backend(), point, Token::post, &token, error.get()), "on_reached",
        error);
    return token.wait();
}

}  // namespace leat::contract
