#include "gateway/capture/capture.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <millpond/net/pcap_writer.hpp>

namespace millpond::gateway {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20U;
constexpr std::chrono::milliseconds kRest{5};
constexpr std::chrono::milliseconds kTryAgain{250};

}  // namespace

Capture::Capture(Options options, std::vector<net::SocketAddress> feeds, Say say)
    : options_(std::move(options)),
      feeds_(std::move(feeds)),
      say_(std::move(say)),
      ring_(options_.buffer_bytes),
      file_((std::filesystem::path{options_.folder} / (options_.name + ".pcap")).string()) {
    std::error_code error;
    std::filesystem::create_directories(options_.folder, error);
    if (error || !begin_file()) {
        throw std::system_error(error ? error.value() : errno, std::generic_category(),
                                fmt::format("capture: cannot open '{}'", file_.path()));
    }
    thread_ = std::thread{[this] { run(); }};
}

Capture::~Capture() {
    stopping_.store(true, std::memory_order_relaxed);  // the join orders everything else
    thread_.join();
}

bool Capture::begin_file() {
    if (!file_.open()) return false;
    counts_.files.add();
    std::string header;
    net::append_pcap_header(header);
    waiting_.insert(0, header);
    return true;
}

void Capture::run() {
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
    while (waiting_.size() < kWriteBytes) {
        const auto entry = ring_.front();
        if (!entry) break;
        found = true;
        net::append_pcap_datagram(waiting_, {entry->utc_ns, {}, feeds_[entry->feed], entry->bytes});
        counts_.datagrams.add();
        counts_.bytes.add(entry->bytes.size());
        ring_.pop();
    }
    return found;
}

bool Capture::write_out() {
    if (!file_.is_open() && !begin_file()) return refused("opened");
    while (written_ < waiting_.size()) {
        const auto wrote = file_.write(std::string_view{waiting_}.substr(written_));
        if (wrote == 0) return refused("written");
        written_ += wrote;
    }
    waiting_.clear();
    written_ = 0;
    if (file_.bytes() < options_.rotate_bytes) return true;
    if (!file_.rotate()) return refused("renamed");
    remove_oldest();
    return begin_file() || refused("opened");
}

bool Capture::refused(std::string_view what) {
    const int error = errno;
    counts_.write_errors.add();
    say_(Severity::error, options_.name + ".capture",
         fmt::format("capture: '{}' cannot be {}: {}; tried again, while the ring fills", file_.path(), what,
                     std::generic_category().message(error)));
    return false;
}

void Capture::remove_oldest() const {
    if (options_.keep == 0) return;
    const auto prefix = options_.name + ".pcap.";
    std::set<std::uint64_t> numbers;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator{options_.folder, error}) {
        const auto name = entry.path().filename().string();
        std::uint64_t number = 0;
        if (!name.starts_with(prefix)) continue;
        const auto* end = name.data() + name.size();
        const auto read = std::from_chars(name.data() + prefix.size(), end, number);
        if (read.ec == std::errc{} && read.ptr == end) numbers.insert(number);
    }
    for (; numbers.size() > options_.keep; numbers.erase(numbers.begin())) {
        std::filesystem::remove(fmt::format("{}.{}", file_.path(), *numbers.begin()), error);
    }
}

}  // namespace millpond::gateway
