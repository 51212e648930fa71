#include "ops/shard_rules.h"

#include <algorithm>

namespace leat {

bool rows_by_broadcasting(const ShardArgs& args) {
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (!broadcasts_to_rows(args.inputs[i], args.parts[i], args.outputs[0].shape)) {
            return false;
        }
    }
    return true;
}

bool are_whole_from(const ShardArgs& args, size_t first) {
    return std::all_of(args.parts.begin() + std::ptrdiff_t(std::min(first, args.parts.size())),
                       args.parts.end(), [](ShardPart part) { return part == ShardPart::kWhole; });
}

bool rows_of_first_input(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kRows && are_whole_from(args, 1);
}

bool rows_unless_along_axis_0(const ShardArgs& args, int64_t default_axis) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank(), default_axis);
    return axis.ok() && *axis != 0 && rows_of_first_input(args);
}

bool rows_of_view(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kRows;
}

bool is_absent_or_known(const ShardArgs& args, size_t i) {
    const TensorArg* input = find_arg(args.inputs, int(i));
    return input == nullptr || input->data != nullptr || input->shape.element_count() == 0;
}

}  // namespace leat
