#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/rotary_embedding/rotary_embedding.h"

namespace leat {
namespace {

void rotate_rotary_head(const ReferenceArgs& args,
                        const RotaryGeometry& geometry,
                        int64_t row,
                        int64_t first) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t half = geometry.rotated / 2;
    for (int64_t k = 0; k < half; ++k) {
        const int64_t i = first + (geometry.is_interleaved ? 2 * k : k);
        const int64_t j = i + (geometry.is_interleaved ? 1 : half);
        const double cos = load_real(args.inputs[1].dtype, args.inputs[1].data, row * half + k);
        const double sin = load_real(args.inputs[2].dtype, args.inputs[2].data, row * half + k);
        const double x1 = load_real(x.dtype, x.data, i);
        const double x2 = load_real(x.dtype, x.data, j);
        store_real(y.dtype, y.data, i, cos * x1 - sin * x2);
        store_real(y.dtype, y.data, j, sin * x1 + cos * x2);
    }
    for (int64_t k = geometry.rotated; k < geometry.head_size; ++k) {
        store_real(y.dtype, y.data, first + k, load_real(x.dtype, x.data, first + k));
    }
}

}  // namespace

Status rotary_embedding_reference(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const auto geometry,
                          RotaryGeometry::make(args.node, args.inputs[0].shape));
    for (int64_t sequence = 0; sequence < geometry.batch; ++sequence) {
        for (int64_t token = 0; token < geometry.length; ++token) {
            const Result<int64_t> row = rotary_row(args.inputs, sequence, token);
            if (!row.ok()) {
                return Status(row.error()).with_node(args.node.label());
            }
            for (int64_t head = 0; head < geometry.heads; ++head) {
                rotate_rotary_head(args, geometry, *row,
                                   geometry.first_element(sequence, token, head));
            }
        }
    }
    return {};
}

}  // namespace leat
