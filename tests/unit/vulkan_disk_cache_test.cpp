// Files of compiled kernels: what is found again, and what must not be used. Needs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "backends/vulkan/shader/glsl_compiler.h"
#include "backends/vulkan/shader/spirv_reduction.h"
#include "base/files/disk_cache.h"
#include "support/scratch_folder.h"

namespace leat::vulkan {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class VulkanDiskCache : public ::testing::Test {
  protected:
    // Each object is as good as another process: it knows the files alone.
    std::unique_ptr<DiskCache> open(std::string_view writer = "leat 1",
                                    int64_t limit_bytes = kDiskCacheBytes) {
        return std::make_unique<DiskCache>(
            folder_.path() / "cache", writer,
            [this](std::string_view line) { lines_.emplace_back(line); }, limit_bytes);
    }

    // An entry's file with other contents is not used, for this reason, and then replaced.
    void expect_refused(const std::string& contents, std::string_view reason) {
        SCOPED_TRACE(reason);
        lines_.clear();
        const auto cache = open();
        write_contents(cache->file_of("text", "key"), contents);
        EXPECT_EQ(cache->load("text", "key"), std::nullopt);
        ASSERT_THAT(lines_, SizeIs(1));
        EXPECT_THAT(lines_[0], HasSubstr(cache->file_of("text", "key").string()));
        EXPECT_THAT(lines_[0], HasSubstr(reason));
        cache->store("text", "key", "new");
        EXPECT_THAT(open()->load("text", "key"), Optional(std::string("new")));
        EXPECT_THAT(lines_, SizeIs(1));
    }

    ScratchFolder folder_;
    std::vector<std::string> lines_;
};

TEST_F(VulkanDiskCache, GivesWhatAnotherOneStored) {
    open()->store("text", "key", "value");
    open()->store("other", "key", "");
    EXPECT_THAT(open()->load("text", "key"), Optional(std::string("value")));
    EXPECT_THAT(open()->load("other", "key"), Optional(std::string()));
    EXPECT_EQ(open()->load("text", "another key"), std::nullopt);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanDiskCache, TheLastStoreStays) {
    open()->store("text", "key", "a longer value");
    open()->store("text", "key", "value");
    EXPECT_THAT(open()->load("text", "key"), Optional(std::string("value")));
    EXPECT_EQ(file_count_in(folder_.path() / "cache"), 1);
}

TEST_F(VulkanDiskCache, ReplacesFilesThatItCannotUse) {
    open()->store("text", "key", "value");
    const std::string good = contents_of(open()->file_of("text", "key"));
    expect_refused("", "0 bytes, less than a header");
    expect_refused(good.substr(0, 20), "less than a header");
    expect_refused(good.substr(0, good.size() - 1), "its header says");
    expect_refused(good + "x", "its header says");
    std::string changed = good;
    changed.back() ^= 1;
    expect_refused(changed, "checksum");
    changed = good;
    changed[0] = 'x';
    expect_refused(changed, "no file of this cache");
    changed = good;
    ++changed[8];  // the first byte after the magic number
    expect_refused(changed, "format");
    changed = good;
    std::memset(changed.data() + 12, 0xff, 12);  // both lengths
    expect_refused(changed, "its header says");
}

TEST_F(VulkanDiskCache, KeepsVersionsAndKeysApart) {
    open("leat 0")->store("text", "key", "old");
    expect_refused(contents_of(open()->file_of("text", "key")), "another version or key");
    open()->store("text", "another key", "value");
    expect_refused(contents_of(open()->file_of("text", "another key")), "another version or key");
}

TEST_F(VulkanDiskCache, AFolderThatCannotBeMadeIsOneLine) {
    write_contents(folder_.path() / "cache", "a file where the folder should be");
    const auto cache = open();
    EXPECT_EQ(cache->load("text", "key"), std::nullopt);
    cache->store("text", "key", "value");
    cache->store("text", "another key", "value");
    EXPECT_EQ(cache->load("text", "key"), std::nullopt);
    ASSERT_THAT(lines_, SizeIs(1));
    EXPECT_THAT(lines_[0], HasSubstr("nothing more is cached"));
}

// The limit of the process stands for a full disk: some bytes can be written, the rest cannot.
TEST_F(VulkanDiskCache, AFullDiskIsOneLineAndLeavesNoFile) {
    const auto cache = open();
    cache->store("text", "before", "value");
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    cache->store("text", "key", std::string(1000, 'x'));
    cache->store("text", "another key", std::string(1000, 'x'));
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    ASSERT_THAT(lines_, SizeIs(1));
    EXPECT_THAT(lines_[0], HasSubstr("nothing more is cached"));
    EXPECT_EQ(file_count_in(folder_.path() / "cache"), 1);
    EXPECT_THAT(cache->load("text", "before"), Optional(std::string("value")));
    EXPECT_EQ(cache->load("text", "key"), std::nullopt);
}

TEST_F(VulkanDiskCache, DeletesWhatWasUsedLongestAgo) {
    constexpr int64_t kLimitBytes = 8192;
    const auto cache = open("leat 1", kLimitBytes);
    const auto age = [&](const char* key, int hours) {
        fs::last_write_time(cache->file_of("text", key),
                            fs::file_time_type::clock::now() - std::chrono::hours(hours));
    };
    const std::string value(1900, 'x');
    for (const char* key : {"a", "b", "c", "d"}) {
        cache->store("text", key, value);
    }
    age("a", 4);
    age("b", 3);
    age("c", 2);
    age("d", 1);
    EXPECT_TRUE(cache->load("text", "a")) << "now it is the youngest";
    cache->store("text", "e", value);
    EXPECT_LE(size_bytes_of(folder_.path() / "cache"), kLimitBytes);
    EXPECT_TRUE(cache->load("text", "a"));
    EXPECT_FALSE(cache->load("text", "b"));
    EXPECT_TRUE(cache->load("text", "e"));
    cache->store("text", "large", std::string(kLimitBytes / 2, 'x'));
    EXPECT_FALSE(cache->load("text", "large"));
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanDiskCache, ReadersSeeWholeFilesWhileOthersWrite) {
    constexpr int kRounds = 200;
    std::atomic<int> wrong{0};
    const auto count_line = [&](std::string_view /*line*/) { ++wrong; };
    const auto write_and_read = [&](char mine) {
        DiskCache cache(folder_.path() / "cache", "leat 1", count_line);
        for (int i = 0; i < kRounds; ++i) {
            cache.store("text", "key", std::string(size_t(mine) * 10, mine));
            const std::optional<std::string> found = cache.load("text", "key");
            const bool is_whole =
                found && !found->empty() &&
                *found == std::string(size_t(found->front()) * 10, found->front());
            wrong += is_whole ? 0 : 1;
        }
    };
    std::thread other(write_and_read, 'a');
    write_and_read('z');
    other.join();
    EXPECT_EQ(wrong, 0);
}

const char* const kShader = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {\n}\n";

TEST_F(VulkanDiskCache, GivesWordsWithoutCompiling) {
    const auto cache = open();
    const auto compiled = compile_glsl_cached("empty", kShader, cache.get());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto found = compile_glsl_cached("empty", kShader, open().get());
    EXPECT_EQ(*found, *compiled);
    // Words that no compiler makes of this text.
    const SpirvWords planted = {compiled->front(), 1, 2, 3};
    cache->store("spirv", spirv_key(kShader),
                 {reinterpret_cast<const char*>(planted.data()), planted.size() * 4});
    EXPECT_EQ(*compile_glsl_cached("empty", kShader, open().get()), planted);
    EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(VulkanDiskCache, CompilesAgainWhatIsNoSpirv) {
    const auto cache = open();
    cache->store("spirv", spirv_key(kShader), "no words");
    const auto compiled = compile_glsl_cached("empty", kShader, cache.get());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(*compiled, *compile_glsl("empty", kShader));
    ASSERT_THAT(lines_, SizeIs(1));
    EXPECT_THAT(lines_[0], HasSubstr("no SPIR-V"));
    EXPECT_EQ(*compile_glsl_cached("empty", kShader, open().get()), *compiled);
    EXPECT_THAT(lines_, SizeIs(1));
}

// Words of a text whose loop is unrolled when they are reduced.
const char* const kLoop = R"(#version 460
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Sums { uint sums[]; };
void main() {
    uint parts[4];
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        parts[i] = sums[i] * i;
    }
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        sums[i] = parts[3 - i];
    }
}
)";

