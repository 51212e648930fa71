// Random graphs with If, Loop and Scan in each other, and what ONNX Runtime gives for them:
// random_bodies.txt, and with extents that data decide, sequences and optionals
// random_open_bodies.txt. random_bodies_test.py has written both. Each on both built-in backends.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <tuple>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

constexpr double kRelativeTolerance = 1e-5;
constexpr double kAbsoluteTolerance = 1e-6;

struct CaseFile {
    const char* path;
    size_t cases;
};
constexpr CaseFile kClosed = {LEAT_STORED_BODIES "/random_bodies.txt", 300};
constexpr CaseFile kOpen = {LEAT_STORED_BODIES "/random_open_bodies.txt", 79};

// A graph, and sets of its inputs and outputs: constants of a graph, by name. A sequence x has the
// number of its elements as x/count, and these as x/0, ...; an optional has x/some or x/none.
struct StoredCase {
    std::string name;
    std::string graph;
    std::vector<std::map<std::string, Tensor>> data;
};

std::map<std::string, Tensor> constants_of(const std::string& text) {
    const Result<Graph> graph = parse_graph(text);
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    std::map<std::string, Tensor> constants;
    for (const ValueData& value : graph.ok() ? graph->data().values : std::vector<ValueData>()) {
        constants.emplace(value.name, *value.constant);
    }
    return constants;
}

// A line that begins with "case" names one; its graph and each of its sets end with a line "}".
std::vector<StoredCase> stored_cases(const char* path) {
    std::ifstream file(path);
    std::vector<StoredCase> cases;
    std::string text;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("case ", 0) == 0) {
            cases.push_back({line, {}, {}});
            continue;
        }
        text += line + "\n";
        if (line != "}") {
            continue;
        }
        if (cases.back().graph.empty()) {
            cases.back().graph = text;
        } else {
            cases.back().data.push_back(constants_of(text));
        }
        text.clear();
    }
    return cases;
}

// As double: all types of the cases but 64-bit integers, of which these are small.
double element(const Tensor& tensor, int64_t i) {
    switch (tensor.dtype()) {
        case DType::kFloat32:
            return double(tensor.data<float>()[size_t(i)]);
        case DType::kFloat64:
            return tensor.data<double>()[size_t(i)];
        case DType::kInt32:
            return tensor.data<int32_t>()[size_t(i)];
        case DType::kInt64:
            return double(tensor.data<int64_t>()[size_t(i)]);
        default:
            return std::to_integer<int>(tensor.bytes()[i]);
    }
}

Value value_of(const std::map<std::string, Tensor>& data, const std::string& name) {
    if (const auto tensor = data.find(name); tensor != data.end()) {
        return tensor->second;
    }
    if (const auto count = data.find(name + "/count"); count != data.end()) {
        std::vector<Value> elements;
        for (int64_t i = 0; i < count->second.data<int64_t>()[0]; ++i) {
            elements.push_back(value_of(data, name + "/" + std::to_string(i)));
        }
        return Value::sequence(std::move(elements));
    }
    if (data.count(name + "/none") > 0) {
        return Value::optional({});
    }
    const std::string held = name + "/some";
    EXPECT_TRUE(data.count(held) + data.count(held + "/count") > 0) << name;
    return Value::optional({value_of(data, held)});
}

void expect_near(const Tensor& found, const Tensor& wanted, const std::string& what) {
    ASSERT_EQ(found.dtype(), wanted.dtype()) << what;
    ASSERT_EQ(found.shape(), wanted.shape()) << what;
    const int64_t count =
        wanted.dtype() == DType::kFloat16 ? wanted.byte_count() : wanted.element_count();
    for (int64_t i = 0; i < count; ++i) {
        const double value = element(wanted, i);
        ASSERT_NEAR(element(found, i), value,
                    kAbsoluteTolerance + kRelativeTolerance * std::abs(value))
            << what << ", element " << i;
    }
}

void expect_near(const Value& found, const Value& wanted, const std::string& what) {
    ASSERT_EQ(found.kind(), wanted.kind()) << what;
    if (wanted.is_tensor()) {
        return expect_near(found.tensor(), wanted.tensor(), what);
    }
    ASSERT_EQ(found.elements().size(), wanted.elements().size()) << what;
    for (size_t i = 0; i < wanted.elements().size(); ++i) {
        expect_near(found.elements()[i], wanted.elements()[i], what + "/" + std::to_string(i));
    }
}

void run_case(const Runtime& runtime, const StoredCase& stored, const std::string& backend) {
    const Result<Graph> graph = parse_graph(stored.graph);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    CompileOptions options;
    options.devices = backend;
    const Result<CompiledGraph> compiled = runtime.compile(*graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    for (const std::map<std::string, Tensor>& data : stored.data) {
        Result<Request> request = compiled->make_request();
        ASSERT_TRUE(request.ok()) << request.error().message();
        for (const ValueInfo& info : graph->inputs()) {
            const Status bound = request->bind(info.name, value_of(data, info.name));
            ASSERT_TRUE(bound.ok()) << bound.message();
        }
        const Status run = request->run();
        ASSERT_TRUE(run.ok()) << run.message();
        for (const ValueInfo& info : graph->outputs()) {
            const Result<Value> output = request->output(info.name);
            ASSERT_TRUE(output.ok()) << output.error().message();
            expect_near(*output, value_of(data, info.name), info.name);
        }
    }
}

class StoredBodies : public ::testing::TestWithParam<std::tuple<CaseFile, const char*>> {};

TEST_P(StoredBodies, GiveWhatOnnxRuntimeGives) {
    const auto [file, backend] = GetParam();
    const Runtime runtime(testing_support::without_numa(2));
    const std::vector<StoredCase> cases = stored_cases(file.path);
    ASSERT_EQ(cases.size(), file.cases);
    for (const StoredCase& stored : cases) {
        SCOPED_TRACE(stored.name);
        ASSERT_FALSE(stored.data.empty());
        run_case(runtime, stored, backend);
        if (HasFatalFailure()) {
            ADD_FAILURE() << stored.graph;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         StoredBodies,
                         ::testing::Combine(::testing::Values(kClosed, kOpen),
                                            ::testing::Values("cpu", "reference")),
                         [](const auto& info) {
                             const bool is_open = std::get<0>(info.param).path == kOpen.path;
                             return std::string(is_open ? "open_" : "closed_") +
                                    std::get<1>(info.param);
                         });

}  // namespace
}  // namespace leat
