// Kernels of a program's operators on the Vulkan plugin: GLSL, with what docs/custom-operators.md
// promises, and an error or the next device for what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "../unit/custom_operators.h"
#include "leat/leat.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// An operator with this kernel alone, whose outputs are like input 0.
CustomOperator operator_of(std::string name, std::string glsl) {
    CustomOperator custom;
    custom.domain = "acme";
    custom.name = std::move(name);
    custom.inputs = {{.name = "x"}};
    custom.outputs = {{.name = "y"}};
    custom.infer = testing::infer_same;
    custom.device_kernels["vulkan"] = std::move(glsl);
    return custom;
}

class VulkanCustom : public ::testing::Test {
  protected:
    void SetUp() override {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {1});
        graph.output("y", graph.add("Neg", {x}));
        CompileOptions options;
        options.devices = "vulkan:0";
        if (auto probed = Runtime(runtime_options()).compile(graph, options); !probed.ok()) {
            GTEST_SKIP() << probed.error().message();
        }
    }

    static RuntimeOptions runtime_options(std::string setting = "check_hazards") {
        RuntimeOptions options;
        const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
        options.backend_path = folder == nullptr ? "." : folder;
        options.backend_settings["vulkan"] = {{std::move(setting), "1"}};
        options.threads = 1;
        return options;
    }

    void add(CustomOperator custom) {
        const Status status = runtime_.register_operator(std::move(custom));
        ASSERT_TRUE(status.ok()) << status.message();
    }

    Result<CompiledGraph> compile(const Graph& graph, Fallback fallback = Fallback::kForbid) const {
        CompileOptions options;
        options.devices = fallback == Fallback::kForbid ? "vulkan:0" : "vulkan:0,cpu";
        options.fallback = fallback;
        return runtime_.compile(graph, options);
    }

    // "y" of the graph with "x", or the test's failure.
    template <class T>
    std::vector<T> run(const Graph& graph, const Tensor& x) const {
        auto compiled = compile(graph);
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        return compiled.ok() ? run<T>(*compiled, x) : std::vector<T>();
    }
    template <class T>
    static std::vector<T> run(const CompiledGraph& compiled, const Tensor& x) {
        Request request = *compiled.make_request();
        Status status = request.bind("x", x);
        status = status.ok() ? request.run() : status;
        EXPECT_TRUE(status.ok()) << status.message();
        if (!status.ok()) {
            return {};
        }
        const auto y = request.get<T>("y");
        return {y.begin(), y.end()};
    }

    Runtime runtime_{runtime_options()};
};

Graph chain_of(const std::string& name, DType dtype, std::vector<DimSpec> dims, Attributes a = {}) {
    Graph graph(name);
    const ValueId x = graph.input("x", dtype, std::move(dims));
    graph.output("y", graph.add("acme." + name, {x}, std::move(a), "node"));
    return graph;
}

template <class T>
Tensor vector_of(const std::vector<T>& elements) {
    return *Tensor::from<T>({int64_t(elements.size())}, elements);
}

constexpr const char* kTwice =
    "void run(uint i) {\n    write_out0(i, read_in0(i) + read_in0(i));\n}\n";

TEST_F(VulkanCustom, RunsBetweenNodesOfLeatForAnyBatch) {
    add(operator_of("Twice", kTwice));
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId t = graph.add("acme.Twice", {graph.add("Relu", {x})});
    graph.output("y", graph.add("Neg", {t}));
    const auto compiled = compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(compiled->report().fallbacks, IsEmpty());
    for (const int64_t rows : {1, 5, 700}) {
        std::vector<float> elements(size_t(rows) * 3);
        std::iota(elements.begin(), elements.end(), -4.0F);
        std::vector<float> wanted;
        wanted.reserve(elements.size());
        for (const float element : elements) {
            wanted.push_back(-2 * std::max(element, 0.0F));
        }
        const Tensor bound = *Tensor::from<float>({rows, 3}, elements);
        EXPECT_THAT(run<float>(*compiled, bound), ElementsAreArray(wanted)) << rows;
    }
}

TEST_F(VulkanCustom, RunsOnNoElements) {
    add(operator_of("Twice", kTwice));
    EXPECT_THAT(run<float>(chain_of("Twice", DType::kFloat32, {0}), vector_of<float>({})),
                IsEmpty());
}

