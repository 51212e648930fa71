#include "support/peer_planners.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

namespace leat::testing {
namespace {

struct Buffer {
    int64_t bytes;
    int32_t begin;
    int32_t end;

    bool meets(const Buffer& other) const { return begin < other.end && other.begin < end; }
};

std::vector<Buffer> rounded(const std::vector<PlannedBuffer>& buffers) {
    int64_t alignment = 1;
    for (const PlannedBuffer& buffer : buffers) {
        alignment = std::max(alignment, buffer.size_bytes > 0 ? buffer.alignment_bytes : 1);
    }
    std::vector<Buffer> result;
    result.reserve(buffers.size());
    for (const PlannedBuffer& buffer : buffers) {
        if (buffer.size_bytes > 0) {
            result.push_back({(buffer.size_bytes + alignment - 1) / alignment * alignment,
                              buffer.begin_step, buffer.end_step});
        }
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const Buffer& a, const Buffer& b) { return a.begin < b.begin; });
    return result;
}

// Calls `free` for each buffer that has ended before `allocate` for the next, in execution order.
void replay(const std::vector<Buffer>& buffers,
            const std::function<void(size_t)>& allocate,
            const std::function<void(size_t)>& free) {
    std::multimap<int32_t, size_t> alive;  // by end
    for (size_t i = 0; i < buffers.size(); ++i) {
        while (!alive.empty() && alive.begin()->first <= buffers[i].begin) {
            free(alive.begin()->second);
            alive.erase(alive.begin());
        }
        allocate(i);
        alive.emplace(buffers[i].end, i);
    }
}

using FreeBlocks = std::map<int64_t, int64_t>;  // begin -> end

void give_back(FreeBlocks& blocks, int64_t begin, int64_t end) {
    auto next = blocks.lower_bound(begin);
    if (next != blocks.end() && next->first == end) {
        end = next->second;
        next = blocks.erase(next);
    }
    if (next != blocks.begin() && std::prev(next)->second == begin) {
        std::prev(next)->second = end;
    } else {
        blocks.emplace(begin, end);
    }
}

// Into the smallest gap between what it meets of those placed.
int64_t best_fit_in_order(const std::vector<Buffer>& buffers, const std::vector<size_t>& order) {
    std::vector<int64_t> offsets(buffers.size(), 0);
    std::vector<size_t> placed;  // by offset
    int64_t height = 0;
    for (const size_t index : order) {
        int64_t cursor = 0;
        int64_t best = -1;
        int64_t least_gap = std::numeric_limits<int64_t>::max();
        for (const size_t other : placed) {
            if (!buffers[other].meets(buffers[index])) {
                continue;
            }
            const int64_t gap = offsets[other] - cursor;
            if (gap >= buffers[index].bytes && gap < least_gap) {
                best = cursor;
                least_gap = gap;
            }
            cursor = std::max(cursor, offsets[other] + buffers[other].bytes);
        }
        offsets[index] = best >= 0 ? best : cursor;
        height = std::max(height, offsets[index] + buffers[index].bytes);
        placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                       [&](size_t a, size_t b) { return offsets[a] < offsets[b]; }),
                      index);
    }
    return height;
}

template <class Key>
std::vector<size_t> falling(const std::vector<Buffer>& buffers, Key key) {
    std::vector<size_t> order(buffers.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(buffers[a]) > key(buffers[b]); });
    return order;
}

}  // namespace

int64_t online_best_fit_bytes(const std::vector<PlannedBuffer>& planned) {
    const std::vector<Buffer> buffers = rounded(planned);
    std::vector<int64_t> offsets(buffers.size(), 0);
    FreeBlocks free_blocks;
    int64_t end_of_arena = 0;  // of what is in use or free below it
    const auto allocate = [&](size_t index) {
        const int64_t bytes = buffers[index].bytes;
        auto best = free_blocks.end();
        for (auto block = free_blocks.begin(); block != free_blocks.end(); ++block) {
            const int64_t size = block->second - block->first;
            if (size >= bytes && (best == free_blocks.end() || size < best->second - best->first)) {
                best = block;
            }
        }
        if (best != free_blocks.end()) {
            const auto [begin, end] = *best;
            free_blocks.erase(best);
            offsets[index] = begin;
            if (begin + bytes < end) {
                free_blocks.emplace(begin + bytes, end);
            }
            return;
        }
        // The last block has no end.
        int64_t begin = end_of_arena;
        if (!free_blocks.empty() && std::prev(free_blocks.end())->second == end_of_arena) {
            begin = std::prev(free_blocks.end())->first;
            free_blocks.erase(std::prev(free_blocks.end()));
        }
        offsets[index] = begin;
        end_of_arena = begin + bytes;
    };
    replay(buffers, allocate, [&](size_t index) {
        give_back(free_blocks, offsets[index], offsets[index] + buffers[index].bytes);
    });
    return end_of_arena;
}

int64_t shared_objects_bytes(const std::vector<PlannedBuffer>& planned) {
    const std::vector<Buffer> buffers = rounded(planned);
    std::vector<std::vector<size_t>> objects;
    int64_t bytes = 0;
    for (const size_t index : falling(buffers, [](const Buffer& b) { return b.bytes; })) {
        const auto fits = [&](const std::vector<size_t>& object) {
            return std::none_of(object.begin(), object.end(),
                                [&](size_t other) { return buffers[other].meets(buffers[index]); });
        };
        const auto object = std::find_if(objects.begin(), objects.end(), fits);
        if (object != objects.end()) {
            object->push_back(index);
        } else {
            objects.push_back({index});
            bytes += buffers[index].bytes;
        }
    }
    return bytes;
}

int64_t greedy_by_size_bytes(const std::vector<PlannedBuffer>& planned) {
    const std::vector<Buffer> buffers = rounded(planned);
    return best_fit_in_order(buffers, falling(buffers, [](const Buffer& b) { return b.bytes; }));
}

int64_t decreasing_best_fit_bytes(const std::vector<PlannedBuffer>& planned) {
    const std::vector<Buffer> buffers = rounded(planned);
    const auto spatial =
        falling(buffers, [](const Buffer& b) { return std::tuple(b.bytes, b.end - b.begin); });
    const auto temporal =
        falling(buffers, [](const Buffer& b) { return std::tuple(b.end - b.begin, b.bytes); });
    return std::min(best_fit_in_order(buffers, spatial), best_fit_in_order(buffers, temporal));
}

int64_t token_pool_bytes(const std::vector<PlannedBuffer>& planned) {
    constexpr int64_t kRange = 16;
    const std::vector<Buffer> buffers = rounded(planned);
    std::vector<int64_t> tokens;  // bytes
    std::vector<size_t> token_of(buffers.size(), 0);
    std::multimap<int64_t, size_t> available;  // by bytes
    const auto allocate = [&](size_t index) {
        const int64_t bytes = buffers[index].bytes;
        const auto middle = available.lower_bound(bytes);
        auto found = available.end();
        if (middle != available.end() && middle->first < bytes * kRange) {
            found = middle;
        } else if (middle != available.begin() && std::prev(middle)->first >= bytes / kRange) {
            found = std::prev(middle);
        }
        if (found == available.end()) {
            token_of[index] = tokens.size();
            tokens.push_back(bytes);
            return;
        }
        token_of[index] = found->second;
        tokens[found->second] = std::max(tokens[found->second], bytes);
        available.erase(found);
    };
    replay(buffers, allocate,
           [&](size_t index) { available.emplace(tokens[token_of[index]], token_of[index]); });
    return std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
}

}  // namespace leat::testing
