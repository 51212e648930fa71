#include "backends/vulkan/shader/glsl_compiler.h"

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <glslang/build_info.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "backends/vulkan/shader/spirv_reduction.h"
#include "base/error.h"
#include "base/files/disk_cache.h"

namespace leat::vulkan {
namespace {

using OwnedShader = std::unique_ptr<glslang_shader_t, decltype(&glslang_shader_delete)>;
using OwnedProgram = std::unique_ptr<glslang_program_t, decltype(&glslang_program_delete)>;

// One text's words, made by the first thread that locks the entry.
struct CacheEntry {
    std::mutex mutex;
    std::shared_ptr<const SpirvWords> words;
};

// What was compiled, until the process ends or the plugin is unloaded.
class TextTable {
  public:
    std::shared_ptr<CacheEntry> entry(const std::string& source, SpirvForm form) {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::shared_ptr<CacheEntry>& entry = entries_[{form, source}];
        if (entry == nullptr) {
            entry = std::make_shared<CacheEntry>();
        }
        return entry;
    }

  private:
    std::mutex mutex_;
    std::map<std::pair<SpirvForm, std::string>, std::shared_ptr<CacheEntry>> entries_;
};

// The library's tables of built-in symbols. Apart from the texts: where all of these come from a
// disk, nobody pays for it.
class Compiler {
  public:
    Compiler() { glslang_initialize_process(); }
    Compiler(const Compiler&) = delete;
    Compiler& operator=(const Compiler&) = delete;
    ~Compiler() { glslang_finalize_process(); }
};

void start_compiler() {
    static const Compiler kInstance;
}

TextTable& texts() {
    static TextTable instance;
    return instance;
}

constexpr std::string_view kSpirvCacheKind = "spirv";
// Counts what input_of() and compile_glsl() ask of the compiler.
constexpr int kCompilerUse = 1;
constexpr uint32_t kSpirvMagic = 0x07230203;

std::optional<SpirvWords> words_in(std::string_view bytes) {
    SpirvWords words(bytes.size() / sizeof(uint32_t));
    if (words.empty() || bytes.size() % sizeof(uint32_t) != 0) {
        return std::nullopt;
    }
    std::memcpy(words.data(), bytes.data(), bytes.size());
    return words[0] == kSpirvMagic ? std::optional(std::move(words)) : std::nullopt;
}

glslang_input_t input_of(const std::string& source) {
    glslang_input_t input{};
    input.language = GLSLANG_SOURCE_GLSL;
    input.stage = GLSLANG_STAGE_COMPUTE;
    input.client = GLSLANG_CLIENT_VULKAN;
    input.client_version = GLSLANG_TARGET_VULKAN_1_3;
    input.target_language = GLSLANG_TARGET_SPV;
    input.target_language_version = GLSLANG_TARGET_SPV_1_6;
    input.code = source.c_str();
    input.default_version = 460;
    input.default_profile = GLSLANG_NO_PROFILE;
    input.messages = glslang_messages_t(GLSLANG_MSG_VULKAN_RULES_BIT | GLSLANG_MSG_SPV_RULES_BIT);
    input.resource = glslang_default_resource();
    return input;
}

// The messages of a log in one line, without those that only count the others.
std::string messages_of(std::string_view log) {
    std::string messages;
    while (!log.empty()) {
        const size_t end = std::min(log.find('\n'), log.size());
        std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        const bool counts = line.find("compilation terminated") != std::string_view::npos ||
                            line.find("compilation errors") != std::string_view::npos;
        if (!line.empty() && !counts) {
            messages.append(messages.empty() ? "" : "; ").append(line);
        }
    }
    return messages.empty() ? "no message" : messages;
}

Status refused(std::string_view name, const char* log) {
    return invalid_argument("the source of kernel '{}' does not compile", name)
        .with_found(messages_of(log == nullptr ? "" : log));
}

}  // namespace

Result<SpirvWords> compile_glsl(std::string_view name, const std::string& source) {
    start_compiler();
    const glslang_input_t input = input_of(source);
    // The program refers to the shader, so it goes first.
    const OwnedShader shader(glslang_shader_create(&input), &glslang_shader_delete);
    const OwnedProgram program(glslang_program_create(), &glslang_program_delete);
    if (shader == nullptr || program == nullptr) {
        return internal_error("glslang makes no shader of kernel '{}'", name);
    }
    if (glslang_shader_preprocess(shader.get(), &input) == 0 ||
        glslang_shader_parse(shader.get(), &input) == 0) {
        return refused(name, glslang_shader_get_info_log(shader.get()));
    }
    glslang_program_add_shader(program.get(), shader.get());
    if (glslang_program_link(program.get(), input.messages) == 0) {
        return refused(name, glslang_program_get_info_log(program.get()));
    }
    glslang_program_SPIRV_generate(program.get(), GLSLANG_STAGE_COMPUTE);
    SpirvWords words(glslang_program_SPIRV_get_size(program.get()));
    if (words.empty()) {
        return refused(name, glslang_program_SPIRV_get_messages(program.get()));
    }
    glslang_program_SPIRV_get(program.get(), words.data());
    return words;
}

std::string spirv_key(const std::string& source, SpirvForm form) {
    const std::string reduction = form == SpirvForm::kReduced
                                      ? fmt::format(", reduced by {}", spirv_reduction_version())
                                      : "";
    return fmt::format("glslang {}.{}.{}{}, use {}{}\n{}", GLSLANG_VERSION_MAJOR,
                       GLSLANG_VERSION_MINOR, GLSLANG_VERSION_PATCH, GLSLANG_VERSION_FLAVOR,
                       kCompilerUse, reduction, source);
}

Result<SpirvWords> compile_glsl_cached(std::string_view name,
                                       const std::string& source,
                                       DiskCache* cache,
                                       SpirvForm form) {
    const std::string key = cache == nullptr ? "" : spirv_key(source, form);
    if (const auto bytes = cache == nullptr ? std::nullopt : cache->load(kSpirvCacheKind, key)) {
        if (std::optional<SpirvWords> words = words_in(*bytes)) {
            return *std::move(words);
        }
        cache->report_unusable(kSpirvCacheKind, key, "it holds no SPIR-V");
    }
    LEAT_ASSIGN_OR_RETURN(SpirvWords words, compile_glsl(name, source));
    if (form == SpirvForm::kReduced) {
        LEAT_ASSIGN_OR_RETURN(words, reduced_spirv(words));
    }
    if (cache != nullptr) {
        cache->store(
            kSpirvCacheKind, key,
            {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)});
    }
    return words;
}

Result<std::shared_ptr<const SpirvWords>> compile_glsl_once(std::string_view name,
                                                            const std::string& source,
                                                            DiskCache* cache,
                                                            SpirvForm form) {
    const std::shared_ptr<CacheEntry> entry = texts().entry(source, form);
    const std::lock_guard<std::mutex> lock(entry->mutex);
    if (entry->words == nullptr) {
        LEAT_ASSIGN_OR_RETURN(SpirvWords words, compile_glsl_cached(name, source, cache, form));
        entry->words = std::make_shared<const SpirvWords>(std::move(words));
    }
    return entry->words;
}

}  // namespace leat::vulkan
