// Attributes that an operator does not have in the opset of a file, or has with another type, are
// errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "onnx/upgrade.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::bytes;
using testing::f32_info;
using ::testing::HasSubstr;
using testing::ModelParts;
using testing::node;
using ::testing::Not;
using testing::number;
using testing::TemporaryFolder;

// Of the newest files that ONNX 1.23 knows.
constexpr int32_t kNewestOpset = 28;

struct Operator {
    std::string name;
    int inputs = 1;
    std::span<const AttributeSchema> schemas;
};

// Those of ONNX's default domain, also such as only old opsets have.
std::vector<Operator> all_operators() {
    std::vector<Operator> operators;
    for (const OpDef* def : all_ops()) {
        if (def->domain.empty()) {
            operators.push_back({std::string(def->name), def->min_inputs, def->attributes});
        }
    }
    for (const std::string_view name : onnx::former_operators()) {
        operators.push_back({std::string(name), 1, *onnx::find_attribute_schemas(name)});
    }
    return operators;
}

// An attribute of a file, of that kind.
std::string encoded(std::string_view attribute, AttributeKind kind) {
    const std::string name(attribute);
    switch (kind) {
        case AttributeKind::kInt:
            return testing::int_attribute(name, 1);
        case AttributeKind::kFloat:
            return testing::float_attribute(name, 1);
        case AttributeKind::kString:
            return testing::text_attribute(name, "FLOAT");
        case AttributeKind::kTensor:
            return testing::attribute(name, 4, bytes(5, testing::raw_tensor<float>("", {1}, {1})));
        case AttributeKind::kInts:
            return testing::ints_attribute(name, {1});
        case AttributeKind::kFloats:
            return testing::attribute(name, 6, testing::fixed32(7, 1));
        case AttributeKind::kStrings:
            return testing::attribute(name, 8, bytes(9, "text"));
        case AttributeKind::kGraph:
            return testing::attribute(name, 5, bytes(6, ""));
        case AttributeKind::kSparseTensor:
            return testing::attribute(name, 11, bytes(22, ""));
        case AttributeKind::kType:
            return testing::attribute(name, 13,
                                      bytes(14, testing::tensor_type(DType::kFloat32, {1})));
        case AttributeKind::kListOfObjects:
            return testing::attribute(name, 9, bytes(10, ""));
    }
    return {};
}
constexpr auto kKindsInFiles = int(AttributeKind::kListOfObjects) + 1;

// Around every place where the operator's attributes change.
std::set<int32_t> opsets_of(const Operator& op) {
    std::set<int32_t> opsets = {1, kNewestOpset};
    for (const AttributeSchema& row : op.schemas) {
        for (const int32_t opset : {row.since - 1, row.since, row.before - 1, row.before}) {
            if (opset >= 1 && opset <= kNewestOpset) {
                opsets.insert(opset);
            }
        }
    }
    return opsets;
}

std::vector<AttributeSchema> rows_in(const Operator& op, int32_t opset) {
    std::vector<AttributeSchema> rows;
    std::copy_if(op.schemas.begin(), op.schemas.end(), std::back_inserter(rows),
                 [opset](const AttributeSchema& row) { return row.is_in(opset); });
    return rows;
}

// An operator as files of an opset have it.
struct Version {
    Operator op;
    int32_t opset = 1;
    std::vector<AttributeSchema> rows;

    // "Split of opset 13"
    std::string label() const { return op.name + " of opset " + std::to_string(opset); }
};
std::vector<Version> all_versions() {
    std::vector<Version> versions;
    for (const Operator& op : all_operators()) {
        for (const int32_t opset : opsets_of(op)) {
            versions.push_back({op, opset, rows_in(op, opset)});
        }
    }
    return versions;
}

std::vector<std::string> operand_names(const Operator& op) {
    std::vector<std::string> names;
    names.reserve(size_t(op.inputs));
    for (int i = 0; i < op.inputs; ++i) {
        names.push_back("x" + std::to_string(i));
    }
    return names;
}

class Files {
  public:
    // What loading says of a file with one node.
    std::string load(const Version& version, const std::string& attributes) const {
        ModelParts parts;
        parts.opset = version.opset;
        const std::vector<std::string> operands = operand_names(version.op);
        for (const std::string& name : operands) {
            parts.inputs.push_back(f32_info(name, {2, 3, 4, 5}));
        }
        parts.nodes = {node(version.op.name, operands, {"y"}, attributes, "n")};
        parts.outputs = {testing::value_info("y", "")};
        return folder_.load(parts).error().message();
    }

  private:
    TemporaryFolder folder_;
};

