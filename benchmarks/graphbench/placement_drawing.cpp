#include "placement_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "markup.h"
#include "placement_layers.h"
#include "placement_view.h"
#include "screen.h"

namespace leat::bench {
namespace {

constexpr std::string_view kEndsTitle = "inputs and outputs (host)";

std::string lane_title(const GraphPlacement& placement, const PlacementLane& lane) {
    if (lane.device < 0) {
        return std::string(kEndsTitle);
    }
    const DeviceShare& device = placement.devices[size_t(lane.device)];
    std::string title = fmt::format("{}: {} nodes, {:.1f} % of the estimated time", device.device,
                                    device.node_count, 100 * device.share);
    for (const BusyShare& busy : placement.forecast.busy) {
        if (busy.device == device.device) {
            title += fmt::format(", busy {:.1f} %", 100 * busy.share);
        }
    }
    return title;
}

// ---- Graphviz ----

std::string dot_node(const GraphPlacement& placement,
                     const PlacementLayers& layers,
                     size_t vertex) {
    const PlacementVertex& drawn = layers.vertices[vertex];
    if (drawn.node < 0) {
        return fmt::format("    n{} [shape=ellipse, label=\"{}\"];\n", vertex,
                           dot_escaped(drawn.value));
    }
    const PlacedNode& node = placement.nodes[size_t(drawn.node)];
    return fmt::format("    n{} [label=\"{}\\n{}\", tooltip=\"{}\"];\n", vertex,
                       dot_escaped(node.op_type), dot_escaped(node.name),
                       dot_escaped(reason_text(node)));
}

std::string dot_lane(const GraphPlacement& placement, const PlacementLayers& layers, size_t lane) {
    std::string text = fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n", lane,
                                   dot_escaped(lane_title(placement, layers.lanes[lane])));
    std::set<int> parts;
    const auto part_of = [&](const PlacementVertex& vertex) {
        return vertex.node < 0 ? -1 : placement.nodes[size_t(vertex.node)].part;
    };
    for (const PlacementVertex& vertex : layers.vertices) {
        if (vertex.lane == int(lane)) {
            parts.insert(part_of(vertex));
        }
    }
    for (const int part : parts) {
        if (part >= 0) {
            text +=
                fmt::format("    subgraph cluster_part_{0} {{\n    label=\"part {0}\";\n", part);
        }
        for (size_t v = 0; v < layers.vertices.size(); ++v) {
            const PlacementVertex& vertex = layers.vertices[v];
            if (vertex.lane == int(lane) && part_of(vertex) == part) {
                text += dot_node(placement, layers, v);
            }
        }
        text += part >= 0 ? "    }\n" : "";
    }
    return text + "  }\n";
}

// ---- SVG ----

constexpr double kBoxWidth = 150;
constexpr double kBoxHeight = 30;
constexpr double kGap = 16;        // between boxes of a layer
constexpr double kLayerStep = 64;  // from a layer to the next one
constexpr double kLaneGap = 40;
constexpr double kMargin = 20;
constexpr double kHeader = 70;  // the picture's title and those of the lanes
constexpr size_t kLabelCharacters = 22;
constexpr std::string_view kColour = "#777";
constexpr std::string_view kMovedColour = "#b3261e";

struct Point {
    double x = 0;
    double y = 0;
};

class SvgDrawing {
  public:
    SvgDrawing(const GraphPlacement& placement, const PlacementLayers& layers)
        : placement_(placement), layers_(layers) {
        double left = kMargin;
        for (const PlacementLane& lane : layers_.lanes) {
            lane_left_.push_back(left);
            left += lane_width(lane) + kLaneGap;
        }
        width_ = left - kLaneGap + kMargin;
        height_ = kHeader + layers_.layer_count * kLayerStep + kMargin;
        place_vertices();
    }

