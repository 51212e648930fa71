// LSTM, GRU and RNN a sequence and a unit at a time.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/element.h"
#include "ops/recurrent/recurrent.h"

namespace leat {
namespace {

using Reals = std::vector<double>;

// f, g or h in double.
struct RealActivation {
    UnaryReal call = nullptr;
    UnaryParams params{};

    double operator()(double x) const { return call(x, params.data()); }
};

RealActivation real_activation(const GateActivation& activation) {
    if (activation.name == "Affine") {
        return {[](double x, const float* p) { return double(p[0]) * x + double(p[1]); },
                activation.params};
    }
    if (activation.name == "ScaledTanh") {
        return {[](double x, const float* p) { return double(p[0]) * std::tanh(double(p[1]) * x); },
                activation.params};
    }
    if (activation.name == "ThresholdedRelu") {  // x = alpha passes, other than in the operator
        return {[](double x, const float* p) { return x < double(p[0]) ? 0.0 : x; },
                activation.params};
    }
    return {find_unary_real(activation.name), activation.params};
}

// One sequence in one direction.
template <class T>
class RecurrentSequence {
  public:
    RecurrentSequence(const ReferenceArgs& args,
                      const RecurrentForm& form,
                      const RecurrentGeometry& geometry,
                      int64_t direction,
                      int64_t n)
        : args_(args),
          form_(form),
          geometry_(geometry),
          direction_(direction),
          n_(n),
          h_(read_state(kRecurrentInitialH)),
          c_(read_state(kRecurrentInitialC)),
          gates_(size_t(form.gates * geometry.hidden)) {
        for (size_t i = 0; i < activations_.size(); ++i) {
            const GateActivation& given = form.activations[size_t(direction)][i];
            activations_[i] =
                i < size_t(form.activation_count) ? real_activation(given) : RealActivation();
        }
    }

    void run(int64_t length) {
        for (int64_t s = 0; s < length; ++s) {
            const int64_t step = form_.is_reverse(direction_) ? length - 1 - s : s;
            const T* x =
                args_.inputs[kRecurrentX].template as<const T>() + geometry_.x_row(step, n_);
            switch (form_.cell) {
                case RecurrentCell::kLstm:
                    step_lstm(x);
                    break;
                case RecurrentCell::kGru:
                    step_gru(x);
                    break;
                case RecurrentCell::kRnn:
                    step_rnn(x);
                    break;
            }
            write(0, geometry_.y_row(step, direction_, n_), h_);
        }
        const Reals zeros(h_.size());
        for (int64_t step = length; step < geometry_.steps; ++step) {
            write(0, geometry_.y_row(step, direction_, n_), zeros);
        }
        const int64_t state = geometry_.state_row(direction_, n_);
        write(1, state, length > 0 ? h_ : zeros);
        write(2, state, length > 0 ? c_ : zeros);
    }

  private:
    static double rounded(double x) { return widen(narrow<T>(x)); }
    double clipped(double x) const {
        const auto bound = double(form_.clip);
        return x < -bound ? -bound : x > bound ? bound : x;
    }
    double f(double x) const { return activations_[0](clipped(x)); }
    double g(double x) const { return activations_[1](clipped(x)); }

    Reals read_state(int input) const {
        Reals state(size_t(geometry_.hidden));
        if (const TensorArg* initial = find_arg(args_.inputs, input)) {
            const T* from = initial->as<const T>() + geometry_.state_row(direction_, n_);
            std::transform(from, from + geometry_.hidden, state.begin(), widen<T>);
        }
        return state;
    }
    void write(int output, int64_t row, const Reals& values) const {
        if (const TensorArg* to = find_arg(args_.outputs, output)) {
            std::transform(values.begin(), values.end(), to->as<T>() + row, narrow<T>);
        }
    }

