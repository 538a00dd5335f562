#include "apps/millpond/book/book_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <millpond/core/endian.hpp>
#include <millpond/feed/exchange_day.hpp>
#include <millpond/feed/instrument_table.hpp>
#include <millpond/feed/itch_decoder.hpp>
#include <millpond/feed/itch_fault.hpp>
#include <millpond/feed/itch_layout.hpp>
#include <millpond/files/file_kind.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/files/pcap_reader.hpp>
#include <millpond/journal/book_parts.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/net/socket_address.hpp>

#include "apps/millpond/command_line/command.hpp"
#include "apps/millpond/command_line/utc_text.hpp"
#include "apps/millpond/journal/journal_folder.hpp"
#include "apps/millpond/traffic/capture_format.hpp"
#include "apps/millpond/traffic/file_size.hpp"
#include "service/stop_signal.hpp"
#include "service/time_zone.hpp"

namespace millpond::app {
namespace {

using Message = std::span<const std::byte>;

constexpr std::int64_t kDayNs = feed::ExchangeDay::kDayNs;

/// Midnight in the exchange's zone of the day of a time.
std::int64_t midnight_before(std::int64_t utc_ns) { return service::midnight_utc_ns(BookSource::kZone, "", utc_ns); }

[[noreturn]] void refuse_time(const std::string& text) {
    throw UsageError(
        fmt::format("--at: '{}' is not a time like 10:15:00 (New York) or 2026-11-20T14:30:00 (UTC)", text));
}

/// A time of the day of `day`, or a time with a date, in UTC.
std::int64_t utc_time_of(const std::string& text, std::int64_t day) {
    if (const auto time = time_of_day_of(text)) return day + *time;
    if (const auto time = utc_of(text)) return *time;
    refuse_time(text);
}

std::string_view to_text(feed::ItchFault fault) {
    switch (fault) {
        case feed::ItchFault::invalid: return "is invalid";
        case feed::ItchFault::unknown_order: return "changes an order that is not in the book";
        case feed::ItchFault::inconsistent: return "contradicts the book's orders";
        case feed::ItchFault::other_stock: return "has another stock than its locate";
        case feed::ItchFault::refused: return "does not fit";
    }
    return "was not applied";
}

/// An ITCH channel, of which one book is followed.
class ItchChannel {
public:
    explicit ItchChannel(const std::string& symbol)
        : instruments_(kMaxBooks), follower_(symbol, kChannel), decoder_(instruments_, options()) {}

    template <class Event>
    void on(const Event& event) {
        follower_.on(event, [this](feed::InstrumentId id) {
            instrument_ = {instruments_.venue(id), instruments_.symbol(id), instruments_.decimals(id)};
            return &instrument_;
        });
    }
    // Orders make the levels.
    void on(const feed::Level&) = delete;
    void on_fault(Message message, std::uint64_t number, feed::ItchFault fault) {
        if (!fault_.empty() || !is_of_book(message, fault)) return;
        fault_ = fmt::format("message {} {}", number, to_text(fault));
    }
    /// Notes instruments that have no events yet.
    void note_all() {
        for (; noted_ < instruments_.size(); ++noted_) {
            const auto id = static_cast<feed::InstrumentId>(noted_);
            follower_.note(id, {instruments_.venue(id), instruments_.symbol(id), instruments_.decimals(id)});
        }
        if (follower_.has_instrument()) follower_.make_book();
    }

    [[nodiscard]] feed::ItchDecoder& decoder() noexcept { return decoder_; }
    [[nodiscard]] BookFollower& follower() noexcept { return follower_; }
    [[nodiscard]] const BookFollower& follower() const noexcept { return follower_; }
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

private:
    static constexpr std::size_t kMaxBooks = 65'536;
    static constexpr std::uint16_t kChannel = 0;  // of the decoder's events

