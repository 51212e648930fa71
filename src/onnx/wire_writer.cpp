#include "onnx/wire_writer.h"

#include <cstring>

#include "base/error.h"
#include "base/files/new_file.h"

namespace leat::onnx {

Bytes WireWriter::Piece::bytes() const {
    return owned.empty() ? viewed
                         : Bytes(reinterpret_cast<const std::byte*>(owned.data()), owned.size());
}

std::string& WireWriter::tail() {
    if (pieces_.empty() || !pieces_.back().viewed.empty()) {
        pieces_.emplace_back();
    }
    return pieces_.back().owned;
}

void WireWriter::varint(uint64_t value) {
    std::string& out = tail();
    const size_t before = out.size();
    while (value >= 0x80) {
        out.push_back(char(uint8_t(value) | 0x80U));
        value >>= 7;
    }
    out.push_back(char(uint8_t(value)));
    byte_count_ += int64_t(out.size() - before);
}

void WireWriter::integer(uint32_t field, int64_t value) {
    tag(field, WireType::kVarint);
    varint(uint64_t(value));
}

void WireWriter::float32(uint32_t field, float value) {
    tag(field, WireType::kFixed32);
    char bytes[sizeof(value)];
    std::memcpy(bytes, &value, sizeof(value));
    tail().append(bytes, sizeof(value));
    byte_count_ += int64_t(sizeof(value));
}

void WireWriter::text(uint32_t field, std::string_view value) {
    tag(field, WireType::kLength);
    varint(value.size());
    tail().append(value);
    byte_count_ += int64_t(value.size());
}

void WireWriter::packed(uint32_t field, const std::vector<int64_t>& values) {
    WireWriter inner;
    for (const int64_t value : values) {
        inner.varint(uint64_t(value));
    }
    message(field, std::move(inner));
}

void WireWriter::packed(uint32_t field, const std::vector<float>& values) {
    text(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

void WireWriter::view(uint32_t field, Bytes bytes) {
    constexpr size_t kWorthAPiece = 256;
    if (bytes.size() < kWorthAPiece) {
        text(field, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        return;
    }
    tag(field, WireType::kLength);
    varint(bytes.size());
    pieces_.push_back({{}, bytes});
    byte_count_ += int64_t(bytes.size());
}

void WireWriter::message(uint32_t field, WireWriter&& message) {
    tag(field, WireType::kLength);
    varint(uint64_t(message.byte_count_));
    append(std::move(message));
}

void WireWriter::append(WireWriter&& fields) {
    byte_count_ += fields.byte_count_;
    for (Piece& piece : fields.pieces_) {
        if (piece.viewed.empty()) {
            tail().append(piece.owned);
        } else {
            pieces_.push_back(std::move(piece));
        }
    }
}

Status WireWriter::write_to(int descriptor) const {
    for (const Piece& piece : pieces_) {
        LEAT_RETURN_IF_ERROR(write_all(descriptor, piece.bytes()));
    }
    return {};
}

}  // namespace leat::onnx
