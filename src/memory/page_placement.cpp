#include "memory/page_placement.h"

#include <algorithm>
#include <vector>

#include "base/text_file.h"
#include "memory/numa_maps.h"

namespace leat {
namespace {

bool contains(std::span<const int> list, int number) {
    return std::find(list.begin(), list.end(), number) != list.end();
}

void add(PageCounts& counts, std::span<const int> os_nodes, int node, int64_t pages) {
    const bool is_there = os_nodes.empty() || contains(os_nodes, node);
    (is_there ? counts.there : counts.elsewhere) += pages;
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

PageCounts& PageCounts::operator+=(const PageCounts& other) {
    wanted += other.wanted;
    there += other.there;
    elsewhere += other.elsewhere;
    absent += other.absent;
    huge += other.huge;
    source = source == PageSource::kNone ? other.source : std::min(source, other.source);
    is_confirmed = is_confirmed && other.is_confirmed;
    return *this;
}

PageCounts count_pages(const std::byte* begin, int64_t bytes, std::span<const int> os_nodes) {
    PageCounts counts;
    counts.wanted = bytes / page_bytes();
    if (counts.wanted == 0) {
        return counts;
    }
    std::vector<int> nodes(size_t(counts.wanted), -1);
    const bool has_asked = query_page_nodes(begin, nodes);
    const NumaMapsCount maps = count_numa_maps(begin, bytes);
    if (has_asked) {
        counts.source = PageSource::kMovePages;
        std::vector<int64_t> by_node;
        for (const int node : nodes) {
            if (node >= 0) {
                by_node.resize(std::max(by_node.size(), size_t(node) + 1));
                ++by_node[size_t(node)];
            }
        }
        for (size_t node = 0; node < by_node.size(); ++node) {
            add(counts, os_nodes, int(node), by_node[node]);
            const auto found = maps.pages.find(int(node));
            const int64_t told = found == maps.pages.end() ? 0 : found->second;
            counts.is_confirmed &= !maps.is_known || told == by_node[node];
        }
    } else if (maps.is_known) {
        counts.source = PageSource::kNumaMaps;
        for (const auto& [node, pages] : maps.pages) {
            add(counts, os_nodes, node, pages);
        }
    }
    counts.absent = counts.wanted - counts.there - counts.elsewhere;
    counts.huge = maps.huge_bytes / page_bytes();
    return counts;
}

PageCounts count_pages(const Slab& slab, const MemoryDomains& domains) {
    std::vector<int> nodes;
    for (const MemoryDomainId id : slab.placement().domains) {
        nodes.push_back(domains.at(id).os_node);
    }
    return count_pages(slab.data(), slab.mapped_bytes(), nodes);
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
