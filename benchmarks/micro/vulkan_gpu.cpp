// Rates of a Vulkan device, by the backend's own kernels: what vulkan_gpu.py makes shares of.
//
//   vulkan_gpu [--device NAME] [--bytes N] [--f32-side N] [--f16-side N] [--dispatches N]
//              [--repeats N] [--rounds N]
//
// --bytes is the size of a tensor, a side that of square matrices. A run of a case is --repeats of
// it, each after the one before. Rounds of all cases take turns, after one that nobody counts;
// minima are printed, as JSON: microseconds of one repeat, and the bytes that it reads and writes
// or the operations that it does.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/memory/staging_ring.h"
#include "backends/vulkan/record/list_writer.h"
#include "base/error.h"
#include "graph/op_def.h"
#include "vulkan_device.h"

namespace leat::vulkan {
namespace {

struct Arguments {
    std::string_view device = "0";
    int64_t bytes = int64_t{256} << 20;
    int64_t f32_side = 4096;
    int64_t f16_side = 8192;
    int64_t dispatches = 1000;
    int64_t repeats = 20;
    int64_t rounds = 7;
};

// What is measured: copies where there is no operator.
struct Case {
    std::string name;
    std::string op_type;
    DType dtype = DType::kFloat32;
    int32_t input_count = 1;
    Shape shape;  // of each operand
    int64_t repeats = 1;
    int64_t bytes = 0;       // of a repeat, read and written
    int64_t operations = 0;  // of a repeat
};

// A case on a device, ready to run.
struct Prepared {
    Case measured;
    CommandList list;
    std::vector<Arena> arenas;  // by buffer of the list
    KernelPipelines pipelines;
    std::unique_ptr<Recording> recording;  // goes before what it uses
    double least_us = std::numeric_limits<double>::max();
};

std::vector<Case> cases_of(const Arguments& arguments) {
    const Shape row{arguments.bytes / 4};
    const auto product = [&](const char* name, DType dtype, int64_t side) {
        const Shape square{side, side};
        return Case{name, "MatMul", dtype, 2, square, arguments.repeats, 0, 2 * side * side * side};
    };
    const int64_t repeats = arguments.repeats;
    return {
        {"copy", "", DType::kFloat32, 1, row, repeats, 2 * arguments.bytes, 0},
        {"relu f32", "Relu", DType::kFloat32, 1, row, repeats, 2 * arguments.bytes, 0},
        {"add f32", "Add", DType::kFloat32, 2, row, repeats, 3 * arguments.bytes, 0},
        product("gemm f32", DType::kFloat32, arguments.f32_side),
        product("gemm f16", DType::kFloat16, arguments.f16_side),
        product("gemm bf16", DType::kBfloat16, arguments.f16_side),
        {"dispatch", "Relu", DType::kFloat32, 1, Shape{64}, arguments.dispatches, 512, 0},
    };
}

// Random bits are random numbers of any type, but for infinities and NaNs: the top bit of each
// exponent stays clear. Zeros would let a GPU run at higher clocks than any data does.
std::vector<std::byte> random_numbers(int64_t size_bytes) {
    std::mt19937 random(1);
    std::vector<uint32_t> words(size_t((size_bytes + 3) / 4));
    for (uint32_t& word : words) {
        word = uint32_t(random()) & 0xbfffbfffU;
    }
    const auto bytes = std::as_bytes(std::span(words)).first(size_t(size_bytes));
    return {bytes.begin(), bytes.end()};
}

class Preparer {
  public:
    explicit Preparer(const BenchmarkDevice& opened) : own_(opened) {}

    Result<std::unique_ptr<Prepared>> prepare(const Case& measured) {
        if (ring_ == nullptr) {
            LEAT_ASSIGN_OR_RETURN(ring_, StagingRing::create(own_.queue));
        }
        auto prepared = std::make_unique<Prepared>();
        prepared->measured = measured;
        LEAT_RETURN_IF_ERROR(write(*prepared));
        LEAT_ASSIGN_OR_RETURN(const std::vector<BufferPlace> places, places_of(prepared->arenas));
        BarrierPlanOptions options;
        options.submit_budget_ns = std::numeric_limits<int64_t>::max();
        LEAT_ASSIGN_OR_RETURN(
            prepared->recording,
            Recording::record(own_.queue, prepared->list, plan_barriers(prepared->list, options),
                              {own_.maker->layout(), places, prepared->pipelines.bound}));
        return prepared;
    }

  private:
    Result<PlacedOperand> add_buffer(Prepared& prepared, int64_t size_bytes) {
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(own_.device, size_bytes));
        prepared.arenas.push_back(std::move(arena));
        return PlacedOperand{prepared.list.add_buffer(size_bytes), 0, size_bytes};
    }

