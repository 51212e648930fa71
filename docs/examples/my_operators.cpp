// The shared object of docs/custom-operators.md.
#include "clamp.h"
#include "leat/operator_entry.h"

static leat::Status register_operators(leat::OperatorRegistry& registry) {
    return registry.add(clamp_operator());
}
LEAT_OPERATOR_LIBRARY("operators of example", register_operators)
