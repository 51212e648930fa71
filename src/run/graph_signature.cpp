#include "run/graph_signature.h"

#include <map>
#include <utility>

#include "base/error.h"
#include "base/tensor_check.h"
#include "graph/dim_symbol.h"

namespace leat {
namespace {

// The index of `name` among count names; not_found with all of them otherwise.
template <class NameAt>
Result<int> find_by_name(size_t count,
                         const NameAt& name_at,
                         std::string_view name,
                         const char* what) {
    for (size_t i = 0; i < count; ++i) {
        if (name_at(i) == name) {
            return int(i);
        }
    }
    std::string known;
    for (size_t i = 0; i < count; ++i) {
        known += (i == 0 ? "'" : ", '") + name_at(i) + "'";
    }
    return not_found("the graph has no {} '{}'", what, name)
        .with_needed(fmt::format("one of: {}", count == 0 ? "none" : known));
}

}  // namespace

Result<int> GraphSignature::find_input(std::string_view name) const {
    const auto name_at = [this](size_t i) -> const std::string& {
        return i < graph_.inputs.size() ? graph_.value(graph_.inputs[i]).name
                                        : graph_.default_inputs[i - graph_.inputs.size()].name;
    };
    const size_t count = graph_.inputs.size() + graph_.default_inputs.size();
    LEAT_ASSIGN_OR_RETURN(const int found, find_by_name(count, name_at, name, "input"));
    if (size_t(found) >= graph_.inputs.size()) {
        return invalid_argument("input '{}' is the graph's constant until a request binds it", name)
            .with_file(graph_.file)
            .with_hint("its shape follows from the value that is bound");
    }
    return found;
}

Result<int> GraphSignature::find_output(std::string_view name) const {
    const auto name_at = [this](size_t i) -> const std::string& { return graph_.output_names[i]; };
    return find_by_name(graph_.output_names.size(), name_at, name, "output");
}

Status GraphSignature::check_declared(const std::string& name,
                                      const TypeInfo& type,
                                      const Shape& shape) const {
    if (Status status = check_tensor_type(type.dtype, shape); !status.ok()) {
        return std::move(status).with_node(fmt::format("input '{}'", name)).with_file(graph_.file);
    }
    const auto mismatch = [&](const char* text) {
        return invalid_argument("input '{}': {}", name, text)
            .with_file(graph_.file)
            .with_found(fmt::format("shape {}", shape.to_string()))
            .with_needed(type.to_string());
    };
    if (type.dims && type.rank() != shape.rank()) {
        return mismatch("wrong rank");
    }
    for (int axis = 0; type.dims && axis < shape.rank(); ++axis) {
        const DimSpec& dim = (*type.dims)[size_t(axis)];
        if (dim.is_fixed() && dim.extent() != shape[axis]) {
            return mismatch("wrong shape");
        }
    }
    return {};
}

Status GraphSignature::check_shapes(std::span<const Shape> shapes) const {
    std::map<std::string, std::pair<int64_t, std::string>, std::less<>> extents;  // by dim_key()
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const ValueData& value = graph_.value(graph_.inputs[i]);
        if (!value.type.is_tensor()) {
            continue;
        }
        LEAT_RETURN_IF_ERROR(check_declared(value.name, value.type, shapes[i]));
        for (int axis = 0; value.type.dims && axis < shapes[i].rank(); ++axis) {
            const DimSpec& dim = (*value.type.dims)[size_t(axis)];
            if (dim.name().empty()) {
                continue;
            }
            const auto [at, added] =
                extents.try_emplace(dim_key(dim), shapes[i][axis], std::string(value.name));
            if (!added && at->second.first != shapes[i][axis]) {
                return invalid_argument("inputs '{}' and '{}' disagree about extent '{}'",
                                        at->second.second, value.name, dim.name())
                    .with_file(graph_.file)
                    .with_found(fmt::format("{} and {}", at->second.first, shapes[i][axis]))
                    .with_needed("the same number");
            }
        }
    }
    return check_within_bounds(graph_, options_, shapes);
}

Result<std::vector<Shape>> GraphSignature::complete_shapes(const InputShapes& shapes) const {
    for (const auto& [name, shape] : shapes) {
        LEAT_RETURN_IF_ERROR(find_input(name).error());
    }
    std::vector<Shape> complete;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const ValueData& value = graph_.value(graph_.inputs[i]);
        const auto given = shapes.find(value.name);
        const std::optional<Shape> fixed = given != shapes.end()
                                               ? std::optional<Shape>(given->second)
                                               : assumed_input_shape(int(i));
        if (!fixed) {
            return invalid_argument("the shape of input '{}' is not known", value.name)
                .with_file(graph_.file)
                .with_found(value.type.to_string())
                .with_needed("its shape");
        }
        complete.push_back(*fixed);
    }
    LEAT_RETURN_IF_ERROR(check_shapes(complete));
    return complete;
}

}  // namespace leat
