// Extents with names of any text, and extents that are too large. The shapes that are right follow
// from the operators' definitions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "leat/leat.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::without_numa;

ValueId ints(Graph& graph, const std::vector<int64_t>& elements) {
    static int count = 0;
    return graph.constant("ints" + std::to_string(++count),
                          *Tensor::from<int64_t>({int64_t(elements.size())}, elements));
}
ValueId slice(Graph& graph, ValueId x, int64_t begin, int64_t end) {
    return graph.add("Slice", {x, ints(graph, {begin}), ints(graph, {end}), ints(graph, {0})});
}
Tensor zeros(const Shape& shape) {
    Tensor tensor = *Tensor::allocate(DType::kFloat32, shape);
    std::memset(tensor.mutable_bytes(), 0, size_t(tensor.byte_count()));
    return tensor;
}

// The shapes of all outputs; what went wrong where they cannot be had.
std::string shapes_of(const Result<CompiledGraph>& compiled, const NamedTensors& inputs) {
    if (!compiled.ok()) {
        return compiled.error().message();
    }
    const auto bytes = output_bytes(*compiled, inputs);
    if (!bytes.ok()) {
        return bytes.error().message();
    }
    std::string shapes;
    for (const auto& [name, output] : *bytes) {
        shapes += name + " " + output.substr(0, output.find(':')) + "; ";
    }
    return shapes;
}

// In each way in which a graph comes to a run.
void expect_shapes(const Graph& graph, const NamedTensors& inputs, const std::string& wanted) {
    const Runtime runtime(without_numa(1));
    const ScratchFolder folder;
    for (const char* device : {"cpu", "reference"}) {
        for (const bool optimize : {true, false}) {
            CompileOptions options;
            options.devices = device;
            options.optimize = optimize;
            const auto compiled = runtime.compile(graph, options);
            EXPECT_EQ(shapes_of(compiled, inputs), wanted) << device << optimize;
            ASSERT_TRUE(compiled.ok());
            const std::string file = (folder.path() / "g.leat").string();
            ASSERT_TRUE(compiled->save(file).ok());
            EXPECT_EQ(shapes_of(runtime.load(file), inputs), wanted) << device << optimize;
            const Result<Graph> parsed = parse_graph(graph.to_text());
            ASSERT_TRUE(parsed.ok()) << parsed.error().message();
            EXPECT_EQ(shapes_of(runtime.compile(*parsed, options), inputs), wanted);
        }
    }
    const std::string file = (folder.path() / "g.onnx").string();
    ASSERT_TRUE(save_onnx(graph, file).ok());
    const Result<Graph> read = load_onnx(file);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(shapes_of(runtime.compile(*read, {}), inputs), wanted);
}

constexpr const char* kNames[] = {"2",   "1",   "0",   "-1",     "007", "9223372036854775807",
                                  "2*n", "n*2", "n+1", "1+1",    "(n)", "(",
                                  "*",   "+",   "x.0", "flat.0", "?",   " ",
                                  "n ",  "\"",  "\\",  "é",      "a,b", "x: f32[2]"};

//  x [NAME,3] -- Reshape [2,-1] -- pair
//           \--- Reshape [-1] ---- flat -- Concat (flat) -- twice
//           \--- Reshape [1,-1] -- row
//  y [NAME,m] -- Flatten(0) ------ all
TEST(DimNames, AreOpaqueWhateverTheirText) {
    for (const char* name : kNames) {
        SCOPED_TRACE(name);
        Graph graph("g");
        const ValueId x = graph.input("x", DType::kFloat32, {name, 3});
        const ValueId y = graph.input("y", DType::kFloat32, {name, "m"});
        const ValueId flat = graph.add("Reshape", {x, ints(graph, {-1})}, {}, "flat");
        graph.output("pair", graph.add("Reshape", {x, ints(graph, {2, -1})}));
        graph.output("twice", graph.add("Concat", {flat, flat}, {{"axis", int64_t{0}}}));
        graph.output("row", graph.add("Reshape", {x, ints(graph, {1, -1})}));
        graph.output("all", graph.add("Flatten", {y}, {{"axis", int64_t{0}}}));
        expect_shapes(graph, {{"x", zeros({4, 3})}, {"y", zeros({4, 5})}},
                      "all 1x20; pair 2x6; row 1x12; twice 24; ");
    }
}

//  x [n,2] -- Reshape [-1] -- 2*n, as Shape -- Expand -- e
//  z ["2*n"] ---------------------------------/
// z has one element: it is expanded, because its name says nothing about n.
TEST(DimNames, AreNotWhatInferenceComputes) {
    struct Row {
        const char* name;
        std::vector<DimSpec> x;
        bool adds_one;
        const char* shape;
    };
    const Row rows[] = {
        {"2*n", {"n", 2}, false, "e 6; "},
        {"n*2", {"n", 2}, false, "e 6; "},
        {"2*n+1", {"n", 2}, true, "e 7; "},
        {"x.0*x.1", {DimSpec::unknown(), DimSpec::unknown()}, false, "e 6; "},
        {"2*x.0", {DimSpec::unknown(), 2}, false, "e 6; "},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        Graph graph("g");
        const ValueId x = graph.input("x", DType::kFloat32, row.x);
        const ValueId z = graph.input("z", DType::kFloat32, {row.name});
        const ValueId flat = graph.add("Reshape", {x, ints(graph, {-1})});
        ValueId shape = graph.add("Shape", {flat});
        if (row.adds_one) {
            shape = graph.add("Add", {shape, ints(graph, {1})});
        }
        graph.output("e", graph.add("Expand", {z, shape}));
        expect_shapes(graph, {{"x", zeros({3, 2})}, {"z", zeros({1})}}, row.shape);
    }
}