TEST_F(VulkanCustom, ReadsAndWritesEveryElementType) {
    add(operator_of("Twice", kTwice));
    const auto twice = [&](auto first, auto second) {
        using T = decltype(first);
        const std::vector<T> x = {first, second};
        return run<T>(chain_of("Twice", kDTypeOf<T>, {2}), vector_of<T>(x));
    };
    EXPECT_THAT(twice(1.5F, -3.0F), ElementsAre(3.0F, -6.0F));
    EXPECT_THAT(twice(1.5, 0x1p-1000), ElementsAre(3.0, 0x1p-999));
    EXPECT_THAT(twice(int8_t{-60}, int8_t{100}), ElementsAre(-120, int8_t(200 - 256)));
    EXPECT_THAT(twice(uint8_t{60}, uint8_t{200}), ElementsAre(120, 144));
    EXPECT_THAT(twice(int16_t{-300}, int16_t{7}), ElementsAre(-600, 14));
    EXPECT_THAT(twice(uint16_t{40000}, uint16_t{1}), ElementsAre(80000 - 65536, 2));
    EXPECT_THAT(twice(int32_t{-70000}, int32_t{3}), ElementsAre(-140000, 6));
    EXPECT_THAT(twice(uint32_t{3000000000}, uint32_t{3}), ElementsAre(1705032704U, 6U));
    EXPECT_THAT(twice(int64_t{-1} << 40, int64_t{3}), ElementsAre(int64_t{-1} << 41, 6));
    EXPECT_THAT(twice(uint64_t{1} << 62, uint64_t{3}), ElementsAre(uint64_t{1} << 63, 6U));
}

// Sums are rounded once, to the nearest, ties to even: 2049 is no f16, and 257 no bf16.
TEST_F(VulkanCustom, RoundsNarrowFloats) {
    add(operator_of("PlusOne", "void run(uint i) { write_out0(i, read_in0(i) + 1.0); }"));
    const auto plus_one = [&](auto type, uint16_t bits) {
        using T = decltype(type);
        const auto y = run<T>(chain_of("PlusOne", kDTypeOf<T>, {1}), vector_of<T>({T{bits}}));
        return y.size() == 1 ? y[0].bits : 0;
    };
    EXPECT_EQ(plus_one(Float16(), 0x3c00), 0x4000);   // 1 + 1
    EXPECT_EQ(plus_one(Float16(), 0x6800), 0x6800);   // 2048 + 1: a tie
    EXPECT_EQ(plus_one(Float16(), 0x6801), 0x6802);   // 2050 + 1: a tie
    EXPECT_EQ(plus_one(BFloat16(), 0x3f80), 0x4000);  // 1 + 1
    EXPECT_EQ(plus_one(BFloat16(), 0x4380), 0x4380);  // 256 + 1: a tie
}

TEST_F(VulkanCustom, SeesAttributesAndTheirDefaults) {
    CustomOperator custom = operator_of("Poly", R"(
        void run(uint i) {
            float sum = 0.0;
            for (uint k = attr_weights_count; k-- > 0u;) {
                sum = sum * read_in0(i) + attr_weights[k];
            }
        #ifdef attr_mode_is_negated
            sum = -sum;
        #endif
            write_out0(i, sum * attr_factor + float(attr_shift) + float(attr_steps[1]));
        })");
    custom.attributes = {
        {.name = "weights", .type = AttributeType::kFloats, .is_required = true},
        {.name = "factor", .type = AttributeType::kFloat, .default_value = AttributeValue(0.5F)},
        {.name = "shift",
         .type = AttributeType::kInt,
         .default_value = AttributeValue(int64_t{-7})},
        {.name = "steps",
         .type = AttributeType::kInts,
         .default_value = AttributeValue(std::vector<int64_t>{1, 100})},
        {.name = "mode", .type = AttributeType::kString, .default_value = AttributeValue("")}};
    add(std::move(custom));
    const std::vector<float> weights = {1, 0, 2};  // 1 + 2 x^2
    const Tensor x = vector_of<float>({2, -1});
    EXPECT_THAT(run<float>(chain_of("Poly", DType::kFloat32, {2}, {{"weights", weights}}), x),
                ElementsAre(97.5F, 94.5F));
    EXPECT_THAT(run<float>(chain_of("Poly", DType::kFloat32, {2},
                                    {{"weights", weights},
                                     {"factor", 1.0F},
                                     {"shift", int64_t{0}},
                                     {"steps", std::vector<int64_t>{3, -2}},
                                     {"mode", std::string("negated")}}),
                           x),
                ElementsAre(-11.0F, -5.0F));
    EXPECT_THAT(run<float>(chain_of("Poly", DType::kFloat32, {2},
                                    {{"weights", std::vector<float>()}, {"shift", int64_t{1}}}),
                           x),
                ElementsAre(101.0F, 101.0F));
}

