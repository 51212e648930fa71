// Saved executables: a line with a hash and what the text form of a graph does not hold, and then
// the graph as text.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "backends/lowered/plugin_graph.h"
#include "graph/text.h"
#include "memory/content_hash.h"

namespace leat::lowered {
namespace {

constexpr std::string_view kMagic = "leat-lowered-2 ";
constexpr size_t kHashDigits = 16;

uint64_t hash_of(std::string_view text) {
    return content_hash(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

[[noreturn]] void corrupt(const char* what) {
    throw plugin::Error(kLeatCorrupt, fmt::format("no saved executable: {}", what));
}

}  // namespace

std::string saved_graph(const ImportedGraph& graph) {
    std::string body = fmt::format("{}", graph.symbols.size());
    for (const Symbol& symbol : graph.symbols) {
        body += fmt::format(" {} {} {}", symbol.name, symbol.min_extent, symbol.max_extent);
    }
    body += fmt::format(" {}", graph.states.size());
    for (const LeatStatePair pair : graph.states) {
        body += fmt::format(" {} {}", pair.input, pair.output);
    }
    body += fmt::format(" {} {}", graph.host_inputs, graph.constants.size());
    for (const ImportedConstant& constant : graph.constants) {
        body += fmt::format(" {} {}", constant.value, constant.content_hash);
    }
    body += '\n';
    body += graph_to_text(graph.graph, -1);
    return fmt::format("{}{:016x}\n{}", kMagic, hash_of(body), body);
}

ImportedGraph restore_graph(std::string_view saved) {
    const size_t head = kMagic.size() + kHashDigits + 1;
    if (saved.size() < head || saved.substr(0, kMagic.size()) != kMagic) {
        corrupt("it begins otherwise");
    }
    const std::string_view body = saved.substr(head);
    const std::string hash(saved.substr(kMagic.size(), kHashDigits));
    if (std::strtoull(hash.c_str(), nullptr, 16) != hash_of(body)) {
        corrupt("its hash does not fit");
    }
    const size_t end = body.find('\n');
    std::istringstream line{std::string(body.substr(0, end))};
    ImportedGraph result;
    size_t count = 0;
    line >> count;
    for (size_t i = 0; i < count; ++i) {
        Symbol& symbol = result.symbols.emplace_back();
        line >> symbol.name >> symbol.min_extent >> symbol.max_extent;
    }
    line >> count;
    for (size_t i = 0; i < count; ++i) {
        LeatStatePair& pair = result.states.emplace_back();
        line >> pair.input >> pair.output;
    }
    line >> result.host_inputs >> count;
    for (size_t i = 0; i < count; ++i) {
        ImportedConstant& constant = result.constants.emplace_back();
        line >> constant.value >> constant.content_hash;
    }
    Result<Graph> graph = parse_graph(body.substr(end + 1));
    if (!graph.ok()) {
        corrupt(graph.error().message().c_str());
    }
    result.graph = std::move(graph->data());
    const std::vector<ValueData>& values = result.graph.values;
    const auto constants = std::count_if(values.begin(), values.end(), [](const ValueData& value) {
        return value.constant.has_value();
    });
    if (size_t(constants) != result.constants.size()) {
        corrupt("its constants are others");
    }
    return result;
}

}  // namespace leat::lowered
