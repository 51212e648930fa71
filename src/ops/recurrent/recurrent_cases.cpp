// Conformance cases of LSTM, GRU and RNN.
#include <algorithm>
#include <array>
#include <cmath>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

struct RecurrentExtents {
    int64_t steps = 5;
    int64_t batch = 3;
    int64_t inputs = 4;
    int64_t hidden = 6;
    DType dtype = DType::kFloat32;
};

int64_t gates_of(std::string_view op_type) {
    return op_type == "LSTM" ? 4 : op_type == "GRU" ? 3 : 1;
}

// In a range where gates do not all saturate, and differences of states do not grow from step to
// step: h R is no longer than h.
CaseInput weights(Shape shape, int64_t hidden, DType dtype, bool constant) {
    const double limit = std::min(0.6, 1.5 / std::sqrt(double(hidden)));
    CaseInput input = random_input(shape, dtype, -limit, limit);
    input.constant = constant;
    return input;
}

OpCase recurrent(std::string_view op_type,
                 std::string_view suffix,
                 const RecurrentExtents& e,
                 Attributes attributes = {},
                 bool constant = true) {
    const auto direction = attributes.find("direction");
    const bool is_both = direction != attributes.end() &&
                         std::get<std::string>(direction->second) == "bidirectional";
    const int64_t directions = is_both ? 2 : 1;
    const int64_t rows = gates_of(op_type) * e.hidden;
    const bool batch_first = attributes.count("layout") != 0;
    const Shape x =
        batch_first ? Shape{e.batch, e.steps, e.inputs} : Shape{e.steps, e.batch, e.inputs};
    OpCase op_case = make_case(op_type, suffix,
                               {random_input(x, e.dtype),
                                weights({directions, rows, e.inputs}, e.hidden, e.dtype, constant),
                                weights({directions, rows, e.hidden}, e.hidden, e.dtype, constant)},
                               std::move(attributes));
    op_case.output_count = op_type == "LSTM" ? 3 : 2;
    op_case.atol = 1e-5;
    return op_case;
}

struct Extras {
    bool bias = true;
    std::vector<int32_t> lengths = {};
    bool states = true;
    bool peepholes = false;
};

// The optional inputs.
OpCase with(OpCase op_case, const Extras& extras) {
    const DType dtype = op_case.inputs[0].dtype;
    const Shape x = op_case.inputs[0].shape;
    const Shape r = op_case.inputs[2].shape;
    const bool batch_first = op_case.attributes.count("layout") != 0;
    const int64_t batch = x[batch_first ? 0 : 1];
    const Shape state = batch_first ? Shape{batch, r[0], r[2]} : Shape{r[0], batch, r[2]};
    const auto optional = [](bool is_there, CaseInput input) {
        return is_there ? std::move(input) : absent_input();
    };
    op_case.inputs.push_back(optional(
        extras.bias, weights({r[0], 2 * r[1]}, r[2], dtype, extras.bias && r[2] % 2 == 0)));
    op_case.inputs.push_back(
        extras.lengths.empty() ? absent_input() : given_input<int32_t>({batch}, extras.lengths));
    op_case.inputs.push_back(optional(extras.states, random_input(state, dtype, -1, 1)));
    if (op_case.op_type == "LSTM") {
        op_case.inputs.push_back(optional(extras.states, random_input(state, dtype, -1, 1)));
        op_case.inputs.push_back(
            optional(extras.peepholes, weights({r[0], 3 * r[2]}, r[2], dtype, false)));
    }
    return op_case;
}

Attributes towards(const char* direction, Attributes more = {}) {
    more.emplace("direction", std::string(direction));
    return more;
}