// Rows of a workgroup: shared memory, a barrier, and extents.
TEST_F(VulkanCustom, RunsAWorkgroupOnEachRow) {
    add(operator_of("Share", R"(#pragma leat rows
        #pragma leat workgroup 32
        shared float parts[gl_WorkGroupSize.x];
        void run(uint row) {
            const uint columns = extent_in0(rank_in0() - 1u);
            const uint lane = gl_LocalInvocationID.x;
            float sum = 0.0;
            for (uint i = lane; i < columns; i += gl_WorkGroupSize.x) {
                sum += read_in0(row * columns + i);
            }
            parts[lane] = sum;
            barrier();
            float total = 0.0;
            for (uint k = 0u; k < gl_WorkGroupSize.x; ++k) {
                total += parts[k];
            }
            for (uint i = lane; i < columns; i += gl_WorkGroupSize.x) {
                write_out0(row * columns + i, read_in0(row * columns + i) / total);
            }
        })"));
    const auto compiled = compile(chain_of("Share", DType::kFloat32, {2, "m", "n"}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    for (const int64_t columns : {1, 100}) {
        const Shape shape{2, 3, columns};
        std::vector<float> elements;
        std::vector<float> wanted;
        for (int64_t row = 0; row < 6; ++row) {
            for (int64_t i = 0; i < columns; ++i) {
                elements.push_back(float(row + 1));
                wanted.push_back(1.0F / float(columns));
            }
        }
        EXPECT_THAT(run<float>(*compiled, *Tensor::from<float>(shape, elements)),
                    ::testing::Pointwise(::testing::FloatEq(), wanted));
    }
}

// More elements than one dimension of workgroups has.
TEST_F(VulkanCustom, CountsElementsBeyondADimensionOfWorkgroups) {
    add(operator_of("Index", "#pragma leat workgroup 1\nvoid run(uint i) { write_out0(i, i); }"));
    const int64_t count = 200'000;
    const std::vector<uint32_t> x(size_t(count), 0);
    const auto y = run<uint32_t>(chain_of("Index", DType::kUint32, {count}), vector_of(x));
    ASSERT_THAT(y, SizeIs(size_t(count)));
    for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], i);
    }
}

TEST_F(VulkanCustom, SeesWhichOperandsItHas) {
    CustomOperator biased = operator_of("Biased", R"(
        void run(uint i) {
            write_out0(i, has_in1 ? read_in0(i) + read_in1(i % max(count_in1(), 1u)) : -read_in0(i));
        })");
    biased.inputs.push_back({.name = "bias", .is_optional = true});
    add(std::move(biased));
    Graph graph("biased");
    const ValueId x = graph.input("x", DType::kFloat32, {3});
    const ValueId bias = graph.constant("b", vector_of<float>({10, 20}));
    const ValueId t = graph.add("acme.Biased", {x, bias});
    graph.output("y", graph.add("acme.Biased", {t}));
    EXPECT_THAT(run<float>(graph, vector_of<float>({1, 2, 3})), ElementsAre(-11, -22, -13));
}

TEST_F(VulkanCustom, WritesSeveralResults) {
    CustomOperator parts = testing::parts_operator();
    parts.device_kernels["vulkan"] = R"(
        void run(uint i) {
            write_out0(i, max(read_in0(i), 0.0));
            write_out1(i, min(read_in0(i), 0.0));
        })";
    parts.kernels.clear();
    add(std::move(parts));
    Graph graph("parts");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const std::vector<ValueId> both = graph.add_multi("acme.Parts", {x}, 2);
    graph.output("y", graph.add("Sub", {both[0], both[1]}));
    EXPECT_THAT(run<float>(graph, vector_of<float>({2, -5})), ElementsAre(2, 5));
}

// Names of leat's operators mean nothing in a domain of a program: neither their kernels nor their
// fusion.
TEST_F(VulkanCustom, MayHaveTheNameOfAnOperatorOfLeat) {
    for (const char* name : {"MatMul", "Relu", "Transpose", "Concat", "Softmax"}) {
        add(operator_of(name, kTwice));
    }
    Graph graph("names");
    ValueId value = graph.input("x", DType::kFloat32, {2, 2});
    value = graph.add("Neg", {graph.add("acme.MatMul", {value})});
    value = graph.add("Exp", {graph.add("acme.Relu", {value})});
    value = graph.add("Log", {graph.add("acme.Transpose", {value})});
    value = graph.add("acme.Softmax", {graph.add("acme.Concat", {value})});
    graph.output("y", graph.add("Neg", {value}));
    const std::vector<float> x = {0, 1, 0.5F, -1};
    const auto y = run<float>(graph, *Tensor::from<float>({2, 2}, x));
    ASSERT_THAT(y, SizeIs(4));
    for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], -4 * (std::log(2.0F) - 4 * x[i]), 1e-5F) << i;
    }
}