    std::string to_string(const std::string& title) const {
        std::string svg = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<defs>{2}{3}</defs>\n<text x=\"{4}\" y=\"24\" font-size=\"14\">{5}</text>\n",
            width_, height_, arrow_head("head", kColour), arrow_head("moved", kMovedColour),
            kMargin, xml_escaped(title));
        for (size_t lane = 0; lane < layers_.lanes.size(); ++lane) {
            svg += lane_text(lane);
        }
        for (size_t arrow = 0; arrow < layers_.arrows.size(); ++arrow) {
            svg += arrow_text(arrow);
        }
        for (size_t vertex = 0; vertex < layers_.vertices.size(); ++vertex) {
            svg += vertex_text(vertex);
        }
        for (size_t arrow = 0; arrow < layers_.arrows.size(); ++arrow) {
            svg += bytes_text(arrow);
        }
        return svg + "</svg>\n";
    }

  private:
    static double lane_width(const PlacementLane& lane) {
        constexpr double kLeast = 2 * (kBoxWidth + kGap);  // room for a title, and for lines
        return std::max(kLeast, lane.width * (kBoxWidth + kGap) + kGap);
    }
    static std::string arrow_head(std::string_view id, std::string_view colour) {
        return fmt::format(
            "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
            "markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
            "<path d=\"M0 0L8 4L0 8z\" fill=\"{}\"/></marker>",
            id, colour);
    }
    // Of lanes and boxes; neighbours differ.
    static int hue(size_t lane) { return int((lane * 137 + 210) % 360); }

    void place_vertices() {
        for (const PlacementVertex& vertex : layers_.vertices) {
            const auto lane = size_t(vertex.lane);
            const double middle = lane_left_[lane] + lane_width(layers_.lanes[lane]) / 2;
            const int count = layers_.place_count(vertex.lane, vertex.layer);
            tops_.push_back({middle + (vertex.place - (count - 1) / 2.0) * (kBoxWidth + kGap),
                             kHeader + vertex.layer * kLayerStep + kGap});
        }
    }

    std::string lane_text(size_t lane) const {
        return fmt::format(
            "<rect x=\"{0:.1f}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3:.1f}\" rx=\"6\" "
            "fill=\"hsl({4},50%,96%)\" stroke=\"hsl({4},30%,75%)\"/>\n"
            "<text x=\"{5:.1f}\" y=\"{6}\" font-weight=\"bold\">{7}</text>\n",
            lane_left_[lane], kHeader - 26, lane_width(layers_.lanes[lane]),
            height_ - kHeader + 26 - kMargin, hue(lane), lane_left_[lane] + 8, kHeader - 10,
            xml_escaped(lane_title(placement_, layers_.lanes[lane])));
    }

    const PlacedEdge& edge_of(const PlacementArrow& arrow) const {
        return placement_.edges[size_t(arrow.edge)];
    }

    // From the lower edge of one box to the upper edge of another. Where boxes of the same lane may
    // lie between, the line swings around them.
    struct Curve {
        Point begin;
        Point first;
        Point second;
        Point end;
        Point middle() const {
            return {(begin.x + 3 * first.x + 3 * second.x + end.x) / 8,
                    (begin.y + 3 * first.y + 3 * second.y + end.y) / 8};
        }
    };
    Curve curve_of(const PlacementArrow& arrow) const {
        const PlacementVertex& from = layers_.vertices[size_t(arrow.from)];
        const PlacementVertex& to = layers_.vertices[size_t(arrow.to)];
        const Point begin{tops_[size_t(arrow.from)].x, tops_[size_t(arrow.from)].y + kBoxHeight};
        const Point end = tops_[size_t(arrow.to)];
        const double half = (end.y - begin.y) / 2;
        if (from.lane != to.lane || to.layer <= from.layer + 1) {
            return {begin, {begin.x, begin.y + half}, {end.x, end.y - half}, end};
        }
        // Reached in the middle is 3/4 of how far the control points are aside.
        const double aside = (kBoxWidth / 2 + kGap) * 4 / 3 + 15 + 6 * (arrow.edge % 4);
        return {begin, {begin.x + aside, begin.y + kGap}, {end.x + aside, end.y - kGap}, end};
    }

    std::string arrow_text(size_t index) const {
        const PlacementArrow& arrow = layers_.arrows[index];
        const PlacedEdge& edge = edge_of(arrow);
        const Curve curve = curve_of(arrow);
        return fmt::format(
            "<path d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" "
            "stroke=\"{}\" stroke-width=\"{}\" marker-end=\"url(#{})\"><title>{}: {} "
            "bytes{}</title></path>\n",
            curve.begin.x, curve.begin.y, curve.first.x, curve.first.y, curve.second.x,
            curve.second.y, curve.end.x, curve.end.y, edge.is_moved ? kMovedColour : kColour,
            edge.is_moved ? "1.8" : "1", edge.is_moved ? "moved" : "head", xml_escaped(edge.value),
            edge.bytes, edge.is_moved ? ", moved" : "");
    }

