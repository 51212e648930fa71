#include "run/plan_addresses.h"

#include <algorithm>

namespace leat {

PlanAddresses::PlanAddresses(const Plan& plan)
    : plan_(&plan),
      args_(plan.work.args),
      buffers_(plan.memory.layout.plan.offsets.size()),
      args_of_buffer_(plan.memory.layout.plan.offsets.size()),
      args_of_input_(plan.key.shapes.size()),
      inputs_(plan.key.shapes.size()),
      grown_(plan.storage.grown_shapes.size()) {
    for (int64_t count : plan.storage.string_counts) {
        strings_.emplace_back(size_t(count));
    }
    for (size_t i = 0; i < args_.size(); ++i) {
        const Storage& storage = plan.storage.args[i];
        if (storage.kind == Storage::Kind::kArena) {
            args_of_buffer_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kInput) {
            args_of_input_[size_t(storage.index)].push_back(int32_t(i));
        } else if (storage.kind == Storage::Kind::kStrings) {
            args_[i].data = reinterpret_cast<std::byte*>(strings_[size_t(storage.index)].data());
        }
    }
}

void PlanAddresses::link(std::byte* arena) {
    arena_ = arena;
    for (int32_t b = 0; size_t(b) < buffers_.size(); ++b) {
        move_buffer(b, arena_ + plan_->memory.layout.plan.offsets[size_t(b)]);
    }
}

void PlanAddresses::move_buffer(int32_t buffer, std::byte* address) {
    buffers_[size_t(buffer)] = address;
    for (const int32_t arg : args_of_buffer_[size_t(buffer)]) {
        args_[size_t(arg)].data = address + offset_bytes(arg);
    }
}

void PlanAddresses::set_grown(int32_t index, GrownTensor& tensor) {
    grown_[size_t(index)] = &tensor;
    for (size_t i = 0; i < args_.size(); ++i) {
        const Storage& storage = plan_->storage.args[i];
        if (storage.kind == Storage::Kind::kGrown && storage.index == index) {
            args_[i].data = reinterpret_cast<std::byte*>(&tensor);
        }
    }
}

void PlanAddresses::set_input(int input, const std::byte* data) {
    inputs_[size_t(input)] = data;
    for (int32_t arg : args_of_input_[size_t(input)]) {
        // Inputs are only read.
        args_[size_t(arg)].data = const_cast<std::byte*>(data) + offset_bytes(arg);
    }
}

bool PlanAddresses::set_output(int output, std::byte* data) {
    const PlanOutput& own = plan_->storage.outputs[size_t(output)];
    if (!own.fills_buffer) {
        return false;
    }
    const int32_t buffer = own.storage.index;
    std::byte* const address =
        data != nullptr ? data : arena_ + plan_->memory.layout.plan.offsets[size_t(buffer)];
    if (buffers_[size_t(buffer)] != address) {
        move_buffer(buffer, address);
    }
    return true;
}

const Shape& PlanAddresses::output_shape(int output) const {
    const PlanOutput& planned = plan_->storage.outputs[size_t(output)];
    return planned.storage.kind == Storage::Kind::kGrown ? grown_output(output).shape()
                                                         : planned.shape;
}

const std::byte* PlanAddresses::output_data(int output) const {
    const Storage& storage = plan_->storage.outputs[size_t(output)].storage;
    switch (storage.kind) {
        case Storage::Kind::kArena:
            return buffers_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kStrings:
            return reinterpret_cast<const std::byte*>(strings_[size_t(storage.index)].data());
        case Storage::Kind::kGrown:
            return grown_[size_t(storage.index)]->data();
        case Storage::Kind::kInput:
            return inputs_[size_t(storage.index)] + storage.offset_bytes;
        case Storage::Kind::kConstant:
            return plan_->work.constants[size_t(storage.index)].bytes();
        case Storage::Kind::kNone:
            break;
    }
    return nullptr;
}

bool PlanAddresses::has_elements_in(const ByteRange& range) const {
    const auto meets = [&range](const void* data, int64_t bytes) {
        const auto begin = int64_t(reinterpret_cast<uintptr_t>(data));
        return range.meets({begin, begin + bytes});
    };
    return std::any_of(strings_.begin(), strings_.end(),
                       [&](const auto& all) {
                           return meets(all.data(), int64_t(all.size() * sizeof(std::string)));
                       }) ||
           std::any_of(grown_.begin(), grown_.end(), [&](const GrownTensor* tensor) {
               return meets(tensor->data(), tensor->capacity_bytes());
           });
}

}  // namespace leat
