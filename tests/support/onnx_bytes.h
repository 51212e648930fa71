// Builds ONNX files byte by byte, independently of leat's own writer. Field numbers are those of
// onnx.proto.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "leat/onnx.h"

namespace leat::testing {

inline std::string varint(uint64_t value) {
    std::string out;
    while (value >= 0x80) {
        out.push_back(char(uint8_t(value) | 0x80U));
        value >>= 7;
    }
    out.push_back(char(uint8_t(value)));
    return out;
}
inline std::string tag(uint32_t field, int wire_type) {
    return varint(uint64_t{field} << 3 | uint64_t(wire_type));
}
inline std::string number(uint32_t field, int64_t value) {
    return tag(field, 0) + varint(uint64_t(value));
}
inline std::string bytes(uint32_t field, const std::string& value) {
    return tag(field, 2) + varint(value.size()) + value;
}
inline std::string fixed32(uint32_t field, float value) {
    std::string raw(sizeof(value), '\0');
    std::memcpy(raw.data(), &value, sizeof(value));
    return tag(field, 5) + raw;
}
template <class T>
std::string raw_bytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string tensor(const std::string& name,
                          DType dtype,
                          const std::vector<int64_t>& dims,
                          const std::string& data) {
    std::string out;
    for (int64_t dim : dims) {
        out += number(1, dim);
    }
    return out + number(2, int64_t(dtype)) + (name.empty() ? "" : bytes(8, name)) + data;
}
template <class T>
std::string raw_tensor(const std::string& name,
                       const std::vector<int64_t>& dims,
                       const std::vector<T>& values) {
    return tensor(name, kDTypeOf<T>, dims, bytes(9, raw_bytes(values)));
}
inline std::string shape(const std::vector<int64_t>& dims) {
    std::string out;
    for (int64_t dim : dims) {
        out += bytes(1, number(1, dim));
    }
    return out;
}
inline std::string tensor_type(DType dtype, const std::vector<int64_t>& dims) {
    return bytes(1, number(1, int64_t(dtype)) + bytes(2, shape(dims)));
}
inline std::string value_info(const std::string& name, const std::string& type) {
    return bytes(1, name) + bytes(2, type);
}
inline std::string f32_info(const std::string& name, const std::vector<int64_t>& dims) {
    return value_info(name, tensor_type(DType::kFloat32, dims));
}

inline std::string attribute(const std::string& name, int type, const std::string& value) {
    return bytes(5, bytes(1, name) + value + number(20, type));
}
inline std::string int_attribute(const std::string& name, int64_t value) {
    return attribute(name, 2, number(3, value));
}
inline std::string float_attribute(const std::string& name, float value) {
    return attribute(name, 1, fixed32(2, value));
}
inline std::string text_attribute(const std::string& name, const std::string& value) {
    return attribute(name, 3, bytes(4, value));
}
inline std::string ints_attribute(const std::string& name, const std::vector<int64_t>& values) {
    std::string out;
    for (int64_t value : values) {
        out += number(8, value);
    }
    return attribute(name, 7, out);
}
inline std::string floats_attribute(const std::string& name, const std::vector<float>& values) {
    std::string out;
    for (const float value : values) {
        out += fixed32(7, value);
    }
    return attribute(name, 6, out);
}
inline std::string texts_attribute(const std::string& name,
                                   const std::vector<std::string>& values) {
    std::string out;
    for (const std::string& value : values) {
        out += bytes(9, value);
    }
    return attribute(name, 8, out);
}
inline std::string ref_attribute(const std::string& name, const std::string& refers_to, int type) {
    return bytes(5, bytes(1, name) + bytes(21, refers_to) + number(20, type));
}
inline std::string node(const std::string& op,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::string& attributes = {},
                        const std::string& name = {}) {
    std::string out;
    for (const std::string& input : inputs) {
        out += bytes(1, input);
    }
    for (const std::string& output : outputs) {
        out += bytes(2, output);
    }
    return out + (name.empty() ? "" : bytes(3, name)) + bytes(4, op) + attributes;
}

struct ModelParts {
    std::vector<std::string> nodes = {};
    std::vector<std::string> initializers = {};
    std::vector<std::string> inputs = {};
    std::vector<std::string> outputs = {};
    std::string more_graph = {};  // further encoded fields
    std::string more_model = {};
    int64_t opset = 13;
    int64_t ir_version = 8;
};
inline std::string graph_bytes(const ModelParts& parts) {
    std::string graph;
    const auto add = [&graph](uint32_t field, const std::vector<std::string>& messages) {
        for (const std::string& message : messages) {
            graph += bytes(field, message);
        }
    };
    add(1, parts.nodes);
    graph += bytes(2, "test");
    add(5, parts.initializers);
    add(11, parts.inputs);
    add(12, parts.outputs);
    return graph + parts.more_graph;
}
inline std::string model_bytes(const ModelParts& parts) {
    return number(1, parts.ir_version) + bytes(7, graph_bytes(parts)) + parts.more_model +
           bytes(8, bytes(1, "") + number(2, parts.opset));
}

// A folder of its own for each test, removed with its files.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "leat_onnx_XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, const std::string& content) const {
        std::filesystem::path file = path_ / name;
        std::ofstream(file, std::ios::binary)
            .write(content.data(), std::streamsize(content.size()));
        return file;
    }
    Result<Graph> load(const std::string& model) const { return load_onnx(write("m.onnx", model)); }
    Result<Graph> load(const ModelParts& parts) const { return load(model_bytes(parts)); }

  private:
    std::filesystem::path path_;
};

}  // namespace leat::testing
