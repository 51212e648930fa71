#include "machine/device_operators.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "backends/lowered/failure.h"
#include "backends/lowered/plugin_graph.h"
#include "backends/plugin/loaded_plugin.h"
#include "leat/plugin_backend.h"

namespace leat {
namespace {

// Of memory, where nothing else is known of a kernel of a device.
constexpr double kAssumedBytesPerNs = 10;

ValueFact fact_of(const LeatTensorView& view) {
    const DType dtype = dtype_from_number(view.dtype);
    const std::optional<Shape> shape = Shape::make({view.extents, size_t(view.rank)});
    if (!shape || dtype == DType::kUndefined) {
        plugin::invalid_argument("an operand of a custom operator has no shape or element type");
    }
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, *shape);
    return fact;
}

void infer_on_device(const CustomOpDef& def,
                     const LeatNodeView& view,
                     std::span<const LeatTensorView* const> inputs,
                     LeatTensorView* const* outputs,
                     int64_t* const* output_extents) {
    NodeData node = lowered::import_node(view);
    node.def = &def;
    node.inputs.resize(inputs.size());
    // Any name will do: devices get nodes with all outputs only.
    node.outputs.assign(def.schema.outputs.size(), ValueId{0});
    std::vector<ValueFact> facts(inputs.size());
    std::vector<const ValueFact*> given(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i]->dtype != int32_t(DType::kUndefined)) {
            facts[i] = fact_of(*inputs[i]);
            given[i] = &facts[i];
        }
    }
    std::vector<ValueFact> found(node.outputs.size());
    lowered::throw_if(infer_node(node, given, found));
    for (size_t i = 0; i < found.size(); ++i) {
        const std::optional<Shape> shape = found[i].type.fixed_shape();
        if (!shape) {
            plugin::invalid_argument(fmt::format("the shape of output {} is open", i));
        }
        outputs[i]->dtype = int32_t(found[i].type.dtype);
        outputs[i]->rank = shape->rank();
        std::copy(shape->begin(), shape->end(), output_extents[i]);
    }
}

LeatCode infer_entry(void* user,
                     const LeatNodeView* node,
                     int32_t input_count,
                     const LeatTensorView* const* inputs,
                     LeatTensorView* const* outputs,
                     int64_t* const* output_extents,
                     LeatError* error) {
    return plugin::guarded(error, [&] {
        infer_on_device(*static_cast<const CustomOpDef*>(user), *node,
                        {inputs, size_t(input_count)}, outputs, output_extents);
    });
}

double cost_entry(void* /*user*/, int32_t input_count, const LeatTensorView* const* inputs) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < input_count; ++i) {
        bytes += inputs[i]->bytes;
    }
    return double(bytes) / kAssumedBytesPerNs;
}

LeatOperator schema_of(const CustomOpDef& def) {
    auto schema = plugin::made<LeatOperator>();
    schema.domain = def.schema.domain.c_str();
    schema.op_type = def.schema.name.c_str();
    schema.min_inputs = def.min_inputs;
    schema.max_inputs = def.max_inputs;
    schema.output_count = int32_t(def.schema.outputs.size());
    schema.user = const_cast<CustomOpDef*>(&def);
    schema.infer = infer_entry;
    schema.cost_ns = cost_entry;
    return schema;
}

Status register_on(const LeatBackendApi& api,
                   LeatBackend* backend,
                   const CustomOpDef& def,
                   const std::string& kernel) {
    const LeatOperator schema = schema_of(def);
    PluginError error;
    LEAT_RETURN_IF_ERROR(error.status(api.register_operator(backend, &schema, error.get()),
                                      fmt::format("take operator {}", def.label())));
    return error.status(api.register_kernel(backend, schema.domain, schema.op_type, kernel.data(),
                                            int64_t(kernel.size()), error.get()),
                        fmt::format("take the kernel of {}", def.label()));
}

}  // namespace

std::string DeviceOperators::offer(const LeatBackendApi& api,
                                   LeatBackend* backend,
                                   const CustomOpDef& def) {
    const auto kernel = def.schema.device_kernels.find(std::string_view(api.name));
    if (kernel == def.schema.device_kernels.end()) {
        return fmt::format("{} has no kernel for backend '{}'", def.label(), api.name);
    }
    const std::lock_guard lock(mutex_);
    const auto [entry, is_new] =
        operators_.try_emplace({def.schema.domain, def.schema.name}, Offered{&def, {}});
    Offered& offered = entry->second;
    if (offered.def != &def) {
        return fmt::format("backend '{}' has {} already", api.name, offered.def->label());
    }
    if (is_new) {
        const Status status = register_on(api, backend, def, kernel->second);
        offered.refusal = status.ok() ? std::string() : status.message();
    }
    return offered.refusal;
}

std::string device_refusal(const CustomOpDef& def, const NodeData& node) {
    if (def.shape_inputs != 0) {
        return "elements of its inputs decide shapes";
    }
    const std::vector<OperandSpec>& outputs = def.schema.outputs;
    const bool is_open = std::any_of(outputs.begin(), outputs.end(), [](const OperandSpec& output) {
        return output.is_optional || output.is_variadic;
    });
    return is_open || node.outputs.size() != outputs.size() ? "its number of outputs is not fixed"
                                                            : "";
}

}  // namespace leat
