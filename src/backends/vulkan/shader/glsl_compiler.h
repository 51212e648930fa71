// GLSL to SPIR-V, for kernels whose text is written when a graph is compiled.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/status.h"

namespace leat {
class DiskCache;
}  // namespace leat

namespace leat::vulkan {

using SpirvWords = std::vector<uint32_t>;

// Compiles a compute shader for Vulkan 1.3. invalid_argument with the compiler's log where the text
// is no shader; `name` is for the message. Thread-safe; the first call in a process takes about
// 70 ms longer.
Result<SpirvWords> compile_glsl(std::string_view name, const std::string& source);

enum class SpirvForm : uint8_t {
    kCompiled,  // as glslang writes it
    kReduced,   // reduced_spirv() of that
};

// What the words of a text depend on: the text, the form, the compiler and how it is called.
std::string spirv_key(const std::string& source, SpirvForm form = SpirvForm::kCompiled);

// The same, but the words may come from the cache, and go there. Words that are no SPIR-V are
// compiled again. `cache` may be null.
Result<SpirvWords> compile_glsl_cached(std::string_view name,
                                       const std::string& source,
                                       DiskCache* cache,
                                       SpirvForm form = SpirvForm::kCompiled);

// The same, but each text is compiled or loaded once in the process for a form, also if several
// threads ask for it.
Result<std::shared_ptr<const SpirvWords>> compile_glsl_once(std::string_view name,
                                                            const std::string& source,
                                                            DiskCache* cache = nullptr,
                                                            SpirvForm form = SpirvForm::kCompiled);

}  // namespace leat::vulkan
