// Programs on the Vulkan plugin when something is missing or broken: a reason each, and the same
// runtime goes on with the CPU. Kernels are kept on the disk from one loading to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

#include "leat/leat.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// x[2,2] --> MatMul(w) --> Relu --> y
Graph affine_graph() {
    Graph graph("affine");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 2});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({2, 2}, std::vector<float>{1, -2, 3, 4}));
    graph.output("y", graph.add("Relu", {graph.add("MatMul", {x, w})}));
    return graph;
}

// Warnings and errors, from any thread.
class Lines {
  public:
    Logger logger() {
        return [this](LogLevel level, std::string_view line) {
            if (level >= LogLevel::kWarning) {
                const std::lock_guard<std::mutex> lock(mutex_);
                lines_.emplace_back(line);
            }
        };
    }
    std::vector<std::string> lines() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        return lines_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

RuntimeOptions vulkan_options(std::map<std::string, std::string, std::less<>> settings = {},
                              Logger logger = {}) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.backend_settings["vulkan"] = std::move(settings);
    options.logger = std::move(logger);
    options.threads = 1;
    return options;
}

Status run_on(const Runtime& runtime, std::string device) {
    CompileOptions options;
    options.devices = std::move(device);
    options.fallback = Fallback::kForbid;
    auto compiled = runtime.compile(affine_graph(), options);
    if (!compiled.ok()) {
        return std::move(compiled).error();
    }
    auto request = compiled->make_request();
    if (!request.ok()) {
        return std::move(request).error();
    }
    const std::vector<float> x = {1, 1, 2, 0};
    Status status = request->bind("x", Shape{2, 2}, std::span<const float>(x));
    status = status.ok() ? request->run() : status;
    if (status.ok()) {
        EXPECT_THAT(request->get<float>("y"), ElementsAre(4, 2, 2, 0)) << options.devices;
    }
    return status;
}

void expect_ok(const Status& status) {
    EXPECT_TRUE(status.ok()) << status.message();
}

// What the process of this test cannot have, by its environment; see meson.build.
constexpr const char* kAbsenceVariable = "LEAT_TEST_VULKAN_ABSENCE";

TEST(VulkanAbsence, IsAReasonInOneLineAndLeavesTheCpu) {
    const char* reason = std::getenv(kAbsenceVariable);
    if (reason == nullptr) {
        GTEST_SKIP() << kAbsenceVariable << " names no absence";
    }
    const Runtime runtime(vulkan_options());
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Status status = run_on(runtime, "vulkan:0");
        EXPECT_FALSE(status.ok());
        EXPECT_THAT(status.message(), HasSubstr(reason));
        EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
        expect_ok(run_on(runtime, "cpu"));
    }
}

class VulkanRuntime : public ::testing::Test {
  protected:
    void SetUp() override {
        const Runtime runtime(vulkan_options({{"cache_dir", ""}}));
        const Status status = run_on(runtime, "vulkan:0");
        if (!status.ok()) {
            GTEST_SKIP() << status.message();
        }
    }

    // What the log tells of a run on the device. Nothing of the plugin is left afterwards, so the
    // next one is as good as another process.
    static std::vector<std::string> run_and_log(
        std::map<std::string, std::string, std::less<>> settings) {
        Lines lines;
        {
            const Runtime runtime(vulkan_options(std::move(settings), lines.logger()));
            expect_ok(run_on(runtime, "vulkan:0"));
            expect_ok(run_on(runtime, "cpu"));
        }
        return lines.lines();
    }

    std::vector<fs::path> files() const {
        std::vector<fs::path> found;
        for (const auto& entry : fs::directory_iterator(folder_.path())) {
            found.push_back(entry.path());
        }
        return found;
    }
    // What files of tuned variants hold.
    std::vector<std::string> choices() const {
        std::vector<std::string> texts;
        for (const fs::path& file : files()) {
            if (file.filename().string().rfind("variant", 0) == 0) {
                texts.push_back(contents_of(file));
            }
        }
        return texts;
    }

    ScratchFolder folder_;
};

