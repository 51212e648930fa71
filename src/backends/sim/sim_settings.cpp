#include "backends/sim/sim_settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "backends/lowered/settings.h"

namespace leat::sim {
namespace {

using lowered::number_setting;
using lowered::refuse_setting;
using lowered::text_setting;

constexpr int64_t kMostDevices = 64;
constexpr int64_t kMostQueues = 64;
constexpr double kNsPerUs = 1e3;

double parse_real(const char* name, const std::string& text, bool may_be_zero) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && *end == '\0' && std::isfinite(number);
    if (!is_number || number < 0 || (number == 0 && !may_be_zero)) {
        refuse_setting(name, text, may_be_zero ? "a number >= 0" : "a number > 0");
    }
    return number;
}

// A number for each device; a single one is that of all.
std::vector<double> reals_setting(const LeatSettings* settings,
                                  const char* name,
                                  double fallback,
                                  int32_t devices,
                                  bool may_be_zero = false) {
    const std::string_view text = text_setting(settings, name);
    std::vector<double> numbers;
    for (size_t begin = 0; !text.empty() && begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        numbers.push_back(
            parse_real(name, std::string(text.substr(begin, end - begin)), may_be_zero));
        begin = end + 1;
    }
    if (numbers.size() <= 1) {
        return std::vector<double>(size_t(devices), numbers.empty() ? fallback : numbers[0]);
    }
    if (numbers.size() != size_t(devices)) {
        refuse_setting(name, text,
                       fmt::format("one number, or one for each of {} devices", devices));
    }
    return numbers;
}

int32_t count_setting(const LeatSettings* settings, const char* name, int64_t least, int64_t most) {
    const int64_t count = number_setting(settings, name, 1);
    if (count < least || count > most) {
        refuse_setting(name, std::to_string(count), fmt::format("{} to {}", least, most));
    }
    return int32_t(count);
}

Mode mode_setting(const LeatSettings* settings) {
    const std::string_view mode = text_setting(settings, "mode");
    if (mode.empty() || mode == "compute") {
        return Mode::kCompute;
    }
    if (mode == "timed") {
        return Mode::kTimed;
    }
    if (mode != "virtual") {
        refuse_setting("mode", mode, "'compute', 'timed' or 'virtual'");
    }
    return Mode::kVirtual;
}

bool link_setting(const LeatSettings* settings) {
    const std::string_view link = text_setting(settings, "link");
    if (!link.empty() && link != "duplex" && link != "exclusive") {
        refuse_setting("link", link, "'duplex' or 'exclusive'");
    }
    return link == "exclusive";
}

bool yes_or_no_setting(const LeatSettings* settings, const char* name, bool fallback) {
    const int64_t number = number_setting(settings, name, fallback ? 1 : 0);
    if (number > 1) {
        refuse_setting(name, std::to_string(number), "0 or 1");
    }
    return number == 1;
}

}  // namespace

SimSettings::SimSettings(const LeatSettings* settings)
    : mode(mode_setting(settings)),
      record(text_setting(settings, "record")),
      replay(text_setting(settings, "replay")),
      devices(count_setting(settings, "devices", 1, kMostDevices)),
      compute_queues(count_setting(settings, "compute_queues", 1, kMostQueues)),
      copy_queues(count_setting(settings, "copy_queues", 0, kMostQueues)),
      is_link_exclusive(link_setting(settings)),
      is_host_memory(yes_or_no_setting(settings, "host_memory", false)),
      // The host writes to a slab that it can map without the link, so that its time is none.
      is_mappable(
          yes_or_no_setting(settings, "mappable", mode == Mode::kCompute || is_host_memory)) {
    if ((mode == Mode::kTimed) == replay.empty()) {
        refuse_setting("replay", replay,
                       "the file of a recording in mode 'timed', and none elsewhere");
    }
    if (mode == Mode::kTimed && !record.empty()) {
        refuse_setting("record", record, "mode 'compute' or 'virtual': 'timed' computes nothing");
    }
    const std::vector<double> flops = reals_setting(settings, "flops_per_s", 1e10, devices);
    const std::vector<double> bytes = reals_setting(settings, "bytes_per_s", 1e10, devices);
    const std::vector<double> latency =
        reals_setting(settings, "link_latency_us", 5, devices, true);
    const std::vector<double> rate = reals_setting(settings, "link_bytes_per_s", 5e9, devices);
    for (size_t i = 0; i < size_t(devices); ++i) {
        rates.push_back({flops[i], bytes[i]});
        links.push_back({latency[i] * kNsPerUs, rate[i]});
    }
    const std::string_view median = text_setting(settings, "median_op_us");
    const std::string_view scale = text_setting(settings, "time_scale");
    if (!median.empty() && !scale.empty()) {
        refuse_setting("median_op_us", median, "no time_scale beside it: each decides the other");
    }
    median_op_ns = reals_setting(settings, "median_op_us", 0, 1, true)[0] * kNsPerUs;
    time_scale = reals_setting(settings, "time_scale", 1, 1)[0];
}

}  // namespace leat::sim
