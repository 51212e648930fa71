#include "custom/shared_operators.h"

#include <dlfcn.h>

#include <utility>

#include "base/files/shared_object.h"
#include "custom/guarded_call.h"
#include "leat/operator_entry.h"

namespace leat::custom {
namespace {

Status version_mismatch(const std::string& file, std::string found, std::string needed) {
    return make_error(StatusCode::kVersionMismatch,
                      "the operators were built for another version of leat")
        .with_file(file)
        .with_found(std::move(found))
        .with_needed(std::move(needed))
        .with_hint("build it again with the headers of this leat");
}

// Version and sizes, before anything of them is called.
Status check_table(const OperatorLibraryTable& table, const std::string& file) {
    if (table.version != kOperatorLibraryVersion) {
        return version_mismatch(file, fmt::format("version {}", table.version),
                                fmt::format("version {}", kOperatorLibraryVersion));
    }
    const auto describe = [](const OperatorLibraryTable& t) {
        return fmt::format("a table of {} bytes; operator {}, call {}, view {}, status {} bytes",
                           t.struct_bytes, t.operator_bytes, t.call_bytes, t.view_bytes,
                           t.status_bytes);
    };
    const OperatorLibraryTable own;
    const bool fits = table.struct_bytes >= own.struct_bytes &&
                      table.operator_bytes == own.operator_bytes &&
                      table.call_bytes == own.call_bytes && table.view_bytes == own.view_bytes &&
                      table.status_bytes == own.status_bytes;
    if (!fits) {
        return version_mismatch(file, describe(table), describe(own));
    }
    if (table.register_operators == nullptr) {
        return parse_error("its table of operators has no function to register them")
            .with_file(file);
    }
    return {};
}

Result<const OperatorLibraryTable*> query(void* library, const std::string& file) {
    const auto entry =
        reinterpret_cast<OperatorLibraryQuery>(::dlsym(library, LEAT_OPERATORS_QUERY));
    if (entry == nullptr) {
        return parse_error("no operators of leat: it has no symbol " LEAT_OPERATORS_QUERY)
            .with_file(file)
            .with_hint("LEAT_OPERATOR_LIBRARY defines it");
    }
    const OperatorLibraryTable* table = nullptr;
    const auto ask = [&] {
        table = entry(kOperatorLibraryVersion);
        return Status();
    };
    LEAT_RETURN_IF_ERROR(guarded("its entry point", ask).with_file(file));
    if (table == nullptr) {
        return make_error(StatusCode::kVersionMismatch, "its entry point gives no table")
            .with_file(file);
    }
    LEAT_RETURN_IF_ERROR(check_table(*table, file));
    return table;
}

// Keeps what is added: code of the shared object makes nothing that outlives the object.
class Collector final : public OperatorRegistry {
  public:
    explicit Collector(std::vector<CustomOperator>& operators) : operators_(operators) {}
    Status add(CustomOperator custom) override {
        operators_.push_back(std::move(custom));
        return {};
    }

  private:
    std::vector<CustomOperator>& operators_;
};

}  // namespace

Result<SharedOperators> open_shared_operators(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(SharedObject library, open_shared_object(file));
    SharedOperators shared;
    void* handle = library.get();
    shared.library = std::move(library);
    LEAT_ASSIGN_OR_RETURN(const OperatorLibraryTable* table, query(handle, file));
    Collector collector(shared.operators);
    const auto collect = [&] { return table->register_operators(collector); };
    LEAT_RETURN_IF_ERROR(guarded("registration of its operators", collect).with_file(file));
    if (shared.operators.empty()) {
        return parse_error("it registers no operators").with_file(file);
    }
    return shared;
}

}  // namespace leat::custom
