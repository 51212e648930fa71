#include "saved/saved_tensors.h"

#include <algorithm>

#include "base/files/mapped_file.h"
#include "base/round_up.h"
#include "memory/content_hash.h"

namespace leat {

int32_t BlobWriter::add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    const auto known = numbers_.find(memory_of(bytes));
    return known != numbers_.end() ? known->second
                                   : append({bytes, std::move(owner)}, content_hash(bytes));
}

int32_t BlobWriter::add_once(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    const uint64_t hash = content_hash(bytes);
    for (size_t blob = 0; blob < blobs_.size(); ++blob) {
        const std::span<const std::byte> others = blobs_[blob].bytes;
        if (places_[blob].hash == hash &&
            std::equal(bytes.begin(), bytes.end(), others.begin(), others.end())) {
            return int32_t(blob);
        }
    }
    return append({bytes, std::move(owner)}, hash);
}

int32_t BlobWriter::append(Blob blob, uint64_t hash) {
    const auto number = int32_t(blobs_.size());
    numbers_.emplace(memory_of(blob.bytes), number);
    places_.push_back(place_of(blob, hash));
    blobs_.push_back(std::move(blob));
    return number;
}

BlobPlace BlobWriter::place_of(const Blob& blob, uint64_t hash) {
    BlobPlace place{end_bytes_, int64_t(blob.bytes.size()), hash};
    const auto* mapping = std::get_deleter<MappedFileDeleter>(blob.owner);
    if (refers_to_files_ && mapping != nullptr && place.size_bytes >= kLeastReferencedBytes) {
        place.source = source_of(*mapping);
    }
    if (place.source == BlobPlace::kOwnFile) {
        end_bytes_ = round_up(end_bytes_ + place.size_bytes, kAlignmentBytes);
    } else {
        place.offset_bytes = blob.bytes.data() - static_cast<const std::byte*>(mapping->address);
    }
    return place;
}

int64_t BlobWriter::source_of(const MappedFileDeleter& mapping) {
    const auto [at, is_new] = source_of_mapping_.try_emplace(mapping.address, BlobPlace::kOwnFile);
    if (is_new && is_model_file(mapping)) {
        at->second = int64_t(sources_.size());
        sources_.push_back({mapping.path, int64_t(mapping.length_bytes), mapping.modified_ns});
    }
    return at->second;
}

TensorRecord record_of(const Tensor& tensor, BlobWriter& blobs) {
    TensorRecord record;
    record.dtype = uint8_t(tensor.dtype());
    record.extents.assign(tensor.shape().begin(), tensor.shape().end());
    if (tensor.dtype() == DType::kString) {
        const std::span<const std::string> texts = tensor.data<std::string>();
        record.strings.assign(texts.begin(), texts.end());
    } else if (tensor.defined()) {
        record.blob = blobs.add({tensor.bytes(), size_t(tensor.byte_count())}, tensor.owner());
        blobs.tensors.try_emplace(record.blob, tensor);
    }
    return record;
}

std::optional<Tensor> tensor_of(const TensorRecord& record, BlobReader& blobs) {
    const std::optional<Shape> shape = Shape::make(record.extents);
    if (!shape || int(record.dtype) >= kDTypeCount) {
        return std::nullopt;
    }
    const DType dtype{record.dtype};
    if (dtype == DType::kUndefined) {
        return Tensor();
    }
    if (dtype == DType::kString) {
        if (int64_t(record.strings.size()) != shape->element_count()) {
            return std::nullopt;
        }
        Result<Tensor> made = Tensor::from(*shape, record.strings);
        return made.ok() ? std::optional(std::move(made).value()) : std::nullopt;
    }
    const std::byte* elements = blobs.find(record.blob);
    const std::optional<int64_t> bytes = storage_bytes(dtype, shape->element_count());
    if (elements == nullptr || !bytes || *bytes != blobs.places()[size_t(record.blob)].size_bytes) {
        return std::nullopt;
    }
    Tensor tensor = Tensor::view(dtype, *shape, elements, blobs.owner_of(record.blob));
    blobs.tensors.try_emplace(record.blob, tensor);
    return tensor;
}

}  // namespace leat
