// To write a backend in C++: derive from plugin::Backend, override what it can do, and put
// LEAT_BACKEND_PLUGIN(YourBackend) in one file.
//
// An override throws plugin::Error (or anything else) where it fails: the entry points of the C ABI
// are noexcept and turn it into a code and a text. What is not overridden is unimplemented. Objects
// that are handed to the host are counted here, so that shutdown can refuse while some live.
// docs/backends.md is the contract; header-only, C++17, needs no library of leat. Needs exceptions,
// and no run-time type information.
#pragma once

#if !defined(__cpp_exceptions)
#error "leat/plugin_backend.h needs exceptions: omit -fno-exceptions, or use leat/plugin.h"
#endif

#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/plugin.h"

namespace leat::plugin {

// What an override throws. `code` is not kLeatOk.
class Error : public std::exception {
  public:
    Error(LeatCode code, std::string text) : code_(code), text_(std::move(text)) {}
    LeatCode code() const noexcept { return code_; }
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    LeatCode code_;
    std::string text_;
};

[[noreturn]] inline void unimplemented(const char* feature) {
    throw Error(kLeatUnimplemented, std::string("this backend has no ").append(feature));
}
[[noreturn]] inline void invalid_argument(std::string text) {
    throw Error(kLeatInvalidArgument, std::move(text));
}

// A zeroed T with its header filled in.
template <class T>
T made() {
    T value{};
    value.header.struct_bytes = uint32_t(sizeof(T));
    value.header.version = LEAT_PLUGIN_VERSION;
    return value;
}

// A copy of what the writer knew of *value, zero beyond.
template <class T>
T read(const T* value) {
    T copy{};
    std::memcpy(&copy, value,
                value->header.struct_bytes < sizeof(T) ? value->header.struct_bytes : sizeof(T));
    return copy;
}

// True if the field at [offset, offset + bytes) lies inside what the writer knew.
inline bool has_field(const LeatHeader& header, size_t offset, size_t bytes) {
    return offset + bytes <= header.struct_bytes;
}

// The extension struct of that name in the chain; null if there is none.
inline const LeatChained* find_chained(const LeatHeader& header, std::string_view name) {
    const LeatChained* chained = header.next;
    while (chained != nullptr && chained->name != name) {
        chained = chained->header.next;
    }
    return chained;
}

// A copy of what the writer knew of the extension struct T that begins with *chained, zero beyond.
template <class T>
T read_chained(const LeatChained* chained) {
    T copy{};
    const uint32_t known = chained->header.struct_bytes;
    std::memcpy(&copy, chained, known < sizeof(T) ? known : sizeof(T));
    return copy;
}

// A zeroed extension struct T of that name.
template <class T>
T made_chained(const char* name) {
    T value{};
    value.chained.header.struct_bytes = uint32_t(sizeof(T));
    value.chained.header.version = LEAT_PLUGIN_VERSION;
    value.chained.name = name;
    return value;
}

inline void write_text(LeatError* error, const char* text) noexcept {
    if (error == nullptr || error->text == nullptr || error->capacity <= 0) {
        return;
    }
    const size_t room = size_t(error->capacity) - 1;
    const size_t length = std::strlen(text) < room ? std::strlen(text) : room;
    std::memcpy(error->text, text, length);
    error->text[length] = '\0';
}

// Runs `body`; what it throws becomes a code and a text.
template <class Body>
LeatCode guarded(LeatError* error, Body&& body) noexcept {
    try {
        body();
        return kLeatOk;
    } catch (const Error& failure) {
        write_text(error, failure.what());
        return failure.code();
    } catch (const std::bad_alloc&) {
        write_text(error, "no host memory left");
        return kLeatOutOfMemory;
    } catch (const std::exception& failure) {
        write_text(error, failure.what());
        return kLeatException;
    } catch (...) {
        write_text(error, "an exception of unknown type");
        return kLeatException;
    }
}

// An array of the ABI as a range.
template <class T>
class View {
  public:
    View(const T* data, int64_t count) : data_(data), count_(count) {}
    const T* begin() const { return data_; }
    const T* end() const { return count_ == 0 ? data_ : data_ + count_; }
    int64_t size() const { return count_; }
    const T& operator[](int64_t i) const { return data_[i]; }

