#include "plan/dim_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "base/tensor_check.h"

namespace leat {
namespace {

using ExtentNames = std::set<std::string, std::less<>>;

void add_extent_names(const TypeInfo& type, ExtentNames& names) {
    if (!type.is_tensor() || !type.dims) {
        return;
    }
    for (const DimSpec& dim : *type.dims) {
        if (!dim.is_fixed() && !dim.name().empty()) {
            names.emplace(dim.name());
        }
    }
}

// Of the graph's inputs, whether they have defaults or not.
ExtentNames extent_names(const GraphData& graph) {
    ExtentNames names;
    for (const ValueId id : graph.inputs) {
        add_extent_names(graph.value(id).type, names);
    }
    for (const DefaultInput& input : graph.default_inputs) {
        add_extent_names(input.type, names);
    }
    return names;
}

std::string text_of(const DimBounds& bounds) {
    return fmt::format("{} to {}", bounds.min, bounds.max);
}

// extent_of: an optional number for the name of an open extent.
template <class ExtentOf>
std::optional<Shape> input_shape(const GraphData& graph,
                                 const CompileOptions& options,
                                 int input,
                                 const ExtentOf& extent_of) {
    const ValueData& value = graph.value(graph.inputs[size_t(input)]);
    if (const auto given = options.shapes.find(value.name); given != options.shapes.end()) {
        return given->second;
    }
    if (!value.type.is_tensor() || !value.type.dims) {
        return value.type.is_tensor() ? std::nullopt : std::optional<Shape>(Shape{});
    }
    Shape shape;
    for (const DimSpec& dim : *value.type.dims) {
        std::optional<int64_t> extent;
        if (dim.is_fixed()) {
            extent = dim.extent();
        } else if (!dim.name().empty()) {
            extent = extent_of(dim.name());
        }
        if (!extent) {
            return std::nullopt;
        }
        shape.append(*extent);
    }
    return shape;
}

std::vector<std::vector<Shape>> shapes_below_bounds(const GraphData& graph,
                                                    const CompileOptions& options) {
    std::vector<std::vector<Shape>> below;
    std::vector<Shape> last = shapes_at_bounds(graph, options);
    for (const int64_t times : {4, 3, 2, 1}) {
        CompileOptions lower;
        lower.shapes = options.shapes;
        lower.dims = options.dims;
        lower.dim_bounds = options.dim_bounds;
        for (auto& [name, bounds] : lower.dim_bounds) {
            const int64_t least = std::max<int64_t>(bounds.min, 1);
            bounds.max = least > bounds.max / times ? bounds.max : least * times;
        }
        std::vector<Shape> shapes = shapes_at_bounds(graph, lower);
        if (shapes != last) {
            below.insert(below.begin(), shapes);
            last = std::move(shapes);
        }
    }
    return below;
}

bool is_open(const CompileOptions& options, const DimSpec& dim) {
    return !dim.is_fixed() && options.dims.find(dim.name()) == options.dims.end();
}

// Of an input with that shape.
Shape multiply_open_extents(const ValueData& value,
                            const CompileOptions& options,
                            int64_t times,
                            Shape shape) {
    constexpr int64_t kMostExtent = int64_t{1} << 40;
    const bool has_dims = value.type.is_tensor() && value.type.dims.has_value() &&
                          options.shapes.find(value.name) == options.shapes.end();
    for (int axis = 0; has_dims && axis < shape.rank(); ++axis) {
        const bool is_multiplied =
            is_open(options, (*value.type.dims)[size_t(axis)]) && shape[axis] < kMostExtent;
        shape[axis] *= is_multiplied ? times : 1;
    }
    return shape;
}

bool are_shapes(std::span<const Shape> shapes) {
    return std::all_of(shapes.begin(), shapes.end(),
                       [](const Shape& shape) { return check_shape(shape).ok(); });
}

std::vector<std::vector<Shape>> multiples_of_open_extents(const GraphData& graph,
                                                          const CompileOptions& options,
                                                          std::span<const Shape> first) {
    std::vector<std::vector<Shape>> all;
    for (const int64_t times : {2, 8}) {
        std::vector<Shape> shapes;
        for (size_t i = 0; i < first.size(); ++i) {
            const ValueData& value = graph.value(graph.inputs[i]);
            shapes.push_back(multiply_open_extents(value, options, times, first[i]));
        }
        if (are_shapes(shapes) &&
            !std::equal(shapes.begin(), shapes.end(), first.begin(), first.end())) {
            all.push_back(std::move(shapes));
        }
    }
    return all;
}

Status check_name(const GraphData& graph,
                  const ExtentNames& names,
                  const std::string& name,
                  std::string_view what) {
    if (names.count(name) != 0) {
        return {};
    }
    return not_found("no input has an extent '{}', which {}", name, what)
        .with_file(graph.file)
        .with_needed(names.empty() ? "none: all extents are fixed or without a name"
                                   : fmt::format("one of: {}", fmt::join(names, ", ")));
}

}  // namespace

Status check_dim_bounds(const GraphData& graph, const CompileOptions& options) {
    for (const auto& [input, shape] : options.shapes) {
        if (Status status = check_shape(shape); !status.ok()) {
            return std::move(status)
                .with_node(fmt::format("input '{}'", input))
                .with_file(graph.file);
        }
    }
    const ExtentNames names = extent_names(graph);
    for (const auto& [name, extent] : options.dims) {
        LEAT_RETURN_IF_ERROR(check_name(graph, names, name, "is given a number"));
        if (extent < 0) {
            return invalid_argument("extent '{}' is negative", name)
                .with_file(graph.file)
                .with_found(fmt::format("{}", extent))
                .with_needed("0 or more");
        }
    }
    for (const auto& [name, bounds] : options.dim_bounds) {
        LEAT_RETURN_IF_ERROR(check_name(graph, names, name, "has bounds"));
        if (bounds.min < 0 || bounds.max < bounds.min) {
            return invalid_argument("the bounds of extent '{}' hold no number", name)
                .with_found(text_of(bounds))
                .with_needed("0 <= min <= max");
        }
        const auto fixed = options.dims.find(name);
        if (fixed != options.dims.end() &&
            (fixed->second < bounds.min || fixed->second > bounds.max)) {
            return invalid_argument("extent '{}' is fixed beyond its bounds", name)
                .with_found(fmt::format("{}", fixed->second))
                .with_needed(text_of(bounds));
        }
    }
    return {};
}

std::optional<int64_t> assumed_extent(const CompileOptions& options, std::string_view name) {
    if (const auto fixed = options.dims.find(name); fixed != options.dims.end()) {
        return fixed->second;
    }
    const auto bounds = options.dim_bounds.find(name);
    return bounds == options.dim_bounds.end() ? std::nullopt : std::optional(bounds->second.max);
}

std::optional<Shape> fixed_input_shape(const GraphData& graph,
                                       const CompileOptions& options,
                                       int input) {
    return input_shape(graph, options, input, [&options](std::string_view name) {
        const auto fixed = options.dims.find(name);
        return fixed == options.dims.end() ? std::nullopt : std::optional(fixed->second);
    });
}

std::optional<Shape> assumed_input_shape(const GraphData& graph,
                                         const CompileOptions& options,
                                         int input) {
    return input_shape(graph, options, input,
                       [&options](std::string_view name) { return assumed_extent(options, name); });
}

std::vector<Shape> shapes_at_bounds(const GraphData& graph, const CompileOptions& options) {
    std::vector<Shape> shapes;
    for (size_t i = 0; !options.dim_bounds.empty() && i < graph.inputs.size(); ++i) {
        const std::optional<Shape> shape = assumed_input_shape(graph, options, int(i));
        if (!shape) {
            return {};
        }
        shapes.push_back(*shape);
    }
    return shapes;
}

std::vector<std::vector<Shape>> likely_shapes(const GraphData& graph,
                                              const CompileOptions& options,
                                              std::span<const Shape> first) {
    return options.dim_bounds.empty() ? multiples_of_open_extents(graph, options, first)
                                      : shapes_below_bounds(graph, options);
}

Status check_within_bounds(const GraphData& graph,
                           const CompileOptions& options,
                           std::span<const Shape> shapes) {
    for (size_t i = 0; !options.dim_bounds.empty() && i < graph.inputs.size(); ++i) {
        const ValueData& value = graph.value(graph.inputs[i]);
        const bool has_dims = value.type.is_tensor() && value.type.dims.has_value();
        for (int axis = 0; has_dims && axis < shapes[i].rank(); ++axis) {
            const std::string_view name = (*value.type.dims)[size_t(axis)].name();
            const auto bounds = options.dim_bounds.find(name);
            const int64_t extent = shapes[i][axis];
            if (bounds == options.dim_bounds.end() ||
                (extent >= bounds->second.min && extent <= bounds->second.max)) {
                continue;
            }
            return invalid_argument("input '{}': extent '{}' is outside of its bounds", value.name,
                                    name)
                .with_file(graph.file)
                .with_found(fmt::format("{} in shape {}", extent, shapes[i].to_string()))
                .with_needed(text_of(bounds->second))
                .with_hint("compile with wider CompileOptions::dim_bounds");
        }
    }
    return {};
}

}  // namespace leat
