// A shared object with custom operators, written as a program outside of leat would.
#include "custom_operators.h"
#include "leat/operator_entry.h"

namespace {

leat::Status register_operators(leat::OperatorRegistry& registry) {
    for (auto make : {leat::testing::scale_operator, leat::testing::parts_operator,
                      leat::testing::picky_operator, leat::testing::fatal_operator}) {
        leat::Status status = registry.add(make());
        if (!status.ok()) {
            return status;
        }
    }
    return {};
}

}  // namespace

LEAT_OPERATOR_LIBRARY("operators of acme", register_operators)
