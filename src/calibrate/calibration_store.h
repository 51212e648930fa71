// CalibrationStore: what was measured of devices, kept in a file for each, for later processes.
//
// A file is of one key: device, driver, version of leat and whatever else its times depend on. A
// changed key finds nothing. What cannot be read is a line in the log and is measured again; what
// cannot be written stays in this process (base/files/disk_cache.h).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/files/disk_cache.h"
#include "partition/measured_costs.h"

namespace leat {

// Thread-safe if `log` is.
class CalibrationStore {
  public:
    // folder: empty: nothing is kept. It is made when something is kept there.
    CalibrationStore(std::string folder, std::string_view writer, DiskCache::Log log);

    // Null: nothing is known. The file is read once.
    std::shared_ptr<const MeasuredCosts> find(const std::string& key);
    // Adds to what this process and the file know, and gives all of it.
    std::shared_ptr<const MeasuredCosts> add(const std::string& key, MeasuredCosts fresh);
    // Where it is kept; empty: nowhere.
    std::string file_of(const std::string& key) const;

    // Held by whoever measures: measurements would disturb each other.
    std::mutex& measuring() { return measuring_; }

  private:
    // What the file has.
    std::shared_ptr<const MeasuredCosts> load(const std::string& key);

    std::unique_ptr<DiskCache> disk_;  // null: there is no folder
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const MeasuredCosts>> known_;  // by key
    std::mutex measuring_;
};

// $XDG_CACHE_HOME/leat/costs or ~/.cache/leat/costs; empty without a home.
std::string default_calibration_folder();

}  // namespace leat
