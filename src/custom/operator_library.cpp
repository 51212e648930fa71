#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "base/out_of_memory.h"
#include "base/transformed.h"
#include "custom/custom_op_def.h"
#include "custom/operator_schema.h"
#include "custom/shared_operators.h"
#include "graph/operator_source.h"

namespace leat {
namespace {

using DefPtr = std::shared_ptr<const CustomOpDef>;
using Key = std::tuple<std::string, std::string, int>;  // domain, name, version

Key key_of(const CustomOperator& schema) {
    return {schema.domain, schema.name, schema.since_version};
}

Status conflict(const CustomOpDef& first, const CustomOpDef& second) {
    return invalid_argument("an operator is registered twice")
        .with_found(fmt::format("{} by {}, and {} by {}", first.label(), first.source,
                                second.label(), second.source))
        .with_needed("one of both, or another since_version");
}

}  // namespace

struct OperatorLibrary::Impl final : OperatorSource {
    Status add(std::vector<DefPtr> added);
    Result<const OpDef*> find(std::string_view domain,
                              std::string_view name,
                              int32_t opset) const override;

    mutable std::mutex mutex;
    std::map<Key, DefPtr> operators;
};

// All of them or none.
Status OperatorLibrary::Impl::add(std::vector<DefPtr> added) {
    const std::lock_guard lock(mutex);
    std::map<Key, DefPtr> all = operators;
    for (DefPtr& def : added) {
        const auto [place, is_new] = all.emplace(key_of(def->schema), def);
        if (!is_new) {
            return conflict(*place->second, *def);
        }
    }
    operators = std::move(all);
    return {};
}

Result<const OpDef*> OperatorLibrary::Impl::find(std::string_view domain,
                                                 std::string_view name,
                                                 int32_t opset) const {
    const std::lock_guard lock(mutex);
    const Key first{std::string(domain), std::string(name), 0};
    const CustomOpDef* oldest = nullptr;
    const CustomOpDef* newest = nullptr;
    for (auto entry = operators.lower_bound(first); entry != operators.end(); ++entry) {
        const CustomOperator& schema = entry->second->schema;
        if (schema.domain != domain || schema.name != name) {
            break;
        }
        oldest = oldest == nullptr ? entry->second.get() : oldest;
        if (opset == 0 || schema.since_version <= opset) {
            newest = entry->second.get();
        }
    }
    if (newest == nullptr && oldest != nullptr) {
        return unsupported("the operator is registered for later opsets of its domain only")
            .with_found(fmt::format("opset {} of '{}'", opset, domain))
            .with_needed(fmt::format("opset {} or later: {} by {}", oldest->schema.since_version,
                                     oldest->label(), oldest->source));
    }
    return static_cast<const OpDef*>(newest);
}

OperatorLibrary::OperatorLibrary() : impl_(std::make_shared<Impl>()) {}

Status OperatorLibrary::add(CustomOperator custom) {
    return catch_bad_alloc("register an operator", [&]() -> Status {
        LEAT_RETURN_IF_ERROR(custom::check_schema(custom));
        return impl_->add({std::make_shared<const CustomOpDef>(std::move(custom), "the program",
                                                               std::shared_ptr<const void>())});
    });
}

Status OperatorLibrary::load(const std::string& file) {
    return catch_bad_alloc("load operators", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(custom::SharedOperators shared, custom::open_shared_operators(file));
        std::vector<DefPtr> defs;
        defs.reserve(shared.operators.size());
        for (CustomOperator& described : shared.operators) {
            LEAT_RETURN_IF_ERROR(custom::check_schema(described).with_file(file));
            defs.push_back(
                std::make_shared<const CustomOpDef>(std::move(described), file, shared.library));
        }
        return impl_->add(std::move(defs)).with_file(file);
    });
}

std::vector<OperatorInfo> OperatorLibrary::list() const {
    const std::lock_guard lock(impl_->mutex);
    return transformed(impl_->operators, [](const auto& entry) {
        const CustomOperator& schema = entry.second->schema;
        return OperatorInfo{schema.domain, schema.name, schema.since_version, entry.second->source};
    });
}

const OperatorSource& OperatorLibrary::source() const {
    return *impl_;
}

}  // namespace leat
