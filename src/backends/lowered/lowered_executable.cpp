#include "backends/lowered/lowered_executable.h"

#include <fmt/core.h>

#include <utility>

namespace leat::lowered {
namespace {

constexpr uint64_t kRowMajorKey = 1;

}  // namespace

LoweredExecutable::LoweredExecutable(ImportedGraph graph, LoweredMemory memory)
    : graph_(std::move(graph)), memory_(memory), info_(plugin::made<LeatExecutableInfo>()) {
    describe_constants();
    info_.domain = memory_.domain;
    info_.constant_count = int32_t(constants_.size());
    info_.constants = constant_pointers_.data();
    info_.input_count = int32_t(graph_.graph.inputs.size());
    info_.output_count = int32_t(graph_.graph.outputs.size());
    info_.symbol_count = int32_t(graph_.symbols.size());
    info_.host_inputs_low = graph_.host_inputs;
}

void LoweredExecutable::describe_constants() {
    constants_.reserve(graph_.constants.size());
    constant_pointers_.reserve(graph_.constants.size());
    for (const ImportedConstant& source : graph_.constants) {
        const TypeInfo& type = graph_.graph.values[size_t(source.own_value)].type;
        LeatPackedConstant& row = constants_.emplace_back(plugin::made<LeatPackedConstant>());
        row.value = source.value;
        row.domain = memory_.domain;
        row.content_hash = source.content_hash;
        row.layout_key = kRowMajorKey;
        row.bytes = storage_bytes(type.dtype, type.fixed_shape()->element_count()).value_or(0);
        row.alignment_bytes = memory_.alignment_bytes;
        constant_pointers_.push_back(&row);
    }
}

void LoweredExecutable::save(const LeatSink& sink) {
    const std::string bytes = saved_graph(graph_);
    const LeatCode code = sink.write(sink.user, bytes.data(), int64_t(bytes.size()));
    if (code != kLeatOk) {
        throw plugin::Error(code, "the host could not store what was saved");
    }
}

void LoweredExecutable::pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) {
    if (index < 0 || size_t(index) >= constants_.size() ||
        tensor.bytes != constants_[size_t(index)].bytes) {
        plugin::invalid_argument(
            fmt::format("constant {} of {} bytes is none of this executable", index, tensor.bytes));
    }
    write(to, {static_cast<const std::byte*>(tensor.data), size_t(tensor.bytes)});
}

}  // namespace leat::lowered
