// Files that become backends, and files that must not.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/plugin/device_name.h"
#include "backends/plugin/find_plugin.h"
#include "backends/plugin/loaded_plugin.h"
#include "base/files/shared_object.h"
#include "leat/custom_operator.h"
#include "leat/plugin_backend.h"

extern "C" int leat_plugin_header_is_c(const LeatBackendApi* api);

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string build_folder(const char* variable) {
    const char* folder = std::getenv(variable);
    return folder == nullptr ? std::string() : folder;
}
std::string null_folder() {
    return build_folder("LEAT_BUILT_BACKENDS");
}
std::string broken(std::string_view name) {
    return fmt::format("{}/broken_{}.so", build_folder("LEAT_BROKEN_FOLDER"), name);
}

std::string open_error(const std::string& file) {
    const HostServices host;
    return LoadedPlugin::open(file, host).error().message();
}

TEST(DeviceName, ReadsBackendNumberAndPartOfName) {
    EXPECT_EQ(parse_device_name("sim")->backend, "sim");
    EXPECT_FALSE(parse_device_name("sim")->number);
    EXPECT_EQ(parse_device_name("vulkan:12")->number, 12);
    EXPECT_EQ(parse_device_name("vulkan:name~NVIDIA H")->name_part, "NVIDIA H");
}

TEST(DeviceName, RefusesWhatIsNone) {
    for (const char* text : {"", ":0", "vulkan:", "vulkan:-1", "vulkan:1x", "vulkan:name~",
                             "../evil", "Sim", "a/b", "vulkan:99999999999"}) {
        EXPECT_EQ(parse_device_name(text).error().code(), StatusCode::kInvalidArgument) << text;
    }
}

TEST(DeviceName, ChoosesByNumberAndByPartOfName) {
    const std::vector<std::string> devices = {"llvmpipe", "NVIDIA H200", "NVIDIA T4"};
    EXPECT_EQ(choose_device(*parse_device_name("vulkan"), devices).value(), 0);
    EXPECT_EQ(choose_device(*parse_device_name("vulkan:2"), devices).value(), 2);
    EXPECT_EQ(choose_device(*parse_device_name("vulkan:name~NVIDIA"), devices).value(), 1);
    EXPECT_THAT(choose_device(*parse_device_name("vulkan:3"), devices).error().message(),
                AllOf(HasSubstr("no device 3"), HasSubstr("llvmpipe, NVIDIA H200")));
    EXPECT_THAT(choose_device(*parse_device_name("vulkan:name~AMD"), devices).error().message(),
                HasSubstr("whose name has 'AMD'"));
}

TEST(FindPlugin, TakesAFileAndAFolder) {
    const std::string file = null_folder() + "/leat_null.so";
    EXPECT_EQ(find_plugin("null", null_folder()).value(), file);
    EXPECT_EQ(find_plugin("anything", file).value(), file);
    EXPECT_THAT(plugins_in(null_folder()), ::testing::Contains(file));
    EXPECT_TRUE(plugins_in("/no/such/folder").empty());
}

TEST(FindPlugin, NamesEveryPlaceItLookedAt) {
    EXPECT_THAT(find_plugin("absent", "/no/such/folder").error().message(),
                AllOf(HasSubstr("/no/such/folder/leat_absent.so"),
                      HasSubstr(std::string(installed_plugin_folder()))));
}

