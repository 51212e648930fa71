// Runs of one request whose shapes, or the sizes that data decide, are others in each run: what
// planning takes of them, and whether memory grows.
//
//   open_sizes MODEL.onnx|detector [--runs N] [--threads N] [--seed N] [--cache BYTES] [--same]
//              [--dim NAME=LO..HI|NAME=A|NAME=A+B]... [--below INPUT=N]... [--ones INPUT]...
//              [--grow PAST=PRESENT]... [--grown NAME]
//
// detector: that of small_detector.h.
// Each run binds inputs with other elements: floats are random, at a scale that is random for each
// run; integers are below the number that --below gives, else 0 and 1; --ones: all elements are 1.
// --same: all runs have the inputs of the first, whose plans are then there: the time to subtract.
// --dim: an extent is drawn anew in each run, or is that of another name, or their sum. The first
// run has the largest of all.
// --grow: the past of a run is the present of the one before it, in two buffers that change places;
// --grown: the extent that is one longer each time, from 0 on.
//
// Prints JSON: medians of nanoseconds a run, plans made and dropped and their share of the time,
// and after each tenth of the runs: resident KiB, pool bytes, bytes of slabs.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/split_mix.h"
#include "graph/graph_data.h"
#include "graphbench/statistics.h"
#include "leat/leat.h"
#include "small_detector.h"

