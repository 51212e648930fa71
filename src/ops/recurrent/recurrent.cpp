#include "ops/recurrent/recurrent.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// An activation that gates may have. Its parameters have the defaults of the unary operator.
struct ActivationRow {
    std::string_view name;
    int parameters = 0;  // alpha, or alpha and beta
    bool has_defaults = true;
    UnaryParams defaults{};  // where there is no such operator
};
constexpr ActivationRow kActivations[] = {
    {"Relu"},
    {"Tanh"},
    {"Sigmoid"},
    {"Affine", 2, true, {1.0F, 0.0F}},
    {"LeakyRelu", 1},
    {"ThresholdedRelu", 1},
    {"ScaledTanh", 2, false},
    {"HardSigmoid", 2},
    {"Elu", 1},
    {"Softsign"},
    {"Softplus"},
};

// Files have "tanh", too.
bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
    });
}

// Takes the elements of a list of floats one after the other.
class ParameterList {
  public:
    explicit ParameterList(const std::vector<float>* values) : values_(values) {}
    std::optional<float> next() {
        return values_ != nullptr && taken_ < values_->size()
                   ? std::optional<float>((*values_)[taken_++])
                   : std::nullopt;
    }

  private:
    const std::vector<float>* values_;
    size_t taken_ = 0;
};

// alphas and betas are those of all activations that have some, in the order of the activations.
Result<GateActivation> read_activation(std::string_view name,
                                       ParameterList& alphas,
                                       ParameterList& betas) {
    const auto* row = std::find_if(
        std::begin(kActivations), std::end(kActivations),
        [&](const ActivationRow& candidate) { return equals_ignoring_case(candidate.name, name); });
    if (row == std::end(kActivations)) {
        std::string known;
        for (const ActivationRow& candidate : kActivations) {
            known += (known.empty() ? "" : ", ") + std::string(candidate.name);
        }
        return invalid_argument("attribute 'activations' names an unknown function")
            .with_found(fmt::format("'{}'", name))
            .with_needed("one of " + known);
    }
    GateActivation activation{row->name, row->defaults};
    if (const UnaryOp* op = find_unary(row->name); op != nullptr) {
        activation.params = unary_params(*op, {});
    }
    for (int i = 0; i < row->parameters; ++i) {
        const std::optional<float> given = (i == 0 ? alphas : betas).next();
        if (!given && !row->has_defaults) {
            return invalid_argument("activation {} needs two parameters", row->name)
                .with_needed("its elements of activation_alpha and activation_beta");
        }
        activation.params[size_t(i)] = given.value_or(activation.params[size_t(i)]);
    }
    return activation;
}

Status read_activations(const NodeData& node, RecurrentForm& form) {
    constexpr std::array<std::string_view, 3> kOfLstm = {"Sigmoid", "Tanh", "Tanh"};
    constexpr std::array<std::string_view, 1> kOfRnn = {"Tanh"};
    const std::span<const std::string_view> defaults =
        form.cell == RecurrentCell::kRnn ? std::span<const std::string_view>(kOfRnn)
                                         : std::span(kOfLstm).first(size_t(form.activation_count));
    const auto own = size_t(form.activation_count);
    const size_t wanted = own * size_t(form.directions);
    const std::vector<std::string>* names = node.strings("activations");
    // The standard's own default of RNN is a list of two, also for one direction.
    const bool is_pair_of_rnn =
        form.cell == RecurrentCell::kRnn && names != nullptr && names->size() == 2;
    if (names != nullptr && names->size() != wanted && !is_pair_of_rnn) {
        return invalid_argument("attribute 'activations' has the wrong number of elements")
            .with_found(std::to_string(names->size()))
            .with_needed(fmt::format("{} for each of {} direction(s)", own, form.directions));
    }
    ParameterList alphas(node.floats("activation_alpha"));
    ParameterList betas(node.floats("activation_beta"));
    for (size_t i = 0; i < wanted; ++i) {
        LEAT_ASSIGN_OR_RETURN(
            form.activations[i / own][i % own],
            read_activation(names != nullptr ? std::string_view((*names)[i]) : defaults[i % own],
                            alphas, betas));
    }
    return {};
}

bool recurrent_extents_differ(const DimSpec& a, const DimSpec& b) {
    return a.is_fixed() && b.is_fixed() && a.extent() != b.extent();
}

