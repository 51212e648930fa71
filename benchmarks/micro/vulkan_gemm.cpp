// f32 products on a device that is a CPU: the product's kernel beside a hand sweep of kernels and a
// textbook's, and a weight that is larger than Mesa lets a storage buffer be.
//
//   vulkan_gemm [--device NAME] [--rounds N] [--match TEXT] [--columns N]
//
// NAME as in "vulkan:NAME": a number or name~TEXT. Of the sweep only names with TEXT take part.
// The large weight has N columns of 16 KiB; 163,840 are more than Mesa allocates in one piece.
// Every kernel runs once in each round, so that all see the same machine; the least time of each
// counts, and beside it the least CPU time of the process, which others on the machine disturb
// less. Sampled elements of every result are compared with sums in double precision on the host.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/list_writer.h"
#include "backends/vulkan/record/recording.h"
#include "base/error.h"
#include "base/monotonic_clock.h"
#include "base/round_up.h"
#include "ops/matmul/gemm_vulkan.h"
#include "vulkan_device.h"
#include "vulkan_gemm_text.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
constexpr uint32_t kExtent = 768;
constexpr uint32_t kSamples = 64;

int64_t process_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

struct Arguments {
    std::string_view device = "0";
    int64_t rounds = 7;
    std::string_view match;
    int64_t columns = 14336;  // of the large weight: 235 MB
};

struct Extents {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    double flops() const { return 2.0 * m * n * k; }
};

// A, B and Y in memory that the host sees.
class Matrices {
  public:
    static Result<Matrices> make(const std::shared_ptr<const Device>& device, Extents extents) {
        const std::array<int64_t, 3> elements{int64_t(extents.m) * extents.k,
                                              int64_t(extents.k) * extents.n,
                                              int64_t(extents.m) * extents.n};
        std::array<ByteRange, 3> ranges{};
        int64_t end = 0;
        for (size_t i = 0; i < ranges.size(); ++i) {
            ranges[i] = {end, end + elements[i] * int64_t(sizeof(float))};
            end = round_up(ranges[i].end, kArenaAlignmentBytes);
        }
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(device, end));
        if (int64_t(arena.mapped_at(0).size()) < end) {
            return unsupported("{} bytes in memory of '{}' that the host sees", end,
                               device->info().name);
        }
        return Matrices(std::move(arena), extents, ranges);
    }

    const Extents& extents() const { return extents_; }
    int64_t bytes(size_t operand) const { return ranges_[operand].end - ranges_[operand].begin; }
    Result<BufferPlace> place(size_t operand) const { return place_in(arena_, ranges_[operand]); }

    // So that a kernel that stores nothing is found.
    void clear_result() const {
        const std::span<float> y = elements(2);
        std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
    }
    Status check(std::string_view name) const {
        std::mt19937 random(7);
        for (uint32_t i = 0; i < kSamples; ++i) {
            const size_t row = random() % extents_.m;
            const size_t column = random() % extents_.n;
            double sum = 0;
            for (size_t j = 0; j < extents_.k; ++j) {
                sum += double(elements(0)[row * extents_.k + j]) *
                       double(elements(1)[j * extents_.n + column]);
            }
            const double found = double(elements(2)[row * extents_.n + column]);
            // Sums of k products below 1 in f32.
            if (!(std::abs(found - sum) <= 1e-6 * double(extents_.k))) {
                return internal_error("{}: element {}, {} is {}, not {}", name, row, column, found,
                                      sum);
            }
        }
        return Status();
    }

  private:
    Matrices(Arena arena, Extents extents, const std::array<ByteRange, 3>& ranges)
        : arena_(std::move(arena)), extents_(extents), ranges_(ranges) {
        std::mt19937 random(1);
        std::uniform_real_distribution<float> element(-1.0F, 1.0F);
        for (const size_t operand : {size_t{0}, size_t{1}}) {
            const std::span<float> all = elements(operand);
            std::generate(all.begin(), all.end(), [&] { return element(random); });
        }
    }
    std::span<float> elements(size_t operand) const {
        std::byte* begin = arena_.mapped_at(ranges_[operand].begin).data();
        return {reinterpret_cast<float*>(begin), size_t(bytes(operand)) / sizeof(float)};
    }

    Arena arena_;
    Extents extents_;
    std::array<ByteRange, 3> ranges_;
};

