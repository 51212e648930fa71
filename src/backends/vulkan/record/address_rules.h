// AddressRules: what each dispatch of a recording may read and write, in memory that kernels with
// checked addresses (checked_spirv.h) read, and the first access that broke the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/record/command_list.h"

namespace leat::vulkan {

struct BufferPlace;

// What one access may read or write at most: a stray's, of which as many spare bytes are kept.
constexpr uint32_t kStrayBytes = 512;

// Where the recording put what kernels read beside their tensors.
struct ParameterPlace {
    uint64_t table = 0;  // addresses of external operands, up to `begin`
    uint64_t begin = 0;  // the list's parameters
};

// A kernel's access outside of its operands: it read 0 instead, or wrote nothing.
struct StrayAccess {
    // Where `operand` is no operand's number.
    static constexpr uint32_t kParameters = uint32_t(kMaxOperands);
    static constexpr uint32_t kTable = kParameters + 1;  // addresses of external operands
    static constexpr uint32_t kNothing = 0xffffffff;     // before all that the kernel may touch

    uint32_t command = 0;  // in the list
    uint32_t operand = 0;
    bool is_write = false;
    int64_t offset_bytes = 0;   // from the operand's begin
    int64_t access_bytes = 0;   // of the access
    int64_t operand_bytes = 0;  // that may be touched in this way; 0: none

    // "writes 4 bytes at offset 4096 of operand 1, of which it may write 4096 bytes"
    std::string text() const;
};

// Used by one thread at a time, and not while a run is in flight.
class AddressRules {
  public:
    // Of every dispatch of the list: its uses, by the operands that begin in them, and its
    // parameters. External buffers may be touched once bind() has said where they lie.
    static Result<AddressRules> make(const std::shared_ptr<const Device>& device,
                                     const CommandList& list,
                                     std::span<const BufferPlace> places,
                                     const ParameterPlace& parameters);

    // What takes the place of the parameters' address in the command's push constants.
    uint64_t address(uint32_t command) const { return base_ + uint64_t(rules_begin_[command]); }
    void bind(BufferId buffer, uint64_t address);
    // Before each run.
    void clear();
    // Of the last run, which has ended; none if all went well.
    std::optional<StrayAccess> stray() const;

  private:
    // AllowedRange of address_check.comp.
    struct Range {
        uint64_t begin = 0;
        uint64_t end = 0;
        uint32_t is_written = 0;
        uint32_t operand = 0;
    };
    // A range in a buffer, and where it stands in the arena.
    struct PlacedRange {
        uint32_t command = 0;
        BufferId buffer{};
        ByteRange bytes;
        Range range;
        int64_t at = 0;
    };

    AddressRules() = default;
    void add_ranges(const CommandList& list, uint32_t command, const ParameterPlace& parameters);
    void write_rules(const CommandList& list,
                     std::span<const BufferPlace> places,
                     const ParameterPlace& parameters);
    void place(PlacedRange& placed, uint64_t buffer_address);
    template <class T>
    void write(int64_t at, const T& value);

    std::vector<Arena> arena_;  // one
    uint64_t base_ = 0;
    std::vector<int64_t> rules_begin_;  // by command; -1: no dispatch
    std::vector<PlacedRange> ranges_;   // by command, ascending
};

}  // namespace leat::vulkan
