#include "memory_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "markup.h"
#include "screen.h"

namespace leat::bench {
namespace {

constexpr int kDrawnColumns = 72;
constexpr int kRows = 20;
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Indexes of the plan's buffers, the largest first.
std::vector<size_t> by_size(const PlanReport& plan) {
    std::vector<size_t> order(plan.buffers.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&plan](size_t a, size_t b) {
        return plan.buffers[a].size_bytes > plan.buffers[b].size_bytes;
    });
    return order;
}

char letter_of(size_t rank) {
    return rank < kLetters.size() ? kLetters[rank] : '+';
}

std::string described(const BufferReport& buffer) {
    return fmt::format("{}: {} at {}, steps {} to {}", buffer.value,
                       format_bytes(double(buffer.size_bytes)), buffer.offset_bytes,
                       buffer.begin_step, buffer.end_step - 1);
}

// The value's place on an axis of `extent` marks that stand for `whole`; the middle of each counts.
int mark_of(double value, double whole, int extent) {
    return int(std::clamp(value / whole * extent + 0.5, 0.0, double(extent)));
}

}  // namespace

std::string memory_as_text(const PlanReport& plan) {
    if (plan.arena_bytes == 0) {
        return "no bytes to draw\n";
    }
    const int columns = std::min(kDrawnColumns, std::max(plan.step_count, 1));
    std::vector<std::string> cells(kRows, std::string(size_t(columns), '.'));
    const std::vector<size_t> order = by_size(plan);
    for (size_t rank = 0; rank < order.size(); ++rank) {
        const BufferReport& buffer = plan.buffers[order[rank]];
        const auto bytes = double(plan.arena_bytes);
        const int bottom = mark_of(double(buffer.offset_bytes), bytes, kRows);
        const int top = mark_of(double(buffer.offset_bytes + buffer.size_bytes), bytes, kRows);
        const int left = mark_of(buffer.begin_step, plan.step_count, columns);
        const int right = mark_of(buffer.end_step, plan.step_count, columns);
        for (int row = bottom; row < top; ++row) {
            for (int column = left; column < right; ++column) {
                cells[size_t(row)][size_t(column)] = letter_of(rank);
            }
        }
    }
    std::string text = fmt::format("bytes up to {}, {} steps across\n",
                                   format_bytes(double(plan.arena_bytes)), plan.step_count);
    for (int row = kRows - 1; row >= 0; --row) {
        text += "  |" + cells[size_t(row)] + "\n";
    }
    text += "  +" + std::string(size_t(columns), '-') + "\n";
    for (size_t rank = 0; rank < std::min(order.size(), kLetters.size()); ++rank) {
        text += fmt::format("  {} {}\n", kLetters[rank], described(plan.buffers[order[rank]]));
    }
    if (order.size() > kLetters.size()) {
        text += fmt::format("  + {} smaller ones\n", order.size() - kLetters.size());
    }
    return text;
}

std::string memory_as_svg(const PlanReport& plan, const std::string& title) {
    constexpr double kWidth = 1200;
    constexpr double kHeight = 600;
    constexpr double kMargin = 40;
    const double per_step = kWidth / std::max(plan.step_count, 1);
    const double per_byte = kHeight / double(std::max<int64_t>(plan.arena_bytes, 1));
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<text x=\"{2}\" y=\"24\">{3}: {4} bytes, bound {5}; {6} steps across, bytes up</text>\n"
        "<rect x=\"{2}\" y=\"{2}\" width=\"{7}\" height=\"{8}\" fill=\"#f4f4f4\" "
        "stroke=\"#888\"/>\n",
        kWidth + 2 * kMargin, kHeight + 2 * kMargin, kMargin, xml_escaped(title), plan.arena_bytes,
        plan.lower_bound_bytes, plan.step_count, kWidth, kHeight);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
        const BufferReport& buffer = plan.buffers[i];
        const double top = double(plan.arena_bytes - buffer.offset_bytes - buffer.size_bytes);
        svg += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
            "fill=\"hsl({},60%,70%)\" stroke=\"#333\" stroke-width=\"0.5\">"
            "<title>{}</title></rect>\n",
            kMargin + per_step * buffer.begin_step, kMargin + per_byte * top,
            per_step * (buffer.end_step - buffer.begin_step), per_byte * double(buffer.size_bytes),
            (i * 137) % 360, xml_escaped(described(buffer)));
    }
    return svg + "</svg>\n";
}

}  // namespace leat::bench
