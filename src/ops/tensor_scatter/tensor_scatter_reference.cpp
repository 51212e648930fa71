#include "ops/movement/movement.h"
#include "ops/tensor_scatter/tensor_scatter.h"

namespace leat {

Status tensor_scatter_reference(const ReferenceArgs& args) {
    const TensorArg& past = args.inputs[0];
    const TensorArg& update = args.inputs[1];
    const TensorArg& present = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const CacheUpdate plan,
                          CacheUpdate::make(args.node, past.shape, update.shape));
    const AxisSplit& cache = plan.cache;
    copy_elements(past.dtype, past.data, 0, present.data, 0, past.shape.element_count());
    for (int64_t block = 0; block < cache.outer; ++block) {
        auto first = plan.first_position(find_arg(args.inputs, 2), block / plan.blocks_per_sample);
        if (!first.ok()) {
            return std::move(first).error().with_node(args.node.label());
        }
        for (int64_t i = 0; i < plan.update_extent; ++i) {
            const int64_t to = block * cache.extent + (*first + i) % cache.extent;
            const int64_t from = block * plan.update_extent + i;
            copy_elements(past.dtype, update.data, from * cache.inner, present.data,
                          to * cache.inner, cache.inner);
        }
    }
    return {};
}

}  // namespace leat