void add_common_cases(const std::string& op, std::vector<OpCase>& cases) {
    const RecurrentExtents small;
    const auto reverse = towards("reverse");
    const auto both = towards("bidirectional");
    const auto first = [](Attributes attributes) {
        attributes.emplace("layout", int64_t{1});
        return attributes;
    };
    cases.push_back(recurrent(op, "plain", small));
    cases.push_back(recurrent(op, "weights_of_runs", small, both, false));
    cases.push_back(with(recurrent(op, "all_inputs", small), {.peepholes = true}));
    cases.push_back(with(recurrent(op, "reverse", small, reverse), {.peepholes = true}));
    cases.push_back(with(recurrent(op, "both", small, both), {.bias = true, .peepholes = true}));
    cases.push_back(with(recurrent(op, "no_bias", small, both), {.bias = false}));
    cases.push_back(with(recurrent(op, "lengths", small), {.lengths = {2, 5, 0}}));
    cases.push_back(with(recurrent(op, "lengths_reverse", small, reverse), {.lengths = {4, 1, 3}}));
    cases.push_back(with(recurrent(op, "lengths_both", small, both), {.lengths = {0, 5, 2}}));
    cases.push_back(with(recurrent(op, "no_length", small, both), {.lengths = {0, 0, 0}}));
    cases.push_back(with(recurrent(op, "batch_first", small, first(both)), {.lengths = {3, 5, 0}}));
    cases.push_back(recurrent(op, "batch_first_plain", small, first({}), false));
    // More sequences than rows of a register tile, and more steps than one product of x has.
    const RecurrentExtents many{9, 33, 7, 21};
    std::vector<int32_t> lengths(size_t(many.batch));
    for (size_t n = 0; n < lengths.size(); ++n) {
        lengths[n] = int32_t(n * 7 % 10);
    }
    cases.push_back(with(recurrent(op, "many", many, both), {.lengths = lengths}));
    cases.push_back(with(recurrent(op, "many_first", many, first(both)), {.lengths = lengths}));
    cases.push_back(with(recurrent(op, "many_of_runs", many, {}, false), {}));
    cases.push_back(with(recurrent(op, "long", {130, 1, 5, 33}, both), {.peepholes = true}));
    cases.push_back(with(recurrent(op, "long_pair", {61, 2, 5, 40}), {.lengths = {61, 57}}));
    // Deeper than a segment of the register tile.
    cases.push_back(with(recurrent(op, "deep_inputs", {3, 2, 1600, 8}), {}));
    cases.push_back(with(recurrent(op, "deep_state", {3, 2, 8, 800}), {}));
    cases.push_back(with(recurrent(op, "whole_panels", {4, 2, 32, 64}), {.peepholes = true}));
    cases.push_back(with(recurrent(op, "one_unit", {4, 2, 3, 1}), {.peepholes = true}));
    cases.push_back(with(recurrent(op, "one_step", {1, 1, 3, 5}, both), {}));
    cases.push_back(with(recurrent(op, "no_steps", {0, 2, 3, 5}), {}));
    cases.push_back(with(recurrent(op, "no_sequences", {3, 0, 3, 5}), {}));
    cases.push_back(with(recurrent(op, "no_inputs", {3, 2, 0, 5}), {}));
    cases.push_back(with(recurrent(op, "clip", small, towards("bidirectional", {{"clip", 0.3F}})),
                         {.peepholes = true}));
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
        const RecurrentExtents of_type{3, 2, 4, 5, dtype};
        cases.push_back(with(recurrent(op, name_of(dtype), of_type, both),
                             {.lengths = {3, 1}, .peepholes = true}));
    }
}

