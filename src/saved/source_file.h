// SourceFile: a file of the model, or its external data, that a compiled graph's file leaves
// constants in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/files/mapped_file.h"
#include "leat/status.h"

namespace leat {

struct SourceFile {
    // Of the folder of the compiled graph's file where it is inside of it, so that both may move
    // together; else absolute.
    std::string path;
    int64_t size_bytes = 0;
    int64_t modified_ns = 0;
};

// That the file under the mapping's name is the mapped one still, and no compiled graph: those are
// replaced where they are.
bool is_model_file(const MappedFileDeleter& mapping);

// `file`, which has an absolute path, for a compiled graph in this folder.
SourceFile named_from(const std::filesystem::path& folder, SourceFile file);

struct OpenedSource {
    MappedFile file;
    bool is_untouched = false;  // modified when the compiled graph says; else its bytes decide
};
// kNotFound: it is gone; kVersionMismatch: it has another size.
Result<OpenedSource> open_source(const std::filesystem::path& folder,
                                 const SourceFile& file,
                                 FileAccess access);

// A source that is not the file that constants were left in; found and needed say why.
Status changed_source(const SourceFile& file, std::string found, std::string needed);

}  // namespace leat
