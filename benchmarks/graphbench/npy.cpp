// NumPy's .npy files: magic, version, a Python dictionary as text, then the elements.
#include "npy.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/files/text_file.h"
#include "files.h"
#include "options.h"

namespace leat::bench {
namespace {

struct TypeCode {
    DType dtype;
    std::string_view code;
};
constexpr TypeCode kTypeCodes[] = {
    {DType::kFloat32, "<f4"},   {DType::kFloat64, "<f8"},     {DType::kFloat16, "<f2"},
    {DType::kUint8, "|u1"},     {DType::kInt8, "|i1"},        {DType::kUint16, "<u2"},
    {DType::kInt16, "<i2"},     {DType::kInt32, "<i4"},       {DType::kInt64, "<i8"},
    {DType::kUint32, "<u4"},    {DType::kUint64, "<u8"},      {DType::kBool, "|b1"},
    {DType::kComplex64, "<c8"}, {DType::kComplex128, "<c16"},
};

// The text between the quotes or brackets after 'key':.
std::string_view entry(std::string_view header, std::string_view key) {
    size_t at = header.find(fmt::format("'{}'", key));
    at = at == std::string_view::npos ? at : header.find(':', at);
    if (at == std::string_view::npos) {
        return {};
    }
    at = header.find_first_not_of(' ', at + 1);
    if (at == std::string_view::npos) {
        return {};
    }
    char close = header[at] == '\'' ? '\'' : header[at] == '(' ? ')' : ',';
    size_t begin = close == ',' ? at : at + 1;
    size_t end = header.find(close, begin);
    return header.substr(begin, end == std::string_view::npos ? end : end - begin);
}

std::optional<Shape> parse_shape_entry(std::string_view text) {
    std::vector<int64_t> extents;
    for (const std::string_view word : split(std::string(text), ',')) {
        size_t begin = word.find_first_not_of(' ');
        if (begin == std::string_view::npos) {
            continue;
        }
        std::optional<int64_t> extent = parse_integer(word.substr(begin));
        if (!extent) {
            return std::nullopt;
        }
        extents.push_back(*extent);
    }
    return Shape::make(extents);
}

// '<U5', '|S5', '|T16', and '|O' for objects, which strings of any length are.
bool is_text(std::string_view code) {
    return code.size() > 1 && std::string_view("USTO").find(code[1]) != std::string_view::npos;
}

}  // namespace

Result<Tensor> load_npy(const std::filesystem::path& file) {
    LEAT_ASSIGN_OR_RETURN(std::string text, read_text_file(file.string()));
    auto bad = [&](std::string_view why) {
        return parse_error("not a .npy file that can be used: {}", why).with_file(file.string());
    };
    if (text.size() < 10 || text.compare(0, 6, "\x93NUMPY") != 0) {
        return bad("no NumPy magic");
    }
    bool is_long = text[6] >= 2;
    size_t header_begin = is_long ? 12 : 10;
    if (text.size() < header_begin) {
        return bad("truncated header");
    }
    size_t header_length = uint8_t(text[8]) + 256U * uint8_t(text[9]);
    if (is_long) {
        header_length += 65536U * uint8_t(text[10]) + 16777216U * uint8_t(text[11]);
    }
    std::string_view header = std::string_view(text).substr(header_begin, header_length);
    std::string_view code = entry(header, "descr");
    DType dtype = DType::kUndefined;
    for (const TypeCode& type : kTypeCodes) {
        if (type.code.substr(1) == code.substr(code.empty() ? 0 : 1) && code[0] != '>') {
            dtype = type.dtype;
        }
    }
    if (is_text(code)) {
        return unsupported("strings of NumPy ({}) are not read", code)
            .with_file(file.string())
            .with_needed("numbers in a .npy file, or strings in a .pb file")
            .with_hint("onnx.numpy_helper.from_array(array) makes the tensor of a .pb file");
    }
    std::optional<Shape> shape = parse_shape_entry(entry(header, "shape"));
    if (dtype == DType::kUndefined) {
        return bad(
            fmt::format("elements of type {}; needed: little-endian ones that leat has", code));
    }
    if (entry(header, "fortran_order") != "False") {
        return bad("columns first; needed: rows first (numpy.ascontiguousarray)");
    }
    if (!shape) {
        return bad(fmt::format("the shape {}", entry(header, "shape")));
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, *shape));
    size_t data_begin = header_begin + header_length;
    if (text.size() < data_begin || text.size() - data_begin != size_t(tensor.byte_count())) {
        return bad(fmt::format("{} bytes of elements, {} expected",
                               text.size() - std::min(text.size(), data_begin),
                               tensor.byte_count()));
    }
    if (tensor.byte_count() > 0) {
        std::memcpy(tensor.mutable_bytes(), text.data() + data_begin, size_t(tensor.byte_count()));
    }
    return tensor;
}

Status save_npy(const Tensor& tensor, const std::filesystem::path& file) {
    std::string_view code;
    for (const TypeCode& type : kTypeCodes) {
        if (type.dtype == tensor.dtype()) {
            code = type.code;
        }
    }
    if (code.empty()) {
        return unsupported("NumPy has no type for {}", name_of(tensor.dtype()))
            .with_file(file.string());
    }
    std::string extents;
    for (int64_t extent : tensor.shape()) {
        extents += fmt::format("{},", extent);
    }
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, extents);
    header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    std::string text("\x93NUMPY\x01\x00", 8);
    text += char(header.size() & 0xff);
    text += char(header.size() >> 8);
    text += header;
    text.append(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
    return write_text_file(file.string(), text);
}

}  // namespace leat::bench
