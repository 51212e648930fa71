// Of the outputs of a node some are read, others are named and nobody reads them, have no name, or
// are known before the run: the bits of those that are read stay the same, in each way to make a
// graph and on each backend. Where the standard wants a name, none is an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "conformance/op_run.h"
#include "support/compiled_routes.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Use : uint8_t { kRead, kUnread, kUnnamed };
constexpr int kUseCount = 3;

constexpr int64_t kOpset = 21;
constexpr int kMostOutputs = 4;
constexpr const char* kAnchor = "anchor";  // an output that is always there

std::string output_name(int i) {
    return "out" + std::to_string(i);
}

// Assignment `number` of all of them: a digit for each output.
std::vector<Use> uses_of(int number, int outputs) {
    std::vector<Use> uses;
    for (int i = 0; i < outputs; ++i, number /= kUseCount) {
        uses.push_back(Use(number % kUseCount));
    }
    return uses;
}

int assignment_count(int choices, int outputs) {
    int count = 1;
    for (int i = 0; i < outputs; ++i) {
        count *= choices;
    }
    return count;
}

std::string text_of(const std::vector<Use>& uses) {
    std::string text;
    for (const Use use : uses) {
        text += use == Use::kRead ? "read " : use == Use::kUnread ? "unread " : "unnamed ";
    }
    return text;
}

// A node with operands.
struct Subject {
    std::string name;
    std::string op_type;
    TensorsByName inputs;               // by "in0", "in1"; absent ones left out
    std::vector<std::string> operands;  // names of inputs, "" where absent
    std::set<std::string> constants;    // of the inputs
    Attributes attributes = {};
    int outputs = 1;
    uint32_t named = 0b1;  // bit i: output i needs a name
    uint32_t open = 0;     // bit i: only a run knows the shape of output i
};

// folded: all inputs are constants, and so are the results.
NamedModel model_of(const Subject& subject, const std::vector<Use>& uses, bool folded) {
    NamedModel model;
    for (const auto& [name, tensor] : subject.inputs) {
        if (folded || subject.constants.count(name) != 0) {
            model.constants.emplace_back(name, tensor);
        } else {
            model.inputs.push_back(
                {name, tensor.dtype(), {tensor.shape().begin(), tensor.shape().end()}});
        }
    }
    model.nodes = {{subject.op_type, subject.operands, {}, subject.attributes},
                   {"Identity", {"in0"}, {kAnchor}}};
    for (int i = 0; i < subject.outputs; ++i) {
        const Use use = uses[size_t(i)];
        model.nodes.front().outputs.push_back(use == Use::kUnnamed ? "" : output_name(i));
        if (use != Use::kRead) {
            continue;
        }
        // The graph reads the even ones itself, and other nodes the odd ones. A node could not read
        // what has no shape before the run.
        const bool is_for_graph = i % 2 == 0 || (subject.open >> i & 1U) != 0;
        const std::string read = is_for_graph ? output_name(i) : output_name(i) + "_read";
        if (!is_for_graph) {
            model.nodes.push_back({"Identity", {output_name(i)}, {read}});
        }
        model.outputs.push_back(read);
    }
    model.outputs.emplace_back(kAnchor);
    return model;
}

Subject subject_of(const OpCase& op_case, const PreparedCase& prepared) {
    Subject subject;
    subject.name = op_case.name;
    subject.op_type = op_case.op_type;
    for (size_t i = 0; i < op_case.inputs.size(); ++i) {
        const std::string name = op_case.inputs[i].absent ? "" : "in" + std::to_string(i);
        subject.operands.push_back(name);
        if (!name.empty()) {
            subject.inputs.emplace(name, prepared.inputs()[i]);
        }
        if (op_case.inputs[i].constant) {
            subject.constants.insert(name);
        }
    }
    subject.attributes = op_case.attributes;
    if (op_case.op_type == "Split" && op_case.inputs.size() == 1) {
        subject.attributes.emplace("num_outputs", int64_t{op_case.output_count});
    }
    subject.outputs = op_case.output_count;
    subject.named = prepared.def().named_outputs;
    subject.open = open_outputs_of(prepared.node());
    return subject;
}

// Zeros of both signs, of which a kernel may take either: it has to be the same one.
Subject pool_of_zeros() {
    std::vector<float> elements;
    constexpr int kElements = 2 * 37 * 3;
    elements.reserve(kElements);
    for (int i = 0; i < kElements; ++i) {
        elements.push_back((i * 7 + i / 5) % 3 == 0 ? 0.0F : (i % 4 == 0 ? -1.0F : -0.0F));
    }
    const std::vector<int64_t> kernel = {2, 3};
    return {"MaxPool/zeros",
            "MaxPool",
            {{"in0", *Tensor::from<float>({1, 2, 37, 3}, elements)}},
            {"in0"},
            {},
            {{"kernel_shape", kernel}, {"strides", kernel}},
            2,
            0b1};
}

