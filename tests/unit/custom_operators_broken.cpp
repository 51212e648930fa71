// Shared objects that are refused; each LEAT_BROKEN_... is broken in one way.
#include <stdexcept>

#include "custom_operators.h"
#include "leat/operator_entry.h"

namespace {

using leat::testing::scale_operator;

#if defined(LEAT_BROKEN_NO_SYMBOL)

[[maybe_unused]] const char* const kNothing = "nothing";

#else

[[maybe_unused]] leat::Status register_operators(
    [[maybe_unused]] leat::OperatorRegistry& registry) {
#if defined(LEAT_BROKEN_REGISTRATION_THROWS)
    (void)registry.add(scale_operator());
    throw std::runtime_error("no licence");
#elif defined(LEAT_BROKEN_REGISTRATION_FAILS)
    return {leat::StatusCode::kUnsupported, "no licence"};
#elif defined(LEAT_BROKEN_EMPTY)
    (void)registry;
    return {};
#elif defined(LEAT_BROKEN_SECOND_IS_BAD)
    (void)registry.add(scale_operator());
    leat::CustomOperator bad = scale_operator();
    bad.name = "Bad";
    bad.outputs.clear();
    return registry.add(bad);
#else
    return registry.add(scale_operator());
#endif
}

[[maybe_unused]] leat::OperatorLibraryTable broken_table() {
    leat::OperatorLibraryTable table;
    table.register_operators = register_operators;
#if defined(LEAT_BROKEN_VERSION)
    table.version = 99;
#elif defined(LEAT_BROKEN_SIZE)
    table.operator_bytes -= 8;
#elif defined(LEAT_BROKEN_NO_FUNCTION)
    table.register_operators = nullptr;
#endif
    return table;
}

#endif

}  // namespace

#if !defined(LEAT_BROKEN_NO_SYMBOL)
extern "C" __attribute__((visibility("default"))) const leat::OperatorLibraryTable*
leat_operators_query(uint32_t /*version*/) {
#if defined(LEAT_BROKEN_THROWS)
    throw std::runtime_error("not today");
#elif defined(LEAT_BROKEN_NO_TABLE)
    return nullptr;
#else
    static const leat::OperatorLibraryTable table = broken_table();
    return &table;
#endif
}
#endif