TEST(FindPlugin, APathThatIsNoFileAndNoFolderIsAnError) {
    const Status device = find_plugin("null", "/dev/null").error();
    EXPECT_EQ(device.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(device.message(), AllOf(HasSubstr("/dev/null"), HasSubstr("a device")));
}

// The dynamic linker looks for names without a slash in its own folders only.
TEST(SharedObject, ANameWithoutASlashIsInTheCurrentFolder) {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(null_folder());
    const Result<SharedObject> object = open_shared_object("leat_null.so");
    const HostServices host;
    const auto plugin = LoadedPlugin::open("leat_null.so", host);
    const Result<SharedObject> libraries_name = open_shared_object("libc.so.6");
    std::filesystem::current_path(before);
    EXPECT_TRUE(object.ok()) << object.error().message();
    EXPECT_TRUE(plugin.ok()) << plugin.error().message();
    EXPECT_THAT(libraries_name.error().message(),
                AllOf(HasSubstr("libc.so.6"), HasSubstr("No such file")));
}

// A copy that did not end, as long as its headers or longer.
TEST(SharedObject, ThatIsCutShortIsAnError) {
    std::ifstream whole(null_folder() + "/leat_null.so", std::ios::binary);
    const std::string contents{std::istreambuf_iterator<char>(whole), {}};
    ASSERT_GT(contents.size(), 4096U);
    const std::string file = ::testing::TempDir() + "/leat_cut_short.so";
    for (const size_t bytes : {size_t{64}, size_t{100}, size_t{1000}, size_t{4096}}) {
        std::ofstream(file, std::ios::binary).write(contents.data(), std::streamsize(bytes));
        EXPECT_FALSE(open_shared_object(file).ok()) << bytes;
    }
    EXPECT_THAT(open_shared_object(file).error().message(),
                AllOf(HasSubstr("cut short"), HasSubstr("found 4096 bytes")));
    std::filesystem::remove(file);
}

// Opening a pipe would wait for whoever writes it.
TEST(SharedObject, WhatIsNoRegularFileIsAnError) {
    const std::filesystem::path folder =
        std::filesystem::path(::testing::TempDir()) / "leat_shared_object_test";
    std::filesystem::create_directories(folder);
    const std::string pipe = (folder / "leat_pipe.so").string();
    std::filesystem::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const HostServices host;
    EXPECT_THAT(open_shared_object(pipe).error().message(),
                AllOf(HasSubstr(pipe), HasSubstr("pipe")));
    EXPECT_THAT(LoadedPlugin::open(pipe, host).error().message(), HasSubstr("pipe"));
    EXPECT_THAT(OperatorLibrary().load(pipe).message(), HasSubstr("pipe"));
    EXPECT_THAT(open_shared_object(folder.string()).error().message(), HasSubstr("a folder"));
    // To the dynamic linker the empty name is the program itself.
    EXPECT_THAT(open_shared_object("").error().message(), HasSubstr("empty"));
    EXPECT_THAT(OperatorLibrary().load("").message(), HasSubstr("empty"));
    std::filesystem::remove_all(folder);
}

TEST(LoadedPlugin, IsReallyUnmappedAfterUnload) {
    const HostServices host;
    const std::string file = null_folder() + "/leat_null.so";
    auto plugin = LoadedPlugin::open(file, host);
    ASSERT_TRUE(plugin.ok()) << plugin.error().message();
    EXPECT_EQ((*plugin)->unavailable_reason(), "");
    ASSERT_TRUE((*plugin)->start({}).ok());
    EXPECT_TRUE((*plugin)->device_names().empty());
    void* loaded = ::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_NOW);
    ASSERT_NE(loaded, nullptr);
    ::dlclose(loaded);
    EXPECT_TRUE((*plugin)->unload().ok());
    EXPECT_EQ(::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_NOW), nullptr);
}

