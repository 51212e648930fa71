#include <optional>
#include <utility>

#include "base/error.h"
#include "base/files/mapped_file.h"
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

FileAccess access_of(const LoadOnnxOptions& options) {
    return options.copies ? FileAccess::kCopy : FileAccess::kMap;
}

Result<std::unique_ptr<GraphData>> import_file(const std::filesystem::path& file,
                                               const OperatorSource* operators,
                                               const LoadOnnxOptions& options) {
    const FileAccess access = access_of(options);
    LEAT_ASSIGN_OR_RETURN(const onnx::OpenModel opened, onnx::open_model(file));
    const Descriptor& descriptor = opened.file;
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped,
                          MappedFile::map(descriptor.value(), file.string(), access));
    if (mapped.bytes().empty()) {
        return parse_error("the file is empty").with_hint(kNotOnnx);
    }
    // The messages are views of the structure, so it lives until the graph is made.
    std::optional<onnx::StructureBytes> structure;
    if (access == FileAccess::kMap && mapped.bytes().size() >= kMinSparseBytes) {
        structure.emplace(descriptor.value(), mapped.bytes());
    }
    onnx::ModelProto model;
    const Status parsed =
        parse(structure ? onnx::WireReader(*structure) : onnx::WireReader(mapped.bytes()), model);
    if (!parsed.ok()) {
        return Status(parsed).with_hint(kNotOnnx);
    }
    LEAT_ASSIGN_OR_RETURN(onnx::ExternalFolders folders,
                          onnx::external_folders(file, opened, options.external_roots));
    onnx::ExternalData external(std::move(folders), access);
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

Result<Graph> load_graph(const std::filesystem::path& file,
                         const OperatorSource* operators,
                         const LoadOnnxOptions& options) {
    Result<std::unique_ptr<GraphData>> graph = import_file(file, operators, options);
    if (!graph.ok()) {
        return std::move(graph).error().with_file(file.string());
    }
    return Graph(std::move(graph).value());
}

Result<Value> load_value(const std::filesystem::path& file,
                         Value::Kind expected,
                         const LoadOnnxOptions& options) {
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file, access_of(options)));
    Result<Value> value = parse_value(mapped, expected);
    if (!value.ok()) {
        return std::move(value).error().with_file(file.string());
    }
    return value;
}

}  // namespace

Result<Graph> load_onnx(const std::string& file, const LoadOnnxOptions& options) {
    return catch_bad_alloc("load the model", [&] { return load_graph(file, nullptr, options); });
}

Result<Graph> load_onnx(const std::string& file,
                        const OperatorLibrary& operators,
                        const LoadOnnxOptions& options) {
    return catch_bad_alloc("load the model",
                           [&] { return load_graph(file, &operators.source(), options); });
}

Result<Value> load_onnx_value(const std::string& file,
                              Value::Kind expected,
                              const LoadOnnxOptions& options) {
    return catch_bad_alloc("load the value", [&] { return load_value(file, expected, options); });
}

}  // namespace leat
