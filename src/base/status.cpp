#include "leat/status.h"

#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace leat {

namespace {
const std::string& empty_string() {
    static const std::string kEmpty;
    return kEmpty;
}
}  // namespace

std::string_view name_of(StatusCode code) {
    switch (code) {
        case StatusCode::kOk:
            return "ok";
        case StatusCode::kInvalidArgument:
            return "invalid_argument";
        case StatusCode::kNotFound:
            return "not_found";
        case StatusCode::kParse:
            return "parse";
        case StatusCode::kUnsupported:
            return "unsupported";
        case StatusCode::kPlacement:
            return "placement";
        case StatusCode::kOutOfMemory:
            return "out_of_memory";
        case StatusCode::kDeviceLost:
            return "device_lost";
        case StatusCode::kTimeout:
            return "timeout";
        case StatusCode::kCancelled:
            return "cancelled";
        case StatusCode::kUserException:
            return "user_exception";
        case StatusCode::kVersionMismatch:
            return "version_mismatch";
        case StatusCode::kBusy:
            return "busy";
        case StatusCode::kInternal:
            return "internal";
    }
    return "unknown";
}

Status::Status(StatusCode code, std::string text)
    : detail_(new Detail{code, std::move(text), {}, {}, {}, {}, {}}) {}
Status::Status(const Status& other)
    : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}
Status::Status(Status&&) noexcept = default;
Status& Status::operator=(const Status& other) {
    if (this != &other) {
        detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
    }
    return *this;
}
Status& Status::operator=(Status&&) noexcept = default;
Status::~Status() = default;

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
    if (detail_ && detail_->file.empty()) {
        detail_->file = file;
    }
    return std::move(*this);
}
Status&& Status::with_node(std::string_view node) && {
    if (detail_ && detail_->node.empty()) {
        detail_->node = node;
    }
    return std::move(*this);
}
Status&& Status::with_found(std::string found) && {
    if (detail_) {
        detail_->found = std::move(found);
    }
    return std::move(*this);
}
Status&& Status::with_needed(std::string needed) && {
    if (detail_) {
        detail_->needed = std::move(needed);
    }
    return std::move(*this);
}
Status&& Status::with_hint(std::string hint) && {
    if (detail_) {
        detail_->hint = std::move(hint);
    }
    return std::move(*this);
}

namespace detail {

void fail_value_access(const Status& status) {
    std::fprintf(stderr, "leat: value() of a Result that holds an error: %s\n",
                 status.message().c_str());
    std::abort();
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
    std::fprintf(stderr, "leat: %s:%d: broken invariant %s: %s\n", file, line, condition,
                 message.c_str());
    std::abort();
}

}  // namespace detail
}  // namespace leat
