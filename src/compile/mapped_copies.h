// Copies of the packed constants in a loaded file, where plans' threads read them: on a machine
// with several memory domains, all of them at once instead of one after the other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "memory/domains/mapped_weights.h"
#include "memory/domains/weight_store.h"
#include "run/compiled_graph_impl.h"
#include "saved/compiled_record.h"
#include "saved/saved_tensors.h"

namespace leat {

// Keeps copies until plans hold them.
using HeldWeights = std::vector<std::shared_ptr<const std::byte>>;

// The packed constants of a file, where it is mapped. kParse: a constant is not in it.
Result<std::shared_ptr<const MappedWeights>> map_weights(const BlobReader& blobs,
                                                         std::span<const PackedRecord> packed);
// The same as a list. Precondition: map_weights takes them.
std::vector<WeightForm> mapped_forms(const BlobReader& blobs, std::span<const PackedRecord> packed);

// For each of these groups the copies that its plans will ask for, made by the group's own threads,
// and by all groups at the same time. Nothing where memory is not placed, or a group's weights are
// not in one domain: then only kernels know how they read them, and plans copy as they ask.
// Precondition: compiled.mapped has these forms.
Result<HeldWeights> copy_mapped_weights(const CompiledGraph::Impl& compiled,
                                        std::span<const int> groups,
                                        std::span<const WeightForm> forms);

}  // namespace leat
