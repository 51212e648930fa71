// Field numbers are those of onnx.proto and onnx-data.proto; fields not listed are skipped.
#include "onnx/proto.h"

#include "base/error.h"

namespace leat::onnx {
namespace {

// TypeProto.Tensor, .Sequence, .Map, .Optional or .SparseTensor.
struct TypeBody {
    TypeProto& type;
};

// Declared first: the templates below find them only so.
Status parse(WireReader reader, StringPair& pair);
Status parse(WireReader reader, OperatorSetId& opset);
Status parse(WireReader reader, DimensionProto& dim);
Status parse(WireReader reader, std::vector<DimensionProto>& shape);
Status parse(WireReader reader, TypeBody& body);
Status parse(WireReader reader, SimpleShardedDimProto& sharding);
Status parse(WireReader reader, ShardedDimProto& sharded);
Status parse(WireReader reader, DeviceGroupProto& group);
Status parse(WireReader reader, ShardingSpecProto& spec);
Status parse(WireReader reader, NodeDeviceConfigurationProto& node);
Status parse(WireReader reader, DeviceConfigurationProto& configuration);

// A submessage field is parsed into `message`, merging with what is there.
template <class Message>
Status merge(const WireReader& reader, const Field& field, Message& message) {
    Bytes bytes;
    LEAT_RETURN_IF_ERROR(get(field, bytes));
    return parse(WireReader(reader, bytes), message);
}

template <class Message>
Status merge(const WireReader& reader, const Field& field, std::unique_ptr<Message>& message) {
    if (message == nullptr) {
        message = std::make_unique<Message>();
    }
    return merge(reader, field, *message);
}

template <class Message>
Status merge(const WireReader& reader, const Field& field, std::optional<Message>& message) {
    if (!message) {
        message.emplace();
    }
    return merge(reader, field, *message);
}

template <class Message>
Status add(const WireReader& reader, const Field& field, std::vector<Message>& messages) {
    return merge(reader, field, messages.emplace_back());
}

Status add(const Field& field, std::vector<std::string_view>& strings) {
    return get(field, strings.emplace_back());
}

// Calls on_field for every field of the message.
template <class OnField>
Status for_each_field(WireReader& reader, OnField on_field) {
    Field field;
    while (!reader.at_end()) {
        LEAT_RETURN_IF_ERROR(reader.next(field));
        LEAT_RETURN_IF_ERROR(on_field(field));
    }
    return {};
}

Status parse(WireReader reader, StringPair& pair) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, pair.key);
            case 2:
                return get(field, pair.value);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, OperatorSetId& opset) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, opset.domain);
            case 2:
                return get(field, opset.version);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, DimensionProto& dim) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                dim.param = {};
                return get(field, dim.value.emplace());
            case 2:
                dim.value.reset();
                return get(field, dim.param);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, std::vector<DimensionProto>& shape) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        return field.number == 1 ? add(reader, field, shape) : Status();
    });
}

Status parse(WireReader reader, TypeBody& body) {
    TypeProto& type = body.type;
    const bool is_tensor =
        type.kind == TypeProto::Kind::kTensor || type.kind == TypeProto::Kind::kSparseTensor;
    return for_each_field(reader, [&](const Field& field) -> Status {
        if (type.kind == TypeProto::Kind::kOpaque || field.number > 2) {
            return {};
        }
        if (is_tensor || type.kind == TypeProto::Kind::kMap) {
            if (field.number == 1) {
                return get(field, type.elem_type);
            }
            return is_tensor ? merge(reader, field, type.shape)
                             : merge(reader, field, type.element);
        }
        return field.number == 1 ? merge(reader, field, type.element) : Status();
    });
}

// TensorProto.DataLocation.
Status get_location(const Field& field, bool& external) {
    constexpr int64_t kExternal = 1;
    int64_t location = 0;
    LEAT_RETURN_IF_ERROR(get(field, location));
    external = location == kExternal;
    return {};
}

// The member of TypeProto's oneof that a field sets: the last one counts.
TypeBody select_body(TypeProto& type, TypeProto::Kind kind) {
    if (type.kind != kind) {
        type = TypeProto();
        type.kind = kind;
    }
    return {type};
}

Status get_type(const Field& field, AttributeProto& attribute) {
    using Type = AttributeProto::Type;
    int64_t type = 0;
    LEAT_RETURN_IF_ERROR(get(field, type));
    if (type < 0 || type > int64_t(Type::kTypeProtos)) {
        return parse_error("attribute '{}' at byte {} has unknown type {}", attribute.name,
                           field.offset, type);
    }
    attribute.type = Type(type);
    return {};
}

Status parse(WireReader reader, SimpleShardedDimProto& sharding) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                sharding.dim.param = {};
                return get(field, sharding.dim.value.emplace());
            case 2:
                sharding.dim.value.reset();
                return get(field, sharding.dim.param);
            case 3:
                return get(field, sharding.num_shards);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, ShardedDimProto& sharded) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, sharded.axis);
            case 2:
                return add(reader, field, sharded.simple_sharding);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, DeviceGroupProto& group) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, group.key);
            case 2:
                return append(field, group.value);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, ShardingSpecProto& spec) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, spec.tensor_name);
            case 2:
                return append(field, spec.device);
            case 3:
                return add(reader, field, spec.index_to_device_group_map);
            case 4:
                return add(reader, field, spec.sharded_dim);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, NodeDeviceConfigurationProto& node) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, node.configuration_id);
            case 2:
                return add(reader, field, node.sharding_spec);
            case 3:
                return get(field, node.pipeline_stage.emplace());
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, DeviceConfigurationProto& configuration) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, configuration.name);
            case 2:
                return get(field, configuration.num_devices);
            case 3:
                return add(field, configuration.device);
            default:
                return {};
        }
    });
}

}  // namespace

