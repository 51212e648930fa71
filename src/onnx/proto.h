// The messages of onnx.proto (IR 14) that leat reads, as views of the file. Names follow the
// standard.
//
// Everything is a view: the file's bytes must outlive these structs. A message that occurs twice
// where one is allowed is merged, as protobuf does: parse() may be called again on the same struct.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "leat/status.h"
#include "onnx/wire_reader.h"

namespace leat::onnx {

struct GraphProto;

struct StringPair {
    std::string_view key;
    std::string_view value;
};

struct TensorProto {
    std::string_view name;
    std::vector<int64_t> dims;
    int32_t data_type = 0;
    std::optional<Bytes> raw_data;
    EncodedScalars float_data;
    EncodedScalars int32_data;
    EncodedScalars int64_data;
    EncodedScalars double_data;
    EncodedScalars uint64_data;
    std::vector<std::string_view> string_data;
    std::vector<StringPair> external_data;
    bool external = false;   // data_location
    bool segmented = false;  // has a segment: never written by anybody, not supported
};

struct SparseTensorProto {
    TensorProto values;
    TensorProto indices;
    std::vector<int64_t> dims;
};

struct DimensionProto {
    std::optional<int64_t> value;
    std::string_view param;
};

struct TypeProto {
    // Numbers of the oneof's fields in the standard.
    enum class Kind : uint8_t {
        kNone = 0,
        kTensor = 1,
        kSequence = 4,
        kMap = 5,
        kOpaque = 7,
        kSparseTensor = 8,
        kOptional = 9
    };
    Kind kind = Kind::kNone;
    int32_t elem_type = 0;  // of tensors; the key type of maps
    std::optional<std::vector<DimensionProto>> shape;
    std::unique_ptr<TypeProto> element;  // of sequences, optionals and maps (the value type)
};

struct AttributeProto {
    // Numbers of AttributeProto.AttributeType.
    enum class Type : uint8_t {
        kUndefined = 0,
        kFloat = 1,
        kInt = 2,
        kString = 3,
        kTensor = 4,
        kGraph = 5,
        kFloats = 6,
        kInts = 7,
        kStrings = 8,
        kTensors = 9,
        kGraphs = 10,
        kSparseTensor = 11,
        kSparseTensors = 12,
        kTypeProto = 13,
        kTypeProtos = 14,
    };
    std::string_view name;
    std::string_view ref_attr_name;
    Type type =
        Type::kUndefined;  // after parsing: what is set, if the file does not say (IR version 1)
    float f = 0;
    int64_t i = 0;
    std::string_view s;
    std::unique_ptr<TensorProto> t;
    std::unique_ptr<GraphProto> g;
    std::unique_ptr<SparseTensorProto> sparse_tensor;
    std::unique_ptr<TypeProto> tp;
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::vector<std::string_view> strings;
    int32_t list_of_messages_field = 0;  // number of a field `tensors`, `graphs`, ... that occurs
    Type set_field_type = Type::kUndefined;  // of the last value field seen
    uint32_t set_fields = 0;                 // bit i: the value field of Type(i) occurs
};

struct SimpleShardedDimProto {
    DimensionProto dim;
    int64_t num_shards = 0;
};

struct ShardedDimProto {
    int64_t axis = 0;
    std::vector<SimpleShardedDimProto> simple_sharding;
};

struct DeviceGroupProto {  // IntIntListEntryProto
    int64_t key = 0;
    std::vector<int64_t> value;
};

struct ShardingSpecProto {
    std::string_view tensor_name;
    std::vector<int64_t> device;
    std::vector<DeviceGroupProto> index_to_device_group_map;
    std::vector<ShardedDimProto> sharded_dim;
};

struct NodeDeviceConfigurationProto {
    std::string_view configuration_id;
    std::vector<ShardingSpecProto> sharding_spec;
    std::optional<int32_t> pipeline_stage;
};

struct DeviceConfigurationProto {
    std::string_view name;
    int32_t num_devices = 0;
    std::vector<std::string_view> device;
};

struct NodeProto {
    std::vector<std::string_view> input;
    std::vector<std::string_view> output;
    std::string_view name;
    std::string_view op_type;
    std::string_view domain;
    std::string_view overload;
    std::vector<AttributeProto> attribute;
    std::vector<NodeDeviceConfigurationProto> device_configurations;
};

struct ValueInfoProto {
    std::string_view name;
    TypeProto type;
};

struct GraphProto {
    std::string_view name;
    std::vector<NodeProto> node;
    std::vector<TensorProto> initializer;
    std::vector<SparseTensorProto> sparse_initializer;
    std::vector<ValueInfoProto> input;
    std::vector<ValueInfoProto> output;
    std::vector<ValueInfoProto> value_info;
};

struct OperatorSetId {
    std::string_view domain;
    int64_t version = 0;
};

struct FunctionProto {
    std::string_view name;
    std::string_view domain;
    std::string_view overload;
    std::vector<std::string_view> input;
    std::vector<std::string_view> output;
    std::vector<std::string_view> attribute;      // without a default
    std::vector<AttributeProto> attribute_proto;  // defaults
    std::vector<NodeProto> node;
    std::vector<OperatorSetId> opset_import;
};

struct ModelProto {
    int64_t ir_version = 0;
    std::vector<OperatorSetId> opset_import;
    std::string_view producer_name;
    std::optional<GraphProto> graph;
    std::vector<FunctionProto> functions;
    std::vector<DeviceConfigurationProto> configuration;
};

struct SequenceProto;
struct OptionalProto {
    int32_t elem_type = 0;
    std::optional<TensorProto> tensor_value;
    std::unique_ptr<SequenceProto> sequence_value;
    std::unique_ptr<OptionalProto> optional_value;
    bool unsupported_value = false;  // sparse tensor or map
};
struct SequenceProto {
    int32_t elem_type = 0;
    std::vector<TensorProto> tensor_values;
    std::vector<SequenceProto> sequence_values;
    std::vector<OptionalProto> optional_values;
    bool unsupported_value = false;
};
// elem_type of the two above.
enum class ElementKind : int32_t { kUndefined = 0, kTensor = 1, kSequence = 3, kOptional = 5 };

Status parse(WireReader reader, TensorProto& tensor);
Status parse(WireReader reader, SparseTensorProto& tensor);
Status parse(WireReader reader, TypeProto& type);
Status parse(WireReader reader, AttributeProto& attribute);
Status parse(WireReader reader, NodeProto& node);
Status parse(WireReader reader, ValueInfoProto& info);
Status parse(WireReader reader, GraphProto& graph);
Status parse(WireReader reader, FunctionProto& function);
Status parse(WireReader reader, ModelProto& model);
Status parse(WireReader reader, SequenceProto& sequence);
Status parse(WireReader reader, OptionalProto& optional);

}  // namespace leat::onnx
