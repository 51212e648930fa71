// Backends that describe their devices: what the host makes of it, and that the contract finds
// breaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "backends/plugin/loaded_plugin.h"
#include "contract/builtin_plugins.h"
#include "contract/contract.h"
#include "leat/plugin_backend.h"

namespace leat::contract {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What the next backends say; "throw": they cannot.
std::string& spoken() {
    static std::string text;
    return text;
}

class Speaking final : public plugin::Backend {
  public:
    static constexpr const char* kName = "speaking";
    static constexpr const char* kLibraryVersion = "1";
    static void check_available(const LeatHostApi* /*host*/) {
        throw plugin::Error(kLeatUnsupported, "it only speaks");
    }
    static const LeatSettingInfo* setting(int32_t /*index*/) { return nullptr; }
    static std::string describe_devices(const LeatHostApi* /*host*/) {
        return spoken() == "throw" ? throw std::runtime_error("no voice") : spoken();
    }
    Speaking(const LeatHostApi* /*host*/, const LeatSettings* /*settings*/)
        : info_(plugin::made<LeatDeviceInfo>()) {
        info_.name = "the first";
    }
    const LeatDeviceInfo* device(int32_t index) override { return index == 0 ? &info_ : nullptr; }

  private:
    LeatDeviceInfo info_;
};

constexpr const LeatBackendApi& kSpeaking = plugin::Plugin<Speaking>::kApi;
constexpr const char* kRight =
    R"({"available":true,"reason":"","devices":[{"name":"the first"},{"name":"not used"}]})";

Result<std::string> describe(const LeatBackendApi& api) {
    const HostServices host;
    auto plugin = LoadedPlugin::of_table(api, host);
    EXPECT_TRUE(plugin.ok()) << plugin.error().message();
    return (*plugin)->describe_devices();
}

Verdict verdict_on(std::string text) {
    spoken() = std::move(text);
    Target target;
    target.table = &kSpeaking;
    for (const Check& check : life_checks()) {
        if (check.name == "device_description") {
            return run_check(check, target).verdict;
        }
    }
    ADD_FAILURE() << "there is no such check";
    return Verdict::kUnimplemented;
}

TEST(DeviceDescription, NeedsNoBackendThatRunsOrCanRun) {
    spoken() = kRight;
    EXPECT_EQ(describe(kSpeaking).value(), kRight);
}

TEST(DeviceDescription, OfABackendWithoutIsUnsupported) {
    const Status status = describe(*find_builtin_plugin("cpu")).error();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("'cpu' does not describe its devices"));
}

TEST(DeviceDescription, ThatFailsIsAnErrorWithItsText) {
    spoken() = "throw";
    EXPECT_THAT(
        describe(kSpeaking).error().message(),
        AllOf(HasSubstr("could not describe its devices: no voice"), HasSubstr("speaking")));
}

TEST(DeviceDescription, IsFoundBehindStructsThatNobodyKnows) {
    spoken() = kRight;
    auto unknown = plugin::made<LeatChained>();
    unknown.name = "leat.no_such_struct";
    unknown.header.next = kSpeaking.header.next;
    LeatBackendApi api = kSpeaking;
    api.header.next = &unknown;
    EXPECT_TRUE(describe(api).ok());
    unknown.header.next = nullptr;
    EXPECT_EQ(describe(api).error().code(), StatusCode::kUnsupported);
}

TEST(DeviceDescription, WithoutItsFunctionContradictsTheVersion) {
    LeatDeviceDescription cut = plugin::Plugin<Speaking>::kDescription;
    cut.chained.header.struct_bytes = uint32_t(offsetof(LeatDeviceDescription, describe));
    LeatBackendApi api = kSpeaking;
    api.header.next = &cut.chained;
    EXPECT_EQ(describe(api).error().code(), StatusCode::kVersionMismatch);
}

TEST(DeviceDescription, IsCheckedByTheContract) {
    EXPECT_EQ(verdict_on(kRight), Verdict::kPassed);
    for (const char* wrong : {
             "throw",
             "two GPUs",
             "[]",
             R"({"available":true,"reason":""})",
             R"({"available":true,"reason":"","devices":[]})",
             R"({"available":false,"reason":"","devices":[]})",
             R"({"available":true,"reason":"","devices":[{"kind":"GPU"}]})",
             R"({"available":true,"reason":"","devices":[{"name":"another"}]})",
         }) {
        EXPECT_EQ(verdict_on(wrong), Verdict::kFailed) << wrong;
    }
}

}  // namespace
}  // namespace leat::contract
