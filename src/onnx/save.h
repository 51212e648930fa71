// The inside of save_onnx, for models that are to have their weights in a file of their own.
#pragma once

#include <cstdint>
#include <filesystem>

#include "graph/graph_data.h"

namespace leat::onnx {

// Protobuf readers refuse larger messages.
constexpr int64_t kMostModelBytes = (int64_t{1} << 31) - 1;

// Weights go to `<file>.data` if the model's file had more than `most_model_bytes` with them.
Status save_model(const GraphData& graph,
                  const std::filesystem::path& file,
                  int64_t most_model_bytes = kMostModelBytes);

}  // namespace leat::onnx