// Some cases of each operator that may have several outputs.
std::vector<Subject> subjects_of_cases() {
    constexpr size_t kMostCases = 4;
    std::map<std::string, std::vector<Subject>> by_operator;
    for (const OpDef* def : all_ops()) {
        // Bodies make graphs of their cases: tests/unit/control_flow_test.cpp leaves outputs out.
        if (def->max_outputs != 1 && def->iterations == nullptr) {
            const std::string prefix = def->domain.empty() ? "" : std::string(def->domain) + ".";
            by_operator[prefix + std::string(def->name)];
        }
    }
    for (const OpCase& op_case : all_cases()) {
        const auto found = by_operator.find(op_case.op_type);
        if (found != by_operator.end() && op_case.output_count > 1 &&
            op_case.output_count <= kMostOutputs) {
            const auto prepared = PreparedCase::make(op_case);
            EXPECT_TRUE(prepared.ok()) << op_case.name;
            found->second.push_back(subject_of(op_case, **prepared));
        }
    }
    std::vector<Subject> subjects;
    for (auto& [op_type, own] : by_operator) {
        EXPECT_FALSE(own.empty()) << op_type << " may have several outputs, and no case has them";
        // Evenly spread over all.
        const size_t count = std::min(own.size(), kMostCases);
        for (size_t i = 0; i < count; ++i) {
            subjects.push_back(std::move(own[i * own.size() / count]));
        }
    }
    subjects.push_back(pool_of_zeros());
    return subjects;
}

Status infer_fan(OperatorInference& inference) {
    for (int i = 0; i < inference.output_count(); ++i) {
        inference.set_output(i, inference.dtype(0), inference.dims(0));
    }
    return {};
}

Status run_fan(const KernelCall& call) {
    const auto x = call.inputs[0].elements<float>();
    for (size_t i = 0; i < call.outputs.size(); ++i) {
        if (call.outputs[i].present()) {
            std::transform(x.begin(), x.end(), call.outputs[i].mutable_elements<float>().begin(),
                           [i](float element) { return element + float(i); });
        }
    }
    return {};
}

// y_i = x + i, any number of them.
CustomOperator fan_operator() {
    CustomOperator fan;
    fan.domain = "acme";
    fan.name = "Fan";
    fan.inputs = {{.name = "x", .dtypes = {DType::kFloat32}}};
    fan.outputs = {{.name = "y", .is_variadic = true}};
    fan.infer = infer_fan;
    fan.kernels["cpu"] = {.run = run_fan};
    return fan;
}

// The same with three outputs, of which the second is optional.
CustomOperator trio_operator() {
    CustomOperator trio = fan_operator();
    trio.name = "Trio";
    trio.outputs = {{.name = "a"}, {.name = "b", .is_optional = true}, {.name = "c"}};
    return trio;
}

std::vector<Subject> custom_subjects() {
    const Tensor x = *Tensor::from<float>({2, 3}, std::vector<float>{0, -1, 2, -3, 4, -5});
    return {{"acme/Fan", "acme.Fan", {{"in0", x}}, {"in0"}, {}, {}, 4, 0b0},
            {"acme/Trio", "acme.Trio", {{"in0", x}}, {"in0"}, {}, {}, 3, 0b101}};
}

struct Pieces;

class AbsentOutputs : public ::testing::TestWithParam<std::string> {
  protected:
    AbsentOutputs() : runtime_(with_built_backends(2)) {
        EXPECT_TRUE(runtime_.register_operator(fan_operator()).ok());
        EXPECT_TRUE(runtime_.register_operator(trio_operator()).ok());
        options_.devices = GetParam();
        options_.fallback = Fallback::kForbid;
    }
    void SetUp() override {
        Graph graph("probe");
        graph.output("y", graph.add("Neg", {graph.input("x", DType::kFloat32, {2})}));
        const Result<CompiledGraph> probe = runtime_.compile(graph, options_);
        if (!probe.ok()) {
            ASSERT_EQ(GetParam(), "vulkan") << probe.error().message();
            GTEST_SKIP() << probe.error().message();
        }
    }
    bool is_host() const { return GetParam() == "cpu" || GetParam() == "reference"; }

