// Sequences and optionals: operators on whole values. ONNX SequenceEmpty-11, SequenceConstruct-11,
// SequenceInsert-11, SequenceErase-11, SequenceAt-11, SequenceLength-11, SplitToSequence-24,
// ConcatFromSequence-11, SequenceMap-17, Optional-15, OptionalHasElement-18, OptionalGetElement-18.
//   Elements are tensors of any type; those of one sequence have one type, and any shapes.
//   A position counts from the end if it is negative; beyond the ends it is an error.
//   SequenceMap: the body runs once for each element of the first sequence; elements of the other
//   sequences at the same place, and tensors as they are, are its other inputs.
// Nothing is copied: an element is the tensor that was put in. Where nothing else needs a sequence,
// inserting and erasing change it in place. ConcatFromSequence and SplitToSequence copy elements.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status sequence_empty(const ValueArgs& args);
Status sequence_construct(const ValueArgs& args);
Status sequence_insert(const ValueArgs& args);
Status sequence_erase(const ValueArgs& args);
Status sequence_at(const ValueArgs& args);
Status sequence_length(const ValueArgs& args);
Status split_to_sequence(const ValueArgs& args);
Status concat_from_sequence(const ValueArgs& args);
Status optional_of(const ValueArgs& args);
Status optional_has_element(const ValueArgs& args);
Status optional_get_element(const ValueArgs& args);

}  // namespace leat
