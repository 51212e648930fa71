// ChromeTrace: events as JSON that Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// Format: "Trace Event Format", JSON object form, complete events ("ph":"X"), counters
// ("ph":"C"), flows ("ph":"s", "f") and thread names.
// Thread safety: a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "leat/status.h"

namespace leat {

class ChromeTrace {
  public:
    // Shown as the name of the process.
    explicit ChromeTrace(std::string_view process_name);

    void name_thread(int32_t thread, std::string_view name);
    // A half-open interval on a thread's row. Intervals of one row nest or are disjoint. `detail`
    // is shown with it, unless it is empty.
    void add(std::string_view name,
             std::string_view category,
             int32_t thread,
             int64_t begin_ns,
             int64_t end_ns,
             std::string_view detail = {});
    // An arrow between an interval of a thread and a later one of another; times inside of them.
    void add_arrow(std::string_view name,
                   int32_t from_thread,
                   int64_t from_ns,
                   int32_t to_thread,
                   int64_t to_ns);
    // Numbers at a time, on a row of their own.
    void add_counters(std::string_view name,
                      int64_t at_ns,
                      std::span<const std::pair<std::string, int64_t>> counters);
    // A remark that the reader of the trace can find: `key` and `text` beside the events.
    void add_note(std::string_view key, std::string_view text);

    // The whole file.
    std::string json() const;

  private:
    std::string events_;
    std::string notes_;
    int64_t arrows_ = 0;
};

// `text` with quotes, as JSON. Bytes that are not UTF-8 become U+FFFD: names come from anywhere.
std::string json_string(std::string_view text);

}  // namespace leat