// A recording of one product, and how fast it was.
struct Candidate {
    std::string name;
    const Matrices* matrices = nullptr;
    KernelPipelines pipelines;
    std::vector<Arena> scratch;
    std::unique_ptr<Recording> recording;
    uint32_t runs = 1;  // one after the other, of which the times below are averages
    double least_ns = std::numeric_limits<double>::max();
    // Of all threads of the process: what others on the machine take is not in it.
    double least_cpu_ns = least_ns;
    double first_ns = 0;  // with the driver's translation of the kernel

    double gflops() const { return matrices->extents().flops() / least_ns; }
    double gflops_by_cpu() const { return matrices->extents().flops() / least_cpu_ns; }
};

class Bench {
  public:
    explicit Bench(BenchmarkDevice opened) : own_(std::move(opened)) {}

    const std::shared_ptr<Device>& device() const { return own_.device; }
    uint32_t lanes() const { return own_.device->info().properties11.subgroupSize; }

    Result<Candidate> make_text(std::string name,
                                std::string text,
                                uint32_t windows,
                                uint32_t vector_windows,
                                std::array<uint32_t, 3> groups,
                                const Matrices& matrices) const;
    // What the product's writer makes of the problem, `runs` times.
    Result<Candidate> make_product(std::string name,
                                   const Matrices& matrices,
                                   uint32_t runs = 1) const;
    Status run(Candidate& candidate) const;

  private:
    Status record(const CommandList& list,
                  std::span<const ShaderUse> shaders,
                  std::span<const ScratchBuffer> scratch,
                  Candidate& candidate) const;

    BenchmarkDevice own_;
};

// Buffers 0, 1 and 2 of the list are A, B and Y, the others scratch.
Status Bench::record(const CommandList& list,
                     std::span<const ShaderUse> shaders,
                     std::span<const ScratchBuffer> scratch,
                     Candidate& candidate) const {
    LEAT_ASSIGN_OR_RETURN(candidate.pipelines, KernelPipelines::make(*own_.maker, shaders));
    std::vector<BufferPlace> places(3);
    for (size_t i = 0; i < places.size(); ++i) {
        LEAT_ASSIGN_OR_RETURN(places[i], candidate.matrices->place(i));
    }
    candidate.scratch.reserve(scratch.size());
    for (const ScratchBuffer& buffer : scratch) {
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(own_.device, buffer.size_bytes));
        candidate.scratch.push_back(std::move(arena));
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<BufferPlace> others, places_of(candidate.scratch));
    places.insert(places.end(), others.begin(), others.end());
    LEAT_ASSIGN_OR_RETURN(
        candidate.recording,
        Recording::record(own_.queue, list, plan_barriers(list),
                          {own_.maker->layout(), places, candidate.pipelines.bound}));
    // Once untimed, because this device translates a kernel at its first dispatch.
    candidate.matrices->clear_result();
    LEAT_RETURN_IF_ERROR(run(candidate));
    candidate.first_ns = std::exchange(candidate.least_ns, std::numeric_limits<double>::max());
    return candidate.matrices->check(candidate.name);
}

Result<Candidate> Bench::make_text(std::string name,
                                   std::string text,
                                   uint32_t windows,
                                   uint32_t vector_windows,
                                   std::array<uint32_t, 3> groups,
                                   const Matrices& matrices) const {
    CommandList list;
    Dispatch dispatch;
    dispatch.groups = groups;
    dispatch.windows = windows;
    dispatch.vector_windows = vector_windows;
    dispatch.scalars = {matrices.extents().n, matrices.extents().k};
    std::vector<BufferUse> uses;
    uses.reserve(3);
    for (size_t i = 0; i < 3; ++i) {
        const int64_t bytes = matrices.bytes(i);
        const BufferId buffer = list.add_buffer(bytes);
        dispatch.operands[dispatch.operand_count++] = {buffer, 0, bytes};
        uses.push_back({buffer, {0, bytes}, i == 2});
    }
    LEAT_RETURN_IF_ERROR(list.add(dispatch, uses));
    ShaderUse shader{name, {}, std::move(text)};
    shader.windows = windows;
    shader.vector_windows = vector_windows;
    Candidate candidate;
    candidate.name = std::move(name);
    candidate.matrices = &matrices;
    LEAT_RETURN_IF_ERROR(record(list, std::span(&shader, 1), {}, candidate));
    return candidate;
}

