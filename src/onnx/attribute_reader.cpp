#include "onnx/attribute_reader.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace leat::onnx {
namespace {

template <class T>
Result<Tensor> tensor_of(std::span<const T> values, bool scalar) {
    return Tensor::from<T>(scalar ? Shape{} : Shape{int64_t(values.size())}, values);
}

Result<Tensor> strings_tensor(const std::vector<std::string_view>& values, bool scalar) {
    const std::vector<std::string> strings(values.begin(), values.end());
    return tensor_of<std::string>(strings, scalar);
}

}  // namespace

Result<Tensor> read_constant(const AttributeProto& proto, const Source& source) {
    using Type = AttributeProto::Type;
    switch (proto.type) {
        case Type::kTensor:
            return proto.t == nullptr ? Result<Tensor>(invalid_argument("the tensor is missing"))
                                      : read_tensor(*proto.t, source);
        case Type::kSparseTensor:
            return proto.sparse_tensor == nullptr
                       ? Result<Tensor>(invalid_argument("the sparse tensor is missing"))
                       : read_sparse_tensor(*proto.sparse_tensor, source);
        case Type::kFloat:
            return tensor_of<float>({&proto.f, 1}, true);
        case Type::kInt:
            return tensor_of<int64_t>({&proto.i, 1}, true);
        case Type::kString:
            return strings_tensor({proto.s}, true);
        case Type::kFloats:
            return tensor_of<float>(proto.floats, false);
        case Type::kInts:
            return tensor_of<int64_t>(proto.ints, false);
        case Type::kStrings:
            return strings_tensor(proto.strings, false);
        default:
            return invalid_argument("attribute '{}' cannot be a constant", proto.name);
    }
}

Result<std::optional<AttributeValue>> read_attribute(const AttributeProto& proto,
                                                     const Source& source) {
    using Type = AttributeProto::Type;
    const auto set = [](AttributeValue value) { return std::optional(std::move(value)); };
    switch (proto.type) {
        case Type::kFloat:
            return set(proto.f);
        case Type::kInt:
            return set(proto.i);
        case Type::kString:
            return set(std::string(proto.s));
        case Type::kFloats:
            return set(proto.floats);
        case Type::kInts:
            return set(proto.ints);
        case Type::kStrings:
            return set(std::vector<std::string>(proto.strings.begin(), proto.strings.end()));
        case Type::kTensor:
        case Type::kSparseTensor: {
            LEAT_ASSIGN_OR_RETURN(Tensor tensor, read_constant(proto, source));
            return set(std::move(tensor));
        }
        case Type::kTypeProto: {
            const TypeProto none;
            LEAT_ASSIGN_OR_RETURN(const TypeInfo type,
                                  read_type(proto.tp == nullptr ? none : *proto.tp));
            return set(type.to_string());
        }
        case Type::kUndefined:
            return std::optional<AttributeValue>();
        default:
            return unsupported("attribute '{}' is a list of tensors, graphs or types", proto.name);
    }
}

Result<TypeInfo> read_type(const TypeProto& proto) {
    using Kind = TypeProto::Kind;
    TypeInfo type;
    if (proto.kind == Kind::kNone || proto.kind == Kind::kOpaque) {
        return type;
    }
    if (proto.kind == Kind::kTensor || proto.kind == Kind::kSparseTensor ||
        proto.kind == Kind::kMap) {
        LEAT_ASSIGN_OR_RETURN(type.dtype, read_dtype(proto.elem_type));
    }
    if (proto.kind == Kind::kTensor || proto.kind == Kind::kSparseTensor) {
        if (proto.shape) {
            type.dims.emplace();
            for (const DimensionProto& dim : *proto.shape) {
                const bool fixed = dim.value.value_or(-1) >= 0;
                type.dims->push_back(fixed               ? DimSpec(*dim.value)
                                     : dim.param.empty() ? DimSpec::unknown()
                                                         : DimSpec(dim.param));
            }
        }
        return type;
    }
    type.kind = proto.kind == Kind::kSequence ? TypeInfo::Kind::kSequence
                : proto.kind == Kind::kMap    ? TypeInfo::Kind::kMap
                                              : TypeInfo::Kind::kOptional;
    const TypeProto none;
    LEAT_ASSIGN_OR_RETURN(TypeInfo element,
                          read_type(proto.element == nullptr ? none : *proto.element));
    type.element = std::make_shared<const TypeInfo>(std::move(element));
    return type;
}

}  // namespace leat::onnx
