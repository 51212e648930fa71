#include "machine_json.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "executor_list.h"

namespace leat::micro {
namespace {

// Of the first CPU in /proc/cpuinfo; empty where there is no such file or field.
std::string cpu_field(std::string_view name) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const size_t colon = line.find(':');
        if (colon != std::string::npos && line.compare(0, name.size(), name) == 0 &&
            (line[name.size()] == '\t' || line[name.size()] == ' ' || name.size() == colon)) {
            return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
        }
    }
    return "";
}

int usable_cpus() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 0;
}

std::vector<std::string> versions(const std::vector<ExecutorEntry>& entries) {
    std::vector<std::string> list;
    for (const ExecutorEntry& entry : entries) {
        const std::string version = entry.version != nullptr ? entry.version() : "";
        if (!version.empty() && std::find(list.begin(), list.end(), version) == list.end()) {
            list.push_back(version);
        }
    }
    return list;
}

std::string compiler() {
#ifdef __clang__
    return std::string("clang ") + __clang_version__;
#else
    return std::string("gcc ") + __VERSION__;
#endif
}

}  // namespace

Json machine_json() {
    utsname system{};
    uname(&system);
    Json json = Json::object();
    json.set("cpu", cpu_field("model name"));
    json.set("cpu_vendor", cpu_field("vendor_id"));
    json.set("cpu_family", cpu_field("cpu family"));
    json.set("cpu_model", cpu_field("model"));
    json.set("cpus", int64_t(std::thread::hardware_concurrency()));
    json.set("usable_cpus", usable_cpus());
    json.set("kernel", std::string(system.sysname) + " " + system.release);
    json.set("compiler", compiler());
    return json;
}

Json executors_json(const std::vector<ExecutorEntry>& entries) {
    Json list = Json::array();
    for (const ExecutorEntry& entry : entries) {
        Json json = Json::object();
        json.set("name", entry.name);
        json.set("family", to_string(entry.family));
        json.set("version", entry.version != nullptr ? entry.version() : "");
        json.set("max_nodes", entry.max_nodes);
        list.push(std::move(json));
    }
    return list;
}

void print_machine(std::FILE* out, const std::vector<ExecutorEntry>& entries) {
    fmt::print(out, "{}, family {} model {}, {} usable CPUs; {}\n", cpu_field("model name"),
               cpu_field("cpu family"), cpu_field("model"), usable_cpus(), compiler());
    for (const std::string& version : versions(entries)) {
        fmt::print(out, "{}\n", version);
    }
}

bool is_fast_machine() {
    constexpr int kZen5Family = 26;
    return cpu_field("vendor_id") == "AuthenticAMD" &&
           std::atoi(cpu_field("cpu family").c_str()) >= kZen5Family;
}

}  // namespace leat::micro
