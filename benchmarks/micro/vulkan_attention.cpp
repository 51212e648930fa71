// f32 attention as one kernel beside the commands that it replaces: a dense copy of K transposed
// (from eight queries on), two products and Softmax. Both scale the scores.
//
//   vulkan_attention [--device NAME] [--rounds N]
//
// NAME as in "vulkan:NAME": a number or name~TEXT. Both run once in each round; the least time of
// each counts, and ratios are those of the least times, with the range of single rounds.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/list_writer.h"
#include "base/error.h"
#include "base/round_up.h"
#include "ops/attention/fused_attention_vulkan.h"
#include "ops/elementwise/attached_chains_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "vulkan_device.h"

namespace leat::vulkan {
namespace {

struct Extents {
    int64_t heads = 0;
    int64_t rows = 0;
    int64_t keys = 0;
    int64_t depth = 0;  // of V, too
};

TensorArg arg(const Shape& shape) {
    return row_major_arg(DType::kFloat32, shape, nullptr);
}

TensorArg transposed(TensorArg matrices) {
    matrices.shape = {matrices.shape[0], matrices.shape[2], matrices.shape[1]};
    std::swap(matrices.strides[1], matrices.strides[2]);
    return matrices;
}

// Commands of one way to do it. Where there are as many keys as rows, Q, K and V are thirds of the
// rows of a product's result, as networks have them; else they are dense.
struct Commands {
    Commands(const Extents& own, const KernelLimits& limits) : extents(own), writer(list, limits) {
        if (!is_packed()) {
            operands = {add_buffer(q()), add_buffer(k()), add_buffer(k()), add_buffer(y())};
            return;
        }
        const int64_t part = extents.heads * extents.depth;
        const PlacedOperand all = add_buffer(arg({extents.rows, 3 * part}));
        for (int64_t i = 0; i < 3; ++i) {
            const int64_t offset = i * part * int64_t(sizeof(float));
            operands.push_back({all.buffer, offset, all.size_bytes - offset});
        }
        operands.push_back(add_buffer(y()));
    }
    bool is_packed() const { return extents.rows == extents.keys; }
    TensorArg part(int64_t rows) const {
        TensorArg part = arg({extents.heads, rows, extents.depth});
        if (is_packed()) {
            part.strides = {extents.depth, 3 * extents.heads * extents.depth, 1};
        }
        return part;
    }
    TensorArg q() const { return part(extents.rows); }
    TensorArg k() const { return part(extents.keys); }
    TensorArg y() const { return arg({extents.heads, extents.rows, extents.depth}); }
    TensorArg scores() const { return arg({extents.heads, extents.rows, extents.keys}); }
    PlacedOperand add_buffer(const TensorArg& tensor) {
        const int64_t bytes = tensor.shape.element_count() * int64_t(sizeof(float));
        sizes_bytes.push_back(bytes);
        return {list.add_buffer(bytes), 0, bytes};
    }