std::string required_but(const Version& version, std::string_view name) {
    std::string attributes;
    for (const AttributeSchema& row : version.rows) {
        attributes += row.is_required && row.name != name ? encoded(row.name, row.kind) : "";
    }
    return attributes;
}

TEST(OnnxAttributes, AreErrorsWhereTheOperatorHasNoneOfThatName) {
    const Files files;
    for (const Version& version : all_versions()) {
        for (int kind = 0; kind < kKindsInFiles; ++kind) {
            const std::string message = files.load(
                version, required_but(version, "") + encoded("surplus", AttributeKind(kind)));
            ASSERT_THAT(message, AllOf(HasSubstr("node 'n' (" + version.op.name + ")"),
                                       HasSubstr(version.label() + " has no attribute 'surplus'")));
            for (const AttributeSchema& row : version.rows) {
                ASSERT_THAT(message, HasSubstr(std::string(row.name) + " ("));
            }
        }
    }
}

TEST(OnnxAttributes, AreErrorsWhereOnlyAnotherOpsetHasThem) {
    const Files files;
    int count = 0;
    for (const Version& version : all_versions()) {
        for (const AttributeSchema& row : version.op.schemas) {
            const bool is_known =
                std::any_of(version.rows.begin(), version.rows.end(),
                            [&](const AttributeSchema& other) { return other.name == row.name; });
            if (is_known || row.since >= kCanonicalOpset) {
                continue;
            }
            ++count;
            const std::string message =
                files.load(version, required_but(version, "") + encoded(row.name, row.kind));
            const std::string place = row.before <= version.opset
                                          ? "before opset " + std::to_string(row.before)
                                          : "since opset " + std::to_string(row.since);
            ASSERT_THAT(message, AllOf(HasSubstr(version.label() + " has no attribute '" +
                                                 std::string(row.name) + "'"),
                                       HasSubstr(place)));
        }
    }
    EXPECT_GT(count, 100);
}

void expect_one_kind(const Files& files, const Version& version, const AttributeSchema& row) {
    const std::string of_type =
        "attribute '" + std::string(row.name) + "' has the wrong type for " + version.label();
    const std::string needed = "needed " + std::string(name_of(row.kind));
    for (int kind = 0; kind < kKindsInFiles; ++kind) {
        const std::string message = files.load(
            version, required_but(version, row.name) + encoded(row.name, AttributeKind(kind)));
        if (AttributeKind(kind) == row.kind) {
            ASSERT_THAT(message, Not(AnyOf(HasSubstr("wrong type"), HasSubstr("has no attribute"),
                                           HasSubstr("is missing from"))));
        } else {
            ASSERT_THAT(message,
                        AllOf(HasSubstr("node 'n'"), HasSubstr(of_type), HasSubstr(needed)));
        }
    }
}

TEST(OnnxAttributes, AreErrorsWhereTheyHaveAnotherType) {
    const Files files;
    for (const Version& version : all_versions()) {
        for (const AttributeSchema& row : version.rows) {
            expect_one_kind(files, version, row);
        }
    }
}

TEST(OnnxAttributes, AreErrorsWhereARequiredOneIsMissing) {
    const Files files;
    int count = 0;
    for (const Version& version : all_versions()) {
        for (const AttributeSchema& row : version.rows) {
            if (row.is_required) {
                ++count;
                ASSERT_THAT(files.load(version, required_but(version, row.name)),
                            HasSubstr("attribute '" + std::string(row.name) + "' is missing from " +
                                      version.label()));
            }
        }
    }
    EXPECT_GT(count, 30);
}

ModelParts leaky_model(const std::string& attributes) {
    ModelParts parts;
    parts.nodes = {node("LeakyRelu", {"x"}, {"y"}, attributes, "n")};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    return parts;
}
std::string error_of(const ModelParts& parts) {
    return TemporaryFolder().load(parts).error().message();
}

TEST(OnnxAttributes, WithoutTypeFieldHaveThatOfTheirValue) {
    ModelParts parts = leaky_model(bytes(5, bytes(1, "alpha") + testing::fixed32(2, 0.5F)));
    parts.ir_version = 1;
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(graph->data().nodes[0].attr("alpha", 0.0F), 0.5F);
    parts.nodes = {node("LeakyRelu", {"x"}, {"y"}, bytes(5, bytes(1, "alpha") + number(3, 1)))};
    EXPECT_THAT(error_of(parts), HasSubstr("found int; needed float"));
    // A name alone sets nothing, but has to be one.
    parts.nodes = {node("LeakyRelu", {"x"}, {"y"}, bytes(5, bytes(1, "alpha")))};
    EXPECT_EQ(error_of(parts), Status().message());
    parts.nodes = {node("LeakyRelu", {"x"}, {"y"}, bytes(5, bytes(1, "alfa")))};
    EXPECT_THAT(error_of(parts), HasSubstr("'alfa'"));
}

