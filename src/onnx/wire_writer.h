// Writes the protocol-buffer wire format as a list of pieces: small ones are owned, large ones are
// views, so a model is written without a second copy of its weights in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/status.h"
#include "onnx/wire_reader.h"

namespace leat::onnx {

class WireWriter {
  public:
    int64_t byte_count() const { return byte_count_; }

    void integer(uint32_t field, int64_t value);
    void float32(uint32_t field, float value);
    void text(uint32_t field, std::string_view value);
    void packed(uint32_t field, const std::vector<int64_t>& values);
    void packed(uint32_t field, const std::vector<float>& values);
    // Not copied: the bytes must live until write_to returns.
    void view(uint32_t field, Bytes bytes);
    // Takes the message's pieces over.
    void message(uint32_t field, WireWriter&& message);

    // Takes over fields written elsewhere.
    void append(WireWriter&& fields);

    // Appends everything to the file. An error carries the system's reason.
    Status write_to(int descriptor) const;

  private:
    struct Piece {
        std::string owned;
        Bytes viewed;  // used if `owned` is empty
        Bytes bytes() const;
    };
    std::string& tail();
    void varint(uint64_t value);
    void tag(uint32_t field, WireType type) { varint(uint64_t{field} << 3 | uint64_t(type)); }

    std::vector<Piece> pieces_;
    int64_t byte_count_ = 0;
};

}  // namespace leat::onnx
