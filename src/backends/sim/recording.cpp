#include "backends/sim/recording.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/files/new_file.h"
#include "memory/content_hash.h"

namespace leat::sim {
namespace {

constexpr char kMagic[8] = {'l', 'e', 'a', 't', 'r', 'u', 'n', '1'};

struct RecordHead {
    char magic[8] = {};
    RunKey key;
    uint64_t payload_bytes = 0;
    uint64_t payload_hash = 0;
};

// A payload is words: the number of results and, for each, the number of its extents, these, and
// its bytes with their number in front.
void append(std::vector<std::byte>& payload, const void* data, size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    payload.insert(payload.end(), begin, begin + bytes);
}
void append_word(std::vector<std::byte>& payload, uint64_t word) {
    append(payload, &word, sizeof(word));
}

std::vector<std::byte> payload_of(std::span<const RunResult> results) {
    std::vector<std::byte> payload;
    append_word(payload, results.size());
    for (const RunResult& result : results) {
        append_word(payload, result.extents.size());
        append(payload, result.extents.data(), result.extents.size() * sizeof(int64_t));
        append_word(payload, result.bytes.size());
        append(payload, result.bytes.data(), result.bytes.size());
    }
    return payload;
}

// Takes from the front. Nothing of a payload whose hash fits can be missing.
class PayloadReader {
  public:
    explicit PayloadReader(std::span<const std::byte> payload) : rest_(payload) {}

    std::span<const std::byte> take(size_t bytes) {
        if (bytes > rest_.size()) {
            throw plugin::Error(kLeatCorrupt, "a recorded run ends early");
        }
        const std::span<const std::byte> taken = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return taken;
    }
    uint64_t word() {
        uint64_t word = 0;
        std::memcpy(&word, take(sizeof(word)).data(), sizeof(word));
        return word;
    }

  private:
    std::span<const std::byte> rest_;
};

}  // namespace

SimRecording::SimRecording(const std::string& file) : file_(file) {
    Result<MappedFile> mapped = MappedFile::open(file);
    if (!mapped.ok()) {
        throw plugin::Error(kLeatNotFound,
                            fmt::format("recording '{}': {}", file, mapped.error().message()));
    }
    mapped_ = *std::move(mapped);
    std::span<const std::byte> rest = mapped_.bytes();
    while (!rest.empty()) {
        const size_t at = mapped_.bytes().size() - rest.size();
        RecordHead head{};
        std::memcpy(&head, rest.data(), std::min(rest.size(), sizeof(head)));
        const bool is_head = rest.size() >= sizeof(head) &&
                             std::memcmp(head.magic, kMagic, sizeof(kMagic)) == 0 &&
                             head.payload_bytes <= rest.size() - sizeof(head);
        const std::span<const std::byte> payload =
            is_head ? rest.subspan(sizeof(head), head.payload_bytes) : std::span<const std::byte>();
        if (!is_head || content_hash(payload) != head.payload_hash) {
            throw plugin::Error(
                kLeatCorrupt,
                fmt::format("recording '{}': no whole run at byte {} of {}; record it again", file,
                            at, mapped_.bytes().size()));
        }
        runs_.emplace(head.key, payload);
        rest = rest.subspan(sizeof(head) + payload.size());
    }
}

std::set<RunKey> SimRecording::keys() const {
    std::set<RunKey> keys;
    for (const auto& [key, payload] : runs_) {
        keys.insert(key);
    }
    return keys;
}

std::vector<RunResult> SimRecording::find(const RunKey& key, const std::string& graph_name) const {
    const auto found = runs_.find(key);
    if (found == runs_.end()) {
        const auto has = [this](const RunKey& from, auto is_same) {
            const auto next = runs_.lower_bound(from);
            return next != runs_.end() && is_same(next->first);
        };
        const bool has_graph =
            has({key.graph, 0, 0}, [&](const RunKey& run) { return run.graph == key.graph; });
        const bool has_shape = has({key.graph, key.shape, 0}, [&](const RunKey& run) {
            return run.graph == key.graph && run.shape == key.shape;
        });
        throw plugin::Error(
            kLeatNotFound,
            fmt::format("recording '{}' lacks a run of graph '{}' ({:016x}): {} ({:016x}, "
                        "{:016x}); record it in mode 'compute'",
                        file_, graph_name, key.graph,
                        has_shape   ? "these inputs were not recorded"
                        : has_graph ? "these shapes were not recorded"
                                    : "the graph was not recorded",
                        key.shape, key.inputs));
    }
    PayloadReader payload(found->second);
    std::vector<RunResult> results(payload.word());
    for (RunResult& result : results) {
        result.extents.resize(payload.word());
        const std::span<const std::byte> extents =
            payload.take(result.extents.size() * sizeof(int64_t));
        std::copy_n(extents.data(), extents.size(),
                    reinterpret_cast<std::byte*>(result.extents.data()));
        result.bytes = payload.take(payload.word());
    }
    return results;
}

RecordingWriter::RecordingWriter(std::string file) : file_(std::move(file)) {
    if (std::error_code ignored; std::filesystem::exists(file_, ignored)) {
        known_ = SimRecording(file_).keys();
    }
    descriptor_ =
        Descriptor(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!descriptor_.is_open()) {
        plugin::invalid_argument(
            fmt::format("setting 'record': cannot write '{}': {}", file_, std::strerror(errno)));
    }
}

void RecordingWriter::write(std::span<const std::byte> bytes) {
    if (!write_all(descriptor_.value(), bytes).ok()) {
        throw plugin::Error(kLeatInternal, fmt::format("recording '{}' cannot be written: {}",
                                                       file_, std::strerror(errno)));
    }
}

void RecordingWriter::add(const RunKey& key, std::span<const RunResult> results) {
    {
        const std::lock_guard lock(mutex_);
        if (known_.contains(key)) {
            return;
        }
    }
    const std::vector<std::byte> payload = payload_of(results);
    RecordHead head{};
    std::memcpy(head.magic, kMagic, sizeof(kMagic));
    head.key = key;
    head.payload_bytes = payload.size();
    head.payload_hash = content_hash(payload);
    // In one call, so that records of two backends do not mix.
    std::vector<std::byte> record;
    record.reserve(sizeof(head) + payload.size());
    append(record, &head, sizeof(head));
    append(record, payload.data(), payload.size());
    const std::lock_guard lock(mutex_);
    if (known_.insert(key).second) {
        write(record);
    }
}

}  // namespace leat::sim
