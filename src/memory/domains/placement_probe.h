// How strongly pages can be placed in a memory domain here and now: found by placing one.
#pragma once

#include <string>

#include "memory/domains/memory_domain.h"
#include "memory/domains/numa_policy.h"

namespace leat {

struct PlacementProbe {
    MemoryPolicy strongest = MemoryPolicy::kNone;  // kBind, kPrefer, kUser, kFirstTouch or kNone
    std::string reason;                            // why not kBind; the same text for every domain
};

// Maps a page, binds it, touches it and looks where it is; then weaker policies in the same way. A
// policy that the calling thread was started with is kept: then nothing is tried. Without
// `can_bind`, because the domain is full, binding is not tried: the kernel would end the process.
PlacementProbe probe_placement(const MemoryDomain& domain, bool can_bind);

}  // namespace leat
