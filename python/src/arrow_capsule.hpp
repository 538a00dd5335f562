#pragma once

#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>

#include "arrow_columns.hpp"
#include "check_signals.hpp"
#include "in_use.hpp"

namespace millpond::python {

/// Whether this thread holds the GIL. The stable ABI, used from Python 3.12 on, has no PyGILState_Check. There, the
/// thread state is swapped out to read it, and restored at once.
inline bool holds_gil() noexcept {
#ifdef Py_LIMITED_API
    PyThreadState* const own = PyThreadState_Swap(nullptr);
    if (own != nullptr) PyThreadState_Swap(own);
    return own != nullptr;
#else
    return PyGILState_Check() != 0;
#endif
}

/// An Arrow stream over `Batches`: schema() returns columns without rows, next() returns columns and their number of
/// rows, 0 at the end, and in_use() returns the flag of the thread that uses it.
template <class Batches>
class ArrowStream {
public:
    explicit ArrowStream(Batches batches) : batches_(std::move(batches)) {}

    static void export_to(std::unique_ptr<ArrowStream> stream, ArrowArrayStream* out) {
        *out = {.get_schema = &get_schema,
                .get_next = &get_next,
                .get_last_error = &get_last_error,
                .release = &release,
                .private_data = stream.release()};
    }

private:
    static ArrowStream& of(ArrowArrayStream* stream) { return *static_cast<ArrowStream*>(stream->private_data); }
    static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
        return of(stream).guarded([&](Batches& batches) { export_schema(batches.schema(), out); });
    }
    static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
        out->release = nullptr;
        return of(stream).guarded([&](Batches& batches) {
            auto [columns, rows] = batches.next();
            if (rows != 0) export_rows(std::move(columns), rows, out);
        });
    }
    static const char* get_last_error(ArrowArrayStream* stream) { return of(stream).error_.c_str(); }
    static void release(ArrowArrayStream* stream) {
        delete &of(stream);
        stream->release = nullptr;
    }

    template <class Work>
    int guarded(Work&& work) noexcept {
        // A consumer may call with or without the interpreter's lock; the source may wait for another thread that needs
        // it.
        std::optional<nanobind::gil_scoped_release> unlocked;
        if (Py_IsInitialized() != 0 && holds_gil()) unlocked.emplace();
        try {
            const InUse guard{batches_.in_use()};
            work(batches_);
            return 0;
        } catch (nanobind::python_error& interrupt) {
            hold_interrupt(std::move(interrupt));
            error_ = "interrupted by a signal";
            return EINTR;
        } catch (const std::exception& failed) {
            error_ = failed.what();
        }
        return EIO;
    }

    Batches batches_;
    std::string error_;
};

/// Capsule returned by __arrow_c_stream__.
template <class Batches>
nanobind::object arrow_capsule(Batches batches) {
    auto stream = std::make_unique<ArrowArrayStream>();
    ArrowStream<Batches>::export_to(std::make_unique<ArrowStream<Batches>>(std::move(batches)), stream.get());
    constexpr auto destroy = [](PyObject* capsule) {
        auto* held = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, "arrow_array_stream"));
        if (held == nullptr) return;
        if (held->release != nullptr) held->release(held);
        delete held;
    };
    auto capsule = nanobind::steal(PyCapsule_New(stream.get(), "arrow_array_stream", destroy));
    if (!capsule.is_valid()) throw nanobind::python_error();
    static_cast<void>(stream.release());
    return capsule;
}

}  // namespace millpond::python
