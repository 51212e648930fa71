#include "saved/compiled_file.h"

#include <cstring>

#include "base/byte_archive.h"
#include "base/error.h"
#include "base/files/new_file.h"
#include "base/round_up.h"
#include "memory/content_hash.h"

namespace leat {

template <class Archive>
void fields(Archive& archive, SourceFile& file) {
    auto& [path, size_bytes, modified_ns] = file;
    archive(path, size_bytes, modified_ns);
}

namespace {

constexpr char kMagic[8] = {'l', 'e', 'a', 't', '-', 'a', 'o', 't'};
constexpr const char* kNotCompiled = "it is no compiled graph";
constexpr const char* kWhoWrites =
    "CompiledGraph::save() writes them; load_onnx() reads ONNX files";

constexpr uint32_t kByteOrder = 0x01020304;
// A multiple of the page of every machine in use.
constexpr int64_t kPageBytes = 64 << 10;

// Behind the last blob: kernels may read a vector beyond the last element.
constexpr int64_t kRoomBytes = BlobWriter::kAlignmentBytes;

// In the byte order of the machine, which `byte_order` tells. Offsets are from the file's begin.
struct Header {
    char magic[8];
    uint32_t byte_order;
    uint32_t format;
    char leat_version[32];
    int64_t file_bytes;
    int64_t record_bytes;   // behind the header
    int64_t sources_bytes;  // a list of SourceFiles, behind the record
    int64_t table_bytes;    // of the places of blobs, behind that
    int64_t blobs_offset;
    uint64_t body_hash;    // of record, sources and table
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
        if (blobs.places()[blob].source != BlobPlace::kOwnFile) {
            continue;
        }
        LEAT_RETURN_IF_ERROR(
            writer.pad_to(header.blobs_offset + blobs.places()[blob].offset_bytes));
        LEAT_RETURN_IF_ERROR(writer.write(blobs.blobs()[blob].bytes));
    }
    return writer.pad_to(header.file_bytes);
}

Status check_header(const Header& header, int64_t file_bytes) {
    if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) {
        return parse_error(kNotCompiled).with_hint(kWhoWrites);
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
    int64_t end = int64_t(sizeof(Header));
    bool is_inside = true;
    for (const int64_t bytes : {header.record_bytes, header.sources_bytes, header.table_bytes}) {
        is_inside = is_inside && bytes >= 0 && bytes <= file_bytes - end;
        end += is_inside ? bytes : 0;
    }
    is_inside = is_inside && header.blobs_offset >= end && header.blobs_offset <= file_bytes &&
                header.blobs_offset % kPageBytes == 0 &&
                header.table_bytes % int64_t{sizeof(BlobPlace)} == 0;
    return is_inside ? Status() : parse_error("its sections do not lie in it");
}

Status check_blob(size_t blob, const BlobPlace& place, int64_t room_bytes) {
    const bool is_own = place.source == BlobPlace::kOwnFile;
    if (place.size_bytes < 0 || place.offset_bytes < 0 ||
        (is_own && place.offset_bytes % BlobWriter::kAlignmentBytes != 0) ||
        place.offset_bytes > room_bytes - place.size_bytes - (is_own ? kRoomBytes : 0)) {
        return parse_error("blob {} does not lie in {}", blob, is_own ? "it" : "the model's file");
    }
    return {};
}

// What is left out of the file, as seen from it.
Result<std::string> sources_of(const std::filesystem::path& file, const BlobWriter& blobs) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::absolute(file, error).lexically_normal();
    std::vector<SourceFile> sources;
    for (const SourceFile& source : blobs.sources()) {
        if (std::filesystem::equivalent(path, source.path, error)) {
            return invalid_argument("the compiled graph would replace the model that it refers to");
        }
        sources.push_back(named_from(path.parent_path(), source));
    }
    ByteWriter<const BlobWriter> writer(blobs);
    writer(sources);
    return writer.bytes();
}

// Blobs of the mapped file and of those that it refers to.
class Sources {
  public:
    // error: of a source.
    Status open(const std::filesystem::path& file,
                std::span<const std::byte> section,
                FileAccess access) {
        ByteReader<Sources> reader(section, *this);
        reader(named_);
        if (!reader.ok() || !reader.is_at_end()) {
            return parse_error("its list of files of the model is none");
        }
        for (const SourceFile& source : named_) {
            LEAT_ASSIGN_OR_RETURN(OpenedSource opened,
                                  open_source(file.parent_path(), source, access));
            opened_.push_back(std::move(opened));
        }
        return {};
    }
    int64_t count() const { return int64_t(opened_.size()); }
    const MappedFile& file(int64_t source) const { return opened_[size_t(source)].file; }
    bool is_untouched(int64_t source) const { return opened_[size_t(source)].is_untouched; }
    const SourceFile& name(int64_t source) const { return named_[size_t(source)]; }

  private:
    std::vector<SourceFile> named_;
    std::vector<OpenedSource> opened_;
};

