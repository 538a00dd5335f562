#include "apps/millpond/traffic/journal_source.hpp"

#include <algorithm>
#include <utility>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_error.hpp>

namespace millpond::traffic {

JournalExtent extent_of_journal(const std::string& path) {
    JournalExtent extent;
    for (const auto& segment : journal::describe_segments(path)) {
        // Skips unreadable segments; their contents count as lost.
        if (segment.state != journal::SegmentState::growing && segment.state != journal::SegmentState::ended) continue;
        if (extent.first == 0) extent.first = segment.first_record;
        extent.end = segment.next_record;
    }
    if (extent.first == 0) throw journal::JournalError("'" + path + "': not a journal: it has no segment with records");
    return extent;
}

JournalSource::JournalSource(const std::string& path, const Options& options)
    : options_(options), reader_(path), encoder_({.session = options.session}) {
    const auto extent = extent_of_journal(path);
    reader_.select(options_.since, options_.until);
    first_record_ = extent.first;
    last_record_ = extent.end;
}

void JournalSource::on(const feed::Quote& quote) {
    const auto epoch = reader_.current().epoch;
    // A new epoch: quotes of the previous ring are void.
    if (epoch != std::exchange(epoch_, epoch) && first_utc_ns_) {
        clear_ = true;
        newest_.clear();
        repeated_.clear();
        unnamed_.clear();
    }
    // Receivers must forget the instrument without a name.
    if (reader_.instrument(quote.instrument) == nullptr) {
        unnamed_.insert(quote.instrument);
    } else if (unnamed_.erase(quote.instrument) != 0) {
        send_all_again();
    }
    newest_[quote.instrument] = quote;
    waiting_ = {quote, name_of(quote.instrument)};
}

market::Instrument JournalSource::name_of(feed::InstrumentId id) {
    const auto* name = reader_.instrument(id);
    return name != nullptr ? *name : market::Instrument{{}, feed::Symbol{"#" + std::to_string(id)}};
}

void JournalSource::on(const feed::Clear& clear) {
    std::erase_if(newest_, [&](const auto& known) {
        const auto& [id, quote] = known;
        return quote.channel == clear.channel && (clear.instrument == feed::kNoInstrument || clear.instrument == id);
    });
    send_all_again();
}

void JournalSource::send_all_again() {
    clear_ = true;
    repeated_.clear();
    for (const auto& [id, quote] : newest_) repeated_.push_back(quote);
    std::ranges::sort(repeated_, {}, &feed::Quote::instrument);
}

void JournalSource::on(const journal::LostRecord& lost) {
    skip_ += lost.count();
    mark_incomplete(std::nullopt);
    counts_.lost += lost.count();
    counts_.damaged = counts_.damaged || lost.reason == journal::LostReason::damaged;
}

void JournalSource::on(const feed::Gap& gap) {
    ++skip_;  // makes the receiver's quotes incomplete, like the recorded ones
    mark_incomplete(gap.channel);
    ++counts_.gaps;
}

void JournalSource::mark_incomplete(std::optional<std::uint16_t> channel) {
    const auto mark = [&](feed::Quote& quote) {
        if (!channel || quote.channel == *channel) quote.flags |= feed::kIncomplete;
    };
    for (auto& [id, quote] : newest_) mark(quote);
    for (auto& quote : repeated_) mark(quote);
}

bool JournalSource::read() {
    while (!waiting_ && !over_) {
        if (reader_.poll(*this, 1) == 0) over_ = true;
    }
    return waiting_.has_value();
}

bool JournalSource::add_waiting() {
    if (!encoder_.add(waiting_->quote, waiting_->name.venue, waiting_->name.symbol, waiting_->name.decimals))
        return false;
    newest_utc_ns_ = waiting_->quote.receive_utc_ns;
    waiting_.reset();
    ++counts_.quotes;
    return true;
}

std::uint32_t JournalSource::add_again() {
    std::uint32_t added = 0;
    for (; !repeated_.empty(); repeated_.pop_front(), ++added) {
        const auto name = name_of(repeated_.front().instrument);
        if (!encoder_.add(repeated_.front(), name.venue, name.symbol, name.decimals)) break;
    }
    return added;
}

std::span<const std::byte> JournalSource::begin_and_finish() {
    encoder_.begin(buffer_);
    return encoder_.finish(newest_utc_ns_);
}

bool JournalSource::next(Outgoing& out) {
    const bool more = read();
    if (!more && !clear_ && skip_ == 0 && repeated_.empty()) return false;
    const auto due =
        more ? waiting_->quote.receive_utc_ns - first_utc_ns_.value_or(waiting_->quote.receive_utc_ns) : latest_due_ns_;
    if (options_.heartbeat_ns != 0 && due - latest_due_ns_ > options_.heartbeat_ns) {
        latest_due_ns_ += options_.heartbeat_ns;
        out = {latest_due_ns_, begin_and_finish(), 0};
        return true;
    }
    encoder_.skip(std::exchange(skip_, 0));
    if (std::exchange(clear_, false)) encoder_.clear();
    latest_due_ns_ = std::max(latest_due_ns_, due);
    if (!repeated_.empty()) {
        encoder_.begin(buffer_);
        const auto added = add_again();
        out = {latest_due_ns_, encoder_.finish(newest_utc_ns_), added};
        return true;
    }
    if (!more) {
        out = {latest_due_ns_, begin_and_finish(), 0};
        return true;
    }
    if (!first_utc_ns_) first_utc_ns_ = waiting_->quote.receive_utc_ns;
    const auto before = counts_.quotes;
    encoder_.begin(buffer_);
    // Any quote fits an empty datagram.
    while (add_waiting() && read() && !clear_ && skip_ == 0 && waiting_->quote.receive_utc_ns == newest_utc_ns_) {
    }
    out = {latest_due_ns_, encoder_.finish(newest_utc_ns_), static_cast<std::uint32_t>(counts_.quotes - before)};
    return true;
}

double JournalSource::fraction() const {
    const auto all = last_record_ - first_record_;
    const auto done = std::max(reader_.next_record(), first_record_) - first_record_;
    return all == 0 ? -1.0 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
}

}  // namespace millpond::traffic
