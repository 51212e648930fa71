// A compiled graph with all memory that a run of it needs.
#pragma once

#include <cstdint>
#include <vector>

#include "contract/context.h"
#include "contract/graph_view.h"

namespace leat::contract {

// Extents of symbols, and host inputs by graph input (null: none).
struct Shapes {
    std::vector<int64_t> symbols;
    std::vector<const LeatTensorView*> host_inputs;
};

// Frees what it owns before the context goes.
class Compiled {
  public:
    // Unimplemented where the backend refuses the graph with a reason.
    Compiled(Context& context, GraphView& graph);
    // Of what save() wrote.
    Compiled(Context& context, const std::string& saved);
    Compiled(const Compiled&) = delete;
    Compiled& operator=(const Compiled&) = delete;
    ~Compiled();

    const LeatExecutableInfo& info() const;
    std::string save() const;
    // Packs constants; before link().
    void pack(const GraphView& graph);
    // Asks for the requirements, takes memory and links. `outputs`: bytes by output, as reported.
    void link(const Shapes& shapes);
    // The same with the first transient in use after input 0 at the input's own place, if there is
    // one: all of its steps wait for those that use the input. Unimplemented where the backend
    // does not tell when operands are in use.
    void link_over(const LeatBinding& input, const Shapes& shapes);
    int32_t step_count() const { return step_count_; }
    // Empty: the backend tells none.
    const std::vector<std::string>& step_names() const { return step_names_; }
    const std::vector<int64_t>& output_bytes() const { return output_bytes_; }
    bool is_bounded(size_t output) const { return output_is_bounded_[output] != 0; }

    LeatPoint execute(const std::vector<LeatBinding>& inputs,
                      const std::vector<LeatBinding>& outputs,
                      LeatProfile* profile = nullptr);

    LeatExecutable* executable() const { return executable_; }

  private:
    LeatPlacement place(int64_t bytes);
    void place_transients(const LeatRequirements& needed, const LeatBinding* input);
    void link(const Shapes& shapes, const LeatBinding* input);

    Context& context_;
    LeatExecutable* executable_ = nullptr;
    LeatInstance* instance_ = nullptr;
    std::vector<LeatPlacement> constants_;
    std::vector<LeatPlacement> transients_;
    std::vector<int64_t> output_bytes_;
    std::vector<int32_t> output_is_bounded_;
    int32_t step_count_ = 0;
    std::vector<std::string> step_names_;
};

// True if all went well; may be called concurrently.
bool compiles_and_frees(Context& context);

// What the backend says of the graph's nodes.
std::vector<LeatNodeCapability> capabilities_of(Context& context, GraphView& graph);

}  // namespace leat::contract
