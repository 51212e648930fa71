// ConstantFiles: the mapped files that the constants of a graph lie in.
#pragma once

#include <memory>
#include <vector>

#include "graph/graph_data.h"

namespace leat {

class ConstantFiles {
  public:
    // Those of constants and of tensors in attributes, also in bodies of control flow.
    explicit ConstantFiles(const GraphData& graph);
    // The owner of a tensor, or of anything else; what is no mapped file is left out.
    void add(const std::shared_ptr<const void>& owner);

    // An error names a file that became shorter. For before constants are read, not for runs: costs
    // a system call for each file.
    Status check() const;

  private:
    void add_all(const GraphData& graph);

    std::vector<std::shared_ptr<const void>> files_;
};

}  // namespace leat