Result<Candidate> Bench::make_product(std::string name,
                                      const Matrices& matrices,
                                      uint32_t runs) const {
    const Extents& extents = matrices.extents();
    GemmProblem problem;
    problem.m = extents.m;
    problem.n = problem.b_k = extents.n;
    problem.k = problem.a_row = extents.k;
    CommandList list;
    std::array<PlacedOperand, 3> operands{};
    for (size_t i = 0; i < operands.size(); ++i) {
        operands[i] = {list.add_buffer(matrices.bytes(i)), 0, matrices.bytes(i)};
    }
    ListWriter writer(list, kernel_limits(own_.device->info()));
    writer.begin_node(std::span(operands).first(2), std::span(operands).last(1));
    for (uint32_t run = 0; run < runs; ++run) {
        LEAT_RETURN_IF_ERROR(write_gemm(
            problem, {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)}, writer));
    }
    Candidate candidate;
    candidate.runs = runs;
    candidate.name = std::move(name);
    candidate.matrices = &matrices;
    LEAT_RETURN_IF_ERROR(record(list, writer.shaders(), writer.scratch_buffers(), candidate));
    return candidate;
}

Status Bench::run(Candidate& candidate) const {
    const int64_t begin_ns = monotonic_ns();
    const int64_t begin_cpu_ns = process_cpu_ns();
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, candidate.recording->replay());
    LEAT_RETURN_IF_ERROR(own_.queue->wait(point, kForever).error());
    const auto average = [&](int64_t ns) { return double(ns) / candidate.runs; };
    candidate.least_ns = std::min(candidate.least_ns, average(monotonic_ns() - begin_ns));
    candidate.least_cpu_ns =
        std::min(candidate.least_cpu_ns, average(process_cpu_ns() - begin_cpu_ns));
    return Status();
}

Status run_rounds(const Bench& bench, std::span<Candidate> candidates, int64_t rounds) {
    for (int64_t round = 0; round < rounds; ++round) {
        for (Candidate& candidate : candidates) {
            LEAT_RETURN_IF_ERROR(bench.run(candidate));
        }
    }
    return Status();
}