// The extents of a node's operands, as far as they are known.
struct RecurrentDims {
    DimSpec steps = DimSpec::unknown();
    DimSpec batch = DimSpec::unknown();
    DimSpec inputs = DimSpec::unknown();
    DimSpec hidden = DimSpec::unknown();
};

// Takes over what the other knows more.
void learn(DimSpec& known, const DimSpec& other) {
    if (!known.is_fixed() && (other.is_fixed() || known.name().empty())) {
        known = other;
    }
}

DimSpec times(int64_t factor, const DimSpec& extent) {
    return multiply_dims(DimSpec(factor), extent);
}

// Operand i must have these extents, as far as both are known.
Status require_extents(const InferContext& context,
                       int i,
                       std::string_view what,
                       const std::vector<DimSpec>& wanted,
                       std::string_view meaning) {
    if (!context.has_input(i) || !context.input(i).dims) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_rank(context, i, int(wanted.size()), what));
    const std::vector<DimSpec>& dims = *context.input(i).dims;
    if (!std::equal(
            dims.begin(), dims.end(), wanted.begin(), wanted.end(),
            [](const DimSpec& a, const DimSpec& b) { return !recurrent_extents_differ(a, b); })) {
        return invalid_argument("input {} has the wrong shape", what)
            .with_found(context.input(i).to_string())
            .with_needed(fmt::format("{}: {}", meaning,
                                     TypeInfo::tensor(context.input(i).dtype, wanted).to_string()));
    }
    return {};
}

constexpr std::array<std::string_view, 8> kRecurrentInputNames = {
    "X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};

Status check_recurrent_types(const InferContext& context) {
    for (int i = 0; i < int(kRecurrentInputNames.size()); ++i) {
        const std::string_view name = kRecurrentInputNames[size_t(i)];
        if (i == kRecurrentLengths) {
            LEAT_RETURN_IF_ERROR(require_dtype(context, i, dtype_bit(DType::kInt32), name));
        } else {
            LEAT_RETURN_IF_ERROR(require_dtype(context, i, kFloatTypes, name));
            LEAT_RETURN_IF_ERROR(require_same_dtype(context, kRecurrentX, i));
        }
    }
    LEAT_RETURN_IF_ERROR(require_rank(context, kRecurrentX, 3, "X"));
    LEAT_RETURN_IF_ERROR(require_rank(context, kRecurrentW, 3, "W"));
    return require_rank(context, kRecurrentR, 3, "R");
}

// From X, W and R, each of rank 3 where its rank is known, and the attribute hidden_size.
Result<RecurrentDims> find_recurrent_dims(const InferContext& context, const RecurrentForm& form) {
    RecurrentDims dims;
    if (const auto& x = context.input(kRecurrentX).dims) {
        dims.steps = (*x)[form.batch_first ? 1 : 0];
        dims.batch = (*x)[form.batch_first ? 0 : 1];
        dims.inputs = (*x)[2];
    }
    if (const auto& w = context.input(kRecurrentW).dims) {
        learn(dims.inputs, (*w)[2]);
        if ((*w)[1].is_fixed() && (*w)[1].extent() % form.gates == 0) {
            learn(dims.hidden, (*w)[1].extent() / form.gates);
        }
    }
    if (const auto& r = context.input(kRecurrentR).dims) {
        learn(dims.hidden, (*r)[2]);
    }
    if (context.node().has_attr("hidden_size")) {
        const int64_t hidden = context.node().attr("hidden_size", int64_t{0});
        if (hidden < 1) {
            return invalid_argument("attribute 'hidden_size' must be positive")
                .with_found(std::to_string(hidden));
        }
        if (recurrent_extents_differ(dims.hidden, hidden)) {
            return invalid_argument("attribute 'hidden_size' contradicts W and R")
                .with_found(fmt::format("{}", hidden))
                .with_needed(fmt::format("{}, as R is {}", dims.hidden.extent(),
                                         context.input(kRecurrentR).to_string()));
        }
        learn(dims.hidden, hidden);
    }
    return dims;
}

Status check_recurrent_shapes(const InferContext& context,
                              const RecurrentForm& form,
                              const RecurrentDims& dims) {
    const DimSpec directions(int64_t{form.directions});
    const DimSpec all_gates = times(form.gates, dims.hidden);
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentW, "W",
                                         {directions, all_gates, dims.inputs},
                                         "directions, gates of all units, inputs of X"));
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentR, "R",
                                         {directions, all_gates, dims.hidden},
                                         "directions, gates of all units, units"));
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentBias, "B",
                                         {directions, times(2, all_gates)},
                                         "directions, twice the gates of all units"));
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentLengths, "sequence_lens", {dims.batch},
                                         "a length for each sequence of the batch"));
    std::vector<DimSpec> state = {directions, dims.batch, dims.hidden};
    if (form.batch_first) {
        std::swap(state[0], state[1]);
    }
    const std::string_view meaning =
        form.batch_first ? "batch, directions, units" : "directions, batch, units";
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentInitialH, "initial_h", state, meaning));
    LEAT_RETURN_IF_ERROR(require_extents(context, kRecurrentInitialC, "initial_c", state, meaning));
    return require_extents(context, kRecurrentPeepholes, "P", {directions, times(3, dims.hidden)},
                           "directions, peepholes of all units");
}

