#include "runtime/compiled_file.h"

#include <cstring>

#include "base/error.h"
#include "base/new_file.h"
#include "base/round_up.h"
#include "memory/content_hash.h"

namespace leat {
namespace {

constexpr char kMagic[8] = {'l', 'e', 'a', 't', '-', 'a', 'o', 't'};
constexpr uint32_t kByteOrder = 0x01020304;
// A multiple of the page of every machine in use.
constexpr int64_t kPageBytes = 64 << 10;

// In the byte order of the machine, which `byte_order` tells. Offsets are from the file's begin.
struct Header {
    char magic[8];
    uint32_t byte_order;
    uint32_t format;
    char leat_version[32];
    int64_t file_bytes;
    int64_t record_bytes;  // behind the header
    int64_t table_bytes;   // of the places of blobs, behind the record
    int64_t blobs_offset;
    uint64_t body_hash;    // of record and table
    uint64_t header_hash;  // of all before
};

uint64_t hash_of(const Header& header) {
    return content_hash(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_hash)));
}

// Writes one thing after the other.
class FileWriter {
  public:
    explicit FileWriter(int descriptor) : descriptor_(descriptor) {}

    Status write(std::span<const std::byte> bytes) {
        offset_bytes_ += int64_t(bytes.size());
        return write_all(descriptor_, bytes);
    }
    Status pad_to(int64_t offset_bytes) {
        const std::vector<std::byte> zeros(size_t(offset_bytes - offset_bytes_));
        return write(zeros);
    }

  private:
    int descriptor_;
    int64_t offset_bytes_ = 0;
};

Status write_sections(int descriptor,
                      const Header& header,
                      std::span<const std::byte> body,
                      const BlobWriter& blobs) {
    FileWriter writer(descriptor);
    LEAT_RETURN_IF_ERROR(writer.write(std::as_bytes(std::span(&header, 1))));
    LEAT_RETURN_IF_ERROR(writer.write(body));
    for (size_t blob = 0; blob < blobs.blobs().size(); ++blob) {
        LEAT_RETURN_IF_ERROR(
            writer.pad_to(header.blobs_offset + blobs.places()[blob].offset_bytes));
        LEAT_RETURN_IF_ERROR(writer.write(blobs.blobs()[blob].bytes));
    }
    return writer.pad_to(header.file_bytes);
}

Status check_header(const Header& header, int64_t file_bytes) {
    if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
        return parse_error("it is no compiled graph");
    }
    if (header.byte_order != kByteOrder || header.format != kCompiledFormat) {
        return make_error(StatusCode::kVersionMismatch, "another version of leat has written it")
            .with_found(fmt::format("format {}", header.format))
            .with_needed(fmt::format("format {}", kCompiledFormat))
            .with_hint("compile the graph again");
    }
    if (header.header_hash != hash_of(header)) {
        return parse_error("its header was changed: the hash does not fit");
    }
    const std::string version(header.leat_version,
                              strnlen(header.leat_version, sizeof(header.leat_version)));
    if (version != LEAT_VERSION) {
        return make_error(StatusCode::kVersionMismatch, "another version of leat has written it")
            .with_found(fmt::format("leat {}", version))
            .with_needed("leat " LEAT_VERSION)
            .with_hint("compile the graph again");
    }
    if (header.file_bytes != file_bytes) {
        return parse_error("it was cut short, or has grown")
            .with_found(fmt::format("{} bytes", file_bytes))
            .with_needed(fmt::format("{} bytes", header.file_bytes));
    }
    const int64_t body = int64_t(sizeof(Header));
    const bool is_inside = header.record_bytes >= 0 && header.table_bytes >= 0 &&
                           header.record_bytes <= file_bytes - body &&
                           header.table_bytes <= file_bytes - body - header.record_bytes &&
                           header.blobs_offset >= body + header.record_bytes + header.table_bytes &&
                           header.blobs_offset <= file_bytes &&
                           header.blobs_offset % kPageBytes == 0 &&
                           header.table_bytes % int64_t{sizeof(BlobPlace)} == 0;
    return is_inside ? Status() : parse_error("its sections do not lie in it");
}

