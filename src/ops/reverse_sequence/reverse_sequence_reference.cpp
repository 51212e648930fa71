#include "base/error.h"
#include "ops/movement/movement.h"
#include "ops/reverse_sequence/reverse_sequence.h"

namespace leat {

Status reverse_sequence_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t* const lengths = args.inputs[1].as<const int64_t>();
    const bool is_time_first = args.node.attr("time_axis", int64_t{0}) == 0;
    const int64_t times = x.shape[is_time_first ? 0 : 1];
    const int64_t batches = x.shape[is_time_first ? 1 : 0];
    const int64_t slice = x.shape.element_count(2, x.shape.rank());
    for (int64_t b = 0; b < batches; ++b) {
        const int64_t length = lengths[b];
        if (length < 0 || length > times) {
            return invalid_argument("sequence_lens has no length at {}", b)
                .with_node(args.node.label())
                .with_found(fmt::format("{}", length))
                .with_needed(fmt::format("0 to {}", times));
        }
        const auto place = [&](int64_t t) {
            return (is_time_first ? t * batches + b : b * times + t) * slice;
        };
        for (int64_t t = 0; t < times; ++t) {
            const int64_t from = t < length ? length - 1 - t : t;
            copy_elements(x.dtype, x.data, place(from), y.data, place(t), slice);
        }
    }
    return {};
}

}  // namespace leat
