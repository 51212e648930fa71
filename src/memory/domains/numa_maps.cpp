#include "memory/domains/numa_maps.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/files/text_file.h"
#include "memory/domains/slab.h"

namespace leat {
namespace {

template <class T>
std::optional<T> parse(std::string_view text, int base = 10) {
    T value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && stop == text.data() + text.size() ? std::optional(value)
                                                                     : std::nullopt;
}

// Calls `use` for the parts of `text` between separators, empty ones left out.
template <class Use>
void for_each_part(std::string_view text, char separator, const Use& use) {
    while (!text.empty()) {
        const size_t end = std::min(text.find(separator), text.size());
        if (end > 0) {
            use(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// "7f0000000000 bind:1 anon=512 dirty=512 N1=512 kernelpagesize_kB=4": sizes of nodes are in pages
// of 4 kB there, also those of transparent huge pages.
void add_line(std::string_view line, uint64_t begin, uint64_t end, NumaMapsCount& count) {
    int word = 0;
    bool is_inside = false;
    for_each_part(line, ' ', [&](std::string_view text) {
        if (word == 0) {
            const std::optional<uint64_t> address = parse<uint64_t>(text, 16);
            is_inside = address && *address >= begin && *address < end;
            count.is_known |= is_inside;
        } else if (word == 1 && is_inside && count.policy.empty()) {
            count.policy = text;
        } else if (is_inside && text.size() > 3 && text[0] == 'N') {
            const size_t equals = text.find('=');
            const std::optional<int> node = parse<int>(text.substr(1, equals - 1));
            const std::optional<int64_t> pages = equals == std::string_view::npos
                                                     ? std::nullopt
                                                     : parse<int64_t>(text.substr(equals + 1));
            if (node && pages) {
                count.pages[*node] += *pages;
            }
        }
        ++word;
    });
}

// Blocks of lines, the first one "7f0000000000-7f0000200000 rw-p ...", one of them
// "AnonHugePages:      2048 kB".
int64_t huge_bytes_in(std::string_view smaps, uint64_t begin, uint64_t end) {
    constexpr std::string_view kKey = "AnonHugePages:";
    int64_t bytes = 0;
    bool is_inside = false;
    for_each_part(smaps, '\n', [&](std::string_view line) {
        const size_t dash = line.find('-');
        const std::optional<uint64_t> address = dash == std::string_view::npos
                                                    ? std::nullopt
                                                    : parse<uint64_t>(line.substr(0, dash), 16);
        if (address) {
            is_inside = *address >= begin && *address < end;
        } else if (is_inside && line.substr(0, kKey.size()) == kKey) {
            const size_t digit = line.find_first_of("0123456789");
            const size_t stop = line.find(' ', std::min(digit, line.size()));
            bytes += digit == std::string_view::npos
                         ? 0
                         : parse<int64_t>(line.substr(digit, stop - digit)).value_or(0) * 1024;
        }
    });
    return bytes;
}

std::string whole_file(const char* path) {
    std::string text;
    for (const std::string& line : read_lines(path)) {
        text += line;
        text.push_back('\n');
    }
    return text;
}

}  // namespace

NumaMapsCount NumaMaps::count(const std::byte* begin, int64_t bytes) {
    if (!numa_maps_) {
        numa_maps_ = whole_file("/proc/self/numa_maps");
    }
    NumaMapsCount count;
    const auto first = uint64_t(reinterpret_cast<uintptr_t>(begin));
    const uint64_t end = first + uint64_t(bytes);
    for_each_part(*numa_maps_, '\n',
                  [&](std::string_view line) { add_line(line, first, end, count); });
    if (bytes < Slab::kHugePageBytes) {  // then no page of it can be huge
        return count;
    }
    if (!smaps_) {
        smaps_ = whole_file("/proc/self/smaps");
    }
    count.huge_bytes = huge_bytes_in(*smaps_, first, end);
    return count;
}

}  // namespace leat
