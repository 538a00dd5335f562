#include "itch_messages.hpp"

#include <algorithm>
#include <utility>

#include <millpond/feed/itch_layout.hpp>
#include <millpond/feed/moldudp64_packet.hpp>

#include "capture_format.hpp"

namespace millpond::python {
namespace {

std::variant<files::ItchFileReader, files::PcapReader> open_reader(const Source::Options& options, bool capture) {
    using Reader = std::variant<files::ItchFileReader, files::PcapReader>;
    return capture ? Reader{std::in_place_type<files::PcapReader>, options.path, options.timestamps}
                   : Reader{std::in_place_type<files::ItchFileReader>, options.path};
}

}  // namespace

ItchMessages::ItchMessages(const Source::Options& options, bool capture)
    : name_(options.path), reader_(open_reader(options, capture)) {
    if (!options.only.empty()) only_ = net::SocketAddress::parse(options.only);
}

bool ItchMessages::next(ItchMessage& message) {
    auto* const file = std::get_if<files::ItchFileReader>(&reader_);
    if (file == nullptr) return next_of_capture(message);
    message = {};
    message.new_session = messages_ == 0;
    while (file->next(message.bytes)) {
        ++messages_;
        message.number = file->messages();
        if (is_whole(message.bytes)) return true;
        reject(message);
        message.follows_loss = true;
    }
    if (!file->error().empty()) errors_.add(file->error());
    return false;
}

bool ItchMessages::next_of_capture(ItchMessage& message) {
    auto& file = std::get<files::PcapReader>(reader_);
    files::CapturedDatagram datagram;
    while (given_ == ready_.size()) {
        ready_.clear();
        given_ = 0;
        if (!file.next(datagram)) {
            if (!file.error().empty()) errors_.add(file.error());
            note_missing(errors_, name_, file.counts());
            return false;
        }
        if (!only_ || datagram.destination == *only_) take_datagram(datagram);
    }
    message = ready_[given_++];
    return true;
}

void ItchMessages::take_datagram(const files::CapturedDatagram& datagram) {
    auto* const channel = channel_of(datagram.destination);
    if (channel == nullptr) return;
    std::vector<std::span<const std::byte>> messages;
    const auto packet = feed::MoldUdp64Packet::read(
        datagram.payload, [&](std::span<const std::byte> message) { messages.push_back(message); });
    if (packet.error) {
        errors_.add([&] {
            return frame() + ", byte " + std::to_string(packet.error->offset) +
                   " of its datagram: " + std::string{feed::to_string(packet.error->kind)} + ", found " +
                   std::to_string(packet.error->found) + ", bound " + std::to_string(packet.error->bound);
        });
    }
    if (!packet.has_header()) return;
    if (channel->next == 0 || packet.session != channel->session) {
        channel->session = packet.session;
        channel->next = packet.sequence;
        channel->new_session = true;
        channel->follows_loss = packet.sequence != 1;
    }
    if (packet.sequence > channel->next) {
        lost_ += packet.sequence - channel->next;
        channel->next = packet.sequence;
        channel->follows_loss = true;
    }
    auto number = packet.sequence;
    for (const auto message : messages) {
        const auto mine = number++;
        if (mine < channel->next) {
            ++repeated_;
            continue;
        }
        channel->next = mine + 1;
        ++messages_;
        if (!is_whole(message)) {
            reject({.bytes = message, .number = mine});
            channel->follows_loss = true;
            continue;
        }
        ready_.push_back({message, mine, datagram.utc_ns, static_cast<std::uint16_t>(channel - channels_.data()),
                          std::exchange(channel->follows_loss, false), std::exchange(channel->new_session, false)});
    }
}

ItchMessages::Channel* ItchMessages::channel_of(const net::SocketAddress& address) {
    const auto place = std::ranges::find(channels_, address, &Channel::address);
    if (place != channels_.end()) return &*place;
    if (channels_.size() == kMaxChannels) {
        if (rejected_++ == 0)
            errors_.add("'" + name_ + "': datagrams to more than " + std::to_string(kMaxChannels) +
                        " addresses; choose with only=ADDRESS:PORT");
        return nullptr;
    }
    channels_.push_back({.address = address});
    return &channels_.back();
}

void ItchMessages::reject(const ItchMessage& message) {
    ++rejected_;
    note(message, feed::ItchFault::invalid);
}

std::string ItchMessages::frame() const {
    return "'" + name_ + "', frame " + std::to_string(std::get<files::PcapReader>(reader_).counts().frames);
}

void ItchMessages::note(const ItchMessage& message, feed::ItchFault fault, std::string_view stock) {
    errors_.add([&] {
        const auto number = ", message " + std::to_string(message.number);
        const auto* const file = std::get_if<files::ItchFileReader>(&reader_);
        const auto place =
            file == nullptr ? frame() + number
                            : "'" + name_ + "'" + number + " at byte " + std::to_string(file->byte_of(message.bytes));
        return place + ": " + to_text(fault, message.bytes, stock);
    });
}

Source::Counts ItchMessages::counts() const {
    Source::Counts counts{{"messages", messages_}, {"rejected", rejected_}};
    if (const auto* const capture = std::get_if<files::PcapReader>(&reader_)) {
        counts.emplace_back("frames", capture->counts().frames);
        counts.emplace_back("repeated", repeated_);
        counts.emplace_back("lost", lost_);
    }
    return counts;
}

std::uint64_t ItchMessages::offset() const noexcept {
    return std::visit([](const auto& reader) { return reader.offset(); }, reader_);
}

}  // namespace millpond::python
