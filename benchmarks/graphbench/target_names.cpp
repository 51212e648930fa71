#include "target_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph_data.h"
#include "sweep.h"
#include "target.h"
#include "zoo/suggestion.h"

namespace leat::bench {
namespace {

constexpr std::string_view kNaming[] = {"shape", "input", "dim", "place"};

void add_infos(const std::vector<ValueInfo>& infos, TargetNames& names) {
    for (const ValueInfo& info : infos) {
        names.inputs.insert(info.name);
        for (const DimSpec& dim : info.dims) {
            if (!dim.is_fixed() && !dim.name().empty()) {
                names.extents.emplace(dim.name());
            }
        }
    }
}

const TargetNames::Set& set_of(const TargetNames& names, std::string_view option) {
    return option == "dim" ? names.extents : option == "place" ? names.nodes : names.inputs;
}

// "input 'x'. There are: a, b", of all targets together.
Status unknown_name(std::string_view option,
                    const std::string& text,
                    const std::string& name,
                    std::span<const TargetNames> targets) {
    constexpr size_t kMostNames = 20;
    const std::string_view what = option == "dim"     ? "input has an extent"
                                  : option == "place" ? "node"
                                                      : "input";
    TargetNames::Set all;
    for (const TargetNames& target : targets) {
        const TargetNames::Set& own = set_of(target, option);
        all.insert(own.begin(), own.end());
    }
    const std::vector<std::string_view> names(all.begin(), all.end());
    std::vector<std::string_view> shown = names;
    if (names.size() > kMostNames) {
        shown.resize(kMostNames);
        shown.emplace_back("...");
    }
    return invalid_argument("--{} {}: no {} '{}'{} There are: {}", option, text, what, name,
                            zoo::did_you_mean(name, names),
                            names.empty() ? "none with a name" : zoo::comma_list(shown));
}

Status check_one(std::string_view option,
                 const std::string& text,
                 std::span<const TargetNames> targets) {
    const auto [name, value] = split_assignment(text);
    const auto has = [&, &name = name](const TargetNames& target) {
        return set_of(target, option).count(name) != 0;
    };
    if (std::none_of(targets.begin(), targets.end(), has)) {
        return unknown_name(option, text, name, targets);
    }
    if (option == "shape" && value.find('{') != std::string::npos &&
        !std::all_of(targets.begin(), targets.end(), has)) {
        return invalid_argument("--shape {}: a target has no input '{}'", text, name)
            .with_needed("alternatives of an input that all targets have");
    }
    return {};
}

template <class Map>
void keep_only(const TargetNames::Set& names, Map& map) {
    for (auto entry = map.begin(); entry != map.end();) {
        entry = names.count(entry->first) != 0 ? std::next(entry) : map.erase(entry);
    }
}

}  // namespace

TargetNames names_of(const Target& target) {
    TargetNames names;
    add_infos(target.graph.inputs(), names);
    add_infos(target.graph.default_inputs(), names);
    for (const NodeData& node : target.graph.data().nodes) {
        if (!node.name.empty()) {
            names.nodes.insert(node.name);
        }
    }
    return names;
}

bool gives_names(const Options& options) {
    return std::any_of(std::begin(kNaming), std::end(kNaming),
                       [&](std::string_view option) { return options.given(option); });
}

Status check_names(const Options& options, std::span<const TargetNames> targets) {
    for (const std::string_view option : kNaming) {
        for (const std::string& text : options.list(option)) {
            LEAT_RETURN_IF_ERROR(check_one(option, text, targets));
        }
    }
    return {};
}

void keep_own_names(const TargetNames& own, CompileOptions& compile) {
    keep_only(own.inputs, compile.shapes);
    keep_only(own.extents, compile.dims);
    keep_only(own.extents, compile.dim_bounds);
    keep_only(own.nodes, compile.pins);
}

}  // namespace leat::bench
