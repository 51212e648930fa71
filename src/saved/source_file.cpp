#include "saved/source_file.h"

#include <utility>

#include "base/error.h"
#include "saved/compiled_file.h"

namespace leat {
namespace {

constexpr const char* kHint =
    "put the model back, or compile and save the graph again, with its constants if need be "
    "(SaveOptions::refers_to_model)";

}  // namespace

bool is_model_file(const MappedFileDeleter& mapping) {
    const Result<MappedFile> now = MappedFile::open(mapping.path);
    return now.ok() && now->bytes().size() == mapping.length_bytes &&
           now->modified_ns() == mapping.modified_ns && !is_compiled_file(now->bytes());
}

SourceFile named_from(const std::filesystem::path& folder, SourceFile file) {
    const std::filesystem::path relative =
        std::filesystem::path(file.path).lexically_relative(folder);
    if (!relative.empty() && *relative.begin() != "..") {
        file.path = relative.string();
    }
    return file;
}

Result<OpenedSource> open_source(const std::filesystem::path& folder,
                                 const SourceFile& file,
                                 FileAccess access) {
    // Or the absolute path.
    Result<MappedFile> mapped = MappedFile::open(folder / file.path, access);
    if (!mapped.ok()) {
        return make_error(StatusCode::kNotFound, "its constants are in '{}': {}", file.path,
                          mapped.error().text())
            .with_hint(kHint);
    }
    const auto size_bytes = int64_t(mapped->bytes().size());
    if (size_bytes != file.size_bytes) {
        return changed_source(file, fmt::format("{} bytes", size_bytes),
                              fmt::format("{} bytes", file.size_bytes));
    }
    const bool is_untouched = mapped->modified_ns() == file.modified_ns;
    return OpenedSource{*std::move(mapped), is_untouched};
}

Status changed_source(const SourceFile& file, std::string found, std::string needed) {
    return make_error(StatusCode::kVersionMismatch, "its constants are in '{}', which was changed",
                      file.path)
        .with_found(std::move(found))
        .with_needed(std::move(needed))
        .with_hint(kHint);
}

}  // namespace leat
