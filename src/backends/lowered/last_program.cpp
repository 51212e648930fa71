#include "backends/lowered/last_program.h"

namespace leat::lowered {
namespace {

void append(std::string& key, const void* data, int64_t bytes) {
    if (bytes > 0) {
        key.append(static_cast<const char*>(data), size_t(bytes));
    }
}

}  // namespace

// Counts and types are the executable's, so only what follows a rank has a length of its own.
std::string key_of(const LeatRunShape& shape) {
    constexpr int32_t kAbsent = -1;
    std::string key;
    append(key, shape.symbols, int64_t(sizeof(int64_t)) * shape.symbol_count);
    for (int32_t i = 0; i < shape.input_count; ++i) {
        const LeatTensorView* input = shape.host_inputs[i];
        append(key, input == nullptr ? &kAbsent : &input->rank, sizeof(int32_t));
        if (input != nullptr) {
            append(key, input->extents, int64_t(sizeof(int64_t)) * input->rank);
            append(key, input->data, input->bytes);
        }
    }
    return key;
}

}  // namespace leat::lowered
