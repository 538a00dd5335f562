#include "gateway/receive/capture.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/core/thread_name.hpp>
#include <millpond/files/pcap_writer.hpp>

namespace millpond::gateway {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kHeaderBytes = 24;                    ///< Size of a file without datagrams.
constexpr std::string_view kBeginsWith = "\x4d\x3c\xb2\xa1";  ///< Magic number of a pcap file with nanoseconds.
constexpr std::chrono::milliseconds kRest{5};
constexpr std::chrono::milliseconds kTryAgain{250};

}  // namespace

Capture::Capture(Options options, std::vector<net::SocketAddress> feeds, service::LogFunction log)
    : options_(std::move(options)),
      feeds_(std::move(feeds)),
      log_(std::move(log)),
      ring_(options_.buffer_bytes),
      file_((std::filesystem::path{options_.folder} / (options_.name + ".pcap")).string(), options_.file_mode,
            kBeginsWith) {
    core::create_folders(options_.folder, options_.file_mode);
    if (!begin_file()) {
        const int error = errno;
        throw std::system_error(error, std::generic_category(),
                                fmt::format("capture: cannot open '{}'{}", file_.path(), core::why_not_opened(error)));
    }
    thread_ = std::thread{[this] { run(); }};
}

Capture::~Capture() {
    stopping_.store(true, std::memory_order_relaxed);  // the join orders everything else
    thread_.join();
}

bool Capture::begin_file() {
    if (!file_.open()) return false;
    counters_.files.add();
    std::string header;
    files::append_pcap_header(header);
    waiting_.text.insert(0, header);
    return true;
}

void Capture::run() {
    core::name_this_thread("capture");
    for (;;) {
        const bool last = stopping_.load(std::memory_order_relaxed);
        const bool found = gather();
        if (!write_out()) {
            if (last) return;
            std::this_thread::sleep_for(kTryAgain);
        } else if (!found) {
            if (last) return;
            std::this_thread::sleep_for(kRest);
        }
    }
}

bool Capture::gather() {
    bool found = false;
    while (!session_begins_ && waiting_.text.size() + before_.text.size() < kWriteBytes) {
        const auto entry = ring_.front();
        if (!entry) break;
        found = true;
        if (entry->feed == kBegin) {
            ring_.pop();
            session_begins_ = true;
            break;
        }
        auto& to = (entry->feed & kBefore) != 0 && file_.is_held() ? before_ : waiting_;
        files::append_pcap_datagram(to.text, {entry->utc_ns, {}, feeds_[entry->feed & ~kBefore], entry->bytes});
        counters_.datagrams.add();
        counters_.bytes.add(entry->bytes.size());
        ring_.pop();
    }
    return found;
}

bool Capture::write_out() {
    if (!waiting_.rest().empty() && waiting_.written == 0 && file_.close_if_moved()) {
        log_(service::Severity::warning, options_.name + ".moved",
             fmt::format("capture: '{}' was moved or removed; continuing in a new file", file_.path()));
    }
    if (!file_.is_open() && !begin_file()) return refused("opened");
    while (!before_.rest().empty()) {
        const auto wrote = file_.write_before(before_.rest());
        if (wrote == 0) return refused("written");
        before_.written += wrote;
    }
    before_.clear();
    while (!waiting_.rest().empty()) {
        const auto wrote = file_.write(waiting_.rest());
        if (wrote == 0) return refused("written");
        waiting_.written += wrote;
    }
    waiting_.clear();
    const bool is_over = session_begins_ && file_.bytes() > kHeaderBytes;
    if (is_over || file_.bytes() >= options_.rotate_bytes) {
        if (!file_.rotate(session_begins_)) return refused("renamed");
        file_.keep_newest(options_.keep);
        session_begins_ = false;
        return begin_file() || refused("opened");
    }
    session_begins_ = false;
    return true;
}

bool Capture::refused(std::string_view what) {
    const int error = errno;
    counters_.write_errors.add();
    log_(service::Severity::error, options_.name + ".capture",
         fmt::format("capture: '{}' cannot be {}: {}; retrying while the ring fills", file_.path(), what,
                     std::generic_category().message(error)));
    return false;
}

}  // namespace millpond::gateway
