// The table of all operators, from the list in meson.build. No static initialiser, no
// self-registration.
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"

namespace leat {

#define LEAT_OP_FOLDER(folder) std::span<const OpDef> folder##_ops();
#include "op_table.inc"
#undef LEAT_OP_FOLDER

namespace {

struct OpTable {
    std::vector<const OpDef*> ops;
    std::unordered_map<std::string, const OpDef*> by_name;  // "domain.name"

    void add(std::span<const OpDef> folder) {
        for (const OpDef& op : folder) {
            ops.push_back(&op);
            by_name.emplace(std::string(op.domain) + "." + std::string(op.name), &op);
        }
    }
    OpTable() {
#define LEAT_OP_FOLDER(folder) add(folder##_ops());
#include "op_table.inc"
#undef LEAT_OP_FOLDER
    }
};

const OpTable& table() {
    static const OpTable kInstance;
    return kInstance;
}

}  // namespace

const OpDef* find_op(std::string_view domain, std::string_view name) {
    const std::string key =
        std::string(domain == "ai.onnx" ? std::string_view() : domain) + "." + std::string(name);
    const auto found = table().by_name.find(key);
    return found == table().by_name.end() ? nullptr : found->second;
}

std::span<const OpDef* const> all_ops() {
    return table().ops;
}

}  // namespace leat