    Extents extents;
    CommandList list;
    std::vector<int64_t> sizes_bytes;     // of buffers that are no scratch
    std::vector<PlacedOperand> operands;  // Q, K, V, Y
    ListWriter writer;
};

ElementwiseChain scale_of(const TensorArg& scores) {
    ElementwiseChain chain;
    chain.inputs = {{DType::kFloat32, scores.shape, {}}};
    chain.shape = scores.shape;
    chain.steps = {
        {"Mul", DType::kFloat32, DType::kFloat32, {chain_input(0), chain_constant(0.125F)}}};
    return chain;
}

AttentionArgs args_of(const Commands& commands) {
    return {commands.q(), transposed(commands.k()), commands.k(), commands.y()};
}

Status write_fused(Commands& commands) {
    const AttentionArgs args = args_of(commands);
    const std::string refusal = attention_refusal(args, commands.writer.limits());
    if (!refusal.empty()) {
        return unsupported("{}", refusal);
    }
    const ElementwiseChain chain = scale_of(commands.scores());
    commands.writer.begin_node(std::span(commands.operands).first(3),
                               std::span(commands.operands).last(1));
    return write_with_chains([&](KernelWriter& own) { return write_attention(args, own); },
                             {nullptr, &chain}, commands.writer);
}

// One node, whose operands are dense but for input 1.
Status write_node(const char* op_type,
                  std::span<const TensorArg> inputs,
                  const TensorArg& output,
                  const ElementwiseChain* epilogue,
                  KernelWriter& writer) {
    NodeData node;
    node.op_type = op_type;
    const std::vector<DType> types(inputs.size(), DType::kFloat32);
    const KernelChoice choice = choose_kernel(node, {types, std::span(types).first(1)});
    const KernelNode kernel_node{node, inputs, std::span(&output, 1)};
    return write_with_chains(
        [&](KernelWriter& own) { return choice.entry->write(kernel_node, own); },
        {nullptr, epilogue}, writer);
}

Status write_divided(Commands& commands) {
    const auto& [heads, rows, keys, depth] = commands.extents;
    const std::vector<PlacedOperand>& own = commands.operands;
    TensorArg k = transposed(commands.k());
    PlacedOperand k_place = own[1];
    constexpr int64_t kRowsWorthCopy = 8;
    if (rows >= kRowsWorthCopy) {
        const TensorArg dense = arg(k.shape);
        k_place = commands.add_buffer(dense);
        commands.writer.begin_node(std::span(&own[1], 1), std::span(&k_place, 1));
        LEAT_RETURN_IF_ERROR(write_strided_copy(commands.writer, DType::kFloat32, k.shape,
                                                {input_ref(0), 0, k.strides},
                                                {output_ref(0), 0, dense.strides}));
        k = dense;
    }
    const TensorArg scores = commands.scores();
    const PlacedOperand score_place = commands.add_buffer(scores);
    const PlacedOperand weight_place = commands.add_buffer(scores);
    const ElementwiseChain chain = scale_of(scores);
    const PlacedOperand first[] = {own[0], k_place};
    const TensorArg first_args[] = {commands.q(), k};
    commands.writer.begin_node(first, std::span(&score_place, 1));
    LEAT_RETURN_IF_ERROR(write_node("MatMul", first_args, scores, &chain, commands.writer));
    commands.writer.begin_node(std::span(&score_place, 1), std::span(&weight_place, 1));
    LEAT_RETURN_IF_ERROR(
        write_node("Softmax", std::span(&scores, 1), scores, nullptr, commands.writer));
    const PlacedOperand second[] = {weight_place, own[2]};
    const TensorArg second_args[] = {scores, commands.k()};
    commands.writer.begin_node(second, std::span(&own[3], 1));
    return write_node("MatMul", second_args, commands.y(), nullptr, commands.writer);
}

class Bench {
  public:
    explicit Bench(BenchmarkDevice opened) : own_(std::move(opened)) {}
    KernelLimits limits() const { return kernel_limits(own_.device->info()); }

    // Recorded, and run once, because a CPU device translates a kernel at its first dispatch.
    struct Recorded {
        KernelPipelines pipelines;
        std::vector<Arena> memory;
        std::unique_ptr<Recording> recording;
    };
    Result<Recorded> record(const Commands& commands) const;
    Result<double> time(Recorded& recorded) const {
        return time_run(*own_.queue, *recorded.recording);
    }

  private:
    Status add_memory(int64_t size_bytes, Recorded& recorded) const;

    BenchmarkDevice own_;
};

Status Bench::add_memory(int64_t size_bytes, Recorded& recorded) const {
    LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(own_.device, size_bytes));
    if (arena.is_mapped()) {
        std::mt19937 random(1);
        auto* floats = reinterpret_cast<float*>(arena.mapped_at(0).data());
        std::generate_n(floats, size_bytes / int64_t(sizeof(float)),
                        [&] { return float(random()) * 0x1p-31F - 1.0F; });
    }
    recorded.memory.push_back(std::move(arena));
    return Status();
}

Result<Bench::Recorded> Bench::record(const Commands& commands) const {
    Recorded recorded;
    LEAT_ASSIGN_OR_RETURN(recorded.pipelines,
                          KernelPipelines::make(*own_.maker, commands.writer.shaders()));
    if (!commands.writer.scratch_buffers().empty()) {
        return unsupported("scratch of kernels");
    }
    for (const int64_t bytes : commands.sizes_bytes) {
        LEAT_RETURN_IF_ERROR(add_memory(bytes, recorded));
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<BufferPlace> places, places_of(recorded.memory));
    LEAT_ASSIGN_OR_RETURN(
        recorded.recording,
        Recording::record(own_.queue, commands.list, plan_barriers(commands.list),
                          {own_.maker->layout(), places, recorded.pipelines.bound}));
    LEAT_RETURN_IF_ERROR(time(recorded).error());
    return recorded;
}

// The commands beside the one kernel.
struct Pair {
    std::array<double, 2> least_us{std::numeric_limits<double>::max(),
                                   std::numeric_limits<double>::max()};
    double low = std::numeric_limits<double>::max();  // of ratios of single rounds
    double high = 0;
    size_t commands = 0;

