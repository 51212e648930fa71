// The entry point of a shared object with custom operators (custom_operator.h):
//
//   static leat::Status register_operators(leat::OperatorRegistry& registry) {
//       return registry.add(my_operator());
//   }
//   LEAT_OPERATOR_LIBRARY("my operators", register_operators)
//
// The object links with leat. Its one exported symbol is C, but operators are C++ objects: it is
// built with the same release of leat's headers and the same C++ library as the program. The host
// compares versions and sizes before it calls anything, and refuses what does not match.
#pragma once

#include <cstdint>

#include "leat/custom_operator.h"

namespace leat {

inline constexpr uint32_t kOperatorLibraryVersion = 1;
#define LEAT_OPERATORS_QUERY "leat_operators_query"

// Grows only at its end; static data of the shared object.
struct OperatorLibraryTable {
    uint32_t struct_bytes = sizeof(OperatorLibraryTable);
    uint32_t version = kOperatorLibraryVersion;
    // Sizes of what passes through the calls, as the shared object's compiler sees them.
    uint32_t operator_bytes = sizeof(CustomOperator);
    uint32_t call_bytes = sizeof(KernelCall);
    uint32_t view_bytes = sizeof(TensorView);
    uint32_t status_bytes = sizeof(Status);
    const char* name = nullptr;  // for messages
    // Called once for each load. An exception ends it as an error.
    Status (*register_operators)(OperatorRegistry& registry) = nullptr;
};

// `version` is the host's kOperatorLibraryVersion.
using OperatorLibraryQuery = const OperatorLibraryTable* (*)(uint32_t version);

}  // namespace leat

// At namespace scope, once in the shared object.
#define LEAT_OPERATOR_LIBRARY(library_name, function)                                   \
    extern "C" __attribute__((visibility("default"))) const leat::OperatorLibraryTable* \
    leat_operators_query(uint32_t /*version*/) {                                        \
        static const leat::OperatorLibraryTable table = [] {                            \
            leat::OperatorLibraryTable made;                                            \
            made.name = library_name;                                                   \
            made.register_operators = function;                                         \
            return made;                                                                \
        }();                                                                            \
        return &table;                                                                  \
    }
