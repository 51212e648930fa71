#include <cstring>

#include "ops/bitcast/bitcast.h"

namespace leat {

Status bitcast_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    if (x.byte_count() > 0) {
        std::memcpy(args.outputs[0].data, x.data, size_t(x.byte_count()));
    }
    return {};
}

}  // namespace leat
