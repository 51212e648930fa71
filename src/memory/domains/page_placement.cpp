#include "memory/domains/page_placement.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/files/text_file.h"

namespace leat {
namespace {

bool contains(std::span<const int> list, int number) {
    return std::find(list.begin(), list.end(), number) != list.end();
}

// Pages by node, as move_pages tells. False: it does not.
bool ask_for_pages(const std::byte* begin, int64_t count, std::map<int, int64_t>& pages) {
    std::vector<int> nodes(size_t(count), -1);
    if (!query_page_nodes(begin, nodes)) {
        return false;
    }
    for (const int node : nodes) {
        if (node >= 0) {
            ++pages[node];
        }
    }
    return true;
}

// No node has more pages in `some` than in `all`.
bool is_part(const std::map<int, int64_t>& some, const std::map<int, int64_t>& all) {
    return std::all_of(some.begin(), some.end(), [&all](const auto& entry) {
        const auto found = all.find(entry.first);
        return found != all.end() && entry.second <= found->second;
    });
}

}  // namespace

std::string_view name_of(PageSource source) {
    switch (source) {
        case PageSource::kMovePages:
            return "move_pages";
        case PageSource::kNumaMaps:
            return "numa_maps";
        case PageSource::kNone:
            break;
    }
    return "none";
}

PageCounts count_pages(const std::byte* begin,
                       int64_t bytes,
                       std::span<const int> os_nodes,
                       NumaMaps& maps) {
    PageCounts counts;
    counts.wanted = bytes / page_bytes();
    if (counts.wanted == 0) {
        return counts;
    }
    const NumaMapsCount mapped = maps.count(begin, bytes);
    std::map<int, int64_t> found;
    if (ask_for_pages(begin, counts.wanted, found)) {
        counts.source = PageSource::kMovePages;
        counts.is_confirmed = !mapped.is_known || found == mapped.pages;
    }
    // A page that balancing watches for its next use is not there for move_pages, and counted by
    // numa_maps.
    if (mapped.is_known && (counts.source == PageSource::kNone || is_part(found, mapped.pages))) {
        counts.source = found == mapped.pages ? counts.source : PageSource::kNumaMaps;
        counts.is_confirmed = true;
        found = mapped.pages;
    }
    for (const auto& [node, pages] : found) {
        const bool is_there = os_nodes.empty() || contains(os_nodes, node);
        (is_there ? counts.there : counts.elsewhere) += pages;
    }
    counts.absent = counts.wanted - counts.there - counts.elsewhere;
    counts.huge = mapped.huge_bytes / page_bytes();
    return counts;
}

PageCounts count_pages(const Slab& slab, const MemoryDomains& domains, NumaMaps& maps) {
    return count_pages(slab.data(), slab.mapped_bytes(), domains.os_nodes(slab.placement().domains),
                       maps);
}

PageSettings read_page_settings(const std::string& root) {
    PageSettings settings;
    const std::string balancing =
        read_first_line(root + "/proc/sys/kernel/numa_balancing").value_or("0");
    settings.is_balancing = balancing != "0";
    const std::string huge =
        read_first_line(root + "/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
    const size_t open = huge.find('[');
    const size_t close = huge.find(']');
    if (open < close && close != std::string::npos) {
        settings.huge_pages = huge.substr(open + 1, close - open - 1);
    }
    return settings;
}

}  // namespace leat
