// LSTM, GRU and RNN: one layer of a recurrent network over whole sequences, in one or two
// directions.
//
//   x [t, n, i]; w [d, g h, i], r [d, g h, h]; b [d, 2 g h]: that of w, then that of r (optional);
//   sequence_lens i32 [n] (optional: t); initial_h, initial_c [d, n, h] (optional: 0);
//   p [d, 3 h]: peepholes i o f (optional: 0).  y [t, d, n, h]; y_h, y_c [d, n, h]: each optional.
//   layout = 1 has the batch first: x [n, t, i], y [n, t, d, h], states [n, d, h].
//   d: 1 or 2 directions; g gates: LSTM 4 (i o f c), GRU 3 (z r h), RNN 1.
//
//   LSTM  i = f(x Wi + h Ri + Pi.C + bi), f likewise, or 1 - i where input_forget;
//         C = f.C + i.g(x Wc + h Rc + bc); o = f(x Wo + h Ro + Po.C + bo); h = o.h(C)
//   GRU   z = f(x Wz + h Rz + bz), r likewise; new = g(x Wh + (r.h) Rh + bh), or where
//         linear_before_reset g(x Wh + r.(h Rh + bRh) + bWh); h = (1 - z).new + z.h
//   RNN   h = f(x W + h R + b)
//
// A reverse direction begins with the last step of each sequence's own length. y is 0 behind that
// length, y_h and y_c are the state behind the last step, and 0 of a sequence without steps.
// `clip` bounds what gates pass to f and g. h(C) gets C as it is, as in ONNX Runtime: the standard
// says "the input of activations".
// ONNX opset 22. Types: f16, bf16, f32, f64. The reference computes in double; h and C are rounded
// to the type after each step, so that a sequence cut in two gives the same.
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include "graph/op_def.h"
#include "ops/unary/unary.h"

namespace leat {

// Inputs by number; the last two are the LSTM's.
enum RecurrentInput : int {
    kRecurrentX,
    kRecurrentW,
    kRecurrentR,
    kRecurrentBias,
    kRecurrentLengths,
    kRecurrentInitialH,
    kRecurrentInitialC,
    kRecurrentPeepholes,
};

enum class RecurrentCell : uint8_t { kLstm, kGru, kRnn };

// What the standard calls f, g and h of a cell.
struct GateActivation {
    std::string_view name;  // of the unary operator, or Affine, ScaledTanh
    UnaryParams params{};   // alpha and beta, as far as it has them
};

// What the attributes of a node say.
struct RecurrentForm {
    RecurrentCell cell = RecurrentCell::kRnn;
    int gates = 1;
    int activation_count = 1;  // of a direction
    int directions = 1;
    bool begins_reverse = false;  // the first direction
    bool batch_first = false;
    bool input_forget = false;
    bool linear_before_reset = false;
    float clip = std::numeric_limits<float>::infinity();
    std::array<std::array<GateActivation, 3>, 2> activations{};  // by direction

    static Result<RecurrentForm> make(const NodeData& node);
    bool is_reverse(int64_t direction) const { return begins_reverse || direction == 1; }
};

// Extents of one node, and where rows begin, in elements.
struct RecurrentGeometry {
    int64_t steps = 0;
    int64_t batch = 0;
    int64_t inputs = 0;
    int64_t hidden = 0;
    int64_t directions = 1;
    bool batch_first = false;

    // x, r: shapes that inference accepted.
    static RecurrentGeometry make(const RecurrentForm& form, const Shape& x, const Shape& r);
    int64_t x_row(int64_t step, int64_t n) const {
        return (batch_first ? n * steps + step : step * batch + n) * inputs;
    }
    int64_t y_row(int64_t step, int64_t direction, int64_t n) const {
        return (batch_first ? (n * steps + step) * directions + direction
                            : (step * directions + direction) * batch + n) *
               hidden;
    }
    int64_t state_row(int64_t direction, int64_t n) const {
        return (batch_first ? n * directions + direction : direction * batch + n) * hidden;
    }
};

// The steps of sequence n. An error names the node and a length beyond [0, steps].
Result<int64_t> sequence_length(const NodeData& node,
                                std::span<const TensorArg> inputs,
                                int64_t n,
                                int64_t steps);

Status recurrent_reference(const ReferenceArgs& args);

}  // namespace leat
