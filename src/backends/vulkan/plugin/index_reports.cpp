#include "backends/vulkan/plugin/index_reports.h"

#include <cstring>

#include "backends/vulkan/plugin/failure.h"
#include "ops/gather/gather.h"

namespace leat::vulkan {
namespace {

Arena zeros(const std::shared_ptr<const Device>& device, int64_t size_bytes) {
    Arena arena =
        value_or_throw(Arena::allocate(device, size_bytes, {.use = MemoryUse::kReadback}));
    std::memset(arena.mapped_at(0).data(), 0, size_t(size_bytes));
    return arena;
}

Status error_of(const IndexReport& report, const ToldIndex& told) {
    const auto index = int64_t(uint64_t{told.high} << 32 | told.low);
    return index_error(report.node, index, report.extents[told.axis]);
}

}  // namespace

IndexReports::IndexReports(const std::shared_ptr<const Device>& device, size_t count)
    : arena_(zeros(device, offset_of(count))) {}

void IndexReports::check_and_clear(std::span<const IndexReport> reports) {
    Status first;
    for (size_t i = 0; i < reports.size(); ++i) {
        std::byte* const place = arena_.mapped_at(offset_of(i)).data();
        ToldIndex told;
        std::memcpy(&told, place, sizeof told);
        if (told.is_taken != 0) {
            std::memset(place, 0, sizeof told);
            first = first.ok() ? error_of(reports[i], told) : first;
        }
    }
    throw_if(first);
}

}  // namespace leat::vulkan