Status parse(WireReader reader, TensorProto& tensor) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return append(field, tensor.dims);
            case 2:
                return get(field, tensor.data_type);
            case 3:
                tensor.segmented = true;
                return {};
            case 4:
                return append(field, WireType::kFixed32, tensor.float_data);
            case 5:
                return append(field, WireType::kVarint, tensor.int32_data);
            case 6:
                return add(field, tensor.string_data);
            case 7:
                return append(field, WireType::kVarint, tensor.int64_data);
            case 8:
                return get(field, tensor.name);
            case 9:
                return get_weight(field, tensor.raw_data.emplace());
            case 10:
                return append(field, WireType::kFixed64, tensor.double_data);
            case 11:
                return append(field, WireType::kVarint, tensor.uint64_data);
            case 13:
                return add(reader, field, tensor.external_data);
            case 14:
                return get_location(field, tensor.external);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, SparseTensorProto& tensor) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return merge(reader, field, tensor.values);
            case 2:
                return merge(reader, field, tensor.indices);
            case 3:
                return append(field, tensor.dims);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, TypeProto& type) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
            case 4:
            case 5:
            case 7:
            case 8:
            case 9: {
                TypeBody body = select_body(type, TypeProto::Kind(field.number));
                return merge(reader, field, body);
            }
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, AttributeProto& attribute) {
    using Type = AttributeProto::Type;
    const auto note = [&attribute](Type type) {
        attribute.set_field_type = type;
        attribute.set_fields |= 1U << uint32_t(type);
    };
    const auto read_value = [&](const Field& field) -> Status {
        switch (field.number) {
            case 2:
                note(Type::kFloat);
                return get(field, attribute.f);
            case 3:
                note(Type::kInt);
                return get(field, attribute.i);
            case 4:
                note(Type::kString);
                return get(field, attribute.s);
            case 5:
                note(Type::kTensor);
                return merge(reader, field, attribute.t);
            case 6:
                note(Type::kGraph);
                return merge(reader, field, attribute.g);
            case 7:
                note(Type::kFloats);
                return append(field, attribute.floats);
            case 8:
                note(Type::kInts);
                return append(field, attribute.ints);
            case 9:
                note(Type::kStrings);
                return add(field, attribute.strings);
            case 14:
                note(Type::kTypeProto);
                return merge(reader, field, attribute.tp);
            case 22:
                note(Type::kSparseTensor);
                return merge(reader, field, attribute.sparse_tensor);
            case 10:
            case 11:
            case 15:
            case 23:
                attribute.list_of_messages_field = int32_t(field.number);
                return {};
            default:
                return {};
        }
    };
    LEAT_RETURN_IF_ERROR(for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, attribute.name);
            case 21:
                return get(field, attribute.ref_attr_name);
            case 20:
                return get_type(field, attribute);
            default:
                return read_value(field);
        }
    }));
    if (attribute.type == Type::kUndefined) {
        attribute.type = attribute.set_field_type;
    }
    return {};
}

Status parse(WireReader reader, NodeProto& node) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return add(field, node.input);
            case 2:
                return add(field, node.output);
            case 3:
                return get(field, node.name);
            case 4:
                return get(field, node.op_type);
            case 5:
                return add(reader, field, node.attribute);
            case 7:
                return get(field, node.domain);
            case 8:
                return get(field, node.overload);
            case 10:
                return add(reader, field, node.device_configurations);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, ValueInfoProto& info) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, info.name);
            case 2:
                return merge(reader, field, info.type);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, GraphProto& graph) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return add(reader, field, graph.node);
            case 2:
                return get(field, graph.name);
            case 5:
                return add(reader, field, graph.initializer);
            case 11:
                return add(reader, field, graph.input);
            case 12:
                return add(reader, field, graph.output);
            case 13:
                return add(reader, field, graph.value_info);
            case 15:
                return add(reader, field, graph.sparse_initializer);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, FunctionProto& function) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, function.name);
            case 4:
                return add(field, function.input);
            case 5:
                return add(field, function.output);
            case 6:
                return add(field, function.attribute);
            case 7:
                return add(reader, field, function.node);
            case 9:
                return add(reader, field, function.opset_import);
            case 10:
                return get(field, function.domain);
            case 11:
                return add(reader, field, function.attribute_proto);
            case 13:
                return get(field, function.overload);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, ModelProto& model) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 1:
                return get(field, model.ir_version);
            case 2:
                return get(field, model.producer_name);
            case 7:
                return merge(reader, field, model.graph);
            case 8:
                return add(reader, field, model.opset_import);
            case 25:
                return add(reader, field, model.functions);
            case 26:
                return add(reader, field, model.configuration);
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, SequenceProto& sequence) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 2:
                return get(field, sequence.elem_type);
            case 3:
                return add(reader, field, sequence.tensor_values);
            case 5:
                return add(reader, field, sequence.sequence_values);
            case 7:
                return add(reader, field, sequence.optional_values);
            case 4:
            case 6:
                sequence.unsupported_value = true;
                return {};
            default:
                return {};
        }
    });
}

Status parse(WireReader reader, OptionalProto& optional) {
    return for_each_field(reader, [&](const Field& field) -> Status {
        switch (field.number) {
            case 2:
                return get(field, optional.elem_type);
            case 3:
                return merge(reader, field, optional.tensor_value);
            case 5:
                return merge(reader, field, optional.sequence_value);
            case 7:
                return merge(reader, field, optional.optional_value);
            case 4:
            case 6:
                optional.unsupported_value = true;
                return {};
            default:
                return {};
        }
    });
}

}  // namespace leat::onnx
