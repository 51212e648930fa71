// Every operand that decides a shape may be computed by the run: each case of each operator with
// OpDef::shape_inputs, with these operands behind nodes that no plan can see through, gives the
// bits that it gives with constants. Graphs are cut, and what follows has shapes that the run
// finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/case_inputs.h"
#include "conformance/op_difference.h"
#include "conformance/op_run.h"
#include "graph/inference.h"
#include "leat/leat.h"
#include "support/compiled_routes.h"
#include "support/saved_graphs.h"

namespace leat::testing {
namespace {

using ::testing::IsEmpty;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::truth;

Tensor list(const Ints& elements) {
    return *Tensor::from<int64_t>({int64_t(elements.size())}, elements);
}

// How the run computes an operand that it is given.
enum class Way : uint8_t {
    kGiven,     // not at all: it is an input of the graph
    kProduct,   // its shape is known, not its elements
    kCompress,  // not even its length
    kLoop,      // a step of its own, in which it grows element by element
    kBranch,    // a branch of which the other one has another rank, or length
};
constexpr std::array kWays = {Way::kProduct, Way::kCompress, Way::kLoop, Way::kBranch};

const char* name_of(Way way) {
    constexpr std::array kNames = {"nothing", "product", "compress", "loop", "branch"};
    return kNames.at(size_t(way));
}

constexpr const char* kVulkan = "vulkan:0,cpu";

// Elements of nothing but ones. Rank and unknown extents keep it out of the key of a plan.
constexpr const char* kOnes = "ones";

struct ComputedCase {
    OpCase op_case;
    std::vector<Tensor> operands;  // undefined where absent
    uint32_t deciding = 0;         // those of OpDef::shape_inputs that are there

    bool decides(size_t i) const { return i < 32 && (deciding >> i & 1U) != 0; }
};

// By input; none: it is a constant, if it decides.
using Ways = std::vector<std::optional<Way>>;

// A graph of one case.
class CaseGraph {
  public:
    // is_open: inputs have a rank and no extents, so that one graph is that of several cases.
    CaseGraph(const ComputedCase& computed, Ways ways, bool is_open)
        : case_(computed), ways_(std::move(ways)), is_open_(is_open) {
        std::vector<ValueId> operands;
        for (size_t i = 0; i < case_.operands.size(); ++i) {
            operands.push_back(case_.operands[i].defined() ? operand(i) : ValueId{});
        }
        Attributes attributes = case_.op_case.attributes;
        if (case_.op_case.op_type == "Split" && operands.size() == 1) {
            attributes.emplace("num_outputs", int64_t{case_.op_case.output_count});
        }
        const std::vector<ValueId> results =
            graph_.add_multi(case_.op_case.op_type, operands, case_.op_case.output_count,
                             std::move(attributes), "node");
        for (size_t i = 0; i < results.size(); ++i) {
            add_outputs(i, results[i]);
        }
    }

    const Graph& graph() const { return graph_; }
    const NamedTensors& inputs() const { return inputs_; }

  private:
    ValueId input(const std::string& name, const Tensor& tensor, bool is_open) {
        std::vector<DimSpec> dims(tensor.shape().begin(), tensor.shape().end());
        if (is_open) {
            dims.assign(dims.size(), DimSpec::unknown());
        }
        inputs_[name] = tensor;
        return graph_.input(name, tensor.dtype(), dims);
    }

    ValueId operand(size_t i) {
        const Tensor& tensor = case_.operands[i];
        const std::string name = fmt::format("in{}", i);
        const std::optional<Way> way = ways_[i];
        if (!way) {
            const bool is_constant = case_.decides(i) || case_.op_case.inputs[i].constant;
            return is_constant && !(is_open_ && !case_.decides(i)) ? graph_.constant(name, tensor)
                                                                   : input(name, tensor, is_open_);
        }
        const ValueId given = input(name, tensor, is_open_);
        switch (*way) {
            case Way::kGiven:
                return given;
            case Way::kProduct:
                return product(given, tensor.dtype());
            case Way::kCompress:
                return compressed(given, name, tensor);
            case Way::kLoop:
                return looped(given, name, tensor);
            default:
                return branch(given, tensor);
        }
    }

