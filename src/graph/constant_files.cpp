#include "graph/constant_files.h"

#include <algorithm>
#include <variant>

#include "base/error.h"
#include "base/files/mapped_file.h"

namespace leat {

ConstantFiles::ConstantFiles(const GraphData& graph) {
    add_all(graph);
}

void ConstantFiles::add(const std::shared_ptr<const void>& owner) {
    const auto* mapping = std::get_deleter<MappedFileDeleter>(owner);
    if (mapping == nullptr) {
        return;
    }
    // From the end: constants that follow each other are of one file, as a rule.
    const bool is_known = std::any_of(files_.rbegin(), files_.rend(), [mapping](const auto& file) {
        return std::get_deleter<MappedFileDeleter>(file) == mapping;
    });
    if (!is_known) {
        files_.push_back(owner);
    }
}

void ConstantFiles::add_all(const GraphData& graph) {
    for (const ValueData& value : graph.values) {
        if (value.constant) {
            add(value.constant->owner());
        }
    }
    for (const NodeData& node : graph.nodes) {
        for (const auto& [name, attribute] : node.attributes) {
            if (const auto* tensor = std::get_if<Tensor>(&attribute)) {
                add(tensor->owner());
            }
        }
        for (const auto& [key, body] : node.bodies()) {
            add_all(*body);
        }
    }
}

Status ConstantFiles::check() const {
    for (const std::shared_ptr<const void>& file : files_) {
        LEAT_RETURN_IF_ERROR(check_mapping(file));
    }
    return {};
}

}  // namespace leat