// That the blobs lie where they should, and are what they were.
Status check_blobs(std::span<const BlobPlace> places,
                   std::span<const std::byte> own,
                   const Sources& sources,
                   bool verifies_blobs) {
    for (size_t blob = 0; blob < places.size(); ++blob) {
        const BlobPlace& place = places[blob];
        const bool is_own = place.source == BlobPlace::kOwnFile;
        if (!is_own && (place.source < 0 || place.source >= sources.count())) {
            return parse_error("blob {} is in file {} of the model", blob, place.source);
        }
        const std::span<const std::byte> room = is_own ? own : sources.file(place.source).bytes();
        LEAT_RETURN_IF_ERROR(check_blob(blob, place, int64_t(room.size())));
        const bool is_trusted = is_own || sources.is_untouched(place.source);
        if ((is_trusted && !verifies_blobs) ||
            content_hash(room.subspan(size_t(place.offset_bytes), size_t(place.size_bytes))) ==
                place.hash) {
            continue;
        }
        if (!is_own) {
            return changed_source(sources.name(place.source),
                                  fmt::format("other elements at byte {}", place.offset_bytes),
                                  "those that were compiled");
        }
        return parse_error("the elements of blob {} were changed: the hash does not fit", blob);
    }
    return {};
}

}  // namespace

Status write_compiled_file(const std::filesystem::path& file,
                           std::string_view record,
                           const BlobWriter& blobs) {
    LEAT_ASSIGN_OR_RETURN(const std::string sources, sources_of(file, blobs));
    std::string body(record);
    body += sources;
    const std::span<const std::byte> table = std::as_bytes(std::span(blobs.places()));
    body.append(reinterpret_cast<const char*>(table.data()), table.size());
    const std::span<const std::byte> body_bytes = std::as_bytes(std::span<const char>(body));
    Header header = {};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.byte_order = kByteOrder;
    header.format = kCompiledFormat;
    std::strncpy(header.leat_version, LEAT_VERSION, sizeof(header.leat_version) - 1);
    header.record_bytes = int64_t(record.size());
    header.sources_bytes = int64_t(sources.size());
    header.table_bytes = int64_t(table.size());
    header.blobs_offset = round_up(int64_t(sizeof(Header) + body.size()), kPageBytes);
    int64_t blob_bytes = 0;
    for (const BlobPlace& place : blobs.places()) {
        if (place.source == BlobPlace::kOwnFile) {
            blob_bytes = place.offset_bytes + place.size_bytes;
        }
    }
    header.file_bytes = round_up(header.blobs_offset + blob_bytes + kRoomBytes, kPageBytes);
    header.body_hash = content_hash(body_bytes);
    header.header_hash = hash_of(header);

    const auto write = [&]() -> Status {
        NewFile out(file);
        LEAT_RETURN_IF_ERROR(out.status());
        LEAT_RETURN_IF_ERROR(write_sections(out.descriptor(), header, body_bytes, blobs));
        return out.commit();
    };
    return write().with_file(file.string());
}

bool is_compiled_file(const std::filesystem::path& file) {
    const Result<MappedFile> mapped = MappedFile::open(file);
    return mapped.ok() && is_compiled_file(mapped->bytes());
}

bool is_compiled_file(std::span<const std::byte> contents) {
    return contents.size() >= sizeof(kMagic) &&
           std::memcmp(contents.data(), kMagic, sizeof(kMagic)) == 0;
}

Result<CompiledFile> open_compiled_file(const std::filesystem::path& file,
                                        bool verifies_blobs,
                                        FileAccess access) {
    LEAT_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::open(file, access));
    const std::span<const std::byte> bytes = mapped.bytes();
    Header header = {};
    if (bytes.size() < sizeof(header)) {
        return parse_error(kNotCompiled)
            .with_found(fmt::format("{} bytes", bytes.size()))
            .with_needed(fmt::format("{} or more", sizeof(header)))
            .with_hint(kWhoWrites);
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    LEAT_RETURN_IF_ERROR(check_header(header, int64_t(bytes.size())));
    const std::span<const std::byte> body = bytes.subspan(
        sizeof(header), size_t(header.record_bytes + header.sources_bytes + header.table_bytes));
    if (content_hash(body) != header.body_hash) {
        return parse_error("its record was changed: the hash does not fit");
    }
    const std::span<const std::byte> blobs = bytes.subspan(size_t(header.blobs_offset));
    Sources sources;
    LEAT_RETURN_IF_ERROR(sources.open(
        file, body.subspan(size_t(header.record_bytes), size_t(header.sources_bytes)), access));
    std::vector<BlobPlace> places(size_t(header.table_bytes) / sizeof(BlobPlace));
    if (!places.empty()) {
        std::memcpy(places.data(), body.last(size_t(header.table_bytes)).data(),
                    size_t(header.table_bytes));
    }
    LEAT_RETURN_IF_ERROR(check_blobs(places, blobs, sources, verifies_blobs));
    std::vector<BlobReader::File> others;
    for (int64_t source = 0; source < sources.count(); ++source) {
        others.push_back({sources.file(source).bytes(), sources.file(source).owner()});
    }
    return CompiledFile{body.first(size_t(header.record_bytes)),
                        BlobReader(std::move(places), {blobs, mapped.owner()}, std::move(others))};
}

}  // namespace leat
