// --shape NAME=1x3x{224,320}x224: every combination of the alternatives is a case.
#pragma once

#include <string>
#include <vector>

#include "leat/runtime.h"
#include "leat/status.h"

namespace leat::bench {

struct SweepCase {
    InputShapes shapes;
    std::string label;  // " x=1x3x224x224"; empty without a sweep
};

// "1x3x224x224" or "scalar".
Result<Shape> parse_shape(const std::string& text);

// The cases of all --shape values together; one case without alternatives. Errors:
// invalid_argument.
Result<std::vector<SweepCase>> sweep_cases(const std::vector<std::string>& shapes);

// "NAME=VALUE" split at the last '='. The value is empty when there is none.
std::pair<std::string, std::string> split_assignment(const std::string& text);

}  // namespace leat::bench
