#include "custom/operator_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <variant>

#include "base/tensor_check.h"
#include "graph/op_def.h"

namespace leat::custom {
namespace {

// OpDef has a bit for each of so many inputs.
constexpr size_t kMaxMarkedInputs = 32;

bool is_reserved(std::string_view domain) {
    return domain.empty() || domain == "leat" || domain == "ai.onnx" ||
           domain.starts_with("ai.onnx.");
}

Status check_identity(const CustomOperator& described) {
    if (is_reserved(described.domain)) {
        const bool is_known = find_op(described.domain, described.name) != nullptr;
        return invalid_argument("the domain of a custom operator is a standard one")
            .with_found(fmt::format(
                "domain '{}', operator '{}'{}", described.domain, described.name,
                is_known ? fmt::format(", which is leat's own {}", described.name) : ""))
            .with_needed("a domain of your own, such as com.example");
    }
    const auto is_space = [](char c) { return c <= ' '; };
    if (described.name.empty() || described.name.find('.') != std::string::npos ||
        std::any_of(described.name.begin(), described.name.end(), is_space) ||
        std::any_of(described.domain.begin(), described.domain.end(), is_space)) {
        return invalid_argument("an operator needs a name without dots and spaces")
            .with_found(fmt::format("'{}' of domain '{}'", described.name, described.domain));
    }
    if (described.since_version < 1) {
        return invalid_argument("since_version is {}", described.since_version)
            .with_needed("1 or more");
    }
    if (!described.infer) {
        return invalid_argument("there is no inference callback");
    }
    return {};
}

Status check_operands(const std::vector<OperandSpec>& operands, const char* what) {
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
        if (operands[i].is_variadic) {
            return invalid_argument("{} {} ('{}') is variadic", what, i, operands[i].name)
                .with_needed("only the last one may be");
        }
    }
    for (const OperandSpec& operand : operands) {
        for (const DType dtype : operand.dtypes) {
            if (dtype == DType::kUndefined || !is_known_dtype(dtype)) {
                return invalid_argument("{} '{}' may have an element type that there is not", what,
                                        operand.name)
                    .with_found(text_of(dtype))
                    .with_needed("types of DType, or an empty list for any");
            }
        }
    }
    return {};
}

Status check_marks(const CustomOperator& described) {
    for (const int i : described.in_place_inputs) {
        if (i < 0 || size_t(i) >= std::min(described.inputs.size(), kMaxMarkedInputs)) {
            return invalid_argument("in_place_inputs has {}", i)
                .with_needed(fmt::format("one of the {} inputs", described.inputs.size()));
        }
    }
    for (size_t i = 0; i < described.inputs.size(); ++i) {
        const bool decides = described.inputs[i].decides_shape;
        if (decides && (i >= kMaxMarkedInputs || described.inputs[i].is_variadic)) {
            return invalid_argument("input {} ('{}') cannot decide shapes", i,
                                    described.inputs[i].name)
                .with_needed(fmt::format("one of the first {}, not variadic", kMaxMarkedInputs));
        }
    }
    for (const OperandSpec& output : described.outputs) {
        if (output.decides_shape) {
            return invalid_argument("output '{}' decides shapes", output.name)
                .with_needed("only inputs do");
        }
    }
    return {};
}

Status check_declared(const std::vector<AttributeSpec>& attributes) {
    std::set<std::string_view> seen;
    for (const AttributeSpec& spec : attributes) {
        if (spec.name.empty() || !seen.insert(spec.name).second) {
            return invalid_argument("attribute '{}' is declared twice, or has no name", spec.name);
        }
        if (spec.type > AttributeType::kStrings) {
            return invalid_argument("attribute '{}' is of no type", spec.name)
                .with_found(fmt::format("type {}", int(spec.type)))
                .with_needed("one of AttributeType");
        }
        if (!spec.default_value) {
            continue;
        }
        if (spec.default_value->index() != size_t(spec.type)) {
            return invalid_argument("the default of attribute '{}' is of another type", spec.name)
                .with_found(std::string(name_of(AttributeKind(spec.default_value->index()))))
                .with_needed(std::string(name_of(AttributeKind(spec.type))));
        }
        if (spec.is_required) {
            return invalid_argument("attribute '{}' is required and has a default", spec.name)
                .with_needed("one of both");
        }
        const auto* tensor = std::get_if<Tensor>(&*spec.default_value);
        if (Status status = tensor == nullptr ? Status() : check_tensor(*tensor); !status.ok()) {
            return invalid_argument("the default of attribute '{}': {}", spec.name, status.text())
                .with_found(status.found())
                .with_needed(status.needed());
        }
    }
    return {};
}

Status check_kernels(const CustomOperator& described) {
    for (const auto& [backend, kernel] : described.kernels) {
        if (backend != "cpu" && backend != "reference") {
            return invalid_argument("there is a kernel in C++ for backend '{}'", backend)
                .with_needed("'cpu' or 'reference'; others take device_kernels");
        }
        if (!kernel.run) {
            return invalid_argument("the kernel for '{}' has no function", backend);
        }
    }
    for (const auto& [backend, bytes] : described.device_kernels) {
        if (backend.empty() || backend == "cpu" || backend == "reference") {
            return invalid_argument("device_kernels has an entry for '{}'", backend)
                .with_needed("the name of a backend in a shared object");
        }
    }
    if (described.kernels.empty() && described.device_kernels.empty()) {
        return invalid_argument("there is no kernel").with_needed("one for at least one backend");
    }
    return {};
}

Status check_all(const CustomOperator& described) {
    LEAT_RETURN_IF_ERROR(check_identity(described));
    if (described.outputs.empty()) {
        return invalid_argument("there are no outputs").with_needed("one or more");
    }
    LEAT_RETURN_IF_ERROR(check_operands(described.inputs, "input"));
    LEAT_RETURN_IF_ERROR(check_operands(described.outputs, "output"));
    LEAT_RETURN_IF_ERROR(check_marks(described));
    LEAT_RETURN_IF_ERROR(check_declared(described.attributes));
    return check_kernels(described);
}

}  // namespace

Status check_schema(const CustomOperator& described) {
    return check_all(described).with_node(
        fmt::format("custom operator {}.{}", described.domain, described.name));
}

}  // namespace leat::custom
