#include "src/engine/log/log_archive.hpp"

#include <sys/resource.h>

#include <exception>
#include <string>

#include <millpond/core/thread_name.hpp>
#include <millpond/files/pack_file.hpp>

namespace millpond::engine {
namespace {

constexpr int kNice = 10;

}  // namespace

LogArchive::LogArchive(const core::RotatedFile& file, const Options& options, core::Tally& compressed,
                       core::Tally& failures)
    : file_(&file), options_(options), compressed_(&compressed), failures_(&failures), thread_([this] { run(); }) {}

LogArchive::~LogArchive() {
    {
        const std::scoped_lock lock{lock_};
        stop_.store(true, std::memory_order_relaxed);
    }
    changed_.notify_one();
    thread_.join();
}

void LogArchive::on_renamed() {
    {
        const std::scoped_lock lock{lock_};
        due_ = true;
    }
    changed_.notify_one();
}

void LogArchive::run() {
    core::name_this_thread("raw log zstd");
    setpriority(PRIO_PROCESS, 0, kNice);  // affects only this thread
    std::unique_lock lock{lock_};
    for (;;) {
        changed_.wait(lock, [this] { return due_ || stop_.load(std::memory_order_relaxed); });
        if (stop_.load(std::memory_order_relaxed)) return;
        due_ = false;
        lock.unlock();
        try {
            work();
        } catch (const std::exception&) {  // out of memory: the next file causes another attempt
            failures_->add();
        }
        lock.lock();
    }
}

void LogArchive::work() {
    file_->keep_newest(options_.keep);
    if (!options_.compress) return;
    for (const auto number : file_->renamed(true)) {
        if (number <= failed_to_) continue;
        const auto path = file_->path() + "." + std::to_string(number);
        const auto error = files::pack_file(path, options_.file_mode, stop_);
        if (error == std::errc::operation_canceled) return;
        if (error) {
            failures_->add();
            failed_to_ = number;
        } else {
            compressed_->add();
        }
    }
}

}  // namespace millpond::engine