namespace leat::micro {
namespace {

using Clock = std::chrono::steady_clock;

struct DimRule {
    int64_t low = 1;
    int64_t high = 1;
    std::vector<std::string> sum;  // of these names, if there are any
};

struct Setup {
    std::string model;
    int64_t runs = 1000;
    int threads = 1;
    uint64_t seed = 1;
    int64_t cache_bytes = CompileOptions().plan_cache_bytes;
    bool is_same = false;
    std::map<std::string, DimRule> dims;
    std::map<std::string, int64_t> below;
    std::set<std::string> ones;
    std::map<std::string, std::string> grow;  // past by present
    std::string grown;
};

int64_t resident_kib() {
    std::ifstream file("/proc/self/statm");
    int64_t total = 0;
    int64_t resident = 0;
    file >> total >> resident;
    return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

class OpenSizes {
  public:
    explicit OpenSizes(const Setup& setup) : setup_(setup), random_(setup.seed) {}

    Status run() {
        RuntimeOptions runtime_options;
        runtime_options.threads = setup_.threads;
        Runtime runtime(runtime_options);
        LEAT_ASSIGN_OR_RETURN(const Graph graph, setup_.model == "detector"
                                                     ? Result<Graph>(small_detector())
                                                     : load_onnx(setup_.model));
        CompileOptions options;
        options.plan_cache_bytes = setup_.cache_bytes;
        LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(graph, options));
        LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
        std::vector<double> times_ns;
        times_ns.reserve(size_t(setup_.runs));
        std::string series;
        const PlanningReport before = compiled.report().planning;
        for (int64_t i = 0; i < setup_.runs; ++i) {
            LEAT_RETURN_IF_ERROR(bind_inputs(graph.data(), request, i));
            const auto start = Clock::now();
            LEAT_RETURN_IF_ERROR(request.run());
            times_ns.push_back(double((Clock::now() - start).count()));
            if ((i + 1) % std::max<int64_t>(setup_.runs / 10, 1) == 0) {
                series += fmt::format("{}[{}, {}, {}]", series.empty() ? "" : ", ", resident_kib(),
                                      request.run_report().pool_bytes, slab_bytes(request));
            }
        }
        const CompileReport report = compiled.report();
        const PlanningReport& planning = report.planning;
        double sum = 0;
        for (const double time : times_ns) {
            sum += time;
        }
        fmt::print(
            "{{\"runs\": {}, \"threads\": {}, \"median_ns\": {:.0f}, \"mean_ns\": {:.0f}, "
            "\"plans_made\": {}, \"plans_dropped\": {}, \"planning_share\": {:.4f}, "
            "\"plan_us\": {}, \"kib_pool_slabs\": [{}]}}\n",
            setup_.runs, setup_.threads, bench::median(times_ns), sum / double(setup_.runs),
            planning.made - before.made, planning.dropped - before.dropped,
            double(planning.time_ns - before.time_ns) / sum, plan_times(report.plans), series);
        return {};
    }

  private:
    // Of the plans that are there, by their number of steps: how many there are, and medians in
    // all, of inference, kernels and memory.
    static std::string plan_times(const std::vector<PlanReport>& plans) {
        std::map<int, std::array<std::vector<double>, 4>> times;
        for (const PlanReport& plan : plans) {
            std::array<std::vector<double>, 4>& own = times[plan.step_count];
            own[0].push_back(double(plan.plan_time_ns) * 1e-3);
            own[1].push_back(double(plan.inference_time_ns) * 1e-3);
            own[2].push_back(double(plan.kernel_time_ns) * 1e-3);
            own[3].push_back(double(plan.memory_time_ns) * 1e-3);
        }
        std::string text;
        for (const auto& [steps, own] : times) {
            text +=
                fmt::format("{}\"{}\": [{}, {:.1f}, {:.1f}, {:.1f}, {:.1f}]",
                            text.empty() ? "" : ", ", steps, own[0].size(), bench::median(own[0]),
                            bench::median(own[1]), bench::median(own[2]), bench::median(own[3]));
        }
        return "{" + text + "}";
    }

    int64_t slab_bytes(const Request& request) const {
        const PlacementReport report = request.placement_report();
        int64_t pages = 0;
        for (const PagePlacement& memory : report.memory) {
            pages += memory.memory == "weights" ? 0 : memory.wanted_pages;
        }
        return pages * report.page_bytes;
    }

    int64_t extent_of(const DimSpec& dim, bool is_first) {
        if (dim.is_fixed()) {
            return dim.extent();
        }
        const auto known = extents_.find(dim.name());
        if (known != extents_.end()) {
            return known->second;
        }
        const DimRule& rule = setup_.dims[dim.name()];
        int64_t extent = 0;
        for (const std::string& part : rule.sum) {
            extent += extent_of(DimSpec(part), is_first);
        }
        if (rule.sum.empty()) {
            const auto range = uint64_t(rule.high - rule.low + 1);
            extent = is_first ? rule.high : rule.low + int64_t(random_.next() % range);
        }
        extents_[dim.name()] = extent;
        return extent;
    }

    Status fill(const std::string& name, Tensor& tensor, float scale) {
        const int64_t count = tensor.element_count();
        if (tensor.dtype() == DType::kFloat32) {
            for (float& element : tensor.mutable_data<float>()) {
                element = scale * float(random_.next() % 4096) / 4096;
            }
        } else if (tensor.dtype() == DType::kInt64) {
            const auto below = setup_.below.find(name);
            const auto range = uint64_t(below == setup_.below.end() ? 2 : below->second);
            for (int64_t& element : tensor.mutable_data<int64_t>()) {
                element = setup_.ones.count(name) > 0 ? 1 : int64_t(random_.next() % range);
            }
        } else if (count > 0) {
            return unsupported("inputs of {}", name_of(tensor.dtype()));
        }
        return {};
    }

    Status bind_inputs(const GraphData& graph, Request& request, int64_t run) {
        if (setup_.is_same && run > 0) {
            return {};
        }
        extents_.clear();
        if (!setup_.grown.empty()) {
            extents_[setup_.grown] = run;
        }
        const auto scale = float(random_.next() % 1024 + 1) / 1024;
        for (const ValueId id : graph.inputs) {
            const ValueData& value = graph.value(id);
            std::vector<int64_t> extents;
            for (const DimSpec& dim : *value.type.dims) {
                extents.push_back(extent_of(dim, run == 0));
            }
            const Shape shape(extents);
            if (const auto past = setup_.grow.find(value.name); past != setup_.grow.end()) {
                LEAT_RETURN_IF_ERROR(bind_state(request, value.name, past->second, shape, run));
                continue;
            }
            Tensor& tensor = inputs_[value.name];
            if (!tensor.defined() || tensor.shape() != shape) {
                LEAT_ASSIGN_OR_RETURN(tensor, Tensor::allocate(value.type.dtype, shape));
            }
            LEAT_RETURN_IF_ERROR(fill(value.name, tensor, scale));
            LEAT_RETURN_IF_ERROR(request.bind(value.name, tensor));
        }
        return {};
    }

    // The axis that grows is the one whose extent is the number of the run.
    Status bind_state(Request& request,
                      const std::string& past,
                      const std::string& present,
                      const Shape& shape,
                      int64_t run) {
        std::vector<int64_t> longer(shape.begin(), shape.end());
        std::vector<int64_t> longest = longer;
        longer[2] = run + 1;
        longest[2] = setup_.runs + 1;
        std::vector<Tensor>& buffers = states_[past];
        while (buffers.size() < 2) {
            LEAT_ASSIGN_OR_RETURN(Tensor buffer, Tensor::allocate(DType::kFloat32, Shape(longest)));
            buffers.push_back(std::move(buffer));
        }
        const auto view = [&](size_t buffer, const Shape& of) {
            return Tensor::view(DType::kFloat32, of, buffers[buffer].mutable_bytes(), nullptr);
        };
        const auto from = size_t(run % 2);
        LEAT_RETURN_IF_ERROR(request.bind(past, view(from, shape)));
        return request.bind_output(present, view(1 - from, Shape(longer)));
    }

    Setup setup_;
    SplitMix random_;
    std::map<std::string, int64_t> extents_;  // of the run
    std::map<std::string, Tensor> inputs_;
    std::map<std::string, std::vector<Tensor>> states_;
};

std::pair<std::string, std::string> parts_of(std::string_view text) {
    const size_t at = text.find('=');
    return at == std::string_view::npos
               ? std::pair(std::string(text), std::string())
               : std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

DimRule rule_of(const std::string& text) {
    DimRule rule;
    if (const size_t dots = text.find(".."); dots != std::string::npos) {
        rule.low = std::atoll(text.substr(0, dots).c_str());
        rule.high = std::atoll(text.substr(dots + 2).c_str());
    } else if (!text.empty() && text[0] >= '0' && text[0] <= '9') {
        rule.low = rule.high = std::atoll(text.c_str());
    } else {
        for (size_t begin = 0; begin < text.size();) {
            const size_t plus = std::min(text.find('+', begin), text.size());
            rule.sum.push_back(text.substr(begin, plus - begin));
            begin = plus + 1;
        }
    }
    return rule;
}

bool parse(const std::vector<std::string>& arguments, Setup& setup) {
    for (size_t i = 0; i < arguments.size(); ++i) {
        const std::string& option = arguments[i];
        if (option == "--same") {
            setup.is_same = true;
            continue;
        }
        if (!option.starts_with("--")) {
            setup.model = option;
            continue;
        }
        if (++i == arguments.size()) {
            return false;
        }
        const auto& [name, value] = parts_of(arguments[i]);
        if (option == "--runs") {
            setup.runs = std::atoll(name.c_str());
        } else if (option == "--threads") {
            setup.threads = std::atoi(name.c_str());
        } else if (option == "--seed") {
            setup.seed = uint64_t(std::atoll(name.c_str()));
        } else if (option == "--cache") {
            setup.cache_bytes = std::atoll(name.c_str());
        } else if (option == "--dim") {
            setup.dims[name] = rule_of(value);
        } else if (option == "--below") {
            setup.below[name] = std::atoll(value.c_str());
        } else if (option == "--ones") {
            setup.ones.insert(name);
        } else if (option == "--grow") {
            setup.grow[name] = value;
        } else if (option == "--grown") {
            setup.grown = name;
        } else {
            return false;
        }
    }
    return !setup.model.empty() && setup.runs > 0;
}

int main_of(const std::vector<std::string>& arguments) {
    Setup setup;
    if (!parse(arguments, setup)) {
        fmt::print(
            stderr,
            "usage: open_sizes MODEL.onnx|detector [options as in the head of its source]\n");
        return 2;
    }
    const Status status = OpenSizes(setup).run();
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.message());
    }
    return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::main_of({argv + 1, argv + argc});
}
