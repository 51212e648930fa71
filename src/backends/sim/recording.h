// Recordings: a file with the results of runs, by what fixes them. Mode `compute` or `virtual` adds
// to it, mode `timed` replays it.
//
// The file is a row of records, each with a hash of its bytes, in the byte order of the machine; it
// is no format for other machines. Several backends may add to one file at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/files/descriptor.h"
#include "base/files/mapped_file.h"
#include "leat/plugin_backend.h"

namespace leat::sim {

// What fixes a run's results. Hashes are content_hash()es.
struct RunKey {
    uint64_t graph = 0;   // text, constants and states of the compiled graph
    uint64_t shape = 0;   // symbols, and elements of host inputs
    uint64_t inputs = 0;  // bytes of the bound inputs

    friend bool operator<(const RunKey& a, const RunKey& b) {
        return std::tie(a.graph, a.shape, a.inputs) < std::tie(b.graph, b.shape, b.inputs);
    }
};

// An output of one run.
struct RunResult {
    std::vector<int64_t> extents;  // of a size that depends on data; else empty
    std::span<const std::byte> bytes;
};

// All errors are thrown and name the file.
class SimRecording {
  public:
    // kLeatNotFound where there is none, kLeatCorrupt where bytes are missing or others.
    explicit SimRecording(const std::string& file);

    // kLeatNotFound, with what is missing. `graph_name` is for the message.
    std::vector<RunResult> find(const RunKey& key, const std::string& graph_name) const;
    std::set<RunKey> keys() const;

  private:
    std::string file_;
    MappedFile mapped_;
    std::map<RunKey, std::span<const std::byte>> runs_;  // the bytes of their results
};

// Thread-safe.
class RecordingWriter {
  public:
    // Makes the file, or goes on with it.
    explicit RecordingWriter(std::string file);
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;

    // A key that is there already changes nothing.
    void add(const RunKey& key, std::span<const RunResult> results);

  private:
    void write(std::span<const std::byte> bytes);

    const std::string file_;
    Descriptor descriptor_;
    std::mutex mutex_;
    std::set<RunKey> known_;
};

}  // namespace leat::sim
