#include "base/files/disk_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/files/new_file.h"
#include "base/files/text_file.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'L', 'E', 'A', 'T', 'B', 'L', 'O', 'B'};
constexpr uint32_t kFormat = 1;
constexpr std::string_view kExtension = ".leatcache";
// A process that still writes is done long before.
constexpr std::chrono::hours kTemporaryAge{1};

// Then the key and the payload follow. In the byte order of the machine, which is one reason more
// why a file of another machine is not used.
struct FileHeader {
    std::array<char, 8> magic = kMagic;
    uint32_t format = kFormat;
    uint32_t key_bytes = 0;
    uint64_t payload_bytes = 0;
    uint64_t checksum = 0;  // of key and payload
};
static_assert(sizeof(FileHeader) == 32);

// FNV-1a, 64 bits.
uint64_t checksum_of(std::string_view bytes, uint64_t sum = 0xcbf29ce484222325U) {
    for (const char byte : bytes) {
        sum = (sum ^ uint8_t(byte)) * 0x100000001b3U;
    }
    return sum;
}

// Why the file is no entry for the key; empty if it is one.
std::string fault_of(std::string_view file, std::string_view key) {
    FileHeader header;
    if (file.size() < sizeof header) {
        return fmt::format("{} bytes, less than a header of {}", file.size(), sizeof header);
    }
    std::memcpy(&header, file.data(), sizeof header);
    if (header.magic != kMagic) {
        return "it is no file of this cache";
    }
    if (header.format != kFormat) {
        return fmt::format("format {}, needed {}", header.format, kFormat);
    }
    const std::string_view rest = file.substr(sizeof header);
    if (header.key_bytes > rest.size() || header.payload_bytes != rest.size() - header.key_bytes) {
        return fmt::format("{} bytes, but its header says {} + {} + {}", file.size(), sizeof header,
                           header.key_bytes, header.payload_bytes);
    }
    if (header.checksum != checksum_of(rest)) {
        return "its checksum is wrong";
    }
    return rest.substr(0, header.key_bytes) == key ? "" : "it is of another version or key";
}

struct CacheFile {
    fs::path path;
    fs::file_time_type used_at;
    int64_t size_bytes = 0;
};

// The entries, the one that was used last at the end. What a process that ended early left behind
// is deleted.
std::vector<CacheFile> files_in(const fs::path& folder) {
    std::vector<CacheFile> files;
    std::error_code error;
    const auto now = fs::file_time_type::clock::now();
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;
        const fs::path& path = at->path();
        const auto used_at = fs::last_write_time(path, gone);
        const auto size_bytes = int64_t(fs::file_size(path, gone));
        if (gone) {
            continue;
        }
        if (path.extension() == kExtension) {
            files.push_back({path, used_at, size_bytes});
        } else if (path.extension() == kTemporaryExtension && now - used_at > kTemporaryAge) {
            fs::remove(path, gone);
        }
    }
    std::sort(files.begin(), files.end(),
              [](const CacheFile& a, const CacheFile& b) { return a.used_at < b.used_at; });
    return files;
}

}  // namespace

DiskCache::DiskCache(fs::path folder, std::string_view writer, Log log, int64_t limit_bytes)
    : folder_(std::move(folder)),
      writer_(writer),
      log_(std::move(log)),
      limit_bytes_(limit_bytes) {}

std::string DiskCache::full_key(std::string_view kind, std::string_view key) const {
    return fmt::format("{}\n{}\n{}", writer_, kind, key);
}

fs::path DiskCache::file_of(std::string_view kind, std::string_view key) const {
    // Without the writer: a new version takes the places of the last one's files.
    return folder_ / fmt::format("{}-{:016x}{}", kind, checksum_of(key), kExtension);
}

std::optional<std::string> DiskCache::load(std::string_view kind, std::string_view key) {
    const fs::path path = file_of(kind, key);
    std::error_code error;
    const auto size_bytes = fs::file_size(path, error);
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) {
        return std::nullopt;
    }
    if (error || size_bytes > uint64_t(limit_bytes_)) {
        report_unusable(kind, key, error ? error.message() : "it is larger than the cache");
        return std::nullopt;
    }
    const OpenTextFile open(path);
    std::optional<std::string> file = open.read_all();
    if (!file) {
        if (!open.is_missing()) {  // else another process has just made room
            report_unusable(kind, key, "it cannot be read");
        }
        return std::nullopt;
    }
    const std::string wanted = full_key(kind, key);
    if (const std::string fault = fault_of(*file, wanted); !fault.empty()) {
        report_unusable(kind, key, fault);
        return std::nullopt;
    }
    // The file was used now; where that cannot be noted, it only goes earlier.
    fs::last_write_time(path, fs::file_time_type::clock::now(), error);
    return file->substr(sizeof(FileHeader) + wanted.size());
}

void DiskCache::report_unusable(std::string_view kind,
                                std::string_view key,
                                std::string_view reason) {
    log_(fmt::format("cache file {} is not used: {}", file_of(kind, key).string(), reason));
}

void DiskCache::store(std::string_view kind, std::string_view key, std::string_view bytes) {
    if (is_read_only_ || int64_t(bytes.size()) > limit_bytes_ / 4) {
        return;
    }
    std::string contents = full_key(kind, key);
    FileHeader header;
    header.key_bytes = uint32_t(contents.size());
    header.payload_bytes = bytes.size();
    contents += bytes;
    header.checksum = checksum_of(contents);
    contents.insert(0, reinterpret_cast<const char*>(&header), sizeof header);
    const fs::path path = file_of(kind, key);
    if (const std::string fault = write(path, contents); !fault.empty()) {
        if (!is_read_only_.exchange(true)) {
            log_(fmt::format("nothing more is cached in {}: {}", folder_.string(), fault));
        }
        return;
    }
    make_room(int64_t(contents.size()));
}

std::string DiskCache::write(const fs::path& file, std::string_view contents) const {
    std::error_code error;
    // It fails where another one makes the folder at the same time; opening a file then works.
    fs::create_directories(folder_, error);
    const Status written = write_whole_file(file, std::as_bytes(std::span(contents)));
    return written.ok() ? "" : written.message();
}

// Other processes write too, so the count is only as good as the last look at the folder.
void DiskCache::make_room(int64_t written_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (used_bytes_ && *used_bytes_ + written_bytes <= limit_bytes_) {
        *used_bytes_ += written_bytes;
        return;
    }
    const std::vector<CacheFile> files = files_in(folder_);
    int64_t used_bytes = 0;
    for (const CacheFile& file : files) {
        used_bytes += file.size_bytes;
    }
    // Room for a while, so that not every store looks at the whole folder.
    const int64_t wanted_bytes = used_bytes > limit_bytes_ ? limit_bytes_ / 4 * 3 : limit_bytes_;
    for (const CacheFile& file : files) {
        std::error_code error;
        if (used_bytes <= wanted_bytes) {
            break;
        }
        if (fs::remove(file.path, error)) {
            used_bytes -= file.size_bytes;
        }
    }
    used_bytes_ = used_bytes;
}

}  // namespace leat