  private:
    const T* data_;
    int64_t count_;
};

inline View<const LeatNodeView*> nodes_of(const LeatGraphView& graph) {
    return {graph.nodes, graph.node_count};
}
inline View<const LeatValueView*> values_of(const LeatGraphView& graph) {
    return {graph.values, graph.value_count};
}
inline View<int32_t> inputs_of(const LeatNodeView& node) {
    return {node.inputs, node.input_count};
}
inline View<int32_t> outputs_of(const LeatNodeView& node) {
    return {node.outputs, node.output_count};
}
inline View<const LeatAttributeView*> attributes_of(const LeatNodeView& node) {
    return {node.attributes, node.attribute_count};
}
inline View<LeatPoint> waits_of(const LeatSubmission& submission) {
    return {submission.waits, submission.wait_count};
}
// The value of a setting, or null.
inline const char* find_setting(const LeatSettings* settings, std::string_view name) {
    for (int32_t i = 0; settings != nullptr && i < settings->count; ++i) {
        if (settings->names[i] == name) {
            return settings->values[i];
        }
    }
    return nullptr;
}

// What the host gives, in C++.
class Host {
  public:
    explicit Host(const LeatHostApi* api) : api_(api) {}
    void log(int32_t level, const std::string& text) const {
        api_->log(api_->host, level, text.c_str());
    }
    int64_t monotonic_ns() const { return api_->monotonic_ns(api_->host); }
    const char* cache_directory() const { return api_->cache_directory(api_->host); }
    // Calls body(i) for each i of [0, count) on the host's threads; returns after the last call.
    template <class Body>
    void parallel_for(int64_t count, const Body& body) const {
        api_->parallel_for(
            api_->host, count, [](void* user, int64_t i) { (*static_cast<const Body*>(user))(i); },
            const_cast<void*>(static_cast<const void*>(&body)));
    }
    // Throws std::bad_alloc.
    void* allocate(int64_t bytes, int64_t alignment) const {
        void* memory = api_->allocate(api_->host, bytes, alignment);
        return memory != nullptr ? memory : throw std::bad_alloc();
    }
    void deallocate(void* memory, int64_t bytes, int64_t alignment) const noexcept {
        api_->deallocate(api_->host, memory, bytes, alignment);
    }

  private:
    const LeatHostApi* api_;
};

// Bases of what the host holds. A slab, executable or instance of a backend derives from them.
class Slab {
  public:
    Slab() = default;
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    virtual ~Slab() = default;
};
class Instance {
  public:
    Instance() = default;
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    virtual ~Instance() = default;
};
// The table is what the host reads; the arrays that it names belong to the derived class.
class Requirements : public LeatRequirements {
  public:
    Requirements() : LeatRequirements(made<LeatRequirements>()) {}
    Requirements(const Requirements&) = delete;
    Requirements& operator=(const Requirements&) = delete;
    virtual ~Requirements() = default;
};
class Executable {
  public:
    Executable() = default;
    Executable(const Executable&) = delete;
    Executable& operator=(const Executable&) = delete;
    virtual ~Executable() = default;
    virtual const LeatExecutableInfo& info() const = 0;
    virtual void save(const LeatSink& /*sink*/) { unimplemented("save"); }
    virtual void pack(int32_t /*index*/, const LeatTensorView& /*tensor*/, LeatPlacement /*to*/) {
        unimplemented("pack");
    }
    virtual std::unique_ptr<Requirements> requirements(const LeatRunShape& shape) = 0;
    virtual std::unique_ptr<Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) = 0;
};

