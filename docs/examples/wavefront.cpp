// A wavefront: the blocks of a table, each after the one above and the one on the left.
//
// The table counts the paths through a grid: each cell is the sum of the cell above and the cell on
// the left. A declared resource for each block gives the order; no edge is drawn by hand.
#include <leat/scheduler/task_graph.h>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace leat::scheduler;  // NOLINT(google-build-using-namespace): a program of its own

namespace {

constexpr size_t kBlocks = 8;
constexpr size_t kBlockSize = 32;
constexpr size_t kCells = kBlocks * kBlockSize;
constexpr uint64_t kPrime = 1'000'000'007;

// (kCells + 1) x (kCells + 1), with a border of zeros above and on the left.
using Table = std::vector<std::vector<uint64_t>>;

void fill_block(Table& table, size_t block_row, size_t block_col) {
    for (size_t r = block_row * kBlockSize + 1; r <= (block_row + 1) * kBlockSize; ++r) {
        for (size_t c = block_col * kBlockSize + 1; c <= (block_col + 1) * kBlockSize; ++c) {
            const bool is_first = r == 1 && c == 1;
            table[r][c] = is_first ? 1 : (table[r - 1][c] + table[r][c - 1]) % kPrime;
        }
    }
}

}  // namespace

int main() {
    Table table(kCells + 1, std::vector<uint64_t>(kCells + 1, 0));
    TaskGraph graph;
    std::vector<Resource> blocks;
    for (size_t i = 0; i < kBlocks * kBlocks; ++i) {
        blocks.push_back(graph.resource("block"));
    }
    for (size_t row = 0; row < kBlocks; ++row) {
        for (size_t col = 0; col < kBlocks; ++col) {
            const auto node = graph.add("fill", [&table, row, col] { fill_block(table, row, col); })
                                  .writes(blocks[row * kBlocks + col])
                                  .cost_ns(10'000);
            if (row > 0) {
                node.reads(blocks[(row - 1) * kBlocks + col]);
            }
            if (col > 0) {
                node.reads(blocks[row * kBlocks + col - 1]);
            }
        }
    }

    Executor executor({.threads = 4});
    // The graph is compiled once; every run after the first costs nanoseconds a node.
    for (int run = 0; run < 3; ++run) {
        if (const leat::Status status = graph.run(executor); !status.ok()) {
            return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
        }
    }
    const uint64_t paths = table[kCells][kCells];
    Table expected(kCells + 1, std::vector<uint64_t>(kCells + 1, 0));
    for (size_t row = 0; row < kBlocks; ++row) {
        for (size_t col = 0; col < kBlocks; ++col) {
            fill_block(expected, row, col);
        }
    }
    std::printf("%llu paths modulo 1e9+7\n", static_cast<unsigned long long>(paths));
    return table == expected ? 0 : 1;
}
