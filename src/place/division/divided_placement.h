// A graph with operators divided over the devices of the list, in place of one that has them whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "place/placement_choice.h"

namespace leat {

struct DividedPlacement {
    AskedGraph asked;
    Placement placement;
};

// Where operators are divided the host has to cut and join, whatever is in the list.
PlacedList with_host(PlacedList list, const Backend& host);

// As annotations of the model demand, whatever that costs: the shards have their places. Nothing:
// they demand none. notes: gets those of annotated_division(), whose errors these are.
Result<std::optional<AskedGraph>> divide_as_annotated(const AskedGraph& asked,
                                                      const Backend& host,
                                                      const PlacementTerms& terms,
                                                      std::vector<std::string>& notes);

// The first of what propose_divisions() gives whose results come sooner, or, with several requests
// in flight, more often, than those of the graph as it is, by a margin that is more than rounding;
// nothing: there is none. placement: of the graph as it is, by cost.
std::optional<DividedPlacement> divide_operators(const AskedGraph& asked,
                                                 const Placement& placement,
                                                 const Backend& host,
                                                 const PlacementTerms& terms);

}  // namespace leat
