#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/new_file.h"
#include "base/out_of_memory.h"
#include "leat/onnx.h"
#include "onnx/exporter.h"

namespace leat {
namespace {

// Protobuf readers refuse larger messages.
constexpr int64_t kMaxModelBytes = (int64_t{1} << 31) - 1;

Status write_file(const onnx::WireWriter& writer, const std::filesystem::path& file) {
    NewFile out(file);
    LEAT_RETURN_IF_ERROR(out.check_open());
    LEAT_RETURN_IF_ERROR(writer.write_to(out.descriptor()));
    return out.commit();
}

Status write_blocks(const onnx::ConstantSink& sink, const std::filesystem::path& file) {
    NewFile out(file);
    LEAT_RETURN_IF_ERROR(out.check_open());
    for (const auto& [offset, bytes] : sink.blocks) {
        if (::lseek(out.descriptor(), offset, SEEK_SET) != offset) {
            return invalid_argument("cannot write: {}", std::strerror(errno));
        }
        LEAT_RETURN_IF_ERROR(write_all(out.descriptor(), bytes));
    }
    return out.commit();
}

Status save_model(const GraphData& graph, const std::filesystem::path& file) {
    onnx::ConstantSink sink;
    LEAT_ASSIGN_OR_RETURN(onnx::WireWriter writer, export_model(graph, sink));
    if (writer.byte_count() > kMaxModelBytes) {
        sink.external = true;
        const std::filesystem::path data_file = file.string() + ".data";
        sink.location = data_file.filename().string();
        LEAT_ASSIGN_OR_RETURN(writer, export_model(graph, sink));
        LEAT_RETURN_IF_ERROR(write_blocks(sink, data_file));
    }
    return write_file(writer, file);
}

Status save_value(const Value& value, const std::filesystem::path& file) {
    LEAT_ASSIGN_OR_RETURN(const onnx::WireWriter writer, onnx::export_value(value));
    return write_file(writer, file);
}

}  // namespace

Status save_onnx(const Graph& graph, const std::string& file) {
    return catch_bad_alloc("save the model", [&]() -> Status {
        return save_model(graph.data(), file).with_file(file);
    });
}

Status save_onnx_value(const Value& value, const std::string& file) {
    return catch_bad_alloc("save the value",
                           [&]() -> Status { return save_value(value, file).with_file(file); });
}

}  // namespace leat