    static feed::ItchDecoder::Options options() {
        feed::ItchDecoder::Options options;
        options.order_books = {.books = kMaxBooks, .orders = 4'096, .level_chunks = 128, .growth = 1U << 16U};
        options.orders = true;
        return options;
    }
    [[nodiscard]] bool is_of_book(Message message, feed::ItchFault fault) const {
        if (message.size() < feed::itch_layout::kLocateAt + sizeof(std::uint16_t)) return true;
        const auto locate = core::load_be<std::uint16_t>(message.data() + feed::itch_layout::kLocateAt);
        const auto stock = decoder_.books().stock_of(locate);
        return stock.view() == follower_.symbol() || (fault == feed::ItchFault::invalid && stock.view().empty());
    }

    feed::InstrumentTable instruments_;
    BookFollower follower_;
    feed::ItchDecoder decoder_;
    market::Instrument instrument_;
    std::size_t noted_{0};
    std::string fault_;
};

/// ITCH messages, each after its length: the whole day of a channel. Its clock is the time of the day.
class ItchBookSource final : public BookSource {
public:
    explicit ItchBookSource(const Options& options)
        : path_(options.path), reader_(options.path), channel_(options.symbol) {
        channel_.decoder().books().mark_complete();
        channel_.on(feed::Clear{});
    }

    [[nodiscard]] std::int64_t parse_time(const std::string& text) const override {
        if (const auto time = time_of_day_of(text)) return *time;
        const auto time = utc_of(text);
        if (!time) refuse_time(text);
        return *time - midnight_before(*time);
    }
    [[nodiscard]] std::string time_text(std::int64_t time) const override {
        constexpr std::size_t kDateChars = 11;
        return utc_text_in_nanos(time).substr(kDateChars);
    }
    [[nodiscard]] std::uint64_t total() const override { return traffic::file_size(path_); }

    void read(Sampler& sampler, Progress& progress) override {
        const auto& stop = service::stop_on_signal();
        std::array<Message, kAtOnce> messages;
        while (!sampler.is_over() && !stop.load(std::memory_order_relaxed)) {
            const auto count = reader_.next(messages);
            if (count == 0) break;
            apply(std::span{messages}.first(count), reader_.messages() - count + 1, sampler);
            progress.at(reader_.offset());
        }
        channel_.note_all();
    }
    [[nodiscard]] const BookFollower& followed() const override { return channel_.follower(); }
    [[nodiscard]] std::int64_t last_time() const override { return last_; }
    [[nodiscard]] bool has_ended() const override { return reader_.complete() || channel_.follower().has_ended(); }
    [[nodiscard]] std::string damage() override { return reader_.error(); }
    [[nodiscard]] std::string fault() const override { return channel_.fault(); }

private:
    static constexpr std::size_t kAtOnce = 256;

    static bool has_time(Message message) {
        return message.size() >= feed::itch_layout::kTimeAt + 6 && feed::itch_layout::is_time_of_day(message.data());
    }
    void apply(std::span<const Message> messages, std::uint64_t first, Sampler& sampler) {
        while (!messages.empty() && !sampler.is_over()) {
            // Until the first event of the book, one at a time: that event begins the samples.
            const auto most = sampler.has_begun() ? messages.size() : 1;
            std::size_t count = 0;
            for (; count < most; ++count) {
                if (!has_time(messages[count])) continue;
                const auto time = feed::itch_layout::load_time(messages[count].data());
                if (time > sampler.next()) break;
                last_ = time;
            }
            channel_.decoder().books().apply_all(messages.first(count), first, {}, channel_);
            if (!sampler.has_begun() && channel_.follower().book() != nullptr) sampler.begin(last_);
            first += count;
            messages = messages.subspan(count);
            if (count == most) continue;
            channel_.note_all();
            sampler.pass(feed::itch_layout::load_time(messages.front().data()));
        }
    }

    std::string path_;
    files::ItchFileReader reader_;
    ItchChannel channel_;
    std::int64_t last_{0};
};

/// ITCH datagrams of a capture; those to each address are a channel. Its clock is the capture's.
class CaptureBookSource final : public BookSource {
public:
    explicit CaptureBookSource(const Options& options) : options_(options), reader_(options.path) {
        if (!options.only.empty()) only_ = net::SocketAddress::parse(options.only);
        is_there_ = reader_.next(datagram_);
        day_ = midnight_before(datagram_.utc_ns);
    }

