#include "backends/cpu/epilogue.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/unary_f32.h"

namespace leat::cpu {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Columns that apply() sees at once, at most: a call of the microkernel.
constexpr int64_t kMaxColumns = int64_t{kMaxPanelColumns} * kMaxPanelsPerCall;
// Copies of one number that a plan may have for a bias: 16 KiB.
constexpr int64_t kMostRepeats = 4096;

// What steps with an operand are. The result is the first operand where that says nothing but for
// the sign of a zero or which of two NaN it is.
struct BinaryStep {
    std::string_view name;
    bool has_order;
};
constexpr BinaryStep kBinarySteps[] = {{"Add", false}, {"Sub", true},  {"Mul", false},
                                       {"Div", true},  {"Min", false}, {"Max", false}};

// Null: the operator is none of them.
const BinaryStep* find_binary_step(std::string_view name) {
    const auto* found = std::find_if(std::begin(kBinarySteps), std::end(kBinarySteps),
                                     [name](const BinaryStep& step) { return step.name == name; });
    return found == std::end(kBinarySteps) ? nullptr : found;
}

// x += y
void add(float* x, const float* y, int64_t columns) {
    static const BinaryF32 kAdd = find_binary_f32("Add");
    kAdd({x, 0, 1}, {y, 0, 1}, x, 0, 1, columns);
}

bool are_consecutive(std::span<const GemmRow> rows) {
    for (size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].row != rows[0].row + int32_t(i)) {
            return false;
        }
    }
    return true;
}

void scale(float* x, int64_t columns, float factor) {
    for (int64_t j = 0; j < columns; ++j) {
        x[j] *= factor;
    }
}

void clip(float* x, int64_t columns, float low, float high) {
    for (int64_t j = 0; j < columns; ++j) {
        const float raised = x[j] < low ? low : x[j];
        x[j] = raised > high ? high : raised;
    }
}

struct Bounds {
    float low;
    float high;
};

// Relu and Clip as bounds.
std::optional<Bounds> bounds_of(const EpilogueStep& step) {
    if (step.op->name == "Relu") {
        return Bounds{0, kInfinity};
    }
    if (step.op->name != "Clip") {
        return std::nullopt;
    }
    const auto bound = [&](std::string_view key, float fallback) {
        const auto found = step.attributes.find(key);
        const float* value =
            found == step.attributes.end() ? nullptr : std::get_if<float>(&found->second);
        return value == nullptr ? fallback : *value;
    };
    return Bounds{bound("min", -kInfinity), bound("max", kInfinity)};
}

}  // namespace

RowView::RowView(const TensorArg& tensor, const Shape& result, int column_axis) {
    const int lead = result.rank() - tensor.shape.rank();
    for (int axis = result.rank() - 1; axis >= 0; --axis) {
        const bool broadcast = axis < lead || tensor.shape[axis - lead] == 1;
        const int64_t stride = broadcast ? 0 : tensor.strides[size_t(axis - lead)];
        if (axis == column_axis) {
            column_stride_ = stride;
            continue;
        }
        if (result[axis] == 1) {
            continue;
        }
        Axis* last = axis_count_ == 0 ? nullptr : &axes_[axis_count_ - 1];
        if (last != nullptr && stride == last->stride * last->extent) {
            last->extent *= result[axis];
        } else {
            axes_[axis_count_++] = {result[axis], stride};
        }
    }
}

RowView RowView::per_column() {
    RowView view;
    view.column_stride_ = 1;
    return view;
}

int64_t RowView::offset(int64_t row) const {
    int64_t offset = 0;
    for (size_t i = 0; i < axis_count_; ++i) {
        const bool last = i + 1 == axis_count_;
        offset += (last ? row : row % axes_[i].extent) * axes_[i].stride;
        row /= std::max<int64_t>(axes_[i].extent, 1);
    }
    return offset;
}

// One step of apply().
struct Epilogue::Step {
    enum class Kind : uint8_t { kScale, kClip, kBinary, kUnary, kReference };

    Kind kind = Kind::kReference;
    float low = 0;  // also the factor of kScale
    float high = 0;
    float factor = 1;  // of the operand, kBinary
    BinaryF32 binary = nullptr;
    bool swapped = false;  // the operand comes first
    int operand_input = -1;
    RowView operand;
    UnaryF32Function unary;                // kUnary
    std::unique_ptr<const NodeData> node;  // kReference: the operator alone

    // The operand's columns of a row, in place or copied to buffer.
    const float* operand_row(
        const KernelArgs& args, int64_t row, int64_t column, int64_t columns, float* buffer) const;
    Status run_reference(float* x, const float* y, int64_t columns) const;
    // kReference for apply().
    Status run_reference_rows(const KernelArgs& args,
                              float* x,
                              int64_t stride,
                              std::span<const GemmRow> rows,
                              int64_t column,
                              int64_t columns) const;
    // kBinary for apply().
    void apply_binary_rows(const KernelArgs& args,
                           float* x,
                           int64_t stride,
                           std::span<const GemmRow> rows,
                           int64_t column,
                           int64_t columns) const;
};