Status measure_sweep(const Bench& bench, const Arguments& arguments) {
    LEAT_ASSIGN_OR_RETURN(const Matrices matrices,
                          Matrices::make(bench.device(), {kExtent, kExtent, kExtent}));
    std::vector<GemmVariant> sweep = gemm_sweep();
    sweep.erase(std::remove_if(sweep.begin(), sweep.end(),
                               [&](const GemmVariant& variant) {
                                   return name_of(variant).find(arguments.match) ==
                                          std::string::npos;
                               }),
                sweep.end());
    if (sweep.empty()) {
        return invalid_argument("no variant's name has '{}'", arguments.match);
    }
    std::vector<Candidate> candidates;
    candidates.reserve(sweep.size() + 2);
    LEAT_ASSIGN_OR_RETURN(Candidate product, bench.make_product("product", matrices));
    candidates.push_back(std::move(product));
    constexpr uint32_t kTiles = kExtent / kTextbookTile;
    constexpr uint32_t kInputWindows = 0b11;
    constexpr uint32_t kVectorsOfB = 0b10;
    LEAT_ASSIGN_OR_RETURN(Candidate textbook,
                          bench.make_text("textbook", textbook_text(), kInputWindows, 0,
                                          {kTiles, kTiles, 1}, matrices));
    candidates.push_back(std::move(textbook));
    for (const GemmVariant& variant : sweep) {
        const std::array<uint32_t, 3> groups = groups_of(variant, bench.lanes(), kExtent, kExtent);
        LEAT_ASSIGN_OR_RETURN(
            Candidate candidate,
            bench.make_text(name_of(variant), text_of(variant, bench.lanes()), variant.windows,
                            variant.windows & kVectorsOfB, groups, matrices));
        candidates.push_back(std::move(candidate));
    }
    LEAT_RETURN_IF_ERROR(run_rounds(bench, candidates, arguments.rounds));
    const double product_gflops = candidates[0].gflops();
    const double textbook_gflops = candidates[1].gflops();
    std::sort(candidates.begin() + 2, candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.least_ns < b.least_ns; });
    const double best_gflops = candidates[2].gflops();
    const double best_by_cpu = std::max_element(candidates.begin() + 2, candidates.end(),
                                                [](const Candidate& a, const Candidate& b) {
                                                    return a.gflops_by_cpu() < b.gflops_by_cpu();
                                                })
                                   ->gflops_by_cpu();
    fmt::print("{}^3, minima of {} rounds, {} variants\n", kExtent, arguments.rounds, sweep.size());
    for (const Candidate& candidate : candidates) {
        fmt::print(
            "{:32} {:8.2f} GFLOP/s {:6.3f} of the best, by CPU time {:6.3f}, first run {:6.1f} "
            "ms\n",
            candidate.name, candidate.gflops(), candidate.gflops() / best_gflops,
            candidate.gflops_by_cpu() / best_by_cpu, candidate.first_ns * 1e-6);
    }
    fmt::print("product: {:.3f} of the best (bar 0.90), {:.2f} x the textbook's (bar 4)\n",
               product_gflops / best_gflops, product_gflops / textbook_gflops);
    return Status();
}

// A large weight beside narrower ones of as many rows. These run several times in a row, so that
// all rounds have as much work: what begins and ends a run would count 28 times as much otherwise.
Status measure_weights(const Bench& bench, const Arguments& arguments) {
    constexpr uint32_t kRows = 16;
    constexpr uint32_t kDepth = 4096;
    std::vector<Matrices> matrices;
    std::vector<Candidate> candidates;
    matrices.reserve(3);
    candidates.reserve(3);
    const auto most_columns = uint32_t(arguments.columns);
    for (const uint32_t columns : {most_columns, 1024U, 512U}) {
        LEAT_ASSIGN_OR_RETURN(Matrices made,
                              Matrices::make(bench.device(), {kRows, columns, kDepth}));
        matrices.push_back(std::move(made));
        std::string name = fmt::format("{} x {} x {}", kRows, kDepth, columns);
        LEAT_ASSIGN_OR_RETURN(
            Candidate candidate,
            bench.make_product(std::move(name), matrices.back(), divide_up(most_columns, columns)));
        candidates.push_back(std::move(candidate));
    }
    LEAT_RETURN_IF_ERROR(run_rounds(bench, candidates, arguments.rounds));
    for (const Candidate& candidate : candidates) {
        fmt::print("{:20} weight {:6.1f} MB {:8.2f} GFLOP/s; the large one is {:.3f} of it\n",
                   candidate.name, double(candidate.matrices->bytes(1)) * 1e-6, candidate.gflops(),
                   candidates[0].gflops() / candidate.gflops());
    }
    return Status();
}

Status measure(const Arguments& arguments) {
    LEAT_ASSIGN_OR_RETURN(BenchmarkDevice opened, BenchmarkDevice::open(arguments.device));
    const Bench bench(std::move(opened));
    fmt::print("{} ({})\n", bench.device()->info().name, bench.device()->info().driver);
    LEAT_RETURN_IF_ERROR(measure_weights(bench, arguments));
    return measure_sweep(bench, arguments);
}

}  // namespace
}  // namespace leat::vulkan

int main(int count, char** words) {
    leat::vulkan::Arguments arguments;
    const leat::vulkan::BenchmarkOption options[] = {
        {"--device", &arguments.device},
        {"--rounds", &arguments.rounds},
        {"--match", &arguments.match},
        {"--columns", &arguments.columns},
    };
    return leat::vulkan::run_benchmark(std::span(words, size_t(count)), options,
                                       [&] { return leat::vulkan::measure(arguments); });
}