// x --Relu--> y, x --Cast(f64)--> Sqrt --> z: the device lacks what the second branch needs
TEST_F(VulkanRuntime, NodesThatNeedWhatTheDeviceLacksRunOnTheCpu) {
    Graph graph("roots");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId wide = graph.add("Cast", {x}, {{"to", int64_t(DType::kFloat64)}});
    graph.output("y", graph.add("Relu", {x}));
    graph.output("z", graph.add("Sqrt", {wide}));
    const Runtime runtime(vulkan_options({{"cache_dir", ""}, {"lack_features", "shaderFloat64"}}));
    CompileOptions options;
    options.devices = "vulkan:0,cpu";
    options.fallback = Fallback::kAllow;
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().summary(), "cpu 2/3 nodes, vulkan:0 1/3 nodes");
    EXPECT_THAT(
        compiled->report().fallbacks,
        ::testing::AllOf(::testing::SizeIs(2), ::testing::Each(HasSubstr("lacks shaderFloat64"))));
    Request request = *compiled->make_request();
    const std::vector<float> values = {4, 9};
    ASSERT_TRUE(request.bind("x", std::span<const float>(values)).ok());
    expect_ok(request.run());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(4, 9));
    EXPECT_THAT(request.get<double>("z"), ElementsAre(2, 3));
}

// x --Relu--> CumSum --> y: a software device ends the loops of 70,000 steps, a GPU does not.
TEST_F(VulkanRuntime, NodesOfShapesThatTheDeviceRefusesRunOnTheCpu) {
    constexpr int64_t kCount = 70'000;
    Graph graph("steps");
    const ValueId x = graph.input("x", DType::kFloat32, {kCount});
    const ValueId axis = graph.constant("axis", *Tensor::from<int64_t>({}, {0}));
    graph.output("y", graph.add("CumSum", {graph.add("Relu", {x}), axis}));
    const Runtime runtime(vulkan_options({{"cache_dir", ""}}));
    CompileOptions options;
    options.devices = "vulkan:0,cpu";
    options.fallback = Fallback::kAllow;
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(compiled->report().summary(), HasSubstr("vulkan:0"));
    EXPECT_THAT(compiled->report().fallbacks, ::testing::Each(HasSubstr("iterations")));
    Request request = *compiled->make_request();
    const std::vector<float> ones(kCount, 1.0F);
    ASSERT_TRUE(request.bind("x", std::span<const float>(ones)).ok());
    expect_ok(request.run());
    EXPECT_EQ(request.get<float>("y").back(), float(kCount));
}

// The largest difference between the output on Vulkan and on the CPU, whose tasks no driver ends.
double difference_from_cpu(const Graph& graph, const Shape& shape, std::span<const float> x) {
    std::vector<std::vector<float>> outputs;
    const Runtime runtime(vulkan_options({{"cache_dir", ""}}));
    for (const char* device : {"vulkan:0", "cpu"}) {
        CompileOptions options;
        options.devices = device;
        options.fallback = Fallback::kForbid;
        auto compiled = runtime.compile(graph, options);
        if (!compiled.ok()) {
            ADD_FAILURE() << compiled.error().message();
            return std::numeric_limits<double>::infinity();
        }
        auto request = compiled->make_request();
        expect_ok(request.error());
        expect_ok(request->bind("x", shape, x));
        expect_ok(request->run());
        const auto y = request->get<float>("y");
        outputs.emplace_back(y.begin(), y.end());
    }
    double largest = 0;
    for (size_t i = 0; i < outputs[1].size(); ++i) {
        largest = std::max(largest, std::abs(double(outputs[0][i]) - double(outputs[1][i])));
    }
    return largest;
}

// Mesa's software device ends the loops of an invocation after 65,535 iterations, those that only
// find that a loop has ended included: an invocation of as many windows gets fewer of them.
TEST_F(VulkanRuntime, NoInvocationOfAConvolutionHasMoreIterationsThanTheDeviceDoes) {
    constexpr int64_t kExtent = 1602;
    const Shape shape{1, 3, kExtent, kExtent};
    Graph graph("windows");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 3, kExtent, kExtent});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({2, 3, 3, 3}, std::vector<float>(54, 0.5F)));
    graph.output("y", graph.add("Conv", {x, w}));
    EXPECT_LT(difference_from_cpu(graph, shape, std::vector<float>(3 * kExtent * kExtent, 1.0F)),
              1e-3);
}