TEST_F(VulkanCustom, RunsFromAFileWithADomainOfItsOwn) {
    CustomOperator scale = testing::scale_operator();
    scale.device_kernels["vulkan"] =
        "void run(uint i) { write_out0(i, type_out0(float(read_in0(i)) * attr_factor)); }";
    scale.kernels.clear();
    add(std::move(scale));
    testing::ModelParts parts;
    parts.nodes = {testing::node("Scale", {"x"}, {"t"}, testing::bytes(7, "acme"), "first"),
                   testing::node("Scale", {"t"}, {"y"},
                                 testing::float_attribute("factor", 10) + testing::bytes(7, "acme"),
                                 "second")};
    parts.inputs = {testing::f32_info("x", {2})};
    parts.outputs = {testing::f32_info("y", {2})};
    parts.more_model = testing::bytes(8, testing::bytes(1, "acme") + testing::number(2, 1));
    const testing::TemporaryFolder folder;
    const auto loaded =
        load_onnx(folder.write("m.onnx", testing::model_bytes(parts)), runtime_.operators());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_THAT(run<float>(*loaded, vector_of<float>({1, -3})), ElementsAre(20, -60));
}

// ---- What is refused ----

TEST_F(VulkanCustom, WhoseTextDoesNotCompileRunsOnTheCpuAndSaysWhy) {
    CustomOperator scale = testing::scale_operator();
    scale.device_kernels["vulkan"] =
        "void run(uint i) {\n    float x = read_in0(i);\n    write_out0(i, x * faktor);\n}\n";
    add(std::move(scale));
    const Graph graph = chain_of("Scale", DType::kFloat32, {2});
    const auto compiled = compile(graph, Fallback::kAllow);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_THAT(compiled->report().fallbacks, SizeIs(1));
    EXPECT_THAT(compiled->report().fallbacks[0],
                AllOf(HasSubstr("acme.Scale"), HasSubstr("ERROR: 0:3: 'faktor' : undeclared"),
                      Not(HasSubstr("\n"))));
    EXPECT_THAT(run<float>(*compiled, vector_of<float>({1, 2})), ElementsAre(2, 4));
    EXPECT_THAT(compile(graph).error().message(), HasSubstr("'faktor'"));
}

TEST_F(VulkanCustom, WithABadDirectiveIsRefusedWithItsLine) {
    add(operator_of("Lines", "\n#pragma leat columns\nvoid run(uint i) {}\n"));
    add(operator_of("Sized", "#pragma leat workgroup many\nvoid run(uint i) {}\n"));
    add(operator_of("Large", "#pragma leat workgroup 100000\nvoid run(uint i) {}\n"));
    add(operator_of("Empty", "void main() {}\n"));
    const auto reason = [&](const std::string& name) {
        return compile(chain_of(name, DType::kFloat32, {2})).error().message();
    };
    EXPECT_THAT(reason("Lines"), AllOf(HasSubstr("acme.Lines"), HasSubstr("line 2"),
                                       HasSubstr("'#pragma leat columns'"), HasSubstr("'rows'")));
    EXPECT_THAT(reason("Sized"), HasSubstr("line 1"));
    EXPECT_THAT(reason("Large"), HasSubstr("workgroups of 100000"));
    EXPECT_THAT(reason("Empty"), HasSubstr("no run()"));
}

TEST_F(VulkanCustom, MayBreakTheLineBeforeTheParametersOfRun) {
    add(operator_of("Twice", "void run\n    (uint i) { write_out0(i, 2.0 * read_in0(i)); }\n"));
    EXPECT_THAT(run<float>(chain_of("Twice", DType::kFloat32, {2}), vector_of<float>({1, 2})),
                ElementsAre(2, 4));
}

TEST_F(VulkanCustom, WithAttributesThatGlslCannotSayIsRefused) {
    CustomOperator custom = operator_of("Seeded", kTwice);
    custom.attributes = {{.name = "seed", .type = AttributeType::kInt}};
    add(std::move(custom));
    EXPECT_THAT(compile(chain_of("Seeded", DType::kFloat32, {2}, {{"seed", int64_t{1} << 40}}))
                    .error()
                    .message(),
                AllOf(HasSubstr("'seed' is 1099511627776"), HasSubstr("32 bits")));
}

TEST_F(VulkanCustom, ThatLeavesItsOperandsIsToldWhereAddressesAreChecked) {
    const Runtime checking(runtime_options("check_addresses"));
    ASSERT_TRUE(checking
                    .register_operator(operator_of(
                        "Far", "void run(uint i) { write_out0(i, read_in0(i + 1000u)); }"))
                    .ok());
    CompileOptions options;
    options.devices = "vulkan:0";
    auto compiled = checking.compile(chain_of("Far", DType::kFloat32, {2}), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    ASSERT_TRUE(request.bind("x", vector_of<float>({1, 2})).ok());
    EXPECT_THAT(request.run().message(),
                AllOf(HasSubstr("node 'node' (acme.Far)"), HasSubstr("operand 0")));
}

}  // namespace
}  // namespace leat
