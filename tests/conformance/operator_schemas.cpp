// Prints the attributes of every operator of ONNX's default domain that leat has, or reads from
// files of old opsets: a line "OPERATOR ATTRIBUTE KIND SINCE BEFORE REQUIRED", with tabs, for each
// row, which holds in opsets [SINCE, BEFORE) of files, and "OPERATOR" alone for each operator.
#include <cstdio>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "onnx/upgrade.h"

int main() {
    std::vector<std::string_view> names;
    for (const leat::OpDef* def : leat::all_ops()) {
        if (def->domain.empty()) {
            names.push_back(def->name);
        }
    }
    const std::vector<std::string_view> former = leat::onnx::former_operators();
    names.insert(names.end(), former.begin(), former.end());
    for (const std::string_view name : names) {
        const std::string op(name);
        std::printf("%s\n", op.c_str());
        const auto schemas = leat::onnx::find_attribute_schemas(name);
        for (const leat::AttributeSchema& row : *schemas) {
            if (row.since < leat::kCanonicalOpset) {
                std::printf("%s\t%s\t%s\t%d\t%d\t%d\n", op.c_str(), std::string(row.name).c_str(),
                            std::string(leat::name_of(row.kind)).c_str(), row.since, row.before,
                            int(row.is_required));
            }
        }
    }
    return 0;
}
