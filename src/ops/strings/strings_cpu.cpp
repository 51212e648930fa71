// RegexFullMatch: the pattern is compiled once for a node, and tiles are groups of texts. The other
// operators run the plain loops: texts are bound by memory.
#include <array>
#include <memory>
#include <utility>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/strings/strings.h"

namespace leat {
namespace {

class RegexKernel final : public cpu::CpuKernel {
  public:
    RegexKernel(Regex regex, int64_t texts) : regex_(std::move(regex)), texts_(texts) {
        kernel_name = "regex_threads";
        tile_count = std::max<int64_t>((texts + kTextsPerTile - 1) / kTextsPerTile, 1);
        scratch_bytes = regex_.scratch_words() * int64_t{sizeof(uint32_t)};
    }

    Status run(const cpu::KernelArgs& args, int64_t begin, int64_t end) const override {
        const auto* const texts = args.inputs[0].as<const std::string>();
        for (int64_t i = first(begin); i < first(end); ++i) {
            args.outputs[0].as<bool>()[i] =
                regex_.matches(texts[i], reinterpret_cast<uint32_t*>(args.scratch));
        }
        return {};
    }

  private:
    static constexpr int64_t kTextsPerTile = 16;
    int64_t first(int64_t tile) const { return part_begin(texts_, tile_count, tile); }

    Regex regex_;
    int64_t texts_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_regex_full_match(cpu::PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(Regex regex, full_match_regex(context.node));
    return std::unique_ptr<cpu::CpuKernel>(
        new RegexKernel(std::move(regex), context.inputs[0].shape.element_count()));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> strings_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{
        {{"RegexFullMatch", make_regex_full_match}}};
    return kEntries;
}

}  // namespace leat
