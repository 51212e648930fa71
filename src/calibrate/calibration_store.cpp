#include "calibrate/calibration_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/plugin/cache_folder.h"

namespace leat {
namespace {

constexpr std::string_view kCacheKind = "costs";
// Of all devices; a file has at most a quarter of it.
constexpr int64_t kLimitBytes = int64_t{16} << 20;

}  // namespace

CalibrationStore::CalibrationStore(std::string folder,
                                   std::string_view writer,
                                   DiskCache::Log log) {
    if (!folder.empty()) {
        disk_ = std::make_unique<DiskCache>(std::move(folder), writer, std::move(log), kLimitBytes);
    }
}

std::shared_ptr<const MeasuredCosts> CalibrationStore::load(const std::string& key) {
    const std::optional<std::string> text =
        disk_ == nullptr ? std::nullopt : disk_->load(kCacheKind, key);
    if (!text) {
        return nullptr;
    }
    Result<MeasuredCosts> costs = MeasuredCosts::parse(*text);
    if (!costs.ok()) {
        disk_->report_unusable(kCacheKind, key, costs.error().message());
        return nullptr;
    }
    return std::make_shared<const MeasuredCosts>(std::move(costs).value());
}

std::shared_ptr<const MeasuredCosts> CalibrationStore::find(const std::string& key) {
    const std::lock_guard lock(mutex_);
    if (const auto at = known_.find(key); at != known_.end()) {
        return at->second;
    }
    return known_.emplace(key, load(key)).first->second;
}

std::shared_ptr<const MeasuredCosts> CalibrationStore::add(const std::string& key,
                                                           MeasuredCosts fresh) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const MeasuredCosts>& known = known_[key];
    MeasuredCosts all;
    // Other processes may have added to the file.
    for (const std::shared_ptr<const MeasuredCosts>& part : {load(key), known}) {
        if (part != nullptr) {
            all.merge(*part);
        }
    }
    fresh.set_round(all.round + 1);
    all.merge(fresh);
    known = std::make_shared<const MeasuredCosts>(std::move(all));
    if (disk_ != nullptr) {
        disk_->store(kCacheKind, key, known->to_text());
    }
    return known;
}

std::string CalibrationStore::file_of(const std::string& key) const {
    return disk_ == nullptr ? std::string() : disk_->file_of(kCacheKind, key).string();
}

std::string default_calibration_folder() {
    const std::string root = cache_root();
    return root.empty() ? std::string() : root + "/costs";
}

}  // namespace leat
