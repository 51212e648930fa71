// Saving, loading and comparing compiled graphs, and files that somebody has tampered with.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/round_up.h"
#include "leat/leat.h"
#include "memory/content_hash.h"
#include "support/scratch_folder.h"

namespace leat::testing_support {

using NamedTensors = std::map<std::string, Tensor>;

inline Tensor number(int64_t element) {
    return *Tensor::from<int64_t>({}, std::vector<int64_t>{element});
}
inline Tensor truth(bool element) {
    Tensor tensor = *Tensor::allocate(DType::kBool, {});
    tensor.mutable_bytes()[0] = std::byte(element);
    return tensor;
}

inline RuntimeOptions without_numa(int threads) {
    RuntimeOptions options;
    options.threads = threads;
    options.numa.is_on = false;
    return options;
}

inline Status bind_all(Request& request, const NamedTensors& inputs) {
    for (const auto& [name, tensor] : inputs) {
        if (Status status = request.bind(name, tensor); !status.ok()) {
            return status;
        }
    }
    return {};
}

// The bytes of all outputs of a run with these inputs, by name.
inline Result<std::map<std::string, std::string>> output_bytes(const CompiledGraph& compiled,
                                                               const NamedTensors& inputs) {
    Result<Request> request = compiled.make_request();
    if (!request.ok()) {
        return request.error();
    }
    if (Status status = bind_all(*request, inputs); !status.ok()) {
        return status;
    }
    if (Status status = request->run(); !status.ok()) {
        return status;
    }
    std::map<std::string, std::string> bytes;
    for (const ValueInfo& info : compiled.outputs()) {
        const Result<Value> value = request->output(info.name);
        if (!value.ok()) {
            return value.error();
        }
        const Tensor& tensor = value->tensor();
        bytes[info.name] =
            tensor.shape().to_string() + ":" +
            std::string(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
    }
    return bytes;
}

// Kernels of two backends may differ in the sign of zero: Min(-0, 0) is either.
inline std::map<std::string, std::string> without_signs_of_zero(
    const CompiledGraph& compiled, std::map<std::string, std::string> outputs) {
    for (const ValueInfo& info : compiled.outputs()) {
        if (info.dtype != DType::kFloat32) {
            continue;
        }
        std::string& bytes = outputs[info.name];
        for (size_t at = bytes.find(':') + 1; at < bytes.size(); at += sizeof(float)) {
            float element = 0;
            std::memcpy(&element, bytes.data() + at, sizeof(float));
            element += 0.0F;
            std::memcpy(bytes.data() + at, &element, sizeof(float));
        }
    }
    return outputs;
}

// A changed extent may ask for more memory than the machine has, as that of any graph may.
inline bool is_small(const CompiledGraph& compiled) {
    constexpr int64_t kMostBytes = 64 << 20;
    for (const PlanReport& plan : compiled.report().plans) {
        if (plan.unplanned_bytes > kMostBytes || plan.arena_bytes > kMostBytes) {
            return false;
        }
    }
    return true;
}

// Offsets of the header's fields, as compiled_file.cpp has them.
constexpr size_t kHeaderBytes = 104;
constexpr size_t kFileBytesAt = 48;
constexpr size_t kRecordBytesAt = 56;
constexpr size_t kSourcesBytesAt = 64;
constexpr size_t kTableBytesAt = 72;
constexpr size_t kBlobsAt = 80;
constexpr size_t kBodyHashAt = 88;
constexpr size_t kHeaderHashAt = 96;

inline int64_t number_at(const std::string& file, size_t at) {
    int64_t number = 0;
    std::memcpy(&number, file.data() + at, sizeof(number));
    return number;
}
inline uint64_t hash_of(const std::string& file, size_t begin, size_t bytes) {
    return content_hash(std::as_bytes(std::span<const char>(file.data() + begin, bytes)));
}
// Of record, sources and table, which stand behind the header.
inline size_t body_bytes(const std::string& file) {
    return size_t(number_at(file, kRecordBytesAt) + number_at(file, kSourcesBytesAt) +
                  number_at(file, kTableBytesAt));
}
// Where header, record, sources, table, the room before the blobs, and each blob of the file's own
// end.
inline std::vector<size_t> section_ends(const std::string& file) {
    std::vector<size_t> ends = {kHeaderBytes};
    for (const size_t bytes_at : {kRecordBytesAt, kSourcesBytesAt, kTableBytesAt}) {
        ends.push_back(ends.back() + size_t(number_at(file, bytes_at)));
    }
    const size_t table_end = ends.back();
    const auto blobs = size_t(number_at(file, kBlobsAt));
    ends.push_back(blobs);
    constexpr size_t kPlaceBytes = 32;  // of BlobPlace: offset, bytes, hash, source
    for (size_t at = table_end - size_t(number_at(file, kTableBytesAt)); at < table_end;
         at += kPlaceBytes) {
        if (number_at(file, at + 24) == -1) {
            ends.push_back(blobs + size_t(number_at(file, at) + number_at(file, at + 8)));
        }
    }
    return ends;
}
// Makes the hashes of a file that was changed true again.
inline void seal(std::string& file) {
    const size_t body = body_bytes(file);
    const uint64_t body_hash = hash_of(file, kHeaderBytes, body);
    std::memcpy(file.data() + kBodyHashAt, &body_hash, sizeof(body_hash));
    const uint64_t header_hash = hash_of(file, 0, kHeaderHashAt);
    std::memcpy(file.data() + kHeaderHashAt, &header_hash, sizeof(header_hash));
}

// Whether load() refuses the file `good` with some bits of a byte behind its header changed and
// true hashes. What is loaded all the same runs, or says why not.
inline bool is_refused_with_change(const Runtime& runtime,
                                   const std::filesystem::path& file,
                                   const std::string& good,
                                   size_t at,
                                   int bits,
                                   const NamedTensors& inputs) {
    std::string bytes = good;
    char& byte = bytes[kHeaderBytes + at];
    byte = char(byte ^ bits);
    seal(bytes);
    write_contents(file, bytes);
    const Result<CompiledGraph> loaded = runtime.load(file);
    if (loaded.ok() && is_small(*loaded)) {
        (void)output_bytes(*loaded, inputs);
    }
    return !loaded.ok();
}

}  // namespace leat::testing_support