TEST(LoadedPlugin, StartsOnceAndNotAfterUnload) {
    const HostServices host;
    auto plugin = LoadedPlugin::open(null_folder() + "/leat_null.so", host);
    ASSERT_TRUE(plugin.ok());
    EXPECT_TRUE((*plugin)->start({}).ok());
    EXPECT_EQ((*plugin)->start({}).code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE((*plugin)->unload().ok());
    EXPECT_EQ((*plugin)->start({}).code(), StatusCode::kInvalidArgument);
}

TEST(LoadedPlugin, NamesASettingThatTheBackendDoesNotHave) {
    const HostServices host;
    auto plugin = LoadedPlugin::open(null_folder() + "/leat_null.so", host);
    ASSERT_TRUE(plugin.ok());
    EXPECT_THAT((*plugin)->start({{"colour", "red"}}).message(),
                HasSubstr("backend null has no setting 'colour'"));
}

TEST(LoadedPlugin, RefusesFilesThatAreNoPlugins) {
    EXPECT_THAT(open_error("/no/such/file.so"), HasSubstr("/no/such/file.so"));
    const std::string text =
        (std::filesystem::temp_directory_path() / "leat_no_plugin.so").native();
    std::ofstream(text) << "not a shared object";
    EXPECT_THAT(open_error(text), HasSubstr("no shared object"));
    std::filesystem::remove(text);
    EXPECT_THAT(open_error(broken("no_symbol")), HasSubstr("no symbol leat_backend_query"));
    EXPECT_THAT(open_error(broken("no_table")), HasSubstr("gives no table"));
    EXPECT_THAT(open_error(broken("null_entry")), HasSubstr("is null"));
}

TEST(LoadedPlugin, ReportsAnEntryPointThatThrows) {
    const HostServices host;
    const Status status = LoadedPlugin::open(broken("throws"), host).error();
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_THAT(status.message(), HasSubstr("its entry point threw: out of the entry point"));
    EXPECT_THAT(status.message(), HasSubstr("broken_throws.so"));
    const Status number = LoadedPlugin::open(broken("throws_a_number"), host).error();
    EXPECT_EQ(number.code(), StatusCode::kUserException);
    EXPECT_THAT(number.message(), HasSubstr("something that is no std::exception"));
    const Status starved = LoadedPlugin::open(broken("no_memory"), host).error();
    EXPECT_EQ(starved.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(starved.message(), HasSubstr("its entry point found no memory left"));
}

TEST(LoadedPlugin, NamesBothFilesAndVersionsWhereTheyDoNotMatch) {
    // What leat is in: this program, or a shared object.
    Dl_info host{};
    ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&LoadedPlugin::open), &host), 0);
    const std::string own = std::filesystem::path(host.dli_fname).filename().native();
    EXPECT_THAT(open_error(broken("needs_later")),
                AllOf(HasSubstr("broken_needs_later.so"), HasSubstr("version 9"),
                      HasSubstr("host of version 7"), HasSubstr("at most 1"), HasSubstr(own)));
    EXPECT_THAT(open_error(broken("version")),
                AllOf(HasSubstr("version_mismatch"), HasSubstr("version 0"), HasSubstr(own)));
}

TEST(LoadedPlugin, RefusesASizeThatContradictsTheVersion) {
    EXPECT_THAT(open_error(broken("size")),
                AllOf(HasSubstr("version_mismatch"), HasSubstr("that says version 1"),
                      HasSubstr("broken_size.so")));
}

TEST(LoadedPlugin, AcceptsALaterPluginThatSupportsThisHost) {
    LeatBackendApi api = {};
    const HostServices host;
    auto plugin = LoadedPlugin::open(null_folder() + "/leat_null.so", host);
    ASSERT_TRUE(plugin.ok());
    struct Later {
        LeatBackendApi api;
        void* appended[3];
    } later = {(*plugin)->api(), {}};
    later.api.header.version = LEAT_PLUGIN_VERSION + 1;
    later.api.header.struct_bytes = uint32_t(sizeof(Later));
    EXPECT_TRUE(check_plugin_table(later.api, "later.so").ok());
    api = (*plugin)->api();
    api.header.version = LEAT_PLUGIN_VERSION + 1;
    api.header.struct_bytes -= 8;
    EXPECT_EQ(check_plugin_table(api, "later.so").code(), StatusCode::kVersionMismatch);
}

TEST(LoadedPlugin, AnUnavailableMachineIsAReasonAndAFailedStartAnError) {
    const HostServices host;
    auto plugin = LoadedPlugin::open(broken("start"), host);
    ASSERT_TRUE(plugin.ok()) << plugin.error().message();
    EXPECT_EQ((*plugin)->unavailable_reason(), "there is no such machine");
    EXPECT_THAT((*plugin)->start({}).message(), HasSubstr("it does not start"));
    EXPECT_EQ((*plugin)->backend(), nullptr);
}

TEST(PluginHeader, IsTheSameInCAndInCpp) {
    const LeatBackendApi api = plugin::made<LeatBackendApi>();
    EXPECT_EQ(leat_plugin_header_is_c(&api), 1);
}

TEST(PluginStructs, AreReadByRange) {
    auto shorter = plugin::made<LeatDomainInfo>();
    shorter.capacity_bytes = 5;
    shorter.is_coherent = 1;
    shorter.header.struct_bytes = uint32_t(offsetof(LeatDomainInfo, is_coherent));
    const LeatDomainInfo copy = plugin::read(&shorter);
    EXPECT_EQ(copy.capacity_bytes, 5);
    EXPECT_EQ(copy.is_coherent, 0);
}

}  // namespace
}  // namespace leat