    double ratio() const { return least_us[1] / least_us[0]; }
};

Result<Pair> measure_pair(const Bench& bench,
                          const Extents& extents,
                          const KernelLimits& limits,
                          int64_t rounds) {
    Commands divided(extents, limits);
    LEAT_RETURN_IF_ERROR(write_divided(divided));
    Commands fused(extents, limits);
    LEAT_RETURN_IF_ERROR(write_fused(fused));
    LEAT_ASSIGN_OR_RETURN(Bench::Recorded first, bench.record(divided));
    LEAT_ASSIGN_OR_RETURN(Bench::Recorded second, bench.record(fused));
    Pair pair;
    pair.commands = divided.list.commands().size();
    for (int64_t round = 0; round < rounds; ++round) {
        LEAT_ASSIGN_OR_RETURN(const double divided_us, bench.time(first));
        LEAT_ASSIGN_OR_RETURN(const double fused_us, bench.time(second));
        pair.least_us[0] = std::min(pair.least_us[0], divided_us);
        pair.least_us[1] = std::min(pair.least_us[1], fused_us);
        pair.low = std::min(pair.low, fused_us / divided_us);
        pair.high = std::max(pair.high, fused_us / divided_us);
    }
    return pair;
}

// With windows, and where the kernel takes that, with operands as addresses.
Status measure(const Bench& bench, const Extents& extents, int64_t rounds) {
    LEAT_ASSIGN_OR_RETURN(const Pair pair, measure_pair(bench, extents, bench.limits(), rounds));
    KernelLimits limits = bench.limits();
    limits.max_window_texels = 0;
    std::string by_addresses = "-";
    if (attention_refusal(args_of(Commands(extents, limits)), limits).empty()) {
        LEAT_ASSIGN_OR_RETURN(const Pair other, measure_pair(bench, extents, limits, rounds));
        by_addresses = fmt::format("{:.2f}", other.ratio());
    }
    fmt::print("{:5} {:5} {:5} {:5} {:>10} {:10.0f} {:10.0f} {:8.2f} ({:.2f}..{:.2f}) {:>10}\n",
               extents.heads, extents.rows, extents.keys, extents.depth, pair.commands,
               pair.least_us[0], pair.least_us[1], pair.ratio(), pair.low, pair.high, by_addresses);
    return Status();
}

Status measure_all(std::string_view device, int64_t rounds) {
    LEAT_ASSIGN_OR_RETURN(BenchmarkDevice opened, BenchmarkDevice::open(device));
    const Bench bench(std::move(opened));
    fmt::print("{:>5} {:>5} {:>5} {:>5} {:>10} {:>10} {:>10} {:>8} {:>12} {:>10}\n", "heads",
               "rows", "keys", "depth", "commands", "divided us", "fused us", "ratio", "rounds",
               "addresses");
    constexpr Extents kAll[] = {{12, 1, 128, 64},    {12, 1, 1024, 64},  {32, 1, 512, 128},
                                {12, 4, 128, 64},    {12, 8, 128, 64},   {12, 32, 32, 64},
                                {12, 128, 128, 64},  {12, 197, 197, 64}, {12, 512, 512, 64},
                                {4, 1024, 1024, 64}, {8, 256, 256, 128}, {16, 200, 200, 32}};
    for (const Extents& extents : kAll) {
        LEAT_RETURN_IF_ERROR(measure(bench, extents, rounds));
    }
    return Status();
}

}  // namespace
}  // namespace leat::vulkan

int main(int count, char** words) {
    std::string_view device = "0";
    int64_t rounds = 9;
    const leat::vulkan::BenchmarkOption options[] = {{"--device", &device}, {"--rounds", &rounds}};
    return leat::vulkan::run_benchmark(std::span(words, size_t(count)), options,
                                       [&] { return leat::vulkan::measure_all(device, rounds); });
}