Status check_blob(size_t blob, const BlobPlace& place, int64_t room_bytes) {
    if (place.size_bytes < 0 || place.offset_bytes < 0 ||
        place.offset_bytes % BlobWriter::kAlignmentBytes != 0 ||
        place.offset_bytes > room_bytes - place.size_bytes) {
        return parse_error("blob {} does not lie in it", blob);
    }
    return {};
}

}  // namespace

Status write_compiled_file(const std::filesystem::path& file,
                           std::string_view record,
                           const BlobWriter& blobs) {
    std::string body(record);
    const std::span<const std::byte> table = std::as_bytes(std::span(blobs.places()));
    body.append(reinterpret_cast<const char*>(table.data()), table.size());
    const std::span<const std::byte> body_bytes = std::as_bytes(std::span<const char>(body));
    Header header = {};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.byte_order = kByteOrder;
    header.format = kCompiledFormat;
    std::strncpy(header.leat_version, LEAT_VERSION, sizeof(header.leat_version) - 1);
    header.record_bytes = int64_t(record.size());
    header.table_bytes = int64_t(table.size());
    header.blobs_offset = round_up(int64_t(sizeof(Header) + body.size()), kPageBytes);
    int64_t blob_bytes = 0;
    for (const BlobPlace& place : blobs.places()) {
        blob_bytes = place.offset_bytes + place.size_bytes;
    }
    // Kernels may read a vector beyond the last element.
    header.file_bytes = round_up(header.blobs_offset + blob_bytes + 1, kPageBytes);
    header.body_hash = content_hash(body_bytes);
    header.header_hash = hash_of(header);

    const auto write = [&]() -> Status {
        NewFile out(file);
        LEAT_RETURN_IF_ERROR(out.check_open());
        LEAT_RETURN_IF_ERROR(write_sections(out.descriptor(), header, body_bytes, blobs));
        return out.commit();
    };
    return write().with_file(file.string());
}

bool is_compiled_file(const std::filesystem::path& file) {
    const Result<MappedFile> mapped = MappedFile::open(file);
    return mapped.ok() && mapped->bytes().size() >= sizeof(kMagic) &&
           std::memcmp(mapped->bytes().data(), kMagic, sizeof(kMagic)) == 0;
}

Result<CompiledFile> open_compiled_file(const std::filesystem::path& file, bool verifies_blobs) {
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file));
    const std::span<const std::byte> bytes = mapped.bytes();
    Header header = {};
    if (bytes.size() < sizeof(header)) {
        return parse_error("it is no compiled graph")
            .with_found(fmt::format("{} bytes", bytes.size()))
            .with_needed(fmt::format("{} or more", sizeof(header)));
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    LEAT_RETURN_IF_ERROR(check_header(header, int64_t(bytes.size())));
    const std::span<const std::byte> body =
        bytes.subspan(sizeof(header), size_t(header.record_bytes + header.table_bytes));
    if (content_hash(body) != header.body_hash) {
        return parse_error("its record was changed: the hash does not fit");
    }
    const std::span<const std::byte> blobs = bytes.subspan(size_t(header.blobs_offset));
    std::vector<BlobPlace> places(size_t(header.table_bytes) / sizeof(BlobPlace));
    if (!places.empty()) {
        std::memcpy(places.data(), body.data() + header.record_bytes, size_t(header.table_bytes));
    }
    for (size_t blob = 0; blob < places.size(); ++blob) {
        const BlobPlace& place = places[blob];
        LEAT_RETURN_IF_ERROR(check_blob(blob, place, int64_t(blobs.size())));
        if (verifies_blobs && content_hash(blobs.subspan(size_t(place.offset_bytes),
                                                         size_t(place.size_bytes))) != place.hash) {
            return parse_error("the elements of blob {} were changed: the hash does not fit", blob);
        }
    }
    return CompiledFile{body.first(size_t(header.record_bytes)),
                        BlobReader(std::move(places), blobs, mapped.owner())};
}

}  // namespace leat
