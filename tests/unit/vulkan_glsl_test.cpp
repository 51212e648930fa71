// GLSL that is compiled at run time. Needs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "backends/vulkan/shader/glsl_compiler.h"

namespace leat::vulkan {
namespace {

using ::testing::HasSubstr;

std::string shader_with(const std::string& statement) {
    return "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {\n" + statement + "\n}\n";
}

TEST(GlslCompiler, GivesWordsOfSpirv) {
    const auto words = compile_glsl("empty", shader_with(""));
    ASSERT_TRUE(words.ok()) << words.error().message();
    EXPECT_EQ((*words)[0], 0x07230203U);
}

TEST(GlslCompiler, ErrorNamesKernelAndLine) {
    const auto words = compile_glsl("broken", shader_with("undeclared = 1;"));
    ASSERT_FALSE(words.ok());
    EXPECT_EQ(words.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(words.error().message(), HasSubstr("broken"));
    EXPECT_THAT(words.error().message(), HasSubstr("0:4: 'undeclared'"));
}

TEST(GlslCompiler, CompilesEachTextOnce) {
    const std::string source = shader_with("int once = 1;");
    const auto first = compile_glsl_once("first", source);
    const auto second = compile_glsl_once("second", source);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->get(), second->get());
}

TEST(GlslCompiler, ThreadsGetTheSameWords) {
    constexpr size_t kThreads = 4;
    constexpr size_t kTexts = 8;
    std::vector<std::vector<std::shared_ptr<const SpirvWords>>> found(kThreads);
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&words = found[i]] {
            for (size_t text = 0; text < kTexts; ++text) {
                auto compiled =
                    compile_glsl_once("text", shader_with("int x = " + std::to_string(text) + ";"));
                words.push_back(compiled.ok() ? *compiled : nullptr);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    ASSERT_NE(found[0][0], nullptr);
    EXPECT_NE(found[0][0], found[0][1]);
    for (size_t i = 1; i < kThreads; ++i) {
        EXPECT_EQ(found[i], found[0]);
    }
}

}  // namespace
}  // namespace leat::vulkan