// Each function once, with parameters given and not.
void add_activation_cases(const std::string& op, std::vector<OpCase>& cases) {
    const size_t own = op == "LSTM" ? 3 : op == "GRU" ? 2 : 1;
    struct Function {
        const char* name = nullptr;
        int parameters = 0;
        bool has_defaults = true;
    };
    constexpr std::array<Function, 11> kFunctions = {{{"Relu", 0},
                                                      {"tanh", 0},
                                                      {"Sigmoid", 0},
                                                      {"Affine", 2},
                                                      {"LeakyRelu", 1},
                                                      {"ThresholdedRelu", 1},
                                                      {"ScaledTanh", 2, false},
                                                      {"HardSigmoid", 2},
                                                      {"Elu", 1},
                                                      {"Softsign", 0},
                                                      {"Softplus", 0}}};
    for (const Function& function : kFunctions) {
        // The first direction has it at each place, the second one is the default.
        Names names(own, function.name);
        names.insert(names.end(), own, "Tanh");
        Floats alphas;
        Floats betas;
        for (size_t i = 0; i < own; ++i) {
            alphas.push_back(0.25F + 0.125F * float(i));
            betas.push_back(0.1F + 0.2F * float(i));
        }
        Attributes attributes = towards("bidirectional", {{"activations", names}});
        const std::string name(function.name);
        // Where a function has no bound, differences grow from step to step.
        const RecurrentExtents few_steps{2};
        if (function.has_defaults) {
            cases.push_back(with(recurrent(op, name, few_steps, attributes), {}));
        }
        if (function.parameters > 0) {
            attributes.emplace("activation_alpha", alphas);
        }
        if (function.parameters > 1) {
            attributes.emplace("activation_beta", betas);
        }
        if (function.parameters > 0) {
            cases.push_back(with(recurrent(op, name + "_given", few_steps, attributes), {}));
        }
    }
}

// Steps so long that two to four workers share each of them; units that fill no whole panels.
void add_team_cases(const std::string& op, Attributes attributes, std::vector<OpCase>& cases) {
    const auto add = [&](const char* name, const RecurrentExtents& extents, const char* direction,
                         const Extras& extras, bool constant) {
        const std::string suffix =
            std::string(attributes.empty() ? "team_" : "linear_team_") + name;
        cases.push_back(
            with(recurrent(op, suffix, extents, towards(direction, attributes), constant), extras));
    };
    add("one", {3, 1, 5, 391}, "forward", {.peepholes = true}, true);
    add("reverse", {4, 3, 5, 300}, "reverse", {.lengths = {2, 4, 0}, .peepholes = true}, true);
    add("both", {3, 3, 5, 260}, "bidirectional", {.lengths = {3, 0, 1}}, false);
    add("no_length", {2, 1, 5, 260}, "forward", {.lengths = {0}}, true);
    add("no_bias", {60, 1, 3, 256}, "forward", {.bias = false, .states = false}, true);
}

}  // namespace

std::vector<OpCase> recurrent_cases() {
    std::vector<OpCase> cases;
    for (const char* op : {"LSTM", "GRU", "RNN"}) {
        add_common_cases(op, cases);
        add_activation_cases(op, cases);
        add_team_cases(op, {}, cases);
    }
    const Attributes linear = {{"linear_before_reset", int64_t{1}}};
    add_team_cases("GRU", linear, cases);
    cases.push_back(recurrent("GRU", "linear_plain", {}, linear));
    for (const bool bias : {false, true}) {
        const std::string name = bias ? "linear_bias" : "linear_no_bias";
        cases.push_back(with(recurrent("GRU", name, {}, towards("bidirectional", linear)),
                             {.bias = bias, .lengths = {1, 5, 0}}));
    }
    cases.push_back(
        with(recurrent("GRU", "linear_many", {9, 33, 7, 21}, linear, false), {.bias = true}));
    cases.push_back(
        with(recurrent("GRU", "linear_long", {130, 1, 5, 40},
                       towards("reverse", {{"linear_before_reset", int64_t{1}}, {"clip", 0.5F}})),
             {}));
    const Attributes coupled = {{"input_forget", int64_t{1}}};
    cases.push_back(with(recurrent("LSTM", "input_forget", {}, coupled), {}));
    cases.push_back(with(recurrent("LSTM", "input_forget_peepholes", {}, coupled),
                         {.bias = false, .states = false, .peepholes = true}));
    cases.push_back(with(recurrent("LSTM", "peepholes_alone", {}, {}),
                         {.bias = false, .states = false, .peepholes = true}));
    // The standard's default of RNN, written out.
    cases.push_back(
        recurrent("RNN", "pair_of_activations", {}, {{"activations", Names{"Relu", "Tanh"}}}));
    for (OpCase& op_case : cases) {
        const DType dtype = op_case.inputs[0].dtype;
        if (dtype == DType::kFloat16 || dtype == DType::kBfloat16) {
            op_case.rtol = op_case.atol = 5e-2;
        }
    }
    return cases;
}

}  // namespace leat::testing