    void check_error(const Subject& subject, const std::vector<Use>& uses, bool folded);
    void check_subject(const Subject& subject, bool folded);
    void check_pieces(const Pieces& pieces, const std::string& assignment);

    Runtime runtime_;
    CompileOptions options_;
    ScratchFolder folder_;
    int checked_ = 0;  // subjects
};

bool lacks_a_name(const Subject& subject, const std::vector<Use>& uses) {
    for (size_t i = 0; i < uses.size(); ++i) {
        if (uses[i] == Use::kUnnamed && (subject.named >> i & 1U) != 0) {
            return true;
        }
    }
    return false;
}

void AbsentOutputs::check_error(const Subject& subject, const std::vector<Use>& uses, bool folded) {
    const std::string op = subject.op_type.substr(subject.op_type.rfind('.') + 1);
    const NamedModel model = model_of(subject, uses, folded);
    for (const Route& route : compile_by_all_routes(runtime_, model, options_, kOpset, folder_)) {
        ASSERT_FALSE(route.compiled.ok())
            << subject.name << ", " << route.name << ": " << text_of(uses);
        EXPECT_THAT(route.compiled.error().message(), AllOf(HasSubstr(op), HasSubstr("output ")));
    }
}

void AbsentOutputs::check_subject(const Subject& subject, bool folded) {
    const std::vector<Use> all_read(size_t(subject.outputs), Use::kRead);
    const Result<CompiledGraph> whole =
        runtime_.compile(graph_of(model_of(subject, all_read, folded)), options_);
    if (!whole.ok() && !is_host()) {
        return;  // the device has no kernel
    }
    ASSERT_TRUE(whole.ok()) << subject.name << ": " << whole.error().message();
    const Result<TensorsByName> want = outputs_of(*whole, subject.inputs);
    ASSERT_TRUE(want.ok()) << subject.name << ": " << want.error().message();
    ++checked_;
    for (int a = 0; a < assignment_count(kUseCount, subject.outputs); ++a) {
        const std::vector<Use> uses = uses_of(a, subject.outputs);
        if (lacks_a_name(subject, uses)) {
            check_error(subject, uses, folded);
            continue;
        }
        const NamedModel model = model_of(subject, uses, folded);
        for (const Route& route :
             compile_by_all_routes(runtime_, model, options_, kOpset, folder_)) {
            const std::string what = subject.name + ", " + route.name + ": " + text_of(uses);
            ASSERT_TRUE(route.compiled.ok()) << what << route.compiled.error().message();
            const Result<TensorsByName> got = outputs_of(*route.compiled, subject.inputs);
            ASSERT_TRUE(got.ok()) << what << got.error().message();
            ASSERT_EQ(got->size(), model.outputs.size()) << what;
            for (const auto& [name, tensor] : *got) {
                EXPECT_TRUE(bitwise_equal(tensor, want->at(name))) << what << ": " << name;
            }
        }
    }
}

TEST_P(AbsentOutputs, LeaveTheOthersAsTheyAre) {
    for (const Subject& subject : subjects_of_cases()) {
        for (const bool folded : {false, true}) {
            check_subject(subject, folded);
        }
    }
    EXPECT_GT(checked_, 10);
}

TEST_P(AbsentOutputs, LeaveTheOthersAsTheyAreWithoutPasses) {
    if (!is_host()) {
        GTEST_SKIP() << "devices get the same graph with and without passes";
    }
    options_.optimize = false;
    for (const Subject& subject : subjects_of_cases()) {
        check_subject(subject, /*folded=*/false);
    }
    EXPECT_GT(checked_, 10);
}

TEST_P(AbsentOutputs, OfCustomOperatorsToo) {
    if (!is_host()) {
        GTEST_SKIP() << "operators with an open number of outputs stay on the host";
    }
    for (const Subject& subject : custom_subjects()) {
        for (const bool folded : {false, true}) {
            check_subject(subject, folded);
        }
    }
    EXPECT_EQ(checked_, 4);
}

//  piece0 \                      /--> out0
//  piece1 --> Concat --> Split ----> out1
//  piece2 /                      \--> ...
// A piece is data, or the shape of an input: what Split gives of it is known when the shapes are.
// Extents that are numbers are known at compile time, others at planning.
enum class Piece : uint8_t { kRead, kUnread, kUnnamed, kKnown };
constexpr int kPieceCount = 4;

struct Pieces {
    NamedModel model;
    TensorsByName inputs;
    TensorsByName want;
};

