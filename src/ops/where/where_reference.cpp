#include <cstring>
#include <string>

#include "ops/elementwise/elementwise.h"
#include "ops/where/where.h"

namespace leat {

Status where_reference(const ReferenceArgs& args);

Status where_reference(const ReferenceArgs& args) {
    const auto* condition = args.inputs[0].as<uint8_t>();
    const TensorArg& y = args.outputs[0];
    const int64_t bytes = bits_of(y.dtype) / 8;
    for_each_broadcast(y.shape, args.inputs, [&](int64_t o, const auto& at) {
        const size_t k = condition[at[0]] != 0 ? 1 : 2;
        const TensorArg& source = args.inputs[k];
        if (y.dtype == DType::kString) {
            y.as<std::string>()[o] = source.as<std::string>()[at[k]];
        } else {
            std::memcpy(y.data + o * bytes, source.data + at[k] * bytes, size_t(bytes));
        }
    });
    return {};
}

}  // namespace leat
