// A graph with operators divided over the devices of the list, in place of one that has them whole.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "place/placement_choice.h"

namespace leat {

// Its shards have their places.
struct DividedGraph {
    std::unique_ptr<GraphData> graph;
    PlacedList list;
    AskedGraph asked;
    std::vector<DividedOperator> operators;
};

struct DividedPlacement {
    DividedGraph divided;
    ChosenPlacement chosen;
    PlacedGraph placed;  // what choose_placement() fills
};

// Where operators are divided the host has to cut and join, whatever is in the list.
PlacedList with_host(PlacedList list, const Backend& host);

// As annotations of the model demand, whatever that costs; nothing: they demand none. notes: gets
// those of annotated_division(), whose errors these are.
Result<std::optional<DividedGraph>> divide_as_annotated(const AskedGraph& asked,
                                                        const PlacedList& list,
                                                        const Backend& host,
                                                        const PlacementTerms& terms,
                                                        std::vector<std::string>& notes);

// The first of what propose_divisions() gives whose results come sooner, or, with several requests
// in flight, more often, than those of the graph as it is, by a margin that is more than rounding;
// nothing: there is none. chosen: by cost.
std::optional<DividedPlacement> divide_operators(const AskedGraph& asked,
                                                 const ChosenPlacement& chosen,
                                                 const PlacedList& list,
                                                 const Backend& host,
                                                 const PlacementTerms& terms);

}  // namespace leat
