// The numbers of one network: what its spec sets, and defaults for the rest.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "leat/graph.h"
#include "leat/status.h"
#include "zoo.h"

namespace leat::zoo {

class Parameters {
  public:
    // `text` is what follows '?' in a spec: "batch=2,size=64"; may be empty.
    static Result<Parameters> parse(const NetworkInfo& network, std::string_view text);

    // Precondition: the network declares `name`.
    int64_t operator[](std::string_view name) const;
    // The parameter "batch" as an extent: open where it is 0.
    DimSpec batch() const;
    const NetworkInfo& network() const { return *network_; }

  private:
    explicit Parameters(const NetworkInfo& network);
    Status set(std::string_view assignment);

    const NetworkInfo* network_ = nullptr;
    std::vector<int64_t> values_;  // parallel to network_->parameters
};

}  // namespace leat::zoo
