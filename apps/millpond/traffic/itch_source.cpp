#include "apps/millpond/traffic/itch_source.hpp"

#include <algorithm>
#include <stdexcept>

#include <millpond/feed/itch_layout.hpp>

#include "apps/millpond/traffic/file_size.hpp"

namespace millpond::traffic {
namespace {

constexpr std::size_t kSessionCharacters = 10;
constexpr std::size_t kMinMessage = 11;  // bytes up to the end of its time
constexpr std::size_t kMaxMessage =
    ItchSource::kMaxDatagramBytes - feed::moldudp64_layout::kHeaderBytes - feed::moldudp64_layout::kLengthBytes;
constexpr int kEnds = 3;

ItchSource::Options checked(const ItchSource::Options& options) {
    if (options.session.size() > kSessionCharacters)
        throw std::invalid_argument("session '" + options.session + "' is longer than 10 characters");
    return options;
}

}  // namespace

ItchSource::ItchSource(const std::string& path, const Options& options)
    : path_(path), reader_(path), options_(checked(options)), file_bytes_(file_size(path)), encoder_(options.session) {}

bool ItchSource::read_message() {
    std::span<const std::byte> message;
    if (!error_.empty() || !reader_.next(message)) return false;
    if (message.size() < kMinMessage || message.size() > kMaxMessage) {
        error_ = "'" + path_ + "': message " + std::to_string(reader_.messages()) + " has " +
                 std::to_string(message.size()) + " bytes, those of ITCH have " + std::to_string(kMinMessage) + " to " +
                 std::to_string(kMaxMessage);
        return false;
    }
    const auto time = feed::itch_layout::load_time(message.data());
    if (!first_time_ns_) first_time_ns_ = time;
    message_due_ns_ = std::max(message_due_ns_, time - *first_time_ns_);
    message_ = message;
    return true;
}

bool ItchSource::next(Outgoing& out) {
    if (!message_ && !read_message()) return end_session(out);
    if (options_.heartbeat_ns != 0 && message_due_ns_ - latest_due_ns_ > options_.heartbeat_ns) {
        latest_due_ns_ += options_.heartbeat_ns;
        encoder_.begin(buffer_);
        out = {latest_due_ns_, encoder_.finish(), 0};
        return true;
    }
    latest_due_ns_ = message_due_ns_;
    encoder_.begin(buffer_);
    std::uint32_t messages = 0;
    while (message_ && message_due_ns_ == latest_due_ns_ &&
           (options_.max_messages == 0 || messages != options_.max_messages) && encoder_.add(*message_)) {
        ++messages;
        message_.reset();
        (void)read_message();
    }
    out = {latest_due_ns_, encoder_.finish(), messages};
    return true;
}

bool ItchSource::end_session(Outgoing& out) {
    if (!error().empty() || ends_sent_ == kEnds) return false;
    ++ends_sent_;
    encoder_.begin(buffer_);
    out = {latest_due_ns_, encoder_.finish_session(), 0};
    return true;
}

double ItchSource::fraction() const {
    return file_bytes_ == 0 ? -1.0 : static_cast<double>(reader_.offset()) / static_cast<double>(file_bytes_);
}

}  // namespace millpond::traffic
