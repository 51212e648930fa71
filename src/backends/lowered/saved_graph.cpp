// Saved executables: a line with a hash and what the text form of a graph does not hold, and then
// the graph as text. Constants without elements are its last inputs there.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "backends/lowered/plugin_graph.h"
#include "graph/text.h"
#include "memory/content_hash.h"

namespace leat::lowered {
namespace {

constexpr std::string_view kMagic = "leat-lowered-3 ";
constexpr size_t kHashDigits = 16;

uint64_t hash_of(std::string_view text) {
    return content_hash(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

[[noreturn]] void corrupt(const char* what) {
    throw plugin::Error(kLeatCorrupt, fmt::format("no saved executable: {}", what));
}

bool is_kept(const ImportedGraph& graph, const ImportedConstant& constant) {
    return graph.graph.value({constant.own_value}).constant.has_value();
}

// The constants' numbers in a graph that was read back: those with elements in the order of their
// values, and then those that are its last inputs, which become constants again.
void number_constants(ImportedGraph& graph) {
    std::vector<int32_t> numbers;
    for (size_t i = 0; i < graph.graph.values.size(); ++i) {
        if (graph.graph.values[i].constant) {
            numbers.push_back(int32_t(i));
        }
    }
    const size_t kept = numbers.size();
    std::vector<ValueId>& inputs = graph.graph.inputs;
    if (graph.constants.size() < kept || graph.constants.size() - kept > inputs.size()) {
        corrupt("its constants are others");
    }
    const auto first = inputs.end() - std::ptrdiff_t(graph.constants.size() - kept);
    for (auto input = first; input != inputs.end(); ++input) {
        if (!graph.graph.value(*input).type.fixed_shape()) {
            corrupt("a constant has no shape");
        }
        numbers.push_back(input->index);
    }
    inputs.erase(first, inputs.end());
    for (size_t i = 0; i < numbers.size(); ++i) {
        graph.constants[i].own_value = numbers[i];
    }
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
    std::vector<ImportedConstant> constants = graph.constants;
    const auto first_without_elements = std::stable_partition(
        constants.begin(), constants.end(),
        [&](const ImportedConstant& constant) { return is_kept(graph, constant); });
    for (const ImportedConstant& constant : constants) {
        body += fmt::format(" {} {}", constant.value, constant.content_hash);
    }
    body += '\n';
    GraphData with_inputs = graph.graph;
    for (auto constant = first_without_elements; constant != constants.end(); ++constant) {
        with_inputs.inputs.push_back({constant->own_value});
    }
    body += graph_to_text(with_inputs, -1);
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
    number_constants(result);
    return result;
}

}  // namespace leat::lowered
