// Protocol-buffer wire format, read in place: a cursor over one message that gives its fields.
//
// Views point into the bytes given; nothing is copied. Offsets are 64-bit. Groups (wire types 3 and
// 4) are an error: no version of ONNX has them. Every error names the byte offset in the file.
// Format: protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "leat/status.h"
#include "onnx/structure_bytes.h"

namespace leat::onnx {

// Nested messages deeper than this are an error; protobuf's own limit.
inline constexpr int kMaxDepth = 100;

// Weights up to this size are copied, which aligns them and leaves the mapping's pages alone:
// biases and shape operands are read while the graph is built.
inline constexpr size_t kMaxSmallBytes = 1024;
inline bool is_small(Bytes bytes) {
    return bytes.size() <= kMaxSmallBytes;
}

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct Field {
    uint32_t number = 0;
    WireType type = WireType::kVarint;
    uint64_t scalar = 0;                  // of kVarint, kFixed32 and kFixed64
    Bytes payload;                        // the encoded value: of kLength without its length
    StructureBytes* structure = nullptr;  // where `payload` lies, if not in the file's mapping
    int64_t offset = 0;                   // of the field's tag in the file
};

class WireReader {
  public:
    // The whole file.
    explicit WireReader(Bytes file) : file_begin_(file.data()), cursor_(file) {}
    // The same, read on demand.
    explicit WireReader(StructureBytes& structure)
        : file_begin_(structure.memory().data()),
          cursor_(structure.memory()),
          structure_(&structure) {}
    // A message inside a file: depth counts the messages around it.
    WireReader(const WireReader& parent, Bytes message)
        : file_begin_(parent.file_begin_),
          cursor_(message),
          structure_(parent.structure_),
          depth_(parent.depth_ + 1) {}

    bool at_end() const { return cursor_.empty(); }
    int64_t offset() const { return cursor_.data() - file_begin_; }
    int depth() const { return depth_; }
    // Precondition: !at_end().
    Status next(Field& field);

  private:
    Status varint(uint64_t& value);

    const std::byte* file_begin_;
    Bytes cursor_;
    StructureBytes* structure_ = nullptr;
    int depth_ = 0;
};

// Decodes one varint at the front of `bytes` and removes it. False if it is cut off or longer than
// 64 bits.
bool take_varint(Bytes& bytes, uint64_t& value);

// The field's value as the wanted type; an error if its wire type is another.
Status get(const Field& field, std::string_view& value);
// The bytes may not be readable yet (a submessage).
Status get(const Field& field, Bytes& value);
// A weight's bytes: in the file's mapping, or readable at once and to be copied (is_small).
Status get_weight(const Field& field, Bytes& value);
Status get(const Field& field, int64_t& value);
Status get(const Field& field, int32_t& value);
Status get(const Field& field, float& value);
// Repeated scalars, packed or not, are appended.
Status append(const Field& field, std::vector<int64_t>& values);
Status append(const Field& field, std::vector<float>& values);

// Elements of a repeated scalar field, still encoded: one run for each time the field occurs,
// packed or not (an unpacked element has the same bytes as a packed one).
struct EncodedScalars {
    std::vector<Bytes> runs;
    bool empty() const { return runs.empty(); }
    int64_t byte_count() const;
};
// wanted: the wire type of an unpacked element.
Status append(const Field& field, WireType wanted, EncodedScalars& values);

}  // namespace leat::onnx