// A running backend. Overrides may run on several threads at a time.
class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    // Runs when nothing of the backend lives any more: quiesces and joins its threads.
    virtual ~Backend() = default;

    virtual const LeatDeviceInfo* device(int32_t /*index*/) { return nullptr; }
    // Of names that the wrapper does not answer itself.
    virtual const void* get_extension(std::string_view /*name*/) { return nullptr; }
    // As LeatDriverExtension says.
    virtual const char* driver(int32_t /*device*/) { return nullptr; }
    virtual int64_t open_submissions() { return 0; }

    virtual std::unique_ptr<Slab> allocate_slab(int32_t /*domain*/, int64_t /*bytes*/) {
        unimplemented("memory");
    }
    virtual std::unique_ptr<Slab> import_slab(int32_t /*domain*/, void* /*memory*/, int64_t) {
        unimplemented("import of host memory");
    }
    virtual int64_t export_slab(Slab& /*slab*/, std::string_view /*kind*/) {
        unimplemented("export of memory");
    }
    virtual void* map_slab(Slab& /*slab*/) { unimplemented("mapped memory"); }
    virtual void flush_slab(Slab& /*slab*/, int64_t /*offset_bytes*/, int64_t /*bytes*/) {
        unimplemented("memory");
    }

    virtual void submit_copy(const LeatSubmission& /*submission*/, const LeatCopy& /*copy*/) {
        unimplemented("queues");
    }
    virtual void submit_fill(const LeatSubmission& /*submission*/, const LeatFill& /*fill*/) {
        unimplemented("queues");
    }
    virtual void execute(Instance& /*instance*/,
                         const LeatSubmission& /*submission*/,
                         const LeatBinding* /*inputs*/,
                         const LeatBinding* /*outputs*/) {
        unimplemented("execution");
    }
    virtual uint64_t timeline_value(int32_t /*queue*/) { unimplemented("queues"); }
    // Throws the error that the point completed with.
    virtual bool is_reached(LeatPoint /*point*/) { unimplemented("queues"); }
    virtual void on_reached(LeatPoint /*point*/, LeatReached /*callback*/, void* /*user*/) {
        unimplemented("queues");
    }
    virtual void fail(int32_t /*queue*/, LeatCode /*code*/) { unimplemented("queues"); }
    virtual void forget_failures(int32_t /*queue*/, uint64_t /*value*/) { unimplemented("queues"); }
    virtual void cancel(uint64_t /*request*/) { unimplemented("cancelling"); }

    // The header of `capability` is the host's and stays.
    virtual void capability(int32_t /*device*/,
                            const LeatGraphView& /*graph*/,
                            const LeatNodeView& /*node*/,
                            LeatNodeCapability& /*capability*/) {
        unimplemented("operators");
    }
    virtual void preprocess(int32_t /*device*/,
                            const LeatGraphView& /*graph*/,
                            const LeatSettings* /*settings*/,
                            const LeatSink& /*blob*/) {
        unimplemented("preprocessing");
    }
    virtual std::unique_ptr<Executable> compile(int32_t /*device*/,
                                                const LeatGraphView& /*graph*/,
                                                const LeatCompileOptions& /*options*/) {
        unimplemented("compiler");
    }
    virtual std::unique_ptr<Executable> load(int32_t /*device*/, std::string_view /*saved*/) {
        unimplemented("loading of saved executables");
    }
    virtual LeatClockSample clock_correlation(int32_t /*device*/) { unimplemented("profiling"); }
    virtual void register_operator(const LeatOperator& /*custom*/) {
        unimplemented("custom operators");
    }
    virtual void register_kernel(std::string_view /*domain*/,
                                 std::string_view /*op_type*/,
                                 std::string_view /*blob*/) {
        unimplemented("custom operators");
    }

    // Every entry point passes here first, under its name in LeatBackendApi: a place for tests to
    // make it fail.
    virtual void enter(const char* /*entry*/) {}

    struct Live {
        std::atomic<int64_t> slabs{0};
        std::atomic<int64_t> executables{0};
        std::atomic<int64_t> instances{0};
    };
    Live live;
};

}  // namespace leat::plugin

#include "leat/plugin_entry.h"