    Status write(Prepared& prepared) {
        const Case& measured = prepared.measured;
        const TensorArg arg = row_major_arg(measured.dtype, measured.shape, nullptr);
        const int64_t size_bytes =
            storage_bytes(measured.dtype, measured.shape.element_count()).value_or(0);
        const std::vector<std::byte> numbers = random_numbers(size_bytes);
        std::vector<PlacedOperand> inputs;
        for (int32_t i = 0; i < measured.input_count; ++i) {
            LEAT_ASSIGN_OR_RETURN(const PlacedOperand input, add_buffer(prepared, size_bytes));
            LEAT_ASSIGN_OR_RETURN(const uint64_t point,
                                  ring_->upload(numbers, prepared.arenas.back(), 0));
            LEAT_RETURN_IF_ERROR(
                own_.queue->wait(point, std::numeric_limits<int64_t>::max()).error());
            inputs.push_back(input);
        }
        LEAT_ASSIGN_OR_RETURN(const PlacedOperand output, add_buffer(prepared, size_bytes));
        const std::vector<TensorArg> args(inputs.size(), arg);
        return measured.op_type.empty() ? write_copies(prepared, inputs[0], output)
                                        : write_nodes(prepared, inputs, output, args);
    }

    static Status write_copies(Prepared& prepared,
                               const PlacedOperand& from,
                               const PlacedOperand& to) {
        for (int64_t i = 0; i < prepared.measured.repeats; ++i) {
            LEAT_RETURN_IF_ERROR(
                prepared.list.add(BufferCopy{from.buffer, to.buffer, 0, 0, from.size_bytes}));
        }
        return Status();
    }

    Status write_nodes(Prepared& prepared,
                       std::span<const PlacedOperand> inputs,
                       const PlacedOperand& output,
                       std::span<const TensorArg> args) {
        NodeData node;
        node.op_type = prepared.measured.op_type;
        node.def = find_op("", node.op_type);
        const std::vector<DType> types(args.size(), prepared.measured.dtype);
        const KernelChoice choice = choose_kernel(node, {types, std::span(types).first(1)});
        if (choice.entry == nullptr) {
            return unsupported("{}: {}", node.op_type, choice.reason);
        }
        ListWriter writer(prepared.list, kernel_limits(own_.device->info()));
        for (int64_t i = 0; i < prepared.measured.repeats; ++i) {
            writer.begin_node(inputs, {&output, 1});
            LEAT_RETURN_IF_ERROR(choice.entry->write({node, args, args.first(1)}, writer));
        }
        for (const ScratchBuffer& scratch : writer.scratch_buffers()) {
            LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(own_.device, scratch.size_bytes));
            prepared.arenas.push_back(std::move(arena));
        }
        LEAT_ASSIGN_OR_RETURN(prepared.pipelines,
                              KernelPipelines::make(*own_.maker, writer.shaders()));
        return Status();
    }

    const BenchmarkDevice& own_;
    std::unique_ptr<StagingRing> ring_;
};

void print(const Device& device, const std::vector<std::unique_ptr<Prepared>>& cases) {
    fmt::print("{{\"device\": \"{}\", \"driver\": \"{}\", \"cases\": [", device.info().name,
               device.info().driver);
    const char* separator = "";
    for (const std::unique_ptr<Prepared>& prepared : cases) {
        const Case& measured = prepared->measured;
        fmt::print("{}\n  {{\"name\": \"{}\", \"us\": {:.3f}, \"bytes\": {}, \"operations\": {}}}",
                   separator, measured.name, prepared->least_us / double(measured.repeats),
                   measured.bytes, measured.operations);
        separator = ",";
    }
    fmt::print("]}}\n");
}

Status measure(const Arguments& arguments) {
    LEAT_ASSIGN_OR_RETURN(const BenchmarkDevice opened, BenchmarkDevice::open(arguments.device));
    Preparer preparer(opened);
    std::vector<std::unique_ptr<Prepared>> cases;
    for (const Case& measured : cases_of(arguments)) {
        LEAT_ASSIGN_OR_RETURN(std::unique_ptr<Prepared> prepared, preparer.prepare(measured));
        cases.push_back(std::move(prepared));
    }
    for (int64_t round = 0; round <= arguments.rounds; ++round) {
        for (const std::unique_ptr<Prepared>& prepared : cases) {
            LEAT_ASSIGN_OR_RETURN(const double us, time_run(*opened.queue, *prepared->recording));
            prepared->least_us = round == 0 ? prepared->least_us : std::min(prepared->least_us, us);
        }
    }
    print(*opened.device, cases);
    return Status();
}

}  // namespace
}  // namespace leat::vulkan

int main(int count, char** words) {
    leat::vulkan::Arguments arguments;
    const leat::vulkan::BenchmarkOption options[] = {
        {"--device", &arguments.device},         {"--bytes", &arguments.bytes},
        {"--f32-side", &arguments.f32_side},     {"--f16-side", &arguments.f16_side},
        {"--dispatches", &arguments.dispatches}, {"--repeats", &arguments.repeats},
        {"--rounds", &arguments.rounds},
    };
    return leat::vulkan::run_benchmark(std::span(words, size_t(count)), options,
                                       [&] { return leat::vulkan::measure(arguments); });
}
