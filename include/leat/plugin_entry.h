// The entry points of a backend written with leat/plugin_backend.h, which includes this file.
#pragma once

#include "leat/plugin_backend.h"

namespace leat::plugin {

// The size that T had in version 1: all of it, until something is appended.
template <class T>
inline constexpr uint32_t kFirstBytes = uint32_t(sizeof(T));

// *value as the writer knew it, zero beyond. Throws where it cannot be a T of any version.
template <class T>
T checked(const T* value, const char* what) {
    if (value == nullptr) {
        invalid_argument(std::string(what).append(" is null"));
    }
    if (value->header.version == 0 || value->header.struct_bytes < kFirstBytes<T>) {
        throw Error(kLeatVersionMismatch, std::string(what)
                                              .append(" says version ")
                                              .append(std::to_string(value->header.version))
                                              .append(" but has ")
                                              .append(std::to_string(value->header.struct_bytes))
                                              .append(" bytes; found less than the ")
                                              .append(std::to_string(kFirstBytes<T>))
                                              .append(" of version 1"));
    }
    return read(value);
}

// Stores what of `value` the reader of *out knows; its header stays.
template <class T>
void store(T* out, const T& value) {
    const LeatHeader header = out->header;
    const size_t bytes = header.struct_bytes < sizeof(T) ? header.struct_bytes : sizeof(T);
    std::memcpy(out, &value, bytes);
    out->header = header;
}

inline Backend& object_of(LeatBackend* handle) {
    return *reinterpret_cast<Backend*>(handle);
}
inline Slab& object_of(LeatSlab* handle) {
    return *reinterpret_cast<Slab*>(handle);
}
inline Executable& object_of(LeatExecutable* handle) {
    return *reinterpret_cast<Executable*>(handle);
}
inline Instance& object_of(LeatInstance* handle) {
    return *reinterpret_cast<Instance*>(handle);
}

// Runs `body` on the backend; `entry` names the field of LeatBackendApi.
template <class Body>
LeatCode call(LeatBackend* handle, const char* entry, LeatError* error, Body&& body) noexcept {
    return guarded(error, [&] {
        Backend& backend = object_of(handle);
        backend.enter(entry);
        body(backend);
    });
}

// Hands an object to the host and counts it.
template <class Object, class Handle>
void hand_out(std::unique_ptr<Object> object, std::atomic<int64_t>& count, Handle** handle) {
    if (handle == nullptr) {
        invalid_argument("the place for the result is null");
    }
    count.fetch_add(1);
    *handle = reinterpret_cast<Handle*>(object.release());
}

template <class Handle>
void take_back(Handle* handle, std::atomic<int64_t>& count) noexcept {
    if (handle != nullptr) {
        delete &object_of(handle);
        count.fetch_sub(1);
    }
}

// Of one piece of memory, asked for or told: sums of many, rounded up, are numbers, too.
inline constexpr int64_t kMostBytes = int64_t{1} << 56;

inline std::string_view bytes_of(const void* data, int64_t bytes) {
    return {static_cast<const char*>(data), size_t(bytes)};
}

struct MemoryEntries {
    static LeatCode allocate_slab(
        LeatBackend* b, int32_t domain, int64_t bytes, LeatSlab** slab, LeatError* e) noexcept {
        return call(b, "allocate_slab", e, [&](Backend& backend) {
            if (bytes <= 0) {
                invalid_argument("a slab needs at least one byte");
            }
            if (bytes > kMostBytes) {
                throw Error(kLeatOutOfMemory, "no memory has as many bytes");
            }
            hand_out(backend.allocate_slab(domain, bytes), backend.live.slabs, slab);
        });
    }
    static LeatCode import_slab(LeatBackend* b,
                                int32_t domain,
                                void* memory,
                                int64_t bytes,
                                LeatSlab** slab,
                                LeatError* e) noexcept {
        return call(b, "import_slab", e, [&](Backend& backend) {
            if (bytes <= 0 || bytes > kMostBytes || memory == nullptr) {
                invalid_argument("imported memory needs an address and at least one byte");
            }
            hand_out(backend.import_slab(domain, memory, bytes), backend.live.slabs, slab);
        });
    }
    static LeatCode export_slab(
        LeatBackend* b, LeatSlab* slab, const char* kind, int64_t* handle, LeatError* e) noexcept {
        return call(b, "export_slab", e, [&](Backend& backend) {
            *handle = backend.export_slab(object_of(slab), kind);
        });
    }
    static void free_slab(LeatBackend* b, LeatSlab* slab) noexcept {
        take_back(slab, object_of(b).live.slabs);
    }
    static LeatCode map_slab(LeatBackend* b, LeatSlab* slab, void** memory, LeatError* e) noexcept {
        return call(b, "map_slab", e,
                    [&](Backend& backend) { *memory = backend.map_slab(object_of(slab)); });
    }
    static LeatCode flush_slab(
        LeatBackend* b, LeatSlab* slab, int64_t offset, int64_t bytes, LeatError* e) noexcept {
        return call(b, "flush_slab", e,
                    [&](Backend& backend) { backend.flush_slab(object_of(slab), offset, bytes); });
    }
};

struct QueueEntries {
    static LeatCode submit_copy(LeatBackend* b,
                                const LeatSubmission* submission,
                                const LeatCopy* copy,
                                LeatError* e) noexcept {
        return call(b, "submit_copy", e, [&](Backend& backend) {
            backend.submit_copy(checked(submission, "LeatSubmission"), checked(copy, "LeatCopy"));
        });
    }
    static LeatCode submit_fill(LeatBackend* b,
                                const LeatSubmission* submission,
                                const LeatFill* fill,
                                LeatError* e) noexcept {
        return call(b, "submit_fill", e, [&](Backend& backend) {
            backend.submit_fill(checked(submission, "LeatSubmission"), checked(fill, "LeatFill"));
        });
    }
    static LeatCode execute(LeatBackend* b,
                            LeatInstance* instance,
                            const LeatSubmission* submission,
                            const LeatBinding* inputs,
                            const LeatBinding* outputs,
                            LeatError* e) noexcept {
        return call(b, "execute", e, [&](Backend& backend) {
            backend.execute(object_of(instance), checked(submission, "LeatSubmission"), inputs,
                            outputs);
        });
    }
    static LeatCode timeline_value(LeatBackend* b,
                                   int32_t queue,
                                   uint64_t* value,
                                   LeatError* e) noexcept {
        return call(b, "timeline_value", e,
                    [&](Backend& backend) { *value = backend.timeline_value(queue); });
    }
    static LeatCode poll(LeatBackend* b, LeatPoint point, LeatError* e) noexcept {
        bool is_reached = false;
        const LeatCode code =
            call(b, "poll", e, [&](Backend& backend) { is_reached = backend.is_reached(point); });
        return code == kLeatOk && !is_reached ? LeatCode(kLeatPending) : code;
    }
    static LeatCode on_reached(
        LeatBackend* b, LeatPoint point, LeatReached callback, void* user, LeatError* e) noexcept {
        return call(b, "on_reached", e,
                    [&](Backend& backend) { backend.on_reached(point, callback, user); });
    }
    static LeatCode fail(LeatBackend* b, int32_t queue, LeatCode code, LeatError* e) noexcept {
        return call(b, "fail", e, [&](Backend& backend) { backend.fail(queue, code); });
    }
    static LeatCode forget_failures(LeatBackend* b,
                                    int32_t queue,
                                    uint64_t value,
                                    LeatError* e) noexcept {
        return call(b, "forget_failures", e,
                    [&](Backend& backend) { backend.forget_failures(queue, value); });
    }
    static LeatCode cancel(LeatBackend* b, uint64_t request, LeatError* e) noexcept {
        return call(b, "cancel", e, [&](Backend& backend) { backend.cancel(request); });
    }
};

struct CompilerEntries {
    // A refusal is an Error of kLeatUnsupported; others are failures of the call.
    static void fill_capability(Backend& backend,
                                int32_t device,
                                const LeatGraphView& graph,
                                const LeatNodeView& node,
                                LeatNodeCapability* out) {
        auto capability = made<LeatNodeCapability>();
        capability.is_supported = 1;
        try {
            backend.capability(device, graph, node, capability);
        } catch (const Error& refusal) {
            if (refusal.code() != kLeatUnsupported) {
                throw;
            }
            capability = made<LeatNodeCapability>();
            std::strncpy(capability.reason, refusal.what(), sizeof(capability.reason) - 1);
        }
        store(out, capability);
    }
    static LeatCode capabilities(LeatBackend* b,
                                 int32_t device,
                                 const LeatGraphView* graph,
                                 LeatNodeCapability* const* out,
                                 LeatError* e) noexcept {
        return call(b, "capabilities", e, [&](Backend& backend) {
            const LeatGraphView view = checked(graph, "LeatGraphView");
            for (int32_t i = 0; i < view.node_count; ++i) {
                (void)checked(out[i], "LeatNodeCapability");
                fill_capability(backend, device, view, *view.nodes[i], out[i]);
            }
        });
    }
    static LeatCode preprocess(LeatBackend* b,
                               int32_t device,
                               const LeatGraphView* graph,
                               const LeatSettings* settings,
                               const LeatSink* blob,
                               LeatError* e) noexcept {
        return call(b, "preprocess", e, [&](Backend& backend) {
            backend.preprocess(device, checked(graph, "LeatGraphView"), settings,
                               checked(blob, "LeatSink"));
        });
    }
    static LeatCode compile(LeatBackend* b,
                            int32_t device,
                            const LeatGraphView* graph,
                            const LeatCompileOptions* options,
                            LeatExecutable** executable,
                            LeatError* e) noexcept {
        return call(b, "compile", e, [&](Backend& backend) {
            hand_out(backend.compile(device, checked(graph, "LeatGraphView"),
                                     checked(options, "LeatCompileOptions")),
                     backend.live.executables, executable);
        });
    }
    static void free_executable(LeatBackend* b, LeatExecutable* executable) noexcept {
        take_back(executable, object_of(b).live.executables);
    }
    static LeatCode save(LeatBackend* b,
                         LeatExecutable* executable,
                         const LeatSink* sink,
                         LeatError* e) noexcept {
        return call(b, "save", e,
                    [&](Backend&) { object_of(executable).save(checked(sink, "LeatSink")); });
    }
    static LeatCode load(LeatBackend* b,
                         int32_t device,
                         const void* data,
                         int64_t bytes,
                         LeatExecutable** executable,
                         LeatError* e) noexcept {
        return call(b, "load", e, [&](Backend& backend) {
            hand_out(backend.load(device, bytes_of(data, bytes)), backend.live.executables,
                     executable);
        });
    }
};

struct ExecutableEntries {
    static const LeatExecutableInfo* executable_info(LeatBackend*,
                                                     LeatExecutable* executable) noexcept {
        return &object_of(executable).info();
    }
    static LeatCode pack(LeatBackend* b,
                         LeatExecutable* executable,
                         int32_t index,
                         const LeatTensorView* tensor,
                         LeatPlacement to,
                         LeatError* e) noexcept {
        return call(b, "pack", e, [&](Backend&) {
            object_of(executable).pack(index, checked(tensor, "LeatTensorView"), to);
        });
    }
    static LeatCode requirements(LeatBackend* b,
                                 LeatExecutable* executable,
                                 const LeatRunShape* shape,
                                 const LeatRequirements** out,
                                 LeatError* e) noexcept {
        return call(b, "requirements", e, [&](Backend&) {
            *out = object_of(executable).requirements(checked(shape, "LeatRunShape")).release();
        });
    }
    static void free_requirements(LeatBackend*, const LeatRequirements* table) noexcept {
        delete static_cast<const Requirements*>(table);
    }
    static LeatCode link(LeatBackend* b,
                         LeatExecutable* executable,
                         const LeatRunShape* shape,
                         const LeatLinkage* linkage,
                         LeatInstance** instance,
                         LeatError* e) noexcept {
        return call(b, "link", e, [&](Backend& backend) {
            hand_out(object_of(executable)
                         .link(checked(shape, "LeatRunShape"), checked(linkage, "LeatLinkage")),
                     backend.live.instances, instance);
        });
    }
    static void free_instance(LeatBackend* b, LeatInstance* instance) noexcept {
        take_back(instance, object_of(b).live.instances);
    }
};

struct BackendEntries {
    static LeatCode shutdown(LeatBackend* b, LeatError* e) noexcept {
        return call(b, "shutdown", e, [&](Backend& backend) {
            const int64_t slabs = backend.live.slabs;
            const int64_t executables = backend.live.executables;
            const int64_t instances = backend.live.instances;
            if (slabs + executables + instances != 0) {
                throw Error(kLeatBusy, std::to_string(slabs)
                                           .append(" slabs, ")
                                           .append(std::to_string(executables))
                                           .append(" executables and ")
                                           .append(std::to_string(instances))
                                           .append(" instances live; free them first"));
            }
            delete &backend;
        });
    }
    static LeatCode live_objects(LeatBackend* b, LeatLiveObjects* out, LeatError* e) noexcept {
        return call(b, "live_objects", e, [&](Backend& backend) {
            (void)checked(out, "LeatLiveObjects");
            auto live = made<LeatLiveObjects>();
            live.slabs = backend.live.slabs;
            live.executables = backend.live.executables;
            live.instances = backend.live.instances;
            live.submissions = backend.open_submissions();
            store(out, live);
        });
    }
    static const void* get_extension(LeatBackend* b, const char* name) noexcept {
        const void* table = nullptr;
        (void)guarded(nullptr, [&] {
            table = std::string_view(name) == LEAT_DRIVER_EXTENSION
                        ? &kDriverExtension
                        : object_of(b).get_extension(name);
        });
        return table;
    }
    static const char* driver(LeatBackend* b, int32_t device) noexcept {
        const char* text = nullptr;
        (void)guarded(nullptr, [&] { text = object_of(b).driver(device); });
        return text;
    }
    static constexpr LeatDriverExtension kDriverExtension{
        {uint32_t(sizeof(LeatDriverExtension)), LEAT_PLUGIN_VERSION, nullptr}, driver};
    static const LeatDeviceInfo* device(LeatBackend* b, int32_t index) noexcept {
        const LeatDeviceInfo* info = nullptr;
        (void)guarded(nullptr, [&] { info = object_of(b).device(index); });
        return info;
    }
    static LeatCode clock_correlation(LeatBackend* b,
                                      int32_t device,
                                      LeatClockSample* out,
                                      LeatError* e) noexcept {
        return call(b, "clock_correlation", e, [&](Backend& backend) {
            (void)checked(out, "LeatClockSample");
            store(out, backend.clock_correlation(device));
        });
    }
    static LeatCode register_operator(LeatBackend* b,
                                      const LeatOperator* custom,
                                      LeatError* e) noexcept {
        return call(b, "register_operator", e, [&](Backend& backend) {
            backend.register_operator(checked(custom, "LeatOperator"));
        });
    }
    static LeatCode register_kernel(LeatBackend* b,
                                    const char* domain,
                                    const char* op_type,
                                    const void* blob,
                                    int64_t bytes,
                                    LeatError* e) noexcept {
        return call(b, "register_kernel", e, [&](Backend& backend) {
            backend.register_kernel(domain, op_type, bytes_of(blob, bytes));
        });
    }
};

template <class T, class = void>
inline constexpr bool kDescribesDevices = false;
template <class T>
inline constexpr bool kDescribesDevices<T, std::void_t<decltype(T::describe_devices(nullptr))>> =
    true;

// What depends on the backend's class T, which has
//   static constexpr const char* kName, *kLibraryVersion;
//   static void check_available(const LeatHostApi*);          throws an Error with the reason
//   static const LeatSettingInfo* setting(int32_t index);     null beyond the last
//   T(const LeatHostApi*, const LeatSettings*);
// and may have
//   static std::string describe_devices(const LeatHostApi*);  JSON, as LeatDeviceDescription says
template <class T>
struct Plugin {
    static LeatCode is_available(const LeatHostApi* host, LeatError* reason) noexcept {
        return guarded(reason, [&] { T::check_available(host); });
    }
    static const LeatSettingInfo* setting(int32_t index) noexcept { return T::setting(index); }
    static LeatCode describe(const LeatHostApi* host, const LeatSink* json, LeatError* e) noexcept {
        return guarded(e, [&] {
            const LeatSink sink = checked(json, "LeatSink");
            const std::string text = T::describe_devices(host);
            const LeatCode code = sink.write(sink.user, text.data(), int64_t(text.size()));
            if (code != kLeatOk) {
                throw Error(code, "the host did not take the description");
            }
        });
    }
    static constexpr const LeatChained* chain() {
        if constexpr (kDescribesDevices<T>) {
            return &kDescription.chained;
        } else {
            return nullptr;
        }
    }