// Sines of large arguments are reduced in loops.
TEST_F(VulkanRuntime, NoInvocationOfFunctionsHasMoreIterationsThanTheDeviceDoes) {
    constexpr int64_t kCount = 13'000'000;
    Graph graph("sines");
    graph.output("y", graph.add("Sin", {graph.input("x", DType::kFloat32, {kCount})}));
    EXPECT_LT(difference_from_cpu(graph, {kCount}, std::vector<float>(kCount, 1e9F)), 1e-5);
}

TEST_F(VulkanRuntime, KeepsKernelsInTheFolderOfItsSetting) {
    const std::string folder = folder_.path().string();
    EXPECT_THAT(run_and_log({{"cache_dir", folder}}), IsEmpty());
    const std::vector<fs::path> first = files();
    EXPECT_THAT(first, Not(IsEmpty()));
    EXPECT_THAT(run_and_log({{"cache_dir", folder}}), IsEmpty());
    EXPECT_EQ(files().size(), first.size());
}

TEST_F(VulkanRuntime, KeepsNothingWithoutAFolder) {
    const char* before = std::getenv("XDG_CACHE_HOME");
    const std::optional<std::string> kept =
        before == nullptr ? std::nullopt : std::optional<std::string>(before);
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
    EXPECT_THAT(run_and_log({{"cache_dir", ""}}), IsEmpty());
    const fs::path own = folder_.path() / "leat" / "vulkan";
    EXPECT_EQ(file_count_in(own), 0);
    EXPECT_THAT(run_and_log({}), IsEmpty()) << "the host's folder";
    EXPECT_GT(file_count_in(own), 0);
    kept ? setenv("XDG_CACHE_HOME", kept->c_str(), 1) : unsetenv("XDG_CACHE_HOME");
}

TEST_F(VulkanRuntime, ReplacesCorruptFilesAndSaysSo) {
    const std::string folder = folder_.path().string();
    run_and_log({{"cache_dir", folder}});
    for (const fs::path& file : files()) {
        std::string contents = contents_of(file);
        contents[contents.size() / 2] ^= 1;
        write_contents(file, contents);
    }
    EXPECT_THAT(run_and_log({{"cache_dir", folder}}), Contains(HasSubstr("checksum is wrong")));
    EXPECT_THAT(run_and_log({{"cache_dir", folder}}), IsEmpty());
}

// x[32,32] --> MatMul(2 I) --> y: large enough for the variants of products.
Graph doubling_graph() {
    Graph graph("doubling");
    std::vector<float> twice(size_t{32} * 32);
    for (size_t i = 0; i < 32; ++i) {
        twice[i * 33] = 2;
    }
    const ValueId x = graph.input("x", DType::kFloat32, {32, 32});
    const ValueId w = graph.constant("w", *Tensor::from<float>({32, 32}, twice));
    graph.output("y", graph.add("MatMul", {x, w}));
    return graph;
}