    [[nodiscard]] std::int64_t parse_time(const std::string& text) const override { return utc_time_of(text, day_); }
    [[nodiscard]] std::string time_text(std::int64_t time) const override { return utc_text_in_nanos(time) + "Z"; }
    [[nodiscard]] std::uint64_t total() const override { return traffic::file_size(options_.path); }

    void read(Sampler& sampler, Progress& progress) override {
        const auto& stop = service::stop_on_signal();
        for (; is_there_ && !stop.load(std::memory_order_relaxed); is_there_ = reader_.next(datagram_)) {
            if (only_ && !(datagram_.destination == *only_)) continue;
            auto& channel = channel_of(datagram_.destination);
            const bool is_followed = channel_ == nullptr || channel_ == &channel;
            if (is_followed) sampler.pass(datagram_.utc_ns);
            if (sampler.is_over()) return;
            apply(channel);
            if (has_orders()) sampler.begin(datagram_.utc_ns);
            progress.at(reader_.offset());
        }
        if (channel_ == nullptr) {
            for (auto& channel : channels_) choose(channel);
        }
    }
    [[nodiscard]] const BookFollower& followed() const override {
        if (channel_ != nullptr) return channel_->itch.follower();
        return channels_.empty() ? none_ : channels_.front().itch.follower();
    }
    [[nodiscard]] std::int64_t last_time() const override { return last_; }
    [[nodiscard]] std::string damage() override {
        if (!reader_.error().empty()) return reader_.error();
        const auto cut = reader_.counts().cut;
        return cut == 0 ? std::string{}
                        : fmt::format("'{}': {} datagrams were not kept whole by the capture", options_.path, cut);
    }
    [[nodiscard]] std::string fault() const override { return channel_ == nullptr ? "" : channel_->itch.fault(); }

private:
    struct Channel {
        Channel(const net::SocketAddress& to, const std::string& symbol) : address(to), itch(symbol) {}
        net::SocketAddress address;
        ItchChannel itch;
    };

    Channel& channel_of(const net::SocketAddress& address) {
        constexpr std::size_t kMaxChannels = 64;
        for (auto& channel : channels_) {
            if (channel.address == address) return channel;
        }
        if (channels_.size() == kMaxChannels) {
            throw UsageError(
                fmt::format("'{}' has datagrams to more than {} addresses; choose with --only ADDRESS:PORT",
                            options_.path, kMaxChannels));
        }
        return channels_.emplace_back(address, options_.symbol);
    }
    void apply(Channel& channel) {
        last_ = std::max(last_, datagram_.utc_ns);
        // A datagram that cannot be decoded is a gap before the next one.
        static_cast<void>(channel.itch.decoder().decode(
            datagram_.payload, {.receive_utc_ns = datagram_.utc_ns, .receive_ticks = 0, .channel = 0}, channel.itch));
        choose(channel);
    }
    /// Whether the book has an order. Before its first one, the feed does not say whether it is complete.
    [[nodiscard]] bool has_orders() const {
        const auto* const book = channel_ == nullptr ? nullptr : channel_->itch.follower().book();
        return book != nullptr && book->live_orders() != 0;
    }
    /// Follows the channel if it has the instrument. Another channel with it may be the other line of the feed.
    void choose(Channel& channel) {
        channel.itch.note_all();
        if (&channel == channel_ || !channel.itch.follower().has_instrument()) return;
        if (channel_ != nullptr) {
            throw UsageError(fmt::format("'{}' has '{}' in datagrams to {} and to {}; choose with --only ADDRESS:PORT",
                                         options_.path, options_.symbol, channel_->address.to_string(),
                                         channel.address.to_string()));
        }
        channel_ = &channel;
    }