Status infer_recurrent(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_recurrent_types(context));
    LEAT_ASSIGN_OR_RETURN(const RecurrentForm form, RecurrentForm::make(context.node()));
    LEAT_ASSIGN_OR_RETURN(RecurrentDims dims, find_recurrent_dims(context, form));
    LEAT_RETURN_IF_ERROR(check_recurrent_shapes(context, form, dims));
    const DType dtype = context.input(kRecurrentX).dtype;
    const DimSpec directions(int64_t{form.directions});
    using Dims = std::vector<DimSpec>;
    const Dims y = form.batch_first ? Dims{dims.batch, dims.steps, directions, dims.hidden}
                                    : Dims{dims.steps, directions, dims.batch, dims.hidden};
    const Dims state = form.batch_first ? Dims{dims.batch, directions, dims.hidden}
                                        : Dims{directions, dims.batch, dims.hidden};
    for (int i = 0; i < context.output_count(); ++i) {
        context.set_output(i, dtype, i == 0 ? y : state);
    }
    return {};
}

// Products, and about as many operations for each gate's element as its activation has.
Cost recurrent_cost(const NodeData& /*node*/,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs) {
    const Shape& w = inputs[kRecurrentW].shape;
    const Shape& x = inputs[kRecurrentX].shape;
    const Shape& r = inputs[kRecurrentR].shape;
    constexpr double kFlopsOfGate = 20;
    const double rows = double(x[0]) * double(x[1]) * double(w[0]) * double(w[1]);
    return {rows * (2.0 * double(w[2] + r[2]) + kFlopsOfGate), moved_bytes(inputs, outputs)};
}

// Sequences are rows of all results where the batch comes first.
bool recurrent_gives_rows(const ShardArgs& args) {
    if (args.node.attr("layout", int64_t{0}) != 1) {
        return false;
    }
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        const bool is_of_sequences = i == kRecurrentX || i == kRecurrentLengths ||
                                     i == kRecurrentInitialH || i == kRecurrentInitialC;
        const ShardPart wanted = is_of_sequences ? ShardPart::kRows : ShardPart::kWhole;
        if (args.inputs[i].present() && args.parts[i] != wanted) {
            return false;
        }
    }
    return true;
}

constexpr int kFirstOpsetWithoutOutputSequence = 7;
constexpr int kFirstOpsetWithLayout = 14;
constexpr std::array kRnnAttributes = {
    AttributeSchema{.name = "activation_alpha", .kind = AttributeKind::kFloats},
    AttributeSchema{.name = "activation_beta", .kind = AttributeKind::kFloats},
    AttributeSchema{.name = "activations", .kind = AttributeKind::kStrings},
    AttributeSchema{.name = "clip", .kind = AttributeKind::kFloat},
    AttributeSchema{.name = "direction", .kind = AttributeKind::kString},
    AttributeSchema{.name = "hidden_size", .kind = AttributeKind::kInt},
    AttributeSchema{.name = "layout", .kind = AttributeKind::kInt, .since = kFirstOpsetWithLayout},
    AttributeSchema{.name = "output_sequence",
                    .kind = AttributeKind::kInt,
                    .before = kFirstOpsetWithoutOutputSequence},
};
// Those of RNN, and one more.
constexpr auto with(const AttributeSchema& row) {
    std::array<AttributeSchema, kRnnAttributes.size() + 1> rows;
    std::copy(kRnnAttributes.begin(), kRnnAttributes.end(), rows.begin());
    rows.back() = row;
    std::sort(rows.begin(), rows.end(),
              [](const AttributeSchema& a, const AttributeSchema& b) { return a.name < b.name; });
    return rows;
}
constexpr auto kLstmAttributes = with({.name = "input_forget", .kind = AttributeKind::kInt});
constexpr auto kGruAttributes =
    with({.name = "linear_before_reset", .kind = AttributeKind::kInt, .since = 3});