void expect_doubled(std::map<std::string, std::string, std::less<>> settings) {
    const Runtime runtime(vulkan_options(std::move(settings)));
    CompileOptions options;
    options.devices = "vulkan:0";
    options.fallback = Fallback::kForbid;
    auto compiled = runtime.compile(doubling_graph(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    auto request = compiled->make_request();
    ASSERT_TRUE(request.ok()) << request.error().message();
    std::vector<float> x(size_t{32} * 32);
    std::vector<float> wanted(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(i);
        wanted[i] = float(2 * i);
    }
    expect_ok(request->bind("x", Shape{32, 32}, std::span<const float>(x)));
    expect_ok(request->run());
    EXPECT_THAT(request->get<float>("y"), ::testing::ElementsAreArray(wanted));
}

TEST_F(VulkanRuntime, TunesOnRequestOnlyAndKeepsTheChoice) {
    const std::string folder = folder_.path().string();
    expect_doubled({{"cache_dir", folder}});
    EXPECT_THAT(choices(), IsEmpty());
    expect_doubled({{"cache_dir", folder}, {"tune", "1"}});
    const std::vector<std::string> kept = choices();
    EXPECT_THAT(kept, ElementsAre(HasSubstr("gemm 32 32 32 ")));
    expect_doubled({{"cache_dir", folder}});
    EXPECT_EQ(choices(), kept);
}

// Matrices that are emulated are never faster.
TEST_F(VulkanRuntime, MeasuresWhetherTilesOfMatricesAreWorthIt) {
    Graph graph("sums");
    const ValueId x = graph.input("x", DType::kInt8, {64, 64});
    const std::vector<int8_t> twos(size_t{64} * 64, 2);
    const ValueId w = graph.constant("w", *Tensor::from<int8_t>({64, 64}, twos));
    graph.output("y", graph.add("MatMulInteger", {x, w}));
    const Runtime runtime(vulkan_options(
        {{"cache_dir", folder_.path().string()}, {"emulate_matrices", "1"}, {"tune", "1"}}));
    CompileOptions options;
    options.devices = "vulkan:0";
    options.fallback = Fallback::kForbid;
    auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    auto request = compiled->make_request();
    ASSERT_TRUE(request.ok()) << request.error().message();
    const std::vector<int8_t> ones(size_t{64} * 64, 1);
    expect_ok(request->bind("x", Shape{64, 64}, std::span<const int8_t>(ones)));
    expect_ok(request->run());
    EXPECT_THAT(request->get<int32_t>("y"), ::testing::Each(128));
    EXPECT_THAT(choices(),
                ElementsAre(HasSubstr("integer_product_tile_i8 64 64 64 integer_product")));
}

// x --> Conv 3x3, stride --> Relu --> y, as tiles of 16 output channels.
Graph convolution_graph(int64_t stride) {
    std::vector<float> weights(size_t{16} * 8 * 9);
    for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = float(i * 37 % 101) / 50 - 1;
    }
    Graph graph("convolution");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 8, 14, 14});
    const ValueId w = graph.constant("w", *Tensor::from<float>({16, 8, 3, 3}, weights));
    const ValueId y = graph.add("Conv", {x, w},
                                {{"pads", std::vector<int64_t>{1, 1, 1, 1}},
                                 {"strides", std::vector<int64_t>{stride, stride}}});
    graph.output("y", graph.add("Relu", {y}));
    return graph;
}

std::vector<float> convolved(const std::string& cache_dir, int64_t stride) {
    const Runtime runtime(vulkan_options({{"cache_dir", cache_dir}}));
    CompileOptions options;
    options.devices = "vulkan:0";
    options.fallback = Fallback::kForbid;
    auto compiled = runtime.compile(convolution_graph(stride), options);
    if (!compiled.ok()) {
        ADD_FAILURE() << compiled.error().message();
        return {};
    }
    auto request = compiled->make_request();
    std::vector<float> x(size_t{8} * 14 * 14);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(i * 53 % 97) / 48 - 1;
    }
    expect_ok(request->bind("x", Shape{1, 8, 14, 14}, std::span<const float>(x)));
    expect_ok(request->run());
    const auto y = request->get<float>("y");
    return {y.begin(), y.end()};
}

TEST_F(VulkanRuntime, KernelsThatAreReducedBeforeTheyAreKeptGiveTheSameBits) {
    const std::string folder = folder_.path().string();
    for (const int64_t stride : {1, 2}) {
        const std::vector<float> wanted = convolved("", stride);
        ASSERT_EQ(wanted.size(), size_t{16} * 14 * 14 / size_t(stride * stride));
        EXPECT_EQ(convolved(folder, stride), wanted) << "just reduced, stride " << stride;
        EXPECT_EQ(convolved(folder, stride), wanted) << "kept, stride " << stride;
    }
}

TEST_F(VulkanRuntime, AFolderThatCannotBeWrittenIsAWarning) {
    const fs::path file = folder_.path() / "file";
    write_contents(file, "no folder");
    EXPECT_THAT(run_and_log({{"cache_dir", file.string()}}),
                Contains(HasSubstr("nothing more is cached")).Times(1));
}

// Mesa 25 has the memory of its software device in files, which the limit is for, too.
bool has_device_without_files() {
    const std::string self = fs::read_symlink("/proc/self/exe").string();
    const std::string command = "trap '' XFSZ; ulimit -f 1; exec '" + self +
                                "' --gtest_filter=VulkanRuntime.ALostDeviceLeavesTheCpu "
                                ">/dev/null 2>&1";
    return std::system(command.c_str()) == 0;
}

