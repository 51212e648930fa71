// ExternalData: the files beside a model that hold its large tensors, each mapped or copied once.
//
// A location comes from the model, so it is not trusted: it must be a relative path without "..".
// Links on the way are followed (a cache of models may be made of links), but where they end must
// be one of the folders that ExternalFolders names: a model cannot read other files. A hard link
// looks like any file, so that several of them are no reason to refuse one.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/files/descriptor.h"
#include "base/files/mapped_file.h"
#include "onnx/proto.h"

namespace leat::onnx {

// Where the data of a model may be.
struct ExternalFolders {
    std::filesystem::path named;   // that of the model, as the caller wrote it
    std::filesystem::path target;  // that of the file to which the model's name leads, if a link
    // Where links may lead, with subfolders: the two above and what the caller allows. No part of
    // these paths is a link.
    std::vector<std::filesystem::path> allowed;
};

// A model's file and the folder that it was opened in. Names may lead elsewhere by now.
struct OpenModel {
    Descriptor folder;
    Descriptor file;
};

// not_found: it cannot be opened.
Result<OpenModel> open_model(const std::filesystem::path& model);

// A folder counts only where its path still leads to the one that `opened` tells of.
// not_found: a root does not exist. invalid_argument: a root is no folder.
Result<ExternalFolders> external_folders(const std::filesystem::path& model,
                                         const OpenModel& opened,
                                         const std::vector<std::string>& roots);

class ExternalData {
  public:
    ExternalData(ExternalFolders folders, FileAccess access)
        : folders_(std::move(folders)), access_(access) {}

    // The `needed_bytes` bytes that the entries (location, offset, length) describe, checked
    // against the file's size.
    Result<Bytes> find(const std::vector<StringPair>& entries,
                       int64_t needed_bytes,
                       std::shared_ptr<const void>& owner);

  private:
    Result<const MappedFile*> open(std::string_view location);

    ExternalFolders folders_;
    FileAccess access_;
    std::map<std::string, MappedFile, std::less<>> files_;
};

}  // namespace leat::onnx