const float* Epilogue::Step::operand_row(
    const KernelArgs& args, int64_t row, int64_t column, int64_t columns, float* buffer) const {
    const int64_t step = operand.column_stride();
    const float* from =
        args.inputs[size_t(operand_input)].as<float>() + operand.offset(row) + column * step;
    if (step == 1 && factor == 1) {
        return from;
    }
    for (int64_t j = 0; j < columns; ++j) {
        buffer[j] = from[j * step] * factor;
    }
    return buffer;
}

Status Epilogue::Step::run_reference(float* x, const float* y, int64_t columns) const {
    float result[kMaxColumns];
    const Shape shape{columns};
    TensorArg inputs[2] = {row_major_arg(DType::kFloat32, shape, x), {}};
    if (y != nullptr) {
        inputs[1] = row_major_arg(DType::kFloat32, shape, y);
        if (swapped) {
            std::swap(inputs[0], inputs[1]);
        }
    }
    const TensorArg output = row_major_arg(DType::kFloat32, shape, result);
    LEAT_RETURN_IF_ERROR(node->def->reference(
        {*node, std::span<const TensorArg>(inputs, y != nullptr ? 2 : 1), {&output, 1}}));
    std::copy_n(result, columns, x);
    return {};
}

Status Epilogue::Step::run_reference_rows(const KernelArgs& args,
                                          float* x,
                                          int64_t stride,
                                          std::span<const GemmRow> rows,
                                          int64_t column,
                                          int64_t columns) const {
    float buffer[kMaxColumns];
    for (const GemmRow& row : rows) {
        const float* y =
            operand_input < 0 ? nullptr : operand_row(args, row.row, column, columns, buffer);
        LEAT_RETURN_IF_ERROR(run_reference(x, y, columns));
        x += stride;
    }
    return {};
}

void Epilogue::Step::apply_binary_rows(const KernelArgs& args,
                                       float* x,
                                       int64_t stride,
                                       std::span<const GemmRow> rows,
                                       int64_t column,
                                       int64_t columns) const {
    const auto combine = [&](const F32Rows& y, float* result, int64_t row_count) {
        const F32Rows own = {result, stride, 1};
        binary(swapped ? y : own, swapped ? own : y, result, stride, row_count, columns);
    };
    const int64_t step = operand.column_stride();
    const bool is_direct = factor == 1 && (step == 0 || step == 1);
    if (is_direct && operand.uniform() && are_consecutive(rows)) {
        const float* from = args.inputs[size_t(operand_input)].as<float>() +
                            rows.front().row * operand.row_stride() + column * step;
        combine({from, operand.row_stride(), step}, x, int64_t(rows.size()));
        return;
    }
    float buffer[kMaxColumns];
    for (const GemmRow& row : rows) {
        combine({operand_row(args, row.row, column, columns, buffer), 0, 1}, x, 1);
        x += stride;
    }
}

// Puts each step into the earliest part of the register form that keeps the order.
struct EpilogueBuilder {
    enum class Phase : uint8_t { kBias, kResidual, kClip, kRest };

    const PrepareContext& context;
    int column_axis = -1;
    Epilogue result;
    Phase phase = Phase::kBias;

    const Shape& shape() const { return context.outputs[0].shape; }
    int64_t columns() const { return column_axis < 0 ? 1 : shape()[column_axis]; }

    void add_step(Epilogue::Step step) {
        phase = Phase::kRest;
        result.steps_.push_back(std::make_shared<const Epilogue::Step>(std::move(step)));
    }

    // Copies a constant that has one element for each column, or one for all.
    bool take_bias(int input, const RowView& view, float factor) {
        const Tensor* constant = context.constants[size_t(input)];
        const TensorArg& tensor = context.inputs[size_t(input)];
        const bool repeats = view.column_stride() == 0;
        if (phase != Phase::kBias || constant == nullptr || tensor.data == nullptr ||
            !view.uniform() || view.row_stride() != 0 || (repeats && columns() > kMostRepeats)) {
            return false;
        }
        result.bias_.assign(size_t(columns() + Epilogue::kBiasPadding), 0.0F);
        for (int64_t j = 0; j < columns(); ++j) {
            result.bias_[size_t(j)] = factor * tensor.as<float>()[j * view.column_stride()];
        }
        phase = Phase::kResidual;
        return true;
    }

