#include "onnx/wire_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace leat::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "views of raw data assume little endian");

Status wrong_type(const Field& field, const char* needed) {
    return parse_error("field {} at byte {} has the wrong wire type", field.number, field.offset)
        .with_found(fmt::format("{}", int(field.type)))
        .with_needed(needed);
}

Status get_readable(const Field& field, Bytes& value) {
    LEAT_RETURN_IF_ERROR(get(field, value));
    return field.structure == nullptr ? Status() : field.structure->ensure(value);
}

Status weight_bytes(const Field& field, Bytes& value) {
    value = field.payload;
    if (field.structure == nullptr) {
        return {};
    }
    if (is_small(value)) {
        return field.structure->ensure(value);
    }
    value = field.structure->in_file(value);
    return {};
}

}  // namespace

bool take_varint(Bytes& bytes, uint64_t& value) {
    constexpr size_t kMaxVarintBytes = 10;
    uint64_t result = 0;
    for (size_t i = 0; i < bytes.size() && i < kMaxVarintBytes; ++i) {
        const auto byte = uint64_t(bytes[i]);
        result |=
            (byte & 0x7fU) << (7 * i);  // the tenth byte gives one bit; protobuf drops the others
        if ((byte & 0x80U) == 0) {
            value = result;
            bytes = bytes.subspan(i + 1);
            return true;
        }
    }
    return false;
}

Status WireReader::varint(uint64_t& value) {
    const int64_t start = offset();
    if (!take_varint(cursor_, value)) {
        return parse_error("a number at byte {} is cut off or too long", start);
    }
    return {};
}

Status WireReader::next(Field& field) {
    field.offset = offset();
    if (depth_ > kMaxDepth) {
        return parse_error("messages are nested more than {} deep at byte {}", kMaxDepth,
                           field.offset);
    }
    field.structure = structure_;
    if (structure_ != nullptr) {
        constexpr size_t kMaxHeaderBytes = 20;  // two varints
        LEAT_RETURN_IF_ERROR(
            structure_->ensure(cursor_.first(std::min(cursor_.size(), kMaxHeaderBytes))));
    }
    uint64_t tag = 0;
    LEAT_RETURN_IF_ERROR(varint(tag));
    const uint64_t number = tag >> 3;
    if (number == 0 || number > 0x1fffffffU) {
        return parse_error("no valid field number at byte {}", field.offset)
            .with_found(fmt::format("{}", number));
    }
    field.number = uint32_t(number);
    const auto type = int(tag & 7U);
    size_t length = 0;
    const Bytes before = cursor_;
    switch (type) {
        case int(WireType::kVarint):
            LEAT_RETURN_IF_ERROR(varint(field.scalar));
            field.type = WireType::kVarint;
            field.payload = before.first(before.size() - cursor_.size());
            return {};
        case int(WireType::kFixed32):
            length = 4;
            break;
        case int(WireType::kFixed64):
            length = 8;
            break;
        case int(WireType::kLength): {
            uint64_t value = 0;
            LEAT_RETURN_IF_ERROR(varint(value));
            length = value;
            break;
        }
        default:
            return parse_error("wire type {} at byte {} does not occur in ONNX", type,
                               field.offset);
    }
    if (length > cursor_.size()) {
        return parse_error("field {} at byte {} ends after its message", field.number, field.offset)
            .with_found(fmt::format("a length of {} bytes", length))
            .with_needed(fmt::format("at most the {} bytes that are left", cursor_.size()))
            .with_hint("the file is cut off or damaged");
    }
    field.type = WireType(type);
    field.payload = cursor_.first(length);
    cursor_ = cursor_.subspan(length);
    if (field.type != WireType::kLength) {
        field.scalar = 0;
        std::memcpy(&field.scalar, field.payload.data(), length);
    }
    return {};
}

Status get(const Field& field, Bytes& value) {
    if (field.type != WireType::kLength) {
        return wrong_type(field, "2, bytes");
    }
    value = field.payload;
    return {};
}

Status get_weight(const Field& field, Bytes& value) {
    LEAT_RETURN_IF_ERROR(get(field, value));
    return weight_bytes(field, value);
}

Status get(const Field& field, std::string_view& value) {
    Bytes bytes;
    LEAT_RETURN_IF_ERROR(get_readable(field, bytes));
    value = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    return {};
}

Status get(const Field& field, int64_t& value) {
    if (field.type != WireType::kVarint) {
        return wrong_type(field, "0, a number");
    }
    value = int64_t(field.scalar);
    return {};
}

Status get(const Field& field, int32_t& value) {
    int64_t wide = 0;
    LEAT_RETURN_IF_ERROR(get(field, wide));
    value = int32_t(uint32_t(uint64_t(wide)));  // as protobuf: the low 32 bits
    return {};
}

Status get(const Field& field, float& value) {
    if (field.type != WireType::kFixed32) {
        return wrong_type(field, "5, a float");
    }
    value = std::bit_cast<float>(uint32_t(field.scalar));
    return {};
}

Status append(const Field& field, std::vector<int64_t>& values) {
    if (field.type == WireType::kVarint) {
        values.push_back(int64_t(field.scalar));
        return {};
    }
    Bytes rest;
    LEAT_RETURN_IF_ERROR(get_readable(field, rest));
    while (!rest.empty()) {
        uint64_t value = 0;
        if (!take_varint(rest, value)) {
            return parse_error("a packed number of field {} at byte {} is cut off", field.number,
                               field.offset);
        }
        values.push_back(int64_t(value));
    }
    return {};
}

Status append(const Field& field, std::vector<float>& values) {
    EncodedScalars encoded;
    LEAT_RETURN_IF_ERROR(append(field, WireType::kFixed32, encoded));
    for (const Bytes run : encoded.runs) {
        const size_t old_count = values.size();
        values.resize(old_count + run.size() / sizeof(float));
        if (!run.empty()) {
            std::memcpy(values.data() + old_count, run.data(), run.size());
        }
    }
    return {};
}

int64_t EncodedScalars::byte_count() const {
    int64_t sum = 0;
    for (const Bytes run : runs) {
        sum += int64_t(run.size());
    }
    return sum;
}

Status append(const Field& field, WireType wanted, EncodedScalars& values) {
    if (field.type != wanted && field.type != WireType::kLength) {
        return wrong_type(field, "a packed field or single elements");
    }
    const size_t element_bytes = wanted == WireType::kFixed32   ? 4
                                 : wanted == WireType::kFixed64 ? 8
                                                                : 1;
    if (field.payload.size() % element_bytes != 0) {
        return parse_error("packed field {} at byte {} is no multiple of {} bytes", field.number,
                           field.offset, element_bytes)
            .with_found(fmt::format("{} bytes", field.payload.size()));
    }
    if (!field.payload.empty()) {
        return weight_bytes(field, values.runs.emplace_back());
    }
    return {};
}

}  // namespace leat::onnx
