// A backend of one device, which is the host, for the operators of kernels.h.
#include <cstring>
#include <memory>
#include <utility>

#include "device_table.h"
#include "executable.h"
#include "leat/plugin_backend.h"
#include "queue.h"
#include "slab.h"

namespace my {
namespace {

using leat::plugin::invalid_argument;

class MyBackend final : public leat::plugin::Backend {
  public:
    static constexpr const char* kName = "my";
    static constexpr const char* kLibraryVersion = "0.1";

    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t /*index*/) { return nullptr; }

    MyBackend(const LeatHostApi* /*host*/, const LeatSettings* /*settings*/) {}

    const LeatDeviceInfo* device(int32_t index) override {
        return index == 0 ? &table_.device : nullptr;
    }
    int64_t open_submissions() override { return queue_.open_submissions(); }

    std::unique_ptr<leat::plugin::Slab> allocate_slab(int32_t /*domain*/, int64_t bytes) override {
        return std::make_unique<Slab>(bytes);
    }
    void* map_slab(leat::plugin::Slab& slab) override { return static_cast<Slab&>(slab).data(); }
    void flush_slab(leat::plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) override {
        static_cast<Slab&>(slab).check_range(offset_bytes, bytes);
    }

    void submit_copy(const LeatSubmission& submission, const LeatCopy& copy) override;
    void submit_fill(const LeatSubmission& submission, const LeatFill& fill) override;
    uint64_t timeline_value(int32_t /*queue*/) override { return queue_.value(); }
    bool is_reached(LeatPoint point) override;
    void on_reached(LeatPoint point, LeatReached callback, void* user) override {
        queue_.on_reached(point, callback, user);
    }
    void fail(int32_t /*queue*/, LeatCode code) override { queue_.fail(code); }
    void forget_failures(int32_t /*queue*/, uint64_t value) override {
        queue_.forget_failures(value);
    }

    void capability(int32_t device,
                    const LeatGraphView& graph,
                    const LeatNodeView& node,
                    LeatNodeCapability& capability) override;
    std::unique_ptr<leat::plugin::Executable> compile(int32_t /*device*/,
                                                      const LeatGraphView& graph,
                                                      const LeatCompileOptions&) override {
        return std::make_unique<Executable>(graph);
    }
    void execute(leat::plugin::Instance& instance,
                 const LeatSubmission& submission,
                 const LeatBinding* inputs,
                 const LeatBinding* outputs) override;

  private:
    DeviceTable table_;
    Queue queue_;
};

void MyBackend::submit_copy(const LeatSubmission& submission, const LeatCopy& copy) {
    const void* from =
        copy.from.slab != nullptr ? address_of(copy.from, copy.bytes) : copy.from_host;
    void* to = copy.to.slab != nullptr ? address_of(copy.to, copy.bytes) : copy.to_host;
    queue_.submit(submission,
                  [from, to, bytes = size_t(copy.bytes)] { std::memmove(to, from, bytes); });
}

void MyBackend::submit_fill(const LeatSubmission& submission, const LeatFill& fill) {
    std::byte* to = address_of(fill.to, fill.bytes);
    if (fill.pattern_bytes <= 0 || fill.bytes % fill.pattern_bytes != 0) {
        invalid_argument("a fill of no whole number of patterns");
    }
    queue_.submit(submission, [to, fill] {
        for (int64_t at = 0; at < fill.bytes; at += fill.pattern_bytes) {
            std::memcpy(to + at, &fill.pattern, size_t(fill.pattern_bytes));
        }
    });
}

bool MyBackend::is_reached(LeatPoint point) {
    const LeatCode code = queue_.code_of(point);
    if (code != kLeatOk && code != kLeatPending) {
        throw leat::plugin::Error(code, "the point was not reached");
    }
    return code == kLeatOk;
}

void MyBackend::capability(int32_t /*device*/,
                           const LeatGraphView& graph,
                           const LeatNodeView& node,
                           LeatNodeCapability& capability) {
    if (std::string reason = refusal(graph, node); !reason.empty()) {
        throw leat::plugin::Error(kLeatUnsupported, std::move(reason));
    }
    capability.layouts = kLeatLayoutRowMajor;
    capability.in_place_inputs = 1;
}

void MyBackend::execute(leat::plugin::Instance& instance,
                        const LeatSubmission& submission,
                        const LeatBinding* inputs,
                        const LeatBinding* outputs) {
    const auto& linked = static_cast<const Instance&>(instance);
    queue_.submit(submission, [&linked, addresses = linked.addresses(inputs, outputs)] {
        linked.run(addresses);
    });
}

}  // namespace
}  // namespace my

LEAT_BACKEND_PLUGIN(my::MyBackend)
