#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include <millpond/files/unpacked_file.hpp>
#include <millpond/journal/catalog.hpp>
#include <millpond/journal/journal_reader.hpp>

#include "source.hpp"

namespace millpond::python {
namespace {

/// A journal's folder or one segment, which may be compressed: it is unpacked first, since segments are mapped.
/// Instruments get numbers of their own, since the ring's mean others in each epoch.
class JournalSource final : public Source {
public:
    explicit JournalSource(const Options& options)
        : path_(options.path),
          bytes_(options.bytes),
          start_(options.start),
          end_(options.end),
          filter_(options.symbols) {
        if (!std::filesystem::is_directory(path_) && files::is_packed(path_)) {
            unpacked_.emplace(path_, std::filesystem::temp_directory_path(), journal::kMaxSegmentBytes);
        } else {
            begin(path_);
        }
    }

    bool read(Collector& rows, std::size_t max) override {
        if (!reader_) {
            if (unpacked_->step()) return true;
            if (!unpacked_->damage().empty()) errors_.add(unpacked_->damage());
            begin(unpacked_->path());
        }
        rows_ = &rows;
        const auto polled = reader_->poll(*this, max);
        records_ += polled;
        for (auto& fault : reader_->drain_faults()) errors_.add(with_own_path(std::move(fault)));
        return polled == max;
    }
    bool unpacks() const noexcept override { return !reader_; }
    std::uint64_t outside() const noexcept override { return reader_ ? reader_->left_out() : 0; }
    std::size_t instruments() const noexcept override { return names_.size(); }
    market::Instrument instrument(feed::InstrumentId id) const noexcept override { return names_[id]; }
    Counts counts() const override { return {{"records", records_}, {"lost", lost_}, {"unnamed", unnamed_}}; }
    /// A share of the records; of a compressed segment half of it is for unpacking.
    std::uint64_t offset() const noexcept override {
        if (!reader_) return unpacked_->packed_offset() / 2;
        const auto all = records_end_ - first_record_;
        const auto done = std::clamp(reader_->next_record(), first_record_, records_end_) - first_record_;
        const auto share = all == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(all);
        const auto bytes = unpacked_ ? bytes_ - bytes_ / 2 : bytes_;
        return bytes_ - bytes + static_cast<std::uint64_t>(static_cast<double>(bytes) * share);
    }

    template <class Event>
    void on(Event event) {
        if constexpr (requires { event.instrument; }) {
            if (event.instrument != feed::kNoInstrument && !rename(event.instrument)) return;
        }
        rows_->add(event, reader_->current().record);
    }
    void on(const journal::LostRecord& lost) {
        lost_ += lost.count();
        rows_->add(lost);
        if (lost.reason == journal::LostReason::damaged) {
            errors_.add("journal '" + std::string{reader_->ring()} + "', records " + std::to_string(lost.first) +
                        " to " + std::to_string(lost.last) + ": damaged");
        }
    }

private:
    void begin(const std::filesystem::path& path) {
        reader_.emplace(path);
        reader_->select(start_, end_);
        for (const auto& segment : journal::describe_segments(path)) {
            if (segment.next_record == 0) continue;
            if (records_end_ == 0) first_record_ = segment.first_record;
            records_end_ = std::max({records_end_, segment.next_record, first_record_});
        }
    }
    /// Names the compressed file instead of the temporary one.
    [[nodiscard]] std::string with_own_path(std::string fault) const {
        if (!unpacked_) return fault;
        const auto temporary = unpacked_->path().string();
        if (const auto at = fault.find(temporary); at != std::string::npos) fault.replace(at, temporary.size(), path_);
        return fault;
    }
    /// Gives the event's instrument its number here. False when it is not wanted.
    bool rename(feed::InstrumentId& id) {
        const auto epoch = reader_->current().epoch;
        if (epoch != epoch_) {
            epoch_ = epoch;
            numbers_.clear();
        }
        if (id >= kMaxInstruments) return false;
        if (id >= numbers_.size()) numbers_.resize(id + std::size_t{1}, feed::kNoInstrument);
        auto number = numbers_[id];
        if (number == feed::kNoInstrument) {
            number = number_of(id);
            // A name that is damaged in one segment is whole in the next.
            if (reader_->instrument(id) != nullptr) numbers_[id] = number;
        }
        id = number;
        return filter_.wants(number, [&] { return names_[number].symbol.view(); });
    }
    feed::InstrumentId number_of(feed::InstrumentId id) {
        const auto* named = reader_->instrument(id);
        // The same name that replay gives to an instrument whose name is damaged.
        const auto instrument =
            named != nullptr ? *named : market::Instrument{{}, feed::Symbol{"#" + std::to_string(id)}};
        const auto key = std::string{instrument.venue.view()} + '\0' + std::string{instrument.symbol.view()};
        const auto [place, added] = by_name_.try_emplace(key, static_cast<feed::InstrumentId>(names_.size()));
        if (added) names_.push_back(instrument);
        if (added && named == nullptr) ++unnamed_;
        return place->second;
    }

    static constexpr feed::InstrumentId kMaxInstruments = 1U << 26U;
    std::string path_;
    std::uint64_t bytes_;  // of the files
    std::optional<std::int64_t> start_;
    std::optional<std::int64_t> end_;
    std::optional<files::UnpackedFile> unpacked_;   // its file lives as long as the reader
    std::optional<journal::JournalReader> reader_;  // none while a segment is being unpacked
    SymbolFilter filter_;
    Collector* rows_{nullptr};
    std::uint64_t epoch_{0};
    std::vector<feed::InstrumentId> numbers_;  // here, by number in the epoch
    std::vector<market::Instrument> names_;
    std::unordered_map<std::string, feed::InstrumentId> by_name_;
    std::uint64_t first_record_{0};
    std::uint64_t records_end_{0};
    std::uint64_t records_{0};
    std::uint64_t lost_{0};
    std::uint64_t unnamed_{0};
};

}  // namespace

std::unique_ptr<Source> open_journal(const Source::Options& options) {
    return std::make_unique<JournalSource>(options);
}

}  // namespace millpond::python