constexpr OpDef recurrent_op(std::string_view name,
                             int inputs,
                             int outputs,
                             std::span<const AttributeSchema> attributes) {
    OpDef op;
    op.name = name;
    op.min_inputs = 3;
    op.max_inputs = inputs;
    op.min_outputs = 0;
    op.max_outputs = outputs;
    op.named_outputs = 0;
    op.attributes = attributes;
    op.infer = infer_recurrent;
    op.reference = recurrent_reference;
    op.cost = recurrent_cost;
    op.gives_rows = recurrent_gives_rows;
    return op;
}

}  // namespace

Result<RecurrentForm> RecurrentForm::make(const NodeData& node) {
    RecurrentForm form;
    if (node.op_type == "LSTM") {
        form.cell = RecurrentCell::kLstm;
        form.gates = 4;
        form.activation_count = 3;
    } else if (node.op_type == "GRU") {
        form.cell = RecurrentCell::kGru;
        form.gates = 3;
        form.activation_count = 2;
    }
    const std::string direction = node.attr("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
        return invalid_argument("attribute 'direction' is unknown")
            .with_found(fmt::format("'{}'", direction))
            .with_needed("forward, reverse or bidirectional");
    }
    form.directions = direction == "bidirectional" ? 2 : 1;
    form.begins_reverse = direction == "reverse";
    const int64_t layout = node.attr("layout", int64_t{0});
    if (layout != 0 && layout != 1) {
        return invalid_argument("attribute 'layout' is unknown")
            .with_found(std::to_string(layout))
            .with_needed("0 (sequences first) or 1 (batch first)");
    }
    form.batch_first = layout == 1;
    form.input_forget = node.attr("input_forget", int64_t{0}) != 0;
    form.linear_before_reset = node.attr("linear_before_reset", int64_t{0}) != 0;
    form.clip = node.attr("clip", form.clip);
    if (!(form.clip >= 0)) {
        return invalid_argument("attribute 'clip' must not be negative")
            .with_found(fmt::format("{}", form.clip));
    }
    LEAT_RETURN_IF_ERROR(read_activations(node, form));
    return form;
}

RecurrentGeometry RecurrentGeometry::make(const RecurrentForm& form,
                                          const Shape& x,
                                          const Shape& r) {
    RecurrentGeometry geometry;
    geometry.steps = x[form.batch_first ? 1 : 0];
    geometry.batch = x[form.batch_first ? 0 : 1];
    geometry.inputs = x[2];
    geometry.hidden = r[2];
    geometry.directions = form.directions;
    geometry.batch_first = form.batch_first;
    return geometry;
}

Result<int64_t> sequence_length(const NodeData& node,
                                std::span<const TensorArg> inputs,
                                int64_t n,
                                int64_t steps) {
    const TensorArg* lengths = find_arg(inputs, kRecurrentLengths);
    if (lengths == nullptr) {
        return steps;
    }
    const int64_t length = lengths->as<const int32_t>()[n];
    if (length < 0 || length > steps) {
        return invalid_argument("sequence_lens has a length that the sequence cannot have")
            .with_found(fmt::format("{} of sequence {}", length, n))
            .with_needed(fmt::format("0 to {}", steps))
            .with_node(node.label());
    }
    return length;
}

std::span<const OpDef> recurrent_ops() {
    static constexpr OpDef kOps[] = {
        recurrent_op("GRU", 6, 2, kGruAttributes),
        recurrent_op("LSTM", 8, 3, kLstmAttributes),
        recurrent_op("RNN", 6, 2, kRnnAttributes),
    };
    return kOps;
}

}  // namespace leat
