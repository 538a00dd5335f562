#include <deque>
#include <stdexcept>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/net/pcap_reader.hpp>

#include "feed_source.hpp"

namespace millpond::python {
namespace {

/// Decoders that call on_fault for each message that was not applied.
template <class Decoder>
concept NamesFaults = Decoder::kNamesFaults;

/// The datagrams of a capture, those to each address with a decoder, which is a channel.
template <class Decoder>
class CaptureSource final : public FeedSource {
public:
    explicit CaptureSource(const Options& options) : FeedSource(options), options_(options), reader_(options.path) {
        if (!options.only.empty()) only_ = net::SocketAddress::parse(options.only);
    }

    bool read(Collector& rows, std::size_t max) override {
        rows_ = &rows;
        net::CapturedDatagram datagram;
        for (std::size_t taken = 0; taken < max; ++taken) {
            if (!reader_.next(datagram)) {
                if (!reader_.error().empty()) errors_.add(reader_.error());
                if (const auto cut = reader_.counts().cut; cut != 0) {
                    errors_.add("'" + options_.path + "': " + std::to_string(cut) +
                                " datagrams were not kept whole by the capture and are missing");
                }
                return false;
            }
            if (only_ && !(datagram.destination == *only_)) {
                ++elsewhere_;
                continue;
            }
            auto* channel = channel_of(datagram.destination);
            if (channel == nullptr) continue;
            const auto before = unapplied(channel->decoder);
            const auto result = channel->decoder.decode(
                datagram.payload, {.receive_utc_ns = datagram.utc_ns, .receive_ticks = 0, .channel = channel->number},
                *this);
            if (result.error) {
                note_error(*result.error);
            } else if (const auto messages = unapplied(channel->decoder) - before; messages != 0) {
                note_unapplied(messages);
            }
        }
        return true;
    }
    Counts counts() const override {
        const auto& frames = reader_.counts();
        Counts counts{{"frames", frames.frames},   {"not_ip", frames.not_ip},
                      {"not_udp", frames.not_udp}, {"fragments", frames.fragments},
                      {"cut", frames.cut},         {"frames_malformed", frames.malformed},
                      {"elsewhere", elsewhere_},   {"channels_refused", refused_}};
        for (const auto& channel : channels_) add_counts(counts, channel.decoder);
        return counts;
    }
    std::uint64_t offset() const noexcept override { return reader_.offset(); }

    /// As a handler of a decoder that names such messages.
    void on_fault(std::span<const std::byte> message, std::uint64_t number, feed::ItchFault fault) {
        errors_.add([&] { return frame() + ", message " + std::to_string(number) + ": " + to_text(fault, message); });
    }

private:
    struct Channel {
        Channel(const net::SocketAddress& to, std::uint16_t channel, feed::InstrumentTable& instruments,
                const Options& options)
            : address(to), number(channel), decoder(instruments, decoder_options(options)) {
            if constexpr (requires { decoder.set_midnight(options.midnight_utc_ns); })
                decoder.set_midnight(options.midnight_utc_ns);
        }
        net::SocketAddress address;
        std::uint16_t number;
        Decoder decoder;
    };

    [[nodiscard]] static typename Decoder::Options decoder_options(const Options& options) {
        typename Decoder::Options made;
        if constexpr (requires { made.order_books; }) made.order_books = books_for(options);
        return made;
    }
    [[nodiscard]] Channel* channel_of(const net::SocketAddress& address) {
        for (auto& channel : channels_) {
            if (channel.address == address) return &channel;
        }
        if (channels_.size() == kMostChannels) {
            if (refused_++ == 0)
                errors_.add("'" + options_.path + "': datagrams to more than " + std::to_string(kMostChannels) +
                            " addresses; choose with only=ADDRESS:PORT");
            return nullptr;
        }
        return &channels_.emplace_back(address, static_cast<std::uint16_t>(channels_.size()), instruments_, options_);
    }
    [[nodiscard]] std::string frame() const {
        return "'" + options_.path + "', frame " + std::to_string(reader_.counts().frames);
    }
    void note_error(const feed::DecodeError& error) {
        errors_.add([&] {
            return frame() + ", byte " + std::to_string(error.offset) +
                   " of its datagram: " + std::string{feed::to_string(error.kind)} + ", found " +
                   std::to_string(error.found) + ", bound " + std::to_string(error.bound);
        });
    }
    void note_unapplied(std::uint64_t messages) {
        errors_.add([&] {
            return frame() + ": " + std::to_string(messages) +
                   " messages not applied: of an unknown type, with contents that the format does not allow, with a "
                   "name that is not printable ASCII, or of more than " +
                   std::to_string(kMostInstruments) + " instruments";
        });
    }
    /// Messages that were not applied and for which on_fault is not called.
    [[nodiscard]] static std::uint64_t unapplied(const Decoder& decoder) noexcept {
        if constexpr (NamesFaults<Decoder>) {
            return 0;
        } else {
            const auto& counters = decoder.counters();
            return counters.unknown.read() + counters.refused.read() + counters.rejected.read();
        }
    }

    static constexpr std::size_t kMostChannels = 64;
    Options options_;
    net::PcapReader reader_;
    std::optional<net::SocketAddress> only_;
    std::deque<Channel> channels_;
    std::uint64_t elsewhere_{0};
    std::uint64_t refused_{0};
};

}  // namespace

std::unique_ptr<Source> open_capture(const Source::Options& options) {
    if (options.format == "itch") return std::make_unique<CaptureSource<feed::ItchDecoder>>(options);
    if (options.format == "quotes") return std::make_unique<CaptureSource<feed::QuotesDecoder>>(options);
    if (options.format == "bbo28") return std::make_unique<CaptureSource<feed::Bbo28Decoder>>(options);
    if (options.format == "miax-tom") return std::make_unique<CaptureSource<feed::MiaxTomDecoder>>(options);
    throw std::invalid_argument("format: found '" + options.format +
                                "', must be itch, quotes, bbo28 or miax-tom for a capture");
}

}  // namespace millpond::python
