// NumPy's .npy files.
#pragma once

#include <filesystem>

#include "leat/status.h"
#include "leat/tensor.h"

namespace leat::bench {

// NumPy's format, version 1.0, little endian, C order.
Result<Tensor> load_npy(const std::filesystem::path& file);
Status save_npy(const Tensor& tensor, const std::filesystem::path& file);

}  // namespace leat::bench
