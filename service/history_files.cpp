#include "service/history_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include <millpond/core/created_file.hpp>
#include <millpond/core/thread_name.hpp>

namespace millpond::service {
namespace {

constexpr std::chrono::seconds kSaveEventsEvery{5};
constexpr std::chrono::seconds kSaveSamplesEvery{60};

}  // namespace

HistoryFiles::HistoryFiles(Options options, History& history, EventLog& events, LogFunction log)
    : options_(std::move(options)), history_(history), events_(events), log_(std::move(log)) {}

HistoryFiles::~HistoryFiles() { stop(); }

std::filesystem::path HistoryFiles::path(std::string_view kind) const {
    return options_.folder / fmt::format("{}.{}", options_.name, kind);
}

template <class Work>
bool HistoryFiles::attempt(std::string_view what, Work&& work) {
    try {
        work();
        failure_.clear();
        return true;
    } catch (const std::exception& error) {
        const auto text = fmt::format("history: {}: {}", what, error.what());
        if (std::exchange(failure_, text) != text) log_(Severity::warning, fmt::format("history {}", what), text);
        return false;
    }
}

void HistoryFiles::lock() {
    core::create_folders(options_.folder, options_.mode);
    const auto name = path("lock");
    // Private, because whoever can open the file can lock it.
    auto file = core::open_or_create(name.c_str(), O_RDWR, 0600);
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        const int error = errno == EWOULDBLOCK ? EBUSY : errno;
        throw std::system_error(error, std::generic_category(),
                                fmt::format("'{}'{}", name.string(), core::why_not_opened(error)));
    }
    lock_ = std::move(file);
}

void HistoryFiles::remove_incomplete() const {
    std::error_code failed;  // they only take space
    for (std::filesystem::directory_iterator at{options_.folder, failed}, end; !failed && at != end;
         at.increment(failed)) {
        const auto name = at->path().filename().string();
        const auto is_of = [&](StateFileKind kind) {
            return name.starts_with(fmt::format(".{}.{}.", options_.name, kind.name)) && name.ends_with(".part");
        };
        std::error_code ignored;
        if (is_of(History::kFile) || is_of(EventLog::kFile)) std::filesystem::remove(at->path(), ignored);
    }
}

void HistoryFiles::load() {
    if (options_.folder.empty() || !attempt("no state is kept", [&] { lock(); })) return;
    remove_incomplete();
    const auto restore = [&](auto& into) {
        const auto from = path(into.kFile.name);
        attempt(fmt::format("'{}' is ignored", from.string()), [&] {
            StateFile file;
            if (file.read(from, into.kFile)) into.restore(file);
        });
    };
    restore(history_);
    restore(events_);
    saved_event_ = events_.numbers().newest;
}

void HistoryFiles::log_start(std::string_view source, std::string_view text, core::Moment now) {
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    const auto last = events_.newest();
    const bool was_killed = last && last->kind != EventKind::stop;
    const auto seen = was_killed ? std::min(std::max(last->time, history_.newest() * kSecondNs), now.utc_ns) : 0;
    events_.add({.kind = EventKind::start,
                 .severity = was_killed ? Severity::warning : Severity::info,
                 .source = source,
                 .text = fmt::format("{}{}", text,
                                     was_killed ? fmt::format("; the run before did not stop in order, and was last "
                                                              "seen at {:%F %T} UTC",
                                                              fmt::gmtime(static_cast<std::time_t>(seen / kSecondNs)))
                                                : ""),
                 .since = seen},
                now);
}

void HistoryFiles::start() {
    if (!lock_) return;
    thread_ = std::thread{[this] { run(); }};
}

void HistoryFiles::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock{mutex_};
        stop_ = true;
    }
    stopping_.notify_one();
    thread_.join();
}

void HistoryFiles::run() {
    core::name_this_thread("history");
    auto samples_due = std::chrono::steady_clock::now() + kSaveSamplesEvery;
    for (bool last = false; !last;) {
        {
            std::unique_lock lock{mutex_};
            stopping_.wait_for(lock, kSaveEventsEvery, [this] { return stop_; });
            last = stop_;
        }
        save_events();
        const auto now = std::chrono::steady_clock::now();
        if (!last && now < samples_due) continue;
        samples_due = now + kSaveSamplesEvery;
        save_samples();
    }
}

void HistoryFiles::save_samples() {
    attempt("samples are not saved", [&] {
        StateFileWriter file{path(History::kFile.name), History::kFile, options_.mode};
        history_.save(file);
        file.commit();
    });
}

void HistoryFiles::save_events() {
    const auto newest = events_.numbers().newest;
    if (newest == saved_event_) return;
    const bool saved = attempt("events are not saved", [&] {
        StateFileWriter file{path(EventLog::kFile.name), EventLog::kFile, options_.mode};
        events_.save(file);
        file.commit();
    });
    if (saved) saved_event_ = newest;
}

}  // namespace millpond::service