    ValueId constant_ints(const char* name, const Ints& elements) {
        const auto [at, is_new] = constants_.try_emplace(name);
        if (is_new) {
            at->second = graph_.constant(name, list(elements));
        }
        return at->second;
    }

    // 1 of that type, which no plan knows.
    ValueId one(DType dtype) {
        if (!one_.valid()) {
            const Tensor ones = *Tensor::from<float>({2, 3}, std::vector<float>(6, 1));
            one_ = graph_.add("ReduceMax", {input(kOnes, ones, true)}, {{"keepdims", int64_t{0}}});
        }
        return graph_.add("Cast", {one_}, {{"to", int64_t(dtype)}});
    }

    ValueId product(ValueId given, DType dtype) {
        return graph_.add(dtype == DType::kBool ? "And" : "Mul", {given, one(dtype)});
    }

    ValueId scalar_of(ValueId list, const Tensor& tensor) {
        return tensor.shape().rank() > 0
                   ? list
                   : graph_.add("Reshape", {list, constant_ints("no_extents", {})});
    }

    ValueId compressed(ValueId given, const std::string& name, const Tensor& tensor) {
        Tensor all = *Tensor::allocate(DType::kBool, {tensor.element_count(), 1});
        std::fill_n(all.mutable_bytes(), all.byte_count(), std::byte{1});
        const ValueId condition =
            graph_.add("Reshape", {input(name + ".all", all, true), constant_ints("flat", {-1})});
        const ValueId flat = tensor.shape().rank() > 0
                                 ? given
                                 : graph_.add("Reshape", {given, constant_ints("one_extent", {1})});
        return scalar_of(graph_.add("Compress", {flat, condition}), tensor);
    }

    // v = concat(v, operand[i]) from nothing on.
    ValueId looped(ValueId given, const std::string& name, const Tensor& tensor) {
        const ValueId flat = tensor.shape().rank() > 0
                                 ? given
                                 : graph_.add("Reshape", {given, constant_ints("one_extent", {1})});
        const ValueId nothing =
            graph_.constant(name + ".nothing", *Tensor::allocate(tensor.dtype(), {0}));
        const ValueId count = input(name + ".count", number(tensor.element_count()), is_open_);
        Graph body("body");
        const ValueId i = body.input("i", DType::kInt64, {});
        const ValueId goes_on = body.input("goes_on", DType::kBool, {});
        const ValueId v = body.input("v", tensor.dtype(), {DimSpec::unknown()});
        const ValueId axes = body.constant("axes", list({0}));
        const ValueId next =
            body.add("Gather", {body.capture(graph_, flat), body.add("Unsqueeze", {i, axes})});
        body.output("goes_on_out", body.add("Identity", {goes_on}));
        body.output("v_out", body.add("Concat", {v, next}, {{"axis", int64_t{0}}}));
        return scalar_of(graph_.loop(count, ValueId{}, {nothing}, std::move(body))[0], tensor);
    }

    ValueId branch(ValueId given, const Tensor& tensor) {
        Graph taken("taken");
        taken.output("t", taken.add("Identity", {taken.capture(graph_, given)}));
        Graph other("other");
        const ValueId same = other.capture(graph_, given);
        if (tensor.shape().rank() > 0) {
            other.output("e", other.add("Concat", {same, same}, {{"axis", int64_t{0}}}));
        } else {
            const ValueId axes = other.constant("axes", list({0}));
            other.output("e", other.add("Unsqueeze", {same, axes}));
        }
        return graph_.if_(one(DType::kBool), std::move(taken), std::move(other))[0];
    }

    // The result, and what reads its shape and its elements.
    void add_outputs(size_t i, ValueId result) {
        graph_.output(fmt::format("y{}", i), result);
        graph_.output(fmt::format("shape{}", i), graph_.add("Shape", {result}));
        const ValueId flat = graph_.add("Reshape", {result, constant_ints("flat", {-1})});
        graph_.output(fmt::format("twice{}", i),
                      graph_.add("Concat", {flat, flat}, {{"axis", int64_t{0}}}));
    }

