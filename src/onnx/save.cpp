#include "onnx/save.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/out_of_memory.h"
#include "graph/constant_files.h"
#include "leat/onnx.h"
#include "onnx/exporter.h"

namespace leat {
namespace {

Status write_blocks(int descriptor, const onnx::ConstantSink& sink) {
    for (const auto& [offset, bytes] : sink.blocks) {
        if (::lseek(descriptor, offset, SEEK_SET) != offset) {
            return invalid_argument("cannot write the file: {}", std::strerror(errno));
        }
        LEAT_RETURN_IF_ERROR(write_all(descriptor, bytes));
    }
    return {};
}

Status write_message(const onnx::WireWriter& writer, const std::filesystem::path& file) {
    NewFile out(file);
    LEAT_RETURN_IF_ERROR(out.status());
    LEAT_RETURN_IF_ERROR(writer.write_to(out.descriptor()));
    return out.commit();
}

// Both are complete before one of them gets its name.
Status write_model_and_data(const onnx::WireWriter& writer,
                            const std::filesystem::path& file,
                            const onnx::ConstantSink& sink,
                            const std::filesystem::path& data_file) {
    NewFile data(data_file);
    LEAT_RETURN_IF_ERROR(data.status());
    LEAT_RETURN_IF_ERROR(write_blocks(data.descriptor(), sink));
    NewFile out(file);
    LEAT_RETURN_IF_ERROR(out.status());
    LEAT_RETURN_IF_ERROR(writer.write_to(out.descriptor()));
    LEAT_RETURN_IF_ERROR(data.commit());
    return out.commit();
}

Status save_value(const Value& value, const std::filesystem::path& file) {
    LEAT_ASSIGN_OR_RETURN(const onnx::WireWriter writer, onnx::export_value(value));
    return write_message(writer, file);
}

}  // namespace

Status onnx::save_model(const GraphData& graph,
                        const std::filesystem::path& file,
                        int64_t most_model_bytes) {
    LEAT_RETURN_IF_ERROR(ConstantFiles(graph).check());
    ConstantSink sink;
    LEAT_ASSIGN_OR_RETURN(WireWriter writer, export_model(graph, sink));
    if (writer.byte_count() <= most_model_bytes) {
        return write_message(writer, file);
    }
    sink.external = true;
    const std::filesystem::path data_file = file.string() + ".data";
    sink.location = data_file.filename().string();
    LEAT_ASSIGN_OR_RETURN(writer, export_model(graph, sink));
    return write_model_and_data(writer, file, sink, data_file);
}

Status save_onnx(const Graph& graph, const std::string& file) {
    return catch_bad_alloc("save the model", [&]() -> Status {
        return onnx::save_model(graph.data(), file).with_file(file);
    });
}

Status save_onnx_value(const Value& value, const std::string& file) {
    return catch_bad_alloc("save the value",
                           [&]() -> Status { return save_value(value, file).with_file(file); });
}

}  // namespace leat
