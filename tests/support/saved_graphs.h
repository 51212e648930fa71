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

namespace leat::testing_support {

using NamedTensors = std::map<std::string, Tensor>;

// The bytes of all outputs of a run with these inputs, by name.
inline Result<std::map<std::string, std::string>> output_bytes(const CompiledGraph& compiled,
                                                               const NamedTensors& inputs) {
    Result<Request> request = compiled.make_request();
    if (!request.ok()) {
        return request.error();
    }
    for (const auto& [name, tensor] : inputs) {
        if (Status status = request->bind(name, tensor); !status.ok()) {
            return status;
        }
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
constexpr size_t kHeaderBytes = 96;
constexpr size_t kRecordBytesAt = 56;
constexpr size_t kTableBytesAt = 64;
constexpr size_t kBodyHashAt = 80;
constexpr size_t kHeaderHashAt = 88;

inline int64_t number_at(const std::string& file, size_t at) {
    int64_t number = 0;
    std::memcpy(&number, file.data() + at, sizeof(number));
    return number;
}
inline uint64_t hash_of(const std::string& file, size_t begin, size_t bytes) {
    return content_hash(std::as_bytes(std::span<const char>(file.data() + begin, bytes)));
}
// Makes the hashes of a file that was changed true again.
inline void seal(std::string& file) {
    const auto body = size_t(number_at(file, kRecordBytesAt) + number_at(file, kTableBytesAt));
    const uint64_t body_hash = hash_of(file, kHeaderBytes, body);
    std::memcpy(file.data() + kBodyHashAt, &body_hash, sizeof(body_hash));
    const uint64_t header_hash = hash_of(file, 0, kHeaderHashAt);
    std::memcpy(file.data() + kHeaderHashAt, &header_hash, sizeof(header_hash));
}

}  // namespace leat::testing_support