    static void check_settings(const LeatSettings& settings) {
        for (int32_t i = 0; i < settings.count; ++i) {
            int32_t k = 0;
            const LeatSettingInfo* info = T::setting(k);
            while (info != nullptr && std::strcmp(info->name, settings.names[i]) != 0) {
                info = T::setting(++k);
            }
            if (info == nullptr) {
                invalid_argument(std::string("backend ")
                                     .append(T::kName)
                                     .append(" has no setting '")
                                     .append(settings.names[i])
                                     .append("'"));
            }
        }
    }
    static LeatCode create(const LeatHostApi* host,
                           const LeatSettings* settings,
                           LeatBackend** backend,
                           LeatError* error) noexcept {
        return guarded(error, [&] {
            (void)checked(host, "LeatHostApi");
            const LeatSettings given =
                settings == nullptr ? made<LeatSettings>() : checked(settings, "LeatSettings");
            check_settings(given);
            Backend* made_backend = std::make_unique<T>(host, &given).release();
            *backend = reinterpret_cast<LeatBackend*>(made_backend);
        });
    }

    static constexpr LeatBackendApi table() {
        LeatBackendApi api{};
        api.header.struct_bytes = uint32_t(sizeof(LeatBackendApi));
        api.header.version = LEAT_PLUGIN_VERSION;
        api.header.next = chain();
        api.min_host_version = 1;
        api.name = T::kName;
        api.library_version = T::kLibraryVersion;
        api.is_available = is_available;
        api.setting = setting;
        api.create = create;
        api.shutdown = BackendEntries::shutdown;
        api.live_objects = BackendEntries::live_objects;
        api.get_extension = BackendEntries::get_extension;
        api.device = BackendEntries::device;
        api.allocate_slab = MemoryEntries::allocate_slab;
        api.import_slab = MemoryEntries::import_slab;
        api.export_slab = MemoryEntries::export_slab;
        api.free_slab = MemoryEntries::free_slab;
        api.map_slab = MemoryEntries::map_slab;
        api.flush_slab = MemoryEntries::flush_slab;
        api.submit_copy = QueueEntries::submit_copy;
        api.submit_fill = QueueEntries::submit_fill;
        api.execute = QueueEntries::execute;
        api.timeline_value = QueueEntries::timeline_value;
        api.poll = QueueEntries::poll;
        api.on_reached = QueueEntries::on_reached;
        api.fail = QueueEntries::fail;
        api.forget_failures = QueueEntries::forget_failures;
        api.cancel = QueueEntries::cancel;
        api.capabilities = CompilerEntries::capabilities;
        api.preprocess = CompilerEntries::preprocess;
        api.compile = CompilerEntries::compile;
        api.free_executable = CompilerEntries::free_executable;
        api.save = CompilerEntries::save;
        api.load = CompilerEntries::load;
        api.executable_info = ExecutableEntries::executable_info;
        api.pack = ExecutableEntries::pack;
        api.requirements = ExecutableEntries::requirements;
        api.free_requirements = ExecutableEntries::free_requirements;
        api.link = ExecutableEntries::link;
        api.free_instance = ExecutableEntries::free_instance;
        api.clock_correlation = BackendEntries::clock_correlation;
        api.register_operator = BackendEntries::register_operator;
        api.register_kernel = BackendEntries::register_kernel;
        return api;
    }
    static constexpr LeatDeviceDescription kDescription{
        {{uint32_t(sizeof(LeatDeviceDescription)), LEAT_PLUGIN_VERSION, nullptr},
         LEAT_DEVICE_DESCRIPTION},
        describe};
    static constexpr LeatBackendApi kApi = table();
};

}  // namespace leat::plugin

// Defines the plugin's only symbol.
#define LEAT_BACKEND_PLUGIN(Class)                                                              \
    extern "C" __attribute__((visibility("default"))) const LeatBackendApi* leat_backend_query( \
        const LeatHostApi* /*host*/, uint32_t /*version*/) {                                    \
        return &::leat::plugin::Plugin<Class>::kApi;                                            \
    }