    const ComputedCase& case_;
    const Ways ways_;
    const bool is_open_;
    Graph graph_{"case"};
    NamedTensors inputs_;
    std::map<std::string, ValueId> constants_;
    ValueId one_;
};

// A body that carries a sum and stacks what it was before. The other deciding operand, the
// condition, is the body's first result, too.
OpCase loop_case(const char* name, int64_t count, bool condition) {
    Graph body("body");
    body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId v = body.input("v", DType::kFloat32, {2});
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    body.output("sum", body.add("Add", {v, v}));
    body.output("former", body.add("Neg", {v}));
    CaseInput is_on;
    is_on.dtype = DType::kBool;
    is_on.value = truth(condition);
    OpCase loop = make_case(
        "Loop", name, {given_input<int64_t>({}, {count}), is_on, given_input<float>({2}, {1, -3})},
        {{"body", std::move(body)}});
    loop.output_count = 2;
    return loop;
}

// Those of operators of which values of operands decide shapes, where there are such operands.
std::vector<ComputedCase> computed_cases() {
    std::vector<OpCase> cases = all_cases();
    cases.push_back(loop_case("three", 3, true));
    cases.push_back(loop_case("none", 0, true));
    cases.push_back(loop_case("never", 3, false));
    std::vector<ComputedCase> computed;
    for (OpCase& op_case : cases) {
        const OpDef* const def = find_op("", op_case.op_type);
        if (def == nullptr || def->shape_inputs == 0) {
            continue;
        }
        ComputedCase found{op_case, {}, 0};
        Result<std::vector<Tensor>> inputs = inputs_of(op_case);
        EXPECT_TRUE(inputs.ok()) << op_case.name;
        found.operands = *std::move(inputs);
        for (size_t i = 0; i < found.operands.size() && i < 32; ++i) {
            const bool decides = (def->shape_inputs >> i & 1U) != 0;
            found.deciding |= decides && found.operands[i].defined() ? 1U << i : 0U;
        }
        if (found.deciding != 0) {
            computed.push_back(std::move(found));
        }
    }
    return computed;
}

// Computed where `mask` says so.
Ways ways_of(const ComputedCase& computed, Way way, uint32_t mask) {
    Ways ways(computed.operands.size());
    for (size_t i = 0; i < ways.size() && i < 32; ++i) {
        if ((computed.deciding & mask & 1U << i) != 0) {
            ways[i] = way;
        }
    }
    return ways;
}

// True if types alone say the shapes of the results: no cut is needed before the node.
bool is_determined(const ComputedCase& computed, uint32_t mask, bool is_open) {
    const CaseGraph given(computed, ways_of(computed, Way::kGiven, mask), is_open);
    const GraphData& graph = given.graph().data();
    const Result<std::vector<ValueFact>> facts = infer_graph(graph, {}, {});
    EXPECT_TRUE(facts.ok()) << facts.error().message();
    return std::none_of(graph.outputs.begin(), graph.outputs.end(), [&](ValueId id) {
        return !facts.ok() || !(*facts)[size_t(id.index)].type.fixed_shape();
    });
}

// Where no plan can have the node's operands, the graph is cut.
void expect_cut(const CompiledGraph& compiled, bool is_needed, const std::string& what) {
    const size_t segments = compiled.report().segments.size();
    EXPECT_TRUE(segments > 1 || !is_needed) << what << ": " << segments;
}

class ComputedOperands : public ::testing::TestWithParam<const char*> {
  protected:
    ComputedOperands() {
        options_.devices = GetParam();
        options_.fallback = Fallback::kAllow;
    }

    void SetUp() override {
        Graph graph("probe");
        graph.output("y", graph.add("Neg", {graph.input("x", DType::kFloat32, {2})}));
        const Result<CompiledGraph> probe = runtime_.compile(graph, options_);
        if (!probe.ok()) {
            ASSERT_EQ(options_.devices, kVulkan) << probe.error().message();
            GTEST_SKIP() << probe.error().message();
        }
    }
    bool is_host() const { return options_.devices == "cpu" || options_.devices == "reference"; }
    // Devices know no more of bodies than of other nodes that they refuse.
    std::span<const Way> ways() const {
        return std::span(kWays).first(is_host() ? kWays.size() : 2);
    }

