// ExternalData: the files beside a model that hold its large tensors, each mapped or copied once.
//
// A location comes from the model, so it is not trusted: it must be a relative path without "..",
// and no part of it may be a link, hard or symbolic, so that a model cannot read files outside its
// own folder.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "onnx/proto.h"

namespace leat::onnx {

class ExternalData {
  public:
    // folder: of the model file.
    ExternalData(std::filesystem::path folder, FileAccess access)
        : folder_(std::move(folder)), access_(access) {}

    // The `needed_bytes` bytes that the entries (location, offset, length) describe, checked
    // against the file's size.
    Result<Bytes> find(const std::vector<StringPair>& entries,
                       int64_t needed_bytes,
                       std::shared_ptr<const void>& owner);

  private:
    Result<const MappedFile*> open(std::string_view location);

    std::filesystem::path folder_;
    FileAccess access_;
    std::map<std::string, MappedFile, std::less<>> files_;
};

}  // namespace leat::onnx
