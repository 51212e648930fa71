// The run-ahead window: which steps have certainly finished when a step starts.
//
// A step has tiles. Where a step takes data from another there is a data edge, and a tile needs
// some of the tiles of the other: it may wait for just those (a tile-level wait) or for all (a
// whole wait). In a window of w data edges
// - step b waits for all of step a if some path of more than w data edges leads from a to b,
// whether
//   or not there is an edge between them;
// - an edge that cannot be tiled is a whole wait in every window;
// - every other data edge has tile-level waits: no path from its begin to its end is longer than w.
// So a tile never runs before one that it depends on, and steps that run at the same time are
// joined by paths of at most w edges or by none. Window 0: all edges are whole waits.
//
// a has finished before b starts if whole waits lead from a to b, and nothing else proves it: with
// tile-level waits a -> b and a whole wait b -> c, a may have tiles that b does not need and that
// run during c. In window w >= 1 it is the path of two edges that makes c wait for a.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace leat {

struct StepInput {
    int32_t producer = 0;   // a step before
    bool is_whole = false;  // the edge cannot be tiled
};

// Whole waits stand where edges cannot be tiled, and nowhere else.
constexpr int32_t kUnlimitedWindow = std::numeric_limits<int32_t>::max();

// By step, the steps whose end it waits for, ascending. Each list is as short as it can be: a wait
// that follows from others is left out, so that the relation "has finished before it starts" is the
// transitive closure. `inputs`: by step, those of its data edges. window_edges >= 0.
// Time: (edges * window + waits) * steps / 64; memory: steps^2 / 4 bytes.
std::vector<std::vector<int32_t>> whole_waits(std::span<const std::vector<StepInput>> inputs,
                                              int32_t window_edges);

}  // namespace leat
