#include "ops/signal_window/signal_window.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

constexpr int64_t kMostWindowSize = int64_t{1} << 56;

Status infer_signal_window(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 0, "size"));
    if (!may_have_one_element(context.input(0))) {
        return invalid_argument("size must have one element")
            .with_found(context.input(0).to_string());
    }
    const int64_t number = context.node().attr("output_datatype", int64_t(DType::kFloat32));
    const DType dtype = dtype_from_number(number);
    if (!contains(kNumericTypes, dtype)) {
        return invalid_argument("attribute output_datatype is no type of a window")
            .with_found(fmt::format("{}", number))
            .with_needed("the number of a type of integers or floats of 16 bits or more");
    }
    DimSpec size = DimSpec::unknown();
    if (const auto values = context.ints(0)) {
        size = DimSpec((*values)[0]);
        if ((*values)[0] < 0 || (*values)[0] > kMostWindowSize) {
            return invalid_argument("the size of a window is out of range")
                .with_found(fmt::format("{}", (*values)[0]))
                .with_needed(fmt::format("0 to {}", kMostWindowSize));
        }
    } else if (const auto extents = context.extents(0); extents && extents->size() == 1) {
        size = (*extents)[0];
    }
    context.set_output(0, dtype, Dims{size});
    return {};
}

// Two cosines an element.
Cost signal_window_cost(const NodeData& /*node*/,
                        std::span<const TensorArg> inputs,
                        std::span<const TensorArg> outputs) {
    return {50 * double(outputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kSignalWindowAttributes[] = {
    {.name = "output_datatype", .kind = AttributeKind::kInt},
    {.name = "periodic", .kind = AttributeKind::kInt},
};

constexpr OpDef signal_window_def(std::string_view name) {
    return {.name = name,
            .attributes = kSignalWindowAttributes,
            .infer = infer_signal_window,
            .reference = signal_window_reference,
            .cost = signal_window_cost,
            .shape_inputs = 0b1};
}

constexpr OpDef kSignalWindowOps[] = {
    signal_window_def("BlackmanWindow"),
    signal_window_def("HammingWindow"),
    signal_window_def("HannWindow"),
};

}  // namespace

std::span<const OpDef> signal_window_ops() {
    return kSignalWindowOps;
}

}  // namespace leat