TEST_F(VulkanRuntime, AFullDiskIsAWarning) {
    if (!has_device_without_files()) {
        GTEST_SKIP() << "the driver keeps memory in files; VulkanDiskCache has the same test";
    }
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::vector<std::string> lines = run_and_log({{"cache_dir", folder_.path().string()}});
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_THAT(lines, Contains(HasSubstr("nothing more is cached")).Times(1));
    EXPECT_THAT(files(), IsEmpty());
    EXPECT_THAT(run_and_log({{"cache_dir", folder_.path().string()}}), IsEmpty());
}

TEST_F(VulkanRuntime, LoadsSavedGraphsWithoutPackingConstants) {
    const ScratchFolder folder;
    const fs::path file = folder.path() / "affine.leat";
    CompileOptions options;
    options.devices = "vulkan:0";
    const Runtime runtime(vulkan_options());
    std::optional<CompiledGraph> compiled = *runtime.compile(affine_graph(), options);
    EXPECT_EQ(compiled->report().device_pack_count, 1);
    ASSERT_TRUE(compiled->save(file).ok());
    compiled.reset();  // nobody has the packed constant now
    const auto loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(loaded->report().device_pack_count, 0);
    Request request = *loaded->make_request();
    const std::vector<float> x = {1, 1, 2, 0};
    ASSERT_TRUE(request.bind("x", Shape{2, 2}, std::span<const float>(x)).ok());
    expect_ok(request.run());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(4, 2, 2, 0));
}

// y of one operator with indices that the device computes: `indices` + 0.
struct IndexedCase {
    const char* op_type;
    Shape indices;
    std::vector<int64_t> good;
    std::vector<int64_t> bad;  // one of them is out of range
    const char* found;         // in the error
    std::vector<float> y;      // of the good ones
};

Result<CompiledGraph> compile_indexed(const Runtime& runtime, const IndexedCase& given) {
    Graph graph("indexed");
    const ValueId data = graph.input("data", DType::kFloat32, {5, 1});
    std::vector<DimSpec> dims;
    dims.reserve(size_t(given.indices.rank()));
    for (int i = 0; i < given.indices.rank(); ++i) {
        dims.emplace_back(given.indices[i]);
    }
    const ValueId indices = graph.input("indices", DType::kInt64, dims);
    const ValueId zero =
        graph.constant("zero", *Tensor::from<int64_t>({1}, std::vector<int64_t>{0}));
    std::vector<ValueId> inputs = {data, graph.add("Add", {indices, zero})};
    if (std::string_view(given.op_type).starts_with("Scatter")) {
        inputs.push_back(graph.input("updates", DType::kFloat32, {2, 1}));
    }
    const ValueId y = graph.add(given.op_type, inputs, {}, "picks");
    graph.output("y", graph.add("Neg", {y}));
    CompileOptions compile;
    compile.devices = "vulkan:0";
    compile.fallback = Fallback::kForbid;
    return runtime.compile(graph, compile);
}

Status run_indexed(Request& request, const IndexedCase& given, const std::vector<int64_t>& picks) {
    const std::vector<float> data = {0, 10, 20, 30, 40};
    const std::vector<float> updates = {7, 8};
    Status status = request.bind("data", Shape{5, 1}, std::span<const float>(data));
    status = status.ok() ? request.bind("indices", given.indices, std::span<const int64_t>(picks))
                         : status;
    if (status.ok() && std::string_view(given.op_type).starts_with("Scatter")) {
        status = request.bind("updates", Shape{2, 1}, std::span<const float>(updates));
    }
    return status.ok() ? request.run() : status;
}