    // Row `row` of w or r, of this direction, times a vector.
    template <class Element>
    double product(int input, int64_t row, const Element* vector, int64_t count) const {
        const int64_t rows = form_.gates * geometry_.hidden;
        const T* weights =
            args_.inputs[size_t(input)].template as<const T>() + (direction_ * rows + row) * count;
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) {
            sum += widen(weights[k]) * double(widen(vector[k]));
        }
        return sum;
    }
    double of_x(const T* x, int64_t row) const {
        return product(kRecurrentW, row, x, geometry_.inputs) + bias(row);
    }
    double of_h(const Reals& h, int64_t row) const {
        return product(kRecurrentR, row, h.data(), geometry_.hidden) +
               bias(form_.gates * geometry_.hidden + row);
    }
    double bias(int64_t element) const {
        const TensorArg* b = find_arg(args_.inputs, kRecurrentBias);
        return b == nullptr ? 0.0 : widen(b->as<const T>()[direction_ * b->shape[1] + element]);
    }
    double peephole(int64_t gate, int64_t unit) const {
        const TensorArg* p = find_arg(args_.inputs, kRecurrentPeepholes);
        return p == nullptr ? 0.0
                            : widen(p->as<const T>()[direction_ * p->shape[1] +
                                                     gate * geometry_.hidden + unit]);
    }

    void step_lstm(const T* x) {
        const int64_t hidden = geometry_.hidden;
        for (int64_t row = 0; row < 4 * hidden; ++row) {
            gates_[size_t(row)] = of_x(x, row) + of_h(h_, row);
        }
        for (int64_t u = 0; u < hidden; ++u) {
            const double c = c_[size_t(u)];
            const double i = f(gates_[size_t(u)] + peephole(0, u) * c);
            const double forget =
                form_.input_forget ? 1 - i : f(gates_[size_t(2 * hidden + u)] + peephole(2, u) * c);
            const double next = forget * c + i * g(gates_[size_t(3 * hidden + u)]);
            const double o = f(gates_[size_t(hidden + u)] + peephole(1, u) * next);
            c_[size_t(u)] = rounded(next);
            h_[size_t(u)] = rounded(o * activations_[2](next));
        }
    }
    void step_gru(const T* x) {
        const int64_t hidden = geometry_.hidden;
        for (int64_t row = 0; row < 2 * hidden; ++row) {
            gates_[size_t(row)] = f(of_x(x, row) + of_h(h_, row));
        }
        const double* z = gates_.data();
        const double* r = z + hidden;
        Reals reset(h_);
        for (int64_t u = 0; u < hidden; ++u) {
            reset[size_t(u)] *= r[u];
        }
        for (int64_t u = 0; u < hidden; ++u) {
            const int64_t row = 2 * hidden + u;
            const double recurrent =
                form_.linear_before_reset ? r[u] * of_h(h_, row) : of_h(reset, row);
            gates_[size_t(row)] = g(of_x(x, row) + recurrent);
        }
        for (int64_t u = 0; u < hidden; ++u) {
            const double next = gates_[size_t(2 * hidden + u)];
            h_[size_t(u)] = rounded((1 - z[u]) * next + z[u] * h_[size_t(u)]);
        }
    }
    void step_rnn(const T* x) {
        for (int64_t u = 0; u < geometry_.hidden; ++u) {
            gates_[size_t(u)] = rounded(f(of_x(x, u) + of_h(h_, u)));
        }
        h_ = gates_;
    }

    const ReferenceArgs& args_;
    const RecurrentForm& form_;
    const RecurrentGeometry& geometry_;
    int64_t direction_;
    int64_t n_;
    std::array<RealActivation, 3> activations_{};
    Reals h_;
    Reals c_;
    Reals gates_;
};

}  // namespace

Status recurrent_reference(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const RecurrentForm form, RecurrentForm::make(args.node));
    const RecurrentGeometry geometry = RecurrentGeometry::make(form, args.inputs[kRecurrentX].shape,
                                                               args.inputs[kRecurrentR].shape);
    for (int64_t n = 0; n < geometry.batch; ++n) {
        LEAT_ASSIGN_OR_RETURN(const int64_t length,
                              sequence_length(args.node, args.inputs, n, geometry.steps));
        for (int64_t direction = 0; direction < geometry.directions; ++direction) {
            LEAT_RETURN_IF_ERROR(dispatch_float(args.inputs[kRecurrentX].dtype, [&](auto element) {
                using T = typename decltype(element)::type;
                RecurrentSequence<T>(args, form, geometry, direction, n).run(length);
                return Status();
            }));
        }
    }
    return {};
}

}  // namespace leat