// An extent without a name is called after its value inside of leat: "x.0".
TEST(DimNames, AreNotThoseOfAxesWithoutOne) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {DimSpec::unknown(), 2});
    const ValueId z = graph.input("z", DType::kFloat32, {"x.0"});
    const ValueId rows = slice(graph, graph.add("Shape", {x}), 0, 1);
    graph.output("e", graph.add("Expand", {z, rows}));
    expect_shapes(graph, {{"x", zeros({5, 2})}, {"z", zeros({1})}}, "e 5; ");
}

TEST(DimNames, EqualOnesAreOneExtent) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {"2", 3});
    const ValueId y = graph.input("y", DType::kFloat32, {"2", 3});
    graph.output("sum", graph.add("Add", {x, y}));
    const Runtime runtime(without_numa(1));
    const auto compiled = runtime.compile(graph, {});
    EXPECT_EQ(shapes_of(compiled, {{"x", zeros({5, 3})}, {"y", zeros({5, 3})}}), "sum 5x3; ");
    EXPECT_THAT(shapes_of(compiled, {{"x", zeros({5, 3})}, {"y", zeros({1, 3})}}),
                HasSubstr("disagree about extent '2'"));
}

TEST(DimNames, OfTheCallerMeanTheSame) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {"2*n", 3});
    graph.output("y", graph.add("Reshape", {x, ints(graph, {-1})}));
    CompileOptions options;
    options.dims["2*n"] = 7;
    const auto compiled = Runtime(without_numa(1)).compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().plans.size(), 1U) << "all extents are known";
}

// ---- extents that no tensor can have ----

constexpr int64_t kHuge = int64_t{1} << 62;
constexpr int64_t kLarge = int64_t{1} << 40;

struct TooLarge {
    const char* op;
    std::function<ValueId(Graph&, ValueId)> add;
};

TEST(DimOverflow, ErrorsNameTheNodeAndTheExtent) {
    const TooLarge rows[] = {
        {"Tile",
         [](Graph& g, ValueId x) {
             return g.add("Tile", {x, ints(g, {1, kHuge})}, {}, "culprit");
         }},
        {"Tile",
         [](Graph& g, ValueId x) {
             return g.add("Tile", {x, ints(g, {kLarge, kLarge})}, {}, "culprit");
         }},
        {"Expand",
         [](Graph& g, ValueId x) {
             return g.add("Expand", {x, ints(g, {kLarge, kLarge, 2, 4})}, {}, "culprit");
         }},
        {"ConstantOfShape",
         [](Graph& g, ValueId) {
             return g.add("ConstantOfShape", {ints(g, {kLarge, kLarge})}, {}, "culprit");
         }},
        {"Reshape",
         [](Graph& g, ValueId x) {
             return g.add("Reshape", {x, ints(g, {kLarge, kLarge, -1})}, {}, "culprit");
         }},
        {"Reshape",
         [](Graph& g, ValueId x) {
             return g.add("Reshape", {x, ints(g, {kLarge, kLarge})}, {}, "culprit");
         }},
        // By way of a shape that is computed.
        {"Expand",
         [](Graph& g, ValueId x) {
             const ValueId shape = g.add("Shape", {x});
             const ValueId more = g.add("Mul", {shape, ints(g, {kHuge, 1})});
             return g.add("Expand", {x, more}, {}, "culprit");
         }},
    };
    const Runtime runtime(without_numa(1));
    for (const TooLarge& row : rows) {
        for (const bool optimize : {true, false}) {
            Graph graph("g");
            const ValueId x = graph.input("x", DType::kFloat32, {2, 4});
            graph.output("y", row.add(graph, x));
            CompileOptions options;
            options.optimize = optimize;
            const auto compiled = runtime.compile(graph, options);
            ASSERT_FALSE(compiled.ok()) << row.op;
            EXPECT_EQ(compiled.error().code(), StatusCode::kInvalidArgument);
            EXPECT_THAT(compiled.error().message(),
                        AllOf(HasSubstr(std::string("'culprit' (") + row.op),
                              AnyOf(HasSubstr("4611686018427387904"), HasSubstr("1099511627776"),
                                    HasSubstr("2199023255552"), HasSubstr("negative"))));
        }
    }
}

// Zero times anything is zero.
TEST(DimOverflow, ZeroTimesAHugeNumberIsZero) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {0, 4});
    graph.output("y", graph.add("Tile", {x, ints(graph, {kHuge, 2})}));
    expect_shapes(graph, {{"x", zeros({0, 4})}}, "y 0x8; ");
}

}  // namespace
}  // namespace leat