    // By name.
    static Result<NamedTensors> results(Request& request,
                                        const CompiledGraph& compiled,
                                        const NamedTensors& inputs);
    static Result<NamedTensors> results(const CompiledGraph& compiled, const NamedTensors& inputs);
    // Of the case with constants, in a graph that is not cut.
    Result<NamedTensors> results_with_constants(const ComputedCase& computed);
    void expect_same(const ComputedCase& computed,
                     const Result<NamedTensors>& got,
                     const NamedTensors& want,
                     const std::string& what) const;
    void check(const ComputedCase& computed, Way way, uint32_t mask, const NamedTensors& want);
    void check_group(const std::vector<const ComputedCase*>& group, Way way);

    Runtime runtime_{with_built_backends(2)};
    CompileOptions options_;
};

Result<NamedTensors> ComputedOperands::results(Request& request,
                                               const CompiledGraph& compiled,
                                               const NamedTensors& inputs) {
    LEAT_RETURN_IF_ERROR(bind_all(request, inputs));
    LEAT_RETURN_IF_ERROR(request.run());
    NamedTensors results;
    for (const ValueInfo& info : compiled.outputs()) {
        LEAT_ASSIGN_OR_RETURN(const Value value, request.output(info.name));
        results[info.name] = own_copy(value.tensor());
    }
    return results;
}

Result<NamedTensors> ComputedOperands::results(const CompiledGraph& compiled,
                                               const NamedTensors& inputs) {
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    return results(request, compiled, inputs);
}

Result<NamedTensors> ComputedOperands::results_with_constants(const ComputedCase& computed) {
    const CaseGraph plain(computed, Ways(computed.operands.size()), false);
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime_.compile(plain.graph(), options_));
    EXPECT_THAT(compiled.report().segments, IsEmpty());
    return results(compiled, plain.inputs());
}

void ComputedOperands::expect_same(const ComputedCase& computed,
                                   const Result<NamedTensors>& got,
                                   const NamedTensors& want,
                                   const std::string& what) const {
    ASSERT_TRUE(got.ok()) << what << ": " << got.error().message();
    for (const auto& [name, tensor] : want) {
        const Tensor& own = got->at(name);
        const bool is_same = bitwise_equal(own, tensor);
        // There are fewer constants for passes that choose other kernels: means over axes become
        // a pool, and shaders of the two add in another order.
        const bool is_near = options_.devices == kVulkan && own.dtype() == tensor.dtype() &&
                             own.shape() == tensor.shape() &&
                             difference(own, tensor, computed.op_case).empty();
        EXPECT_TRUE(is_same || is_near)
            << what << ": " << name << " is " << leat::name_of(own.dtype()) << "["
            << own.shape().to_string() << "] with other bits than with constants, "
            << leat::name_of(tensor.dtype()) << "[" << tensor.shape().to_string() << "]";
    }
}

void ComputedOperands::check(const ComputedCase& computed,
                             Way way,
                             uint32_t mask,
                             const NamedTensors& want) {
    const std::string what =
        fmt::format("{}, operands {:b} by {}", computed.op_case.name, mask, name_of(way));
    const CaseGraph cut(computed, ways_of(computed, way, mask), false);
    const Result<CompiledGraph> compiled = runtime_.compile(cut.graph(), options_);
    ASSERT_TRUE(compiled.ok()) << what << ": " << compiled.error().message();
    // These ways know the shape of the operand where it is that of the input.
    const bool knows_shape = way == Way::kProduct || way == Way::kBranch;
    expect_cut(*compiled, !knows_shape || !is_determined(computed, mask, false), what);
    expect_same(computed, results(*compiled, cut.inputs()), want, what);
}

TEST_P(ComputedOperands, GiveTheBitsOfConstants) {
    for (const ComputedCase& computed : computed_cases()) {
        const Result<NamedTensors> want = results_with_constants(computed);
        ASSERT_TRUE(want.ok()) << computed.op_case.name << ": " << want.error().message();
        for (const Way way : ways()) {
            check(computed, way, computed.deciding, *want);
        }
        for (uint32_t rest = computed.deciding; rest != 0; rest &= rest - 1) {
            const uint32_t alone = rest & ~(rest - 1);
            if (alone != computed.deciding) {
                check(computed, Way::kProduct, alone, *want);
                check(computed, Way::kCompress, alone, *want);
            }
        }
    }
}

// One compiled graph, one request: another case in each run.
void ComputedOperands::check_group(const std::vector<const ComputedCase*>& group, Way way) {
    const ComputedCase& first = *group.front();
    const CaseGraph cut(first, ways_of(first, way, first.deciding), true);
    const Result<CompiledGraph> compiled = runtime_.compile(cut.graph(), options_);
    ASSERT_TRUE(compiled.ok()) << first.op_case.name << ": " << compiled.error().message();
    expect_cut(*compiled, way != Way::kProduct || !is_determined(first, first.deciding, true),
               first.op_case.name);
    Result<Request> request = compiled->make_request();
    ASSERT_TRUE(request.ok()) << request.error().message();
    for (const ComputedCase* computed : group) {
        const CaseGraph own(*computed, ways_of(*computed, way, computed->deciding), true);
        const Result<NamedTensors> want = results_with_constants(*computed);
        ASSERT_TRUE(want.ok()) << want.error().message();
        expect_same(*computed, results(*request, *compiled, own.inputs()), *want,
                    fmt::format("{} in one graph with {}, by {}", computed->op_case.name,
                                first.op_case.name, name_of(way)));
    }
}

TEST_P(ComputedOperands, DifferInEachRunOfOneGraph) {
    const std::vector<ComputedCase> cases = computed_cases();
    for (const Way way : ways()) {
        std::map<std::string, std::vector<const ComputedCase*>> groups;  // by text of the graph
        for (const ComputedCase& computed : cases) {
            const CaseGraph open(computed, ways_of(computed, way, computed.deciding), true);
            groups[open.graph().to_text()].push_back(&computed);
        }
        for (auto& [text, group] : groups) {
            group.push_back(group.front());
            check_group(group, way);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Backends,
                         ComputedOperands,
                         ::testing::Values("cpu", "reference", "sim,cpu", kVulkan),
                         [](const auto& info) {
                             const std::string list = info.param;
                             return list.substr(0, list.find_first_of(":,"));
                         });

TEST(ComputedOperandCases, AreThereForEachOperator) {
    std::map<std::string, uint32_t> covered;
    for (const ComputedCase& computed : computed_cases()) {
        covered[computed.op_case.op_type] |= computed.deciding;
    }
    for (const OpDef* def : all_ops()) {
        const uint32_t wanted = def->shape_inputs;
        EXPECT_EQ(covered[std::string(def->name)] & wanted, wanted)
            << def->name << ": operands of which elements decide shapes, and no case has some";
    }
}

std::string text_of_elements(const ComputedCase& computed) {
    std::string text;
    for (size_t i = 0; i < computed.operands.size(); ++i) {
        const Tensor& tensor = computed.operands[i];
        if (computed.decides(i)) {
            text += fmt::format("{}:", tensor.shape().to_string());
            text.append(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
        }
    }
    return text;
}

// Else DifferInEachRunOfOneGraph says nothing about the operator.
TEST(ComputedOperandCases, DifferForEachOperator) {
    std::map<std::string, std::set<std::string>> elements;  // by graph
    std::map<std::string, size_t> most;                     // by operator
    for (const ComputedCase& computed : computed_cases()) {
        const CaseGraph open(computed, ways_of(computed, Way::kLoop, computed.deciding), true);
        std::set<std::string>& own = elements[open.graph().to_text()];
        own.insert(text_of_elements(computed));
        size_t& count = most[computed.op_case.op_type];
        count = std::max(count, own.size());
    }
    for (const auto& [op_type, count] : most) {
        EXPECT_GT(count, 1U) << op_type << ": no two cases that differ in deciding operands alone";
    }
}

}  // namespace
}  // namespace leat::testing