// The type says which field counts; the value stands in another one.
TEST(OnnxAttributes, WithAValueOfAnotherTypeThanTheySayAreErrors) {
    EXPECT_THAT(error_of(leaky_model(testing::attribute("alpha", 1, number(3, 1)))),
                AllOf(HasSubstr("'alpha'"), HasSubstr("found int; needed float")));
    EXPECT_THAT(error_of(leaky_model(testing::attribute("alpha", 2, testing::fixed32(2, 1)))),
                HasSubstr("found float; needed int"));
    // The default may be left out.
    EXPECT_EQ(error_of(leaky_model(testing::attribute("alpha", 1, ""))), Status().message());
}

TEST(OnnxAttributes, OfImplementationsAreIgnored) {
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(leaky_model(testing::int_attribute("__stream", 1)));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_TRUE(graph->data().nodes[0].attributes.empty());
    EXPECT_THAT(error_of(leaky_model(testing::int_attribute("_stream", 1))),
                HasSubstr("'_stream'"));
}

TEST(OnnxAttributes, AskForWorkInPlaceBeforeOpset6) {
    ModelParts parts = leaky_model(testing::ints_attribute("consumed_inputs", {0}));
    parts.opset = 5;
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_TRUE(graph->data().nodes[0].attributes.empty());
    parts.opset = 6;
    EXPECT_THAT(error_of(parts), HasSubstr("'consumed_inputs'"));
}

TEST(OnnxAttributes, OfAConstantAreOne) {
    ModelParts parts = leaky_model("");
    const std::string value = testing::float_attribute("value_float", 1);
    const auto with = [&](const std::string& attributes, int64_t opset) {
        parts.opset = opset;
        parts.nodes = {node("Constant", {}, {"c"}, attributes),
                       node("Add", {"x", "c"}, {"y"}, {}, "n")};
        return error_of(parts);
    };
    EXPECT_EQ(with(value, 13), Status().message());
    EXPECT_THAT(with(value, 11), HasSubstr("'value_float' is an attribute since opset 12"));
    EXPECT_THAT(with(value + testing::int_attribute("value_int", 1), 13),
                HasSubstr("found 1 outputs, 2 attributes"));
    EXPECT_THAT(with("", 13), HasSubstr("found 1 outputs, 0 attributes"));
    EXPECT_THAT(with(testing::float_attribute("valve", 1), 13), HasSubstr("'valve'"));
}

// f.Scale(a; alpha) -> b:  b = LeakyRelu(a; alpha)
std::string scale_function(int64_t opset, const std::string& body_attributes) {
    return bytes(25, bytes(1, "Scale") + bytes(10, "f") + bytes(4, "a") + bytes(5, "b") +
                         bytes(7, node("LeakyRelu", {"a"}, {"b"}, body_attributes, "leaky")) +
                         bytes(9, number(2, opset)));
}

TEST(OnnxAttributes, OfFunctionsAreCheckedWhereTheyAreUsed) {
    ModelParts parts = leaky_model("");
    const auto call = [&](const std::string& attributes) {
        parts.nodes = {node("Scale", {"x"}, {"y"}, attributes, "call") + bytes(7, "f")};
        return error_of(parts);
    };
    const std::string reference = testing::ref_attribute("alpha", "slope", 1);
    parts.more_model = scale_function(13, reference);
    EXPECT_EQ(call(""), Status().message());
    EXPECT_EQ(call(testing::float_attribute("slope", 2)), Status().message());
    EXPECT_THAT(call(testing::int_attribute("slope", 2)),
                AllOf(HasSubstr("'leaky'"),
                      HasSubstr("'alpha' has the wrong type for LeakyRelu of opset 13"),
                      HasSubstr("found int; needed float")));
    EXPECT_THAT(call(testing::float_attribute("alpha", 2)),
                AllOf(HasSubstr("'call'"), HasSubstr("function 'Scale' has no attribute 'alpha'"),
                      HasSubstr("one of: slope")));
    // By the opset of the function, not of the model.
    const std::string hint = testing::ints_attribute("consumed_inputs", {0});
    parts.more_model = scale_function(5, hint);
    EXPECT_EQ(call(""), Status().message());
    parts.more_model = scale_function(13, hint);
    EXPECT_THAT(call(""), HasSubstr("'consumed_inputs'"));
}

}  // namespace
}  // namespace leat
