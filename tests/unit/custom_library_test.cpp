// Custom operators of shared objects: loading, running, closing, and what is refused.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

#include "custom_operators.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::filesystem::path folder() {
    const char* path = std::getenv("LEAT_OPERATORS_FOLDER");
    return path == nullptr ? "." : path;
}
std::filesystem::path acme() {
    return folder() / "custom_operators.so";
}

bool is_open(const std::filesystem::path& file) {
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle != nullptr) {
        ::dlclose(handle);
    }
    return handle != nullptr;
}

Graph scale_graph(const std::string& name = "Scale") {
    Graph graph("scale");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    graph.output("y", graph.add("acme." + name, {x}, {}, "node"));
    return graph;
}

Status run(Request& request, const std::vector<float>& x) {
    Status status = request.bind("x", Shape{int64_t(x.size())}, std::span<const float>(x));
    return status.ok() ? request.run() : status;
}

TEST(OperatorLibrary, OfASharedObjectRuns) {
    const Runtime runtime;
    const Status loaded = runtime.load_operators(acme());
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    EXPECT_THAT(runtime.operators().list(), SizeIs(4));
    EXPECT_EQ(runtime.operators().list()[0].source, acme().string());
    const Result<CompiledGraph> compiled = runtime.compile(scale_graph());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    ASSERT_TRUE(run(request, {1, 2, 3}).ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(2, 4, 6));
}

TEST(OperatorLibrary, OfTheOptionsIsLoadedByTheRuntime) {
    RuntimeOptions options;
    options.threads = 1;
    options.operator_libraries = {acme().string()};
    const Runtime runtime(options);
    EXPECT_TRUE(runtime.compile(scale_graph()).ok());
    options.operator_libraries = {"/nowhere/none.so"};
    const Runtime without(options);
    EXPECT_THAT(without.compile(scale_graph()).error().message(),
                AllOf(HasSubstr("not_found"), HasSubstr("/nowhere/none.so")));
}

TEST(OperatorLibrary, WhoseKernelThrowsGivesAnError) {
    const Runtime runtime;
    ASSERT_TRUE(runtime.load_operators(acme()).ok());
    const Result<CompiledGraph> compiled = runtime.compile(scale_graph("Picky"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Status status = run(request, {-1});
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_THAT(status.message(), HasSubstr("x is negative"));
    ASSERT_TRUE(run(request, {1}).ok());
}

// Names of extents that the shared object made are in what outlives it.
TEST(OperatorLibrary, IsClosedWhenNothingUsesItsOperators) {
    std::vector<ValueInfo> outputs;
    std::optional<Request> request;
    {
        const Runtime runtime;
        ASSERT_TRUE(runtime.load_operators(acme()).ok());
        const Result<CompiledGraph> compiled = runtime.compile(scale_graph());
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        outputs = compiled->outputs();
        request.emplace(*compiled->make_request());
    }
    EXPECT_TRUE(is_open(acme()));
    ASSERT_TRUE(run(*request, {4}).ok());
    EXPECT_THAT(request->get<float>("y"), ElementsAre(8));
    request.reset();
    EXPECT_FALSE(is_open(acme()));
    ASSERT_THAT(outputs, SizeIs(1));
    EXPECT_EQ(outputs[0].name, "y");
}

TEST(OperatorLibrary, WithAnOperatorThatIsThereAlreadyAddsNone) {
    OperatorLibrary library;
    ASSERT_TRUE(library.add(testing::picky_operator()).ok());
    EXPECT_THAT(library.load(acme()).message(),
                AllOf(HasSubstr("acme.Picky version 1 by the program, and acme.Picky version 1 by"),
                      HasSubstr("custom_operators.so")));
    EXPECT_THAT(library.list(), SizeIs(1));
    EXPECT_FALSE(is_open(acme()));
}

struct Broken {
    const char* way;
    StatusCode code;
    const char* text;
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) {
    return out << broken.way;
}

class BrokenOperators : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenOperators, AreRefusedAndClosed) {
    const std::filesystem::path file =
        folder() / (std::string("custom_broken_") + GetParam().way + ".so");
    ASSERT_TRUE(std::filesystem::exists(file)) << file;
    OperatorLibrary library;
    const Status status = library.load(file);
    EXPECT_EQ(status.code(), GetParam().code);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(file.string()), HasSubstr(GetParam().text)));
    EXPECT_THAT(library.list(), IsEmpty());
    EXPECT_FALSE(is_open(file));
}

INSTANTIATE_TEST_SUITE_P(
    All,
    BrokenOperators,
    ::testing::Values(
        Broken{"no_symbol", StatusCode::kParse, "leat_operators_query"},
        Broken{"no_table", StatusCode::kVersionMismatch, "gives no table"},
        Broken{"no_function", StatusCode::kParse, "no function"},
        Broken{"throws", StatusCode::kUserException, "entry point threw: not today"},
        Broken{"version", StatusCode::kVersionMismatch, "found version 99; needed version 1"},
        Broken{"size", StatusCode::kVersionMismatch, "build it again"},
        Broken{"registration_throws", StatusCode::kUserException, "threw: no licence"},
        Broken{"registration_fails", StatusCode::kUnsupported, "no licence"},
        Broken{"empty", StatusCode::kParse, "registers no operators"},
        Broken{"second_is_bad", StatusCode::kInvalidArgument, "acme.Bad"}),
    [](const auto& info) { return std::string(info.param.way); });

TEST(OperatorLibrary, ThatIsNoSharedObjectIsRefused) {
    OperatorLibrary library;
    EXPECT_EQ(library.load("/nowhere/none.so").code(), StatusCode::kNotFound);
    EXPECT_EQ(library.load(folder()).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace leat