bool has_loop(std::span<const uint32_t> words) {
    constexpr uint32_t kHeaderWords = 5;
    constexpr uint32_t kOpLoopMerge = 246;
    size_t at = kHeaderWords;
    while (at < words.size() && (words[at] & 0xffff) != kOpLoopMerge) {
        at += words[at] >> 16;
    }
    return at < words.size();
}

TEST_F(VulkanDiskCache, KeepsReducedWordsApart) {
    const auto cache = open();
    const auto compiled = compile_glsl_cached("loop", kLoop, cache.get());
    const auto reduced = compile_glsl_cached("loop", kLoop, cache.get(), SpirvForm::kReduced);
    ASSERT_TRUE(compiled.ok() && reduced.ok());
    EXPECT_TRUE(has_loop(*compiled));
    EXPECT_FALSE(has_loop(*reduced));
    EXPECT_NE(spirv_key(kLoop), spirv_key(kLoop, SpirvForm::kReduced));
    EXPECT_EQ(*compile_glsl_cached("loop", kLoop, open().get()), *compiled);
    EXPECT_EQ(*compile_glsl_cached("loop", kLoop, open().get(), SpirvForm::kReduced), *reduced);
    EXPECT_THAT(lines_, IsEmpty());
    const std::vector<uint32_t> none = {1, 2, 3};
    EXPECT_EQ(reduced_spirv(none).error().code(), StatusCode::kInternal);
}

TEST_F(VulkanDiskCache, KeepsNoErrors) {
    const auto cache = open();
    EXPECT_FALSE(compile_glsl_cached("broken", "no shader", cache.get()).ok());
    EXPECT_FALSE(fs::exists(cache->file_of("spirv", spirv_key("no shader"))));
}

}  // namespace
}  // namespace leat::vulkan
