// Backend: what compile() asks a device. Built-in backends answer here; plugins through a C ABI.
//
// Immutable and thread-safe. Layers: backends may use graph, ops, scheduler, memory, trace.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backends/host_kernel.h"

namespace leat {

class Backend {
  public:
    virtual ~Backend() = default;

    virtual std::string_view name() const = 0;
    // Why it cannot be used on this machine; empty if it can.
    virtual std::string unavailable_reason() const { return {}; }
    // Graphs for it are rewritten to channels-last around convolutions.
    virtual bool prefers_channels_last() const { return false; }
    virtual bool fuses_epilogues() const { return false; }
    // Nodes of the standard with bodies run by plans of these, as far as sizes are fixed. Else a
    // kernel of the node runs them.
    virtual bool plans_bodies() const { return false; }

    // Why the backend cannot run the node; empty if it can.
    virtual std::string refusal(const NodeData& node) const = 0;
    // Precondition: refusal(node) is empty. An error here is about values, for example an
    // impossible combination of shapes.
    virtual Result<std::unique_ptr<HostKernel>> prepare(PrepareContext& context) const = 0;
};

// "cpu", "reference": an explicit list, in the order in which `devices` prints it.
std::span<const Backend* const> builtin_backends();
// The backend of that name, or not_found with the names that exist.
Result<const Backend*> find_backend(std::string_view name);

}  // namespace leat
