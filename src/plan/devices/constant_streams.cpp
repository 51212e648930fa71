#include "plan/devices/constant_streams.h"

#include <algorithm>
#include <tuple>

namespace leat {

std::vector<std::vector<int32_t>> ConstantStreams::values_of_parts(
    std::span<const int> part_of_node, size_t part_count) const {
    std::vector<std::vector<int32_t>> values(part_count);
    for (const Operand& operand : operands) {
        const int part = part_of_node[size_t(operand.node)];
        if (part >= 0 && size_t(part) < part_count) {
            values[size_t(part)].push_back(operand.value);
        }
    }
    for (std::vector<int32_t>& own : values) {
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
    }
    return values;
}

PartStreams::PartStreams(const ConstantStreams& streams,
                         std::span<const int> part_of_node,
                         size_t part_count,
                         int32_t copies_ahead)
    : before_(part_count) {
    const auto part_of = [&](int32_t node) { return node < 0 ? -1 : part_of_node[size_t(node)]; };
    std::vector<int32_t> previous(part_count, -1);  // in the order of the parts of a device
    for (const auto& [before, after] : streams.node_orders) {
        if (part_of(before) >= 0 && part_of(after) >= 0 && part_of(before) != part_of(after)) {
            before_[size_t(part_of(after))].push_back(part_of(before));
            previous[size_t(part_of(after))] = part_of(before);
        }
    }
    for (const ConstantStreams::Operand& operand : streams.operands) {
        const int32_t part = part_of(operand.node);
        if (part < 0) {
            continue;
        }
        int32_t after = part_of(operand.after_node);
        // The copies_ahead-th part before the one before this one, or a later one.
        int32_t nearest = previous[size_t(part)];
        for (int32_t i = 0; i < copies_ahead && nearest >= 0 && nearest != after; ++i) {
            nearest = previous[size_t(nearest)];
        }
        rows_.push_back({part, operand.value, nearest >= 0 ? nearest : after});
    }
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
        return std::tie(a.part, a.value) < std::tie(b.part, b.value);
    });
}

const PartStreams::Row* PartStreams::find(int32_t part, int32_t value) const {
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), std::pair(part, value),
                                      [](const Row& row, const std::pair<int32_t, int32_t>& key) {
                                          return std::pair(row.part, row.value) < key;
                                      });
    return row != rows_.end() && row->part == part && row->value == value ? &*row : nullptr;
}

bool PartStreams::is_streamed(int32_t part, int32_t value) const {
    return find(part, value) != nullptr;
}

int32_t PartStreams::part_before_copy(int32_t part, int32_t value) const {
    const Row* row = find(part, value);
    return row == nullptr ? -1 : row->after_part;
}

}  // namespace leat
