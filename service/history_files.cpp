#include "service/history_files.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

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

void HistoryFiles::load(std::int64_t now_ns) {
    if (options_.folder.empty()) return;
    const auto restore = [&](auto& into, auto... more) {
        const auto from = path(into.kFile.name);
        attempt(fmt::format("'{}' is ignored", from.string()), [&] {
            StateFile file;
            if (file.read(from, into.kFile)) into.restore(file, more...);
        });
    };
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    restore(history_, now_ns / kSecondNs);
    restore(events_);
    saved_event_ = events_.numbers().newest;
}

void HistoryFiles::start() {
    if (options_.folder.empty()) return;
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
    attempt("no state is kept", [&] { core::create_folders(options_.folder, options_.mode); });
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
