#include <optional>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/out_of_memory.h"
#include "graph/graph_data.h"
#include "graph/operator_source.h"
#include "leat/custom_operator.h"
#include "leat/onnx.h"
#include "onnx/external_data.h"
#include "onnx/importer.h"
#include "onnx/proto.h"
#include "onnx/tensor_reader.h"

namespace leat {
namespace {

constexpr const char* kNotOnnx = "is it an ONNX file?";

// Smaller files are read through their mapping.
constexpr size_t kMinSparseBytes = size_t{8} << 20;

Result<std::unique_ptr<GraphData>> load_mapped(const MappedFile& mapped,
                                               const std::filesystem::path& file,
                                               const OperatorSource* operators) {
    if (mapped.bytes().empty()) {
        return parse_error("the file is empty").with_hint(kNotOnnx);
    }
    // The messages are views of the structure, so it lives until the graph is made.
    std::optional<onnx::StructureBytes> structure;
    if (mapped.bytes().size() >= kMinSparseBytes) {
        structure.emplace(file, mapped.bytes());
    }
    onnx::ModelProto model;
    const Status parsed =
        parse(structure ? onnx::WireReader(*structure) : onnx::WireReader(mapped.bytes()), model);
    if (!parsed.ok()) {
        return Status(parsed).with_hint(kNotOnnx);
    }
    onnx::ExternalData external(file.parent_path());
    const onnx::Source source{mapped.owner(), &external};
    return onnx::import_model(model, source, file.string(), operators);
}

Result<Value> parse_value(const MappedFile& mapped, Value::Kind expected) {
    const onnx::WireReader reader(mapped.bytes());
    const onnx::Source source{mapped.owner(), nullptr};
    switch (expected) {
        case Value::Kind::kSequence: {
            onnx::SequenceProto sequence;
            LEAT_RETURN_IF_ERROR(parse(reader, sequence));
            return read_sequence(sequence, source);
        }
        case Value::Kind::kOptional: {
            onnx::OptionalProto optional;
            LEAT_RETURN_IF_ERROR(parse(reader, optional));
            return read_optional(optional, source);
        }
        case Value::Kind::kTensor:
            break;
    }
    onnx::TensorProto proto;
    LEAT_RETURN_IF_ERROR(parse(reader, proto));
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(proto, source));
    return Value(std::move(tensor));
}

Result<Graph> load_graph(const std::filesystem::path& file, const OperatorSource* operators) {
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file));
    Result<std::unique_ptr<GraphData>> graph = load_mapped(mapped, file, operators);
    if (!graph.ok()) {
        return std::move(graph).error().with_file(file.string());
    }
    return Graph(std::move(graph).value());
}

Result<Value> load_value(const std::filesystem::path& file, Value::Kind expected) {
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file));
    Result<Value> value = parse_value(mapped, expected);
    if (!value.ok()) {
        return std::move(value).error().with_file(file.string());
    }
    return value;
}

}  // namespace

Result<Graph> load_onnx(const std::string& file) {
    return catch_bad_alloc("load the model", [&] { return load_graph(file, nullptr); });
}

Result<Graph> load_onnx(const std::string& file, const OperatorLibrary& operators) {
    return catch_bad_alloc("load the model", [&] { return load_graph(file, &operators.source()); });
}

Result<Value> load_onnx_value(const std::string& file, Value::Kind expected) {
    return catch_bad_alloc("load the value", [&] { return load_value(file, expected); });
}

}  // namespace leat