// As on the CPU; the next run is none the worse.
TEST_F(VulkanRuntime, AnIndexOutOfRangeFailsTheRun) {
    constexpr int64_t kFar = (int64_t{1} << 40) + 1;  // its low word is in range
    const IndexedCase cases[] = {
        {"Gather", {2}, {4, -5}, {4, -6}, "found -6", {-40, 0}},
        {"GatherElements", {2, 1}, {-1, 0}, {5, 0}, "found 5", {-40, 0}},
        {"GatherND", {2, 2}, {1, 0, -2, -1}, {1, kFar, 0, 0}, "found 1099511627777", {-10, -30}},
        {"ScatterND", {2, 1}, {1, -1}, {1, -kFar}, "found -1099511627777", {0, -7, -20, -30, -8}},
        {"ScatterElements",
         {2, 1},
         {0, 2},
         {0, kFar},
         "found 1099511627777",
         {-7, -10, -8, -30, -40}},
    };
    const Runtime runtime(vulkan_options({{"cache_dir", ""}}));
    for (const IndexedCase& given : cases) {
        SCOPED_TRACE(given.op_type);
        auto compiled = compile_indexed(runtime, given);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        auto request = compiled->make_request();
        ASSERT_TRUE(request.ok());
        for (int round = 0; round < 2; ++round) {
            const Status failed = run_indexed(*request, given, given.bad);
            EXPECT_EQ(failed.code(), StatusCode::kInvalidArgument);
            EXPECT_THAT(failed.message(), HasSubstr("node 'picks'"));
            EXPECT_THAT(failed.message(), HasSubstr(given.found));
            EXPECT_THAT(failed.message(), HasSubstr("needed [-"));
            EXPECT_FALSE(request->get<float>("y").size() > 0) << "results of a failed run";
            expect_ok(run_indexed(*request, given, given.good));
            EXPECT_THAT(request->get<float>("y"), ElementsAreArray(given.y));
        }
    }
}

TEST_F(VulkanRuntime, ALostDeviceLeavesTheCpu) {
    const Runtime runtime(vulkan_options({{"cache_dir", ""}, {"lose_device_at", "1"}}));
    EXPECT_EQ(run_on(runtime, "vulkan:0").code(), StatusCode::kDeviceLost);
    expect_ok(run_on(runtime, "cpu"));
}

// x[8,128] --> MatMul(w0) --> ... --> MatMul(w7) --> y
Graph chain_of_products() {
    Graph graph("chain");
    ValueId value = graph.input("x", DType::kFloat32, {8, 128});
    for (int i = 0; i < 8; ++i) {
        std::vector<float> weights(size_t(128) * 128);
        for (size_t w = 0; w < weights.size(); ++w) {
            weights[w] = float((w * 7 + size_t(i) * 5) % 13) / 64 - 0.09F;
        }
        const std::string name = "w" + std::to_string(i);
        value = graph.add("MatMul",
                          {value, graph.constant(name, *Tensor::from<float>({128, 128}, weights))});
    }
    graph.output("y", value);
    return graph;
}

// Its results; `streamed_bytes`: of constants that the run copied.
std::vector<float> results_of_chain(const Runtime& runtime, int64_t& streamed_bytes) {
    CompileOptions options;
    options.devices = "vulkan:0";
    options.fallback = Fallback::kForbid;
    const auto compiled = runtime.compile(chain_of_products(), options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) {
        return {};
    }
    Request request = *compiled->make_request();
    const std::vector<float> x(size_t(8) * 128, 0.5F);
    EXPECT_TRUE(request.bind("x", Shape{8, 128}, std::span<const float>(x)).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(request.plan_report().device_memory.size(), 1U);
    streamed_bytes = request.plan_report().device_memory.at(0).streamed_bytes;
    const std::span<const float> y = request.get<float>("y");
    return {y.begin(), y.end()};
}

// Of the eight constants of 64 KiB five fit, with memory that the host does not reach.
TEST_F(VulkanRuntime, StreamsConstantsThatItsMemoryHasNoRoomFor) {
    const Runtime large(vulkan_options({{"cache_dir", ""}, {"staging", "always"}}));
    const Runtime small(vulkan_options(
        {{"cache_dir", ""}, {"staging", "always"}, {"memory_limit_bytes", "350000"}}));
    int64_t streamed_bytes = -1;
    const std::vector<float> expected = results_of_chain(large, streamed_bytes);
    EXPECT_EQ(streamed_bytes, 0);
    const std::vector<float> found = results_of_chain(small, streamed_bytes);
    EXPECT_GE(streamed_bytes, 3 * 65536);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 1e-4F * (1 + std::abs(expected[i]))) << i;
    }
}

}  // namespace
}  // namespace leat
