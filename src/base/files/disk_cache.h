// DiskCache: bytes that are slow to make, in files of one folder, for later processes.
//
// An entry has a kind, which begins its file's name, and a key: everything that its bytes depend
// on. The key is stored and compared in full, so equal hashes do no harm. A file that is truncated,
// corrupt, or of another key, version or format is not used: the log gets one line that says why,
// and the next store() replaces it. A checksum finds accidents, not attacks: the folder must be
// writable by its user alone.
//
// Nothing here is an error. A folder that cannot be written, or a full disk, is one line in the
// log; nothing more is stored then. Files appear by renaming, so processes that share a folder see
// whole ones, and of two writers of a key the last one stays. Above `limit_bytes` the files that
// were not used for the longest time are deleted.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

// Hundreds of kernels, and the drivers' own caches of several machines.
constexpr int64_t kDiskCacheBytes = int64_t{128} << 20;

// Thread-safe if `log` is.
class DiskCache {
  public:
    using Log = std::function<void(std::string_view line)>;

    // `writer`: who made the entries, with its version. The folder is made by the first store().
    DiskCache(std::filesystem::path folder,
              std::string_view writer,
              Log log,
              int64_t limit_bytes = kDiskCacheBytes);
    DiskCache(const DiskCache&) = delete;
    DiskCache& operator=(const DiskCache&) = delete;

    // What was stored under the key; nothing if there is no such file, or none that can be used.
    std::optional<std::string> load(std::string_view kind, std::string_view key);
    // Nothing happens for more than a quarter of the limit.
    void store(std::string_view kind, std::string_view key, std::string_view bytes);
    // For bytes that load() gave and that turned out to be wrong.
    void report_unusable(std::string_view kind, std::string_view key, std::string_view reason);

    // Where the entry is, or would be.
    std::filesystem::path file_of(std::string_view kind, std::string_view key) const;

  private:
    std::string full_key(std::string_view kind, std::string_view key) const;
    // Why it could not be written; empty if it was.
    std::string write(const std::filesystem::path& file, std::string_view contents) const;
    void make_room(int64_t written_bytes);

    std::filesystem::path folder_;
    std::string writer_;
    Log log_;
    int64_t limit_bytes_;
    std::atomic<bool> is_read_only_{false};
    std::mutex mutex_;
    std::optional<int64_t> used_bytes_;  // of all entries; not known before the first store
};

}  // namespace leat
