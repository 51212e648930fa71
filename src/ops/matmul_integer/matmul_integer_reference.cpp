
#include "ops/elementwise/element_access.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/matmul_integer/requantize.h"

namespace leat {
namespace {

// A scale or zero point of a row or column.
struct Parameter {
    const TensorArg* arg = nullptr;  // null: 0
    ParameterStrides strides;
};

class QuantizedMatMul {
  public:
    explicit QuantizedMatMul(const ReferenceArgs& args)
        : args_(args),
          operands_(QuantizedOperands::of(args.node)),
          geometry_(MatMulGeometry::make(args.inputs[size_t(operands_.a)].shape,
                                         args.inputs[size_t(operands_.b)].shape)),
          a_scale_(row(operands_.a_scale)),
          a_zero_(row(operands_.a_zero)),
          b_scale_(column(operands_.b_scale)),
          b_zero_(column(operands_.b_zero)),
          y_scale_(row(operands_.y_scale)),
          y_zero_(row(operands_.y_zero)) {}

    void run() const {
        for (int64_t product = 0; product < geometry_.batch_count(); ++product) {
            for (int64_t i = 0; i < geometry_.m; ++i) {
                for (int64_t j = 0; j < geometry_.n; ++j) {
                    store(product, i, j, sum(product, i, j));
                }
            }
        }
    }

  private:
    Parameter row(int input) const {
        const TensorArg* arg = find_arg(args_.inputs, input);
        return arg == nullptr ? Parameter() : Parameter{arg, row_parameters(geometry_, arg->shape)};
    }
    Parameter column(int input) const {
        const TensorArg* arg = find_arg(args_.inputs, input);
        return arg == nullptr ? Parameter()
                              : Parameter{arg, column_parameters(geometry_, arg->shape)};
    }
    double value(const Parameter& parameter, int64_t product, int64_t i) const {
        return parameter.arg == nullptr ? 0
                                        : load_real(parameter.arg->dtype, parameter.arg->data,
                                                    parameter.strides.index(geometry_, product, i));
    }

    int32_t sum(int64_t product, int64_t i, int64_t j) const {
        const TensorArg& a = args_.inputs[size_t(operands_.a)];
        const TensorArg& b = args_.inputs[size_t(operands_.b)];
        const auto a_zero = int64_t(value(a_zero_, product, i));
        const auto b_zero = int64_t(value(b_zero_, product, j));
        const int64_t a_row = (geometry_.a_matrix(product) * geometry_.m + i) * geometry_.k;
        const int64_t b_column = geometry_.b_matrix(product) * geometry_.k * geometry_.n + j;
        uint32_t total = 0;
        for (int64_t k = 0; k < geometry_.k; ++k) {
            const int64_t left = load_integer(a.dtype, a.data, a_row + k) - a_zero;
            const int64_t right =
                load_integer(b.dtype, b.data, b_column + k * geometry_.n) - b_zero;
            total += uint32_t(left * right);
        }
        return int32_t(total);
    }

    void store(int64_t product, int64_t i, int64_t j, int32_t total) const {
        const TensorArg& y = args_.outputs[0];
        const int64_t at = (product * geometry_.m + i) * geometry_.n + j;
        if (y_scale_.arg == nullptr) {
            y.as<int32_t>()[at] = total;
            return;
        }
        const float factor = requantize_factor(float(value(a_scale_, product, i)),
                                               float(value(b_scale_, product, j)),
                                               float(value(y_scale_, product, i)));
        const int zero = int(value(y_zero_, product, i));
        if (y.dtype == DType::kUint8) {
            y.as<uint8_t>()[at] = requantize<uint8_t>(total, factor, zero);
        } else {
            y.as<int8_t>()[at] = requantize<int8_t>(total, factor, zero);
        }
    }

    const ReferenceArgs& args_;
    QuantizedOperands operands_;
    MatMulGeometry geometry_;
    Parameter a_scale_;
    Parameter a_zero_;
    Parameter b_scale_;
    Parameter b_zero_;
    Parameter y_scale_;
    Parameter y_zero_;
};

}  // namespace

Status matmul_integer_reference(const ReferenceArgs& args) {
    QuantizedMatMul(args).run();
    return {};
}

}  // namespace leat