    Options options_;
    files::PcapReader reader_;
    files::CapturedDatagram datagram_;
    bool is_there_{false};
    std::optional<net::SocketAddress> only_;
    std::deque<Channel> channels_;
    Channel* channel_{nullptr};  // the one that has the instrument
    BookFollower none_{options_.symbol};
    std::int64_t day_{0};
    std::int64_t last_{0};
};

/// The orders and levels of a journal. Its clock is the time of receipt.
class JournalBookSource final : public BookSource {
public:
    explicit JournalBookSource(const Options& options)
        : unpacked_(options.path),
          segments_(segments_of(unpacked_.path())),
          reader_(unpacked_.path()),
          symbol_(options.symbol),
          damage_(unpacked_.damage()) {
        begin();
        for (const auto& segment : segments_) last_record_ = std::max(last_record_, segment.next_record);
    }

    [[nodiscard]] std::int64_t parse_time(const std::string& text) const override {
        std::int64_t first = 0;
        std::int64_t last = 0;
        for (const auto& segment : segments_) {
            if (first == 0) first = segment.begun_utc_ns;
            last = std::max({last, segment.begun_utc_ns, segment.newest_utc_ns});
        }
        if (time_of_day_of(text) && midnight_before(first) != midnight_before(last)) {
            throw UsageError(fmt::format("--at: '{}' is a time of several days of '{}', {} to {} (UTC); give it a date",
                                         text, unpacked_.path(), utc_text(first), utc_text(last)));
        }
        return utc_time_of(text, midnight_before(first));
    }
    [[nodiscard]] std::string time_text(std::int64_t time) const override { return utc_text_in_nanos(time) + "Z"; }
    [[nodiscard]] std::string unit() const override { return "records"; }
    [[nodiscard]] std::uint64_t total() const override { return last_record_ == 0 ? 0 : last_record_ - 1; }

    void read(Sampler& sampler, Progress& progress) override {
        const bool begins_late = sampler.has_begun() && begin_at_checkpoint(sampler);
        read_on(sampler, progress);
        // Whether the channel has reported the end of its messages may be known before the checkpoint only.
        const bool is_unsure = sampler.next() > last_ && sampler.next() != Sampler::kNever && !has_ended();
        if (!begins_late || sampler.is_over() || !is_unsure) return;
        restart();
        read_on(sampler, progress);
    }
    [[nodiscard]] const BookFollower& followed() const override { return *follower_; }
    [[nodiscard]] std::int64_t last_time() const override { return last_; }
    [[nodiscard]] std::string damage() override { return damage_; }

private:
    struct Handler {
        static constexpr bool kReadsCheckpoints = true;

        template <class Event>
        void on(const Event& event) {
            source.apply(event, sampler);
        }
        JournalBookSource& source;
        Sampler& sampler;
    };
    /// Passes the events of a book of a checkpoint.
    struct PartHandler {
        template <class Event>
        void on(const Event& event) {
            source.follow(event);
        }
        JournalBookSource& source;
    };