    void add_operand(int input, float factor, const RowView& view) {
        if (take_bias(input, view, factor)) {
            return;
        }
        if (phase <= Phase::kResidual && factor == 1 && view.uniform() &&
            view.column_stride() == 1) {
            result.residual_input_ = input;
            result.residual_view_ = view;
            phase = Phase::kClip;
            return;
        }
        Epilogue::Step step;
        step.kind = Epilogue::Step::Kind::kBinary;
        step.binary = find_binary_f32("Add");
        step.operand_input = input;
        step.operand = view;
        step.factor = factor;
        add_step(std::move(step));
    }

    void add_bounds(Bounds bounds) {
        if (phase <= Phase::kClip) {
            result.clip_ = true;
            result.low_ = bounds.low;
            result.high_ = bounds.high;
            phase = Phase::kRest;
            return;
        }
        Epilogue::Step step;
        step.kind = Epilogue::Step::Kind::kClip;
        step.low = bounds.low;
        step.high = bounds.high;
        add_step(std::move(step));
    }

    void add_other(const EpilogueStep& from) {
        Epilogue::Step step;
        step.swapped = from.result_is_rhs;
        if (from.operand_input >= 0) {
            step.operand_input = from.operand_input;
            step.operand =
                RowView(context.inputs[size_t(from.operand_input)], shape(), column_axis);
        }
        const BinaryStep* binary = find_binary_step(from.op->name);
        std::optional<UnaryF32Function> unary;
        if (from.operand_input < 0) {
            unary = find_unary_f32(from.op->name, from.attributes);
        }
        if (binary != nullptr && from.operand_input >= 0) {
            step.kind = Epilogue::Step::Kind::kBinary;
            step.binary = find_binary_f32(binary->name);
            step.swapped = from.result_is_rhs && binary->has_order;
        } else if (unary) {
            step.kind = Epilogue::Step::Kind::kUnary;
            step.unary = *unary;
        } else {
            auto node = std::make_unique<NodeData>();
            node->name = context.node.name;
            node->op_type = std::string(from.op->name);
            node->domain = std::string(from.op->domain);
            node->def = from.op;
            node->attributes = from.attributes;
            step.node = std::move(node);
        }
        add_step(std::move(step));
    }
};

Result<Epilogue> Epilogue::make(const PrepareContext& context,
                                BiasInput bias,
                                float scale,
                                int column_axis) {
    EpilogueBuilder builder{context, column_axis, {}, EpilogueBuilder::Phase::kBias};
    if (scale != 1) {
        Step step;
        step.kind = Step::Kind::kScale;
        step.low = scale;
        builder.add_step(std::move(step));
    }
    if (bias.input >= 0) {
        const TensorArg& tensor = context.inputs[size_t(bias.input)];
        builder.add_operand(bias.input, bias.factor,
                            bias.per_column
                                ? RowView::per_column()
                                : RowView(tensor, context.outputs[0].shape, column_axis));
    }
    for (const EpilogueStep& step : context.node.epilogue) {
        const std::optional<Bounds> bounds = bounds_of(step);
        if (step.operand_input >= int(context.inputs.size())) {
            return internal_error("epilogue operand {} of {} inputs", step.operand_input,
                                  context.inputs.size())
                .with_node(context.node.label());
        }
        if (bounds && step.operand_input < 0) {
            builder.add_bounds(*bounds);
        } else if (step.op->name == "Add" && step.operand_input >= 0) {
            builder.add_operand(step.operand_input, 1,
                                RowView(context.inputs[size_t(step.operand_input)],
                                        context.outputs[0].shape, column_axis));
        } else {
            builder.add_other(step);
        }
    }
    return std::move(builder.result);
}

void Epilogue::apply_first(
    const KernelArgs& args, float* x, int64_t row, int64_t column, int64_t columns) const {
    if (!bias_.empty()) {
        add(x, bias_.data() + column, columns);
    }
    if (residual_input_ >= 0) {
        const float* from = residual(args) + row * residual_view_.row_stride() + column;
        add(x, from, columns);
    }
    if (clip_) {
        clip(x, columns, low_, high_);
    }
}

Status Epilogue::apply(const KernelArgs& args,
                       float* x,
                       int64_t stride,
                       std::span<const GemmRow> rows,
                       int64_t column,
                       int64_t columns) const {
    LEAT_CHECK(columns <= kMaxColumns, "{} columns at once", columns);
    const int64_t elements = stride * int64_t(rows.size());
    for (const std::shared_ptr<const Step>& step : steps_) {
        switch (step->kind) {
            case Step::Kind::kScale:
                scale(x, elements, step->low);
                break;
            case Step::Kind::kClip:
                clip(x, elements, step->low, step->high);
                break;
            case Step::Kind::kUnary:
                step->unary(x, x, elements);
                break;
            case Step::Kind::kBinary:
                step->apply_binary_rows(args, x, stride, rows, column, columns);
                break;
            case Step::Kind::kReference:
                LEAT_RETURN_IF_ERROR(
                    step->run_reference_rows(args, x, stride, rows, column, columns));
                break;
        }
    }
    return {};
}

}  // namespace leat::cpu
