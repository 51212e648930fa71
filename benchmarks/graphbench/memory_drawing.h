// The memory plan as a picture: steps across, bytes up, a rectangle for each buffer.
#pragma once

#include <string>

#include "leat/runtime.h"

namespace leat::bench {

// Letters for the largest buffers, '+' for others, '.' for free bytes, and a legend. A cell stands
// for several steps and bytes and shows what lies in its middle.
std::string memory_as_text(const PlanReport& plan);
// Names, bytes and steps appear where the pointer rests on a buffer.
std::string memory_as_svg(const PlanReport& plan, const std::string& title);

}  // namespace leat::bench