    void read_on(Sampler& sampler, Progress& progress) {
        constexpr std::size_t kRound = 1'024;
        const auto& stop = service::stop_on_signal();
        Handler handler{*this, sampler};
        while (!sampler.is_over() && !stop.load(std::memory_order_relaxed) && reader_.poll(handler, kRound) != 0) {
            for (const auto& fault : reader_.drain_faults()) damage_ += (damage_.empty() ? "" : "\n") + fault;
            progress.at(reader_.next_record() - 1);
        }
    }
    /// Reads the newest checkpoint before the sample. Returns false if that does not give a complete book with
    /// levels: earlier events say why.
    bool begin_at_checkpoint(Sampler& sampler) {
        const auto until = sampler.next() == Sampler::kNever ? Sampler::kNever : sampler.next() + 1;
        const auto origin = journal::find_books_until(unpacked_.path(), until);
        if (!origin || !origin->checkpoint) return false;
        reader_.seek(origin->record);
        Handler handler{*this, sampler};
        beginning_end_ = origin->checkpoint->last;
        while (reader_.next_record() < beginning_end_ && reader_.poll(handler, 1) != 0) {
        }
        reader_.seek(beginning_end_ + 1);  // the last poll may have passed the end
        beginning_end_ = 0;
        const auto* const book = follower_->book();
        if (book != nullptr && !book->is_incomplete() && (!book->bids().empty() || !book->asks().empty())) {
            last_ = std::max(last_, origin->checkpoint->newest_utc_ns);
            return true;
        }
        restart();
        return false;
    }
    void restart() {
        begin();
        reader_.seek(1);
        damage_ = unpacked_.damage();
        epoch_ = 0;
        last_ = 0;
    }
    void begin() {
        follower_.emplace(symbol_, std::optional<std::uint16_t>{},
                          [this](std::uint16_t channel) { return reader_.depth(channel); });
    }
    void enter_epoch() {
        const auto epoch = reader_.current().epoch;
        if (epoch == epoch_) return;
        if (epoch_ != 0) follower_->begin_epoch();
        epoch_ = epoch;
    }
    [[nodiscard]] bool is_after_beginning() const noexcept {
        return beginning_end_ != 0 && reader_.current().record > beginning_end_;
    }
    template <class Event>
    void follow(const Event& event) {
        follower_->on(event, [this](feed::InstrumentId id) { return reader_.instrument(id); });
    }

    template <class Event>
    void apply(const Event& event, Sampler& sampler) {
        if (is_after_beginning()) return;
        enter_epoch();
        // Times of other channels may be a little ahead.
        if (event.receive_utc_ns != 0 && follower_->is_of_channel(event.channel)) sampler.pass(event.receive_utc_ns);
        if (sampler.is_over()) return;
        follow(event);
        if (follower_->book() != nullptr) sampler.begin(event.receive_utc_ns);
        last_ = std::max(last_, event.receive_utc_ns);
    }
    void apply(const journal::BookPart& part, Sampler&) {
        if (is_after_beginning()) return;
        enter_epoch();
        const auto* const book = follower_->book();
        const bool is_good =
            part.head.instrument != feed::kNoInstrument && (part.head.flags & journal::kBookIncomplete) == 0;
        if (beginning_end_ == 0 && (!is_good || book == nullptr || !book->is_incomplete())) return;
        PartHandler handler{*this};
        parts_.add(part, handler);
    }
    void apply(const journal::LostRecord& lost, Sampler& sampler) {
        if (is_after_beginning()) return;
        if (lost.utc_ns != 0) sampler.pass(lost.utc_ns);
        if (sampler.is_over()) return;
        if (lost.reason == journal::LostReason::damaged)
            damage_ +=
                fmt::format("{}{} damaged records from {} on", damage_.empty() ? "" : "\n", lost.count(), lost.first);
        follower_->on(queue::MissedRange{lost.first, lost.last});
    }

    UnpackedJournal unpacked_;
    std::vector<journal::SegmentInfo> segments_;
    journal::JournalReader reader_;
    std::string symbol_;
    std::optional<BookFollower> follower_;
    journal::BookAssembler parts_;
    std::uint64_t beginning_end_{0};  // last record of the checkpoint with which the reader begins; 0: after it
    std::uint64_t last_record_{0};
    std::uint64_t epoch_{0};
    std::int64_t last_{0};
    std::string damage_;
};

}  // namespace

std::unique_ptr<BookSource> open_book_source(const BookSource::Options& options) {
    const auto kind = files::file_kind(options.path);
    if (kind != files::FileKind::capture && !options.only.empty())
        throw UsageError(fmt::format("--only: '{}' is not a capture", options.path));
    switch (kind) {
        case files::FileKind::itch: return std::make_unique<ItchBookSource>(options);
        case files::FileKind::journal: return std::make_unique<JournalBookSource>(options);
        case files::FileKind::capture: break;
    }
    if (const auto format = format_of_capture(options.path, ""); format != "itch")
        throw UsageError(fmt::format("'{}' is of format {}, which has no order books", options.path, format));
    return std::make_unique<CaptureBookSource>(options);
}

}  // namespace millpond::app
