// Real networks at their published sizes, built through leat's public API with seeded random
// weights.
//
// A network is named by a spec: "resnet50", "gpt2?tokens=64,layers=2". The weights depend only on
// the network, its parameters and `seed`, so two programs build the very same network. Scales
// follow He and Xavier so that activations keep the size of a trained network's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "leat/graph.h"
#include "leat/status.h"

namespace leat::zoo {

// A number that a spec may set.
struct ParameterInfo {
    std::string_view name;
    int64_t default_value = 0;
    int64_t min_value = 1;
    int64_t max_value = 1;
    std::string_view meaning;
};

class Parameters;

struct NetworkInfo {
    std::string_view name;
    std::string_view summary;
    std::span<const ParameterInfo> parameters;
    Result<Graph> (*build)(const Parameters& parameters) = nullptr;
};

// Every network, in the order of the documentation.
std::span<const NetworkInfo> networks();

// Builds the network that `spec` names. Errors: not_found for an unknown network or parameter (with
// the closest name and the list), invalid_argument for a value out of range.
Result<Graph> make_network(std::string_view spec);

// The canonical form of a spec, with every parameter: "resnet50?batch=1,size=224,seed=0".
Result<std::string> full_spec(std::string_view spec);

}  // namespace leat::zoo
