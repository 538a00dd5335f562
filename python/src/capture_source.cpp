#include <deque>
#include <stdexcept>

#include <millpond/feed/bbo28_decoder.hpp>
#include <millpond/feed/iex_deep.hpp>
#include <millpond/feed/iex_deep_plus.hpp>
#include <millpond/feed/iex_tops.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/miax_tom_decoder.hpp>
#include <millpond/feed/quotes_decoder.hpp>
#include <millpond/files/pcap_reader.hpp>

#include "capture_format.hpp"
#include "feed_source.hpp"
#include "itch_fault.hpp"

namespace millpond::python {
namespace {

/// Decoders that call on_fault for each message that was not applied.
template <class Decoder>
concept NamesFaults = Decoder::kNamesFaults;

/// The datagrams of a capture, those to each address with a decoder, which is a channel.
template <class Decoder>
class CaptureSource final : public FeedSource {
public:
    explicit CaptureSource(const Options& options)
        : FeedSource(options), options_(options), reader_(options.path, options.timestamps) {
        if (!options.only.empty()) only_ = net::SocketAddress::parse(options.only);
    }

    bool read(Collector& rows, std::size_t max) override {
        rows_ = &rows;
        files::CapturedDatagram datagram;
        for (std::size_t count = 0; count < max; ++count) {
            if (!reader_.next(datagram)) {
                if (!reader_.error().empty()) errors_.add(reader_.error());
                note_missing(errors_, options_.path, reader_.counts());
                return false;
            }
            if (only_ && !(datagram.destination == *only_)) {
                ++elsewhere_;
                continue;
            }
            auto* channel = channel_of(datagram.destination);
            if (channel == nullptr) continue;
            decoding_ = &channel->decoder;
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
        Counts counts{{"frames", frames.frames}};
        frames.visit([&](std::string_view key, const char*, std::uint64_t count) {
            counts.emplace_back(key == "malformed" ? "frames_malformed" : key, count);
        });
        counts.emplace_back("elsewhere", elsewhere_);
        counts.emplace_back("channels_refused", refused_);
        for (const auto& channel : channels_) add_counts(counts, channel.decoder);
        return counts;
    }
    std::uint64_t offset() const noexcept override { return reader_.offset(); }

    /// Called by a decoder that reports such messages.
    void on_fault(std::span<const std::byte> message, std::uint64_t number, feed::ItchFault fault) {
        errors_.add([&] {
            feed::Symbol stock;
            if constexpr (NamesFaults<Decoder>) stock = stock_of(*decoding_, message);
            return frame() + ", message " + std::to_string(number) + ": " + to_text(fault, message, stock.view());
        });
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
        if constexpr (requires { made.order_books; }) {
            made.order_books = books_for(options);
            made.depth = options.depth;
            made.orders = options.orders;
        }
        return made;
    }
    [[nodiscard]] Channel* channel_of(const net::SocketAddress& address) {
        for (auto& channel : channels_) {
            if (channel.address == address) return &channel;
        }
        if (channels_.size() == kMaxChannels) {
            if (refused_++ == 0)
                errors_.add("'" + options_.path + "': datagrams to more than " + std::to_string(kMaxChannels) +
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
                   std::to_string(kMaxInstruments) + " instruments";
        });
    }
    /// Messages that were not applied and for which on_fault is not called.
    [[nodiscard]] static std::uint64_t unapplied(const Decoder& decoder) noexcept {
        if constexpr (NamesFaults<Decoder>) {
            return 0;
        } else {
            const auto& counters = decoder.counters();
            const auto faults = counters.refused.read() + counters.rejected.read();
            return requires { requires Decoder::kExpectsUnknown; } ? faults : faults + counters.unknown.read();
        }
    }

    static constexpr std::size_t kMaxChannels = 64;
    Options options_;
    files::PcapReader reader_;
    std::optional<net::SocketAddress> only_;
    std::deque<Channel> channels_;
    const Decoder* decoding_{nullptr};
    std::uint64_t elsewhere_{0};
    std::uint64_t refused_{0};
};

}  // namespace

std::unique_ptr<Source> open_capture(const Source::Options& options) {
    if (options.format == "itch") return std::make_unique<CaptureSource<feed::ItchDecoder>>(options);
    if (options.format == "quotes") return std::make_unique<CaptureSource<feed::QuotesDecoder>>(options);
    if (options.format == "bbo28") return std::make_unique<CaptureSource<feed::Bbo28Decoder>>(options);
    if (options.format == "miax-tom") return std::make_unique<CaptureSource<feed::MiaxTomDecoder>>(options);
    if (options.format == "iex-tops") return std::make_unique<CaptureSource<feed::IexTopsDecoder>>(options);
    if (options.format == "iex-deep") return std::make_unique<CaptureSource<feed::IexDeepDecoder>>(options);
    if (options.format == "iex-deep-plus") return std::make_unique<CaptureSource<feed::IexDeepPlusDecoder>>(options);
    throw std::invalid_argument(
        "format: found '" + options.format +
        "', must be itch, quotes, bbo28, miax-tom, iex-tops, iex-deep or iex-deep-plus for a capture");
}

}  // namespace millpond::python