    std::string bytes_text(size_t index) const {
        const PlacementArrow& arrow = layers_.arrows[index];
        if (!edge_of(arrow).is_moved) {
            return {};
        }
        const Point middle = curve_of(arrow).middle();
        return fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"{}\" stroke=\"#fff\" "
            "stroke-width=\"3\" paint-order=\"stroke\">{}</text>\n",
            middle.x, middle.y, kMovedColour, format_bytes(double(edge_of(arrow).bytes)));
    }

    std::string vertex_text(size_t index) const {
        const PlacementVertex& vertex = layers_.vertices[index];
        const Point top = tops_[index];
        const bool is_end = vertex.node < 0;
        const PlacedNode* node = is_end ? nullptr : &placement_.nodes[size_t(vertex.node)];
        // Parts that follow each other differ.
        const int light = is_end ? 100 : node->part % 2 == 1 ? 74 : 86;
        const std::string label = is_end ? vertex.value : node->op_type + " " + node->name;
        const std::string details =
            is_end ? fmt::format("graph {} {}", vertex.is_input ? "input" : "output", vertex.value)
                   : node_details(*node);
        return fmt::format(
            "<g><title>{0}</title><rect x=\"{1:.1f}\" y=\"{2:.1f}\" width=\"{3}\" "
            "height=\"{4}\" rx=\"{5}\" fill=\"hsl({6},60%,{7}%)\" stroke=\"#555\"/>"
            "<text x=\"{8:.1f}\" y=\"{9:.1f}\" text-anchor=\"middle\">{10}</text></g>\n",
            xml_escaped(details), top.x - kBoxWidth / 2, top.y, kBoxWidth, kBoxHeight,
            is_end ? kBoxHeight / 2 : 4, hue(size_t(vertex.lane)), light, top.x,
            top.y + kBoxHeight / 2 + 4, xml_escaped(shortened(label, kLabelCharacters)));
    }

    static std::string node_details(const PlacedNode& node) {
        const std::string part = node.part < 0 ? "" : fmt::format(", part {}", node.part);
        return fmt::format("{} {}\non {}{}: {}\n{:.3g} flops, {} bytes, {:.3g} us estimated",
                           node.op_type, node.name, node.device, part, reason_text(node),
                           node.flops, node.bytes, node.estimated_ns * 1e-3);
    }

    const GraphPlacement& placement_;
    const PlacementLayers& layers_;
    std::vector<double> lane_left_;
    std::vector<Point> tops_;  // by vertex: the middle of the upper edge
    double width_ = 0;
    double height_ = 0;
};

}  // namespace

std::string placement_as_dot(const GraphPlacement& placement, const std::string& title) {
    const PlacementLayers layers = layers_of(placement);
    std::string text = fmt::format(
        "digraph \"{0}\" {{\n  label=\"{0}\";\n  labelloc=t;\n  node [shape=box, style=rounded];\n",
        dot_escaped(title));
    for (size_t lane = 0; lane < layers.lanes.size(); ++lane) {
        text += dot_lane(placement, layers, lane);
    }
    for (const PlacementArrow& arrow : layers.arrows) {
        const PlacedEdge& edge = placement.edges[size_t(arrow.edge)];
        const std::string moved = edge.is_moved
                                      ? fmt::format(", label=\"{}\", color=\"{}\", penwidth=2",
                                                    format_bytes(double(edge.bytes)), kMovedColour)
                                      : "";
        text += fmt::format("  n{} -> n{} [tooltip=\"{}: {} bytes\"{}];\n", arrow.from, arrow.to,
                            dot_escaped(edge.value), edge.bytes, moved);
    }
    return text + "}\n";
}

std::string placement_as_svg(const GraphPlacement& placement, const std::string& title) {
    const PlacementLayers layers = layers_of(placement);
    return SvgDrawing(placement, layers).to_string(title);
}

}  // namespace leat::bench
