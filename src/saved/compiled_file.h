// The file of a compiled graph (docs/aot.md): a header, the record, which files of the model it
// leaves constants in, and from a page boundary on the blobs, which are mapped and used where they
// are.
#pragma once

#include <filesystem>
#include <span>

#include "base/files/mapped_file.h"
#include "leat/status.h"
#include "saved/saved_tensors.h"

namespace leat {

// Grows whenever what is written changes.
constexpr uint32_t kCompiledFormat = 9;

// As a NewFile, so that there is never half of one.
Status write_compiled_file(const std::filesystem::path& file,
                           std::string_view record,
                           const BlobWriter& blobs);

// By its first bytes; false also where there is no file.
bool is_compiled_file(const std::filesystem::path& file);
bool is_compiled_file(std::span<const std::byte> contents);

struct CompiledFile {
    std::span<const std::byte> record;
    BlobReader blobs;
};
// kParse: it is no such file, cut short or changed; kVersionMismatch: of another format or leat;
// kNotFound, kVersionMismatch: a file of the model that it needs is gone, or another one.
// Blobs are compared with their hashes only if asked for, those in a file of the model also if that
// was touched.
// `access` is for the file and those of the model.
Result<CompiledFile> open_compiled_file(const std::filesystem::path& file,
                                        bool verifies_blobs,
                                        FileAccess access);

}  // namespace leat
