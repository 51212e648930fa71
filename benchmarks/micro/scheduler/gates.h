// The promises that leat's gears must keep, checked against what was measured.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench.h"

namespace leat::micro {

struct Gate {
    std::string name;
    double value = 0;
    double bound = 0;
    bool at_most = true;  // else at least
    // False when the machine did not give the cores that the gate needs: neither pass nor miss.
    bool is_valid = true;

    bool passes() const { return at_most ? value <= bound : value >= bound; }
};

// Only of what was measured: gates of a section or of an executor that did not run are absent.
std::vector<Gate> evaluate_gates(const Bench& bench);
void print_gates(std::FILE* out, const std::vector<Gate>& gates);
Json gates_json(const std::vector<Gate>& gates);

}  // namespace leat::micro