// Elements of piece i: as many as its number and one, so that no two pieces are of one length.
std::vector<int64_t> elements_of(int i, Piece piece) {
    std::vector<int64_t> elements = {10 * i + 2};
    for (int64_t k = 1; k <= i; ++k) {
        elements.push_back(piece == Piece::kKnown ? k : -k);
    }
    return elements;
}

Tensor tensor_of(const std::vector<int64_t>& elements) {
    return *Tensor::from<int64_t>({int64_t(elements.size())}, elements);
}

void add_piece(int i, Piece piece, bool has_open_extent, Pieces& pieces) {
    const std::string name = "piece" + std::to_string(i);
    const std::vector<int64_t> elements = elements_of(i, piece);
    pieces.want[output_name(i)] = tensor_of(elements);
    if (piece != Piece::kKnown) {
        pieces.model.inputs.push_back({name, DType::kInt64, {int64_t(elements.size())}});
        pieces.inputs[name] = tensor_of(elements);
        return;
    }
    const std::string shaped = "shaped" + std::to_string(i);
    std::vector<DimSpec> dims(elements.begin(), elements.end());
    if (has_open_extent) {
        dims[0] = DimSpec(std::string_view("n" + std::to_string(i)));
    }
    pieces.model.inputs.push_back({shaped, DType::kFloat32, dims});
    pieces.inputs[shaped] = *Tensor::allocate(DType::kFloat32, *Shape::make(elements));
    pieces.model.nodes.push_back({"Shape", {shaped}, {name}});
}

Pieces pieces_of(const std::vector<Piece>& kinds, bool has_open_extents) {
    Pieces pieces;
    NamedModel::Node concat{"Concat", {}, {"whole"}, {{"axis", int64_t{0}}}};
    NamedModel::Node split{"Split", {"whole", "extents"}, {}, {{"axis", int64_t{0}}}};
    std::vector<int64_t> extents;
    for (int i = 0; i < int(kinds.size()); ++i) {
        const Piece kind = kinds[size_t(i)];
        add_piece(i, kind, has_open_extents, pieces);
        concat.inputs.push_back("piece" + std::to_string(i));
        extents.push_back(i + 1);
        split.outputs.push_back(kind == Piece::kUnnamed ? "" : output_name(i));
        if (kind == Piece::kRead || kind == Piece::kKnown) {
            pieces.model.outputs.push_back(output_name(i));
        }
    }
    // Data that is read, whatever the pieces are: so the node always runs.
    pieces.model.inputs.push_back({"last", DType::kInt64, {2}});
    pieces.inputs["last"] = tensor_of({-70, -80});
    pieces.want["rest"] = pieces.inputs["last"];
    pieces.model.outputs.emplace_back("rest");
    concat.inputs.emplace_back("last");
    split.outputs.emplace_back("rest");
    extents.push_back(2);
    pieces.model.constants.emplace_back("extents", tensor_of(extents));
    pieces.model.nodes.push_back(std::move(concat));
    pieces.model.nodes.push_back(std::move(split));
    return pieces;
}

void AbsentOutputs::check_pieces(const Pieces& pieces, const std::string& assignment) {
    for (const Route& route :
         compile_by_all_routes(runtime_, pieces.model, options_, kOpset, folder_)) {
        const std::string what = route.name + ", " + assignment;
        ASSERT_TRUE(route.compiled.ok()) << what << ": " << route.compiled.error().message();
        const Result<TensorsByName> got = outputs_of(*route.compiled, pieces.inputs);
        ASSERT_TRUE(got.ok()) << what << ": " << got.error().message();
        for (const auto& [name, tensor] : *got) {
            EXPECT_TRUE(bitwise_equal(tensor, pieces.want.at(name))) << what << ": " << name;
        }
    }
}

TEST_P(AbsentOutputs, OrKnownOnesLeaveTheOtherPartsOfASplit) {
    constexpr int kChoices = 4;
    for (int a = 0; a < assignment_count(kChoices, kPieceCount); ++a) {
        std::vector<Piece> kinds;
        for (int i = 0, rest = a; i < kPieceCount; ++i, rest /= kChoices) {
            kinds.push_back(Piece(rest % kChoices));
        }
        const std::string assignment = "assignment " + std::to_string(a);
        check_pieces(pieces_of(kinds, /*has_open_extents=*/false), assignment);
        check_pieces(pieces_of(kinds, /*has_open_extents=*/true), assignment + ", open extents");
    }
}

INSTANTIATE_TEST_SUITE_P(OnEachBackend,
                         AbsentOutputs,
                         ::testing::Values("reference", "cpu", "sim", "vulkan"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace leat::testing
