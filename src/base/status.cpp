#include "leat/status.h"

#include <fmt/core.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/check.h"
#include "base/error.h"

namespace leat {

namespace {
constexpr size_t kCodeCount = size_t(StatusCode::kInternal) + 1;

const std::string& empty_string() {
    static const std::string kEmpty;
    return kEmpty;
}
}  // namespace

std::string_view name_of(StatusCode code) {
    // In the order of the codes.
    constexpr std::array<std::string_view, kCodeCount> kNames = {
        "ok",          "invalid_argument", "not_found",      "parse",
        "unsupported", "placement",        "out_of_memory",  "device_lost",
        "timeout",     "cancelled",        "user_exception", "version_mismatch",
        "busy",        "internal",
    };
    static_assert(kNames.back() == "internal");
    return size_t(code) < kNames.size() ? kNames[size_t(code)] : "unknown";
}

Status::Status(StatusCode code, std::string text)
    : detail_(new Detail{code, std::move(text), {}, {}, {}, {}, {}}) {}
Status::Status(const Status& other) : detail_(copy_of(other.detail_)) {}
Status::Status(Status&&) noexcept = default;
Status& Status::operator=(const Status& other) {
    if (this != &other) {
        detail_ = copy_of(other.detail_);
    }
    return *this;
}
Status& Status::operator=(Status&&) noexcept = default;
Status::~Status() = default;

void Status::Release::operator()(Detail* detail) const noexcept {
    if (!detail->is_bare) {
        delete detail;
    }
}

Status::DetailPtr Status::copy_of(const DetailPtr& detail) {
    const bool is_shared = detail == nullptr || detail->is_bare;
    return DetailPtr(is_shared ? detail.get() : new Detail(*detail));
}

Status Status::bare(StatusCode code) noexcept {
    struct Table {
        std::array<Detail, kCodeCount> details{};
        Table() {
            for (size_t i = 0; i < kCodeCount; ++i) {
                details[i].code = StatusCode(i);
                details[i].is_bare = true;
            }
        }
    };
    // Never destroyed: a Status may outlive every static. Empty strings own no memory.
    alignas(Table) static std::byte memory[sizeof(Table)];
    static Table* const kTable = new (memory) Table;
    Status status;
    status.detail_.reset(&kTable->details[size_t(code)]);
    return status;
}

StatusCode Status::code() const {
    return detail_ ? detail_->code : StatusCode::kOk;
}
const std::string& Status::text() const {
    return detail_ ? detail_->text : empty_string();
}
const std::string& Status::file() const {
    return detail_ ? detail_->file : empty_string();
}
const std::string& Status::node() const {
    return detail_ ? detail_->node : empty_string();
}
const std::string& Status::found() const {
    return detail_ ? detail_->found : empty_string();
}
const std::string& Status::needed() const {
    return detail_ ? detail_->needed : empty_string();
}
const std::string& Status::hint() const {
    return detail_ ? detail_->hint : empty_string();
}

std::string Status::message() const {
    if (ok()) {
        return "ok";
    }
    std::string out(name_of(detail_->code));
    if (detail_->is_bare) {
        return out;
    }
    out += ": ";
    if (!detail_->file.empty()) {
        out += detail_->file + ": ";
    }
    if (!detail_->node.empty()) {
        out += detail_->node + ": ";
    }
    out += detail_->text;
    if (!detail_->found.empty()) {
        out += "; found " + detail_->found;
    }
    if (!detail_->needed.empty()) {
        out += "; needed " + detail_->needed;
    }
    if (!detail_->hint.empty()) {
        out += " (" + detail_->hint + ")";
    }
    return out;
}

Status&& Status::with_file(std::string_view file) && {
    if (takes_parts() && detail_->file.empty()) {
        detail_->file = file;
    }
    return std::move(*this);
}
Status&& Status::with_node(std::string_view node) && {
    if (takes_parts() && detail_->node.empty()) {
        detail_->node = node;
    }
    return std::move(*this);
}
Status&& Status::within(std::string_view around) && {
    if (takes_parts()) {
        detail_->node =
            fmt::format("{}{}{}", around, detail_->node.empty() ? "" : ", ", detail_->node);
    }
    return std::move(*this);
}
Status&& Status::with_found(std::string found) && {
    if (takes_parts()) {
        detail_->found = std::move(found);
    }
    return std::move(*this);
}
Status&& Status::with_needed(std::string needed) && {
    if (takes_parts()) {
        detail_->needed = std::move(needed);
    }
    return std::move(*this);
}
Status&& Status::with_hint(std::string hint) && {
    if (takes_parts()) {
        detail_->hint = std::move(hint);
    }
    return std::move(*this);
}

Status format_error(StatusCode code, fmt::string_view format, fmt::format_args args) noexcept {
    try {
        return Status(code, fmt::vformat(format, args));
    } catch (const std::bad_alloc&) {
        return Status::bare(code);
    }
}

namespace detail {

void fail_value_access(const Status& status) {
    std::fprintf(stderr, "leat: value() of a Result that holds an error: %s\n",
                 status.message().c_str());
    std::abort();
}

void fail_check(const char* file,
                int line,
                const char* condition,
                fmt::string_view format,
                fmt::format_args args) {
    std::fprintf(stderr, "leat: %s:%d: broken invariant %s: %s\n", file, line, condition,
                 fmt::vformat(format, args).c_str());
    std::abort();
}

}  // namespace detail
}  // namespace leat
