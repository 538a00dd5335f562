#include <millpond/journal/journal_writer.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <type_traits>

#include <millpond/journal/catalog.hpp>
#include <millpond/journal/channel_depth.hpp>
#include <millpond/journal/checkpoint.hpp>
#include <millpond/journal/journal_reader.hpp>
#include <millpond/journal/segment_reader.hpp>

#include "kept_numbers.hpp"

/// What a JournalWriter takes over from the writers before it: numbers, depths and books.
namespace millpond::journal {
namespace {

/// The first number of a segment; 0 if unknown.
std::uint64_t first_record_of(const SegmentFile& file) {
    try {
        return SegmentReader{file.path}.identity().first_record;
    } catch (const std::exception& error) {
        if (!is_segment_failure(error)) throw;
        return 0;
    }
}

/// Applies the events of a journal to books.
struct Restored {
    static constexpr bool kReadsCheckpoints = true;

    template <class Event>
    void on(const Event& event) {
        if (is_of_epoch() && reach(reader.current().ring)) books.on(event);
    }
    void on(const LostRecord& lost) {
        if (!is_of_epoch()) return;
        books.on(queue::MissedRange{lost.first, lost.last});
        static_cast<void>(reach(reader.current().ring));
    }
    void on(const BookPart& part) {
        if (!is_of_epoch()) return;
        // The state of a channel is that of all books only where there are none yet.
        const bool is_late = part.head.instrument == feed::kNoInstrument && reader.current().record > origin_end;
        const auto newest = reader.current().ring;
        if (ring == 0) ring = newest;
        static_cast<void>(reach(newest + 1));
        ring = newest;
        if (!is_late) parts.add(part, books);
    }
    [[nodiscard]] bool is_of_epoch() const noexcept { return reader.current().epoch == epoch; }
    /// Makes the books incomplete if entries before this one are missing. Returns false if they include it.
    bool reach(std::uint64_t number) {
        if (number == 0) return true;
        if (number <= ring) return false;
        if (ring != 0 && number != ring + 1) books.on(queue::MissedRange{ring + 1, number - 1});
        ring = number;
        return true;
    }

    KeptBooks& books;
    const JournalReader& reader;
    std::uint64_t epoch;
    std::uint64_t origin_end;  ///< Last record of the checkpoint with which the books begin; 0: none.
    std::uint64_t ring{0};     ///< Newest entry in the books; 0: unknown.
    BookAssembler parts{};
};

}  // namespace

void JournalWriter::recover() {
    const auto kept = read_numbers(lock_.bytes());
    const auto files = list_segments(options_.folder);
    std::uint64_t newest = 0;  // ordinal
    bool is_whole = true;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& file = files[i];
        next_ordinal_ = file.ordinal + 1;
        if (file.ordinal > kept.ordinal && SegmentReader::is_blank(file.path)) {
            std::filesystem::remove(file.path);
            continue;
        }
        try {
            is_whole = recover(file, i + 1 < files.size() ? first_record_of(files[i + 1]) : 0);
            newest = file.ordinal;
        } catch (const std::exception& error) {
            if (!is_segment_failure(error)) throw;
            std::error_code unknown;
            const auto bytes = std::filesystem::file_size(file.path, unknown);
            set_aside_.push_back(std::string{error.what()} + "; renamed to " + set_aside(file).filename().string());
            // Never reuses a number that the segment may have assigned: a consumer may have seen it.
            if (!unknown) next_record_ += bytes / kMinRecordBytes;
        }
    }
    next_ordinal_ = std::max(next_ordinal_, kept.ordinal + 1);
    recover_channels(files, newest);
    // The newest segment was removed or cut off: a consumer may have seen its numbers.
    if (kept.ordinal > newest || (kept.ordinal == newest && !is_whole))
        next_record_ = std::max(next_record_, kept.next_record);
    newest = std::max(newest, kept.ordinal);
    if (newest != 0) write_numbers(lock_.bytes(), {.ordinal = newest, .next_record = next_record_});
    counters_.set_aside_segments.set(set_aside_.size());
    counters_.newest_record.set(next_record_ - 1);
    counters_.synced_record.set(options_.sync == Sync::none ? 0 : next_record_ - 1);
}

/// Returns false if the file was cut off.
bool JournalWriter::recover(const SegmentFile& file, std::uint64_t next_record) {
    const auto found = end_dead_segment(file.path, next_record);
    if (!found.fault.empty()) repaired_.push_back(file.path.string() + ": " + found.fault + "; its records are kept");
    const auto epoch = found.identity.epoch;
    session_ = std::max<std::uint64_t>(found.identity.session, 1);
    next_record_ = std::max(next_record_, found.tail.next_record);
    if (epoch != epoch_) last_ring_ = 0;
    newest_utc_ns_ = std::max(newest_utc_ns_, found.tail.newest_utc_ns);
    if (found.tail.last_ring > last_ring_) last_ring_ = found.tail.last_ring;
    epoch_ = epoch;
    return std::filesystem::file_size(file.path) >= found.identity.segment_bytes;
}

/// Reads the channels of the newest segment: entries that the ring still has are of the same feeds.
void JournalWriter::recover_channels(const std::vector<SegmentFile>& files, std::uint64_t newest) {
    depths_.clear();
    const auto file = std::ranges::find(files, newest, &SegmentFile::ordinal);
    if (file == files.end()) return;
    const SegmentReader segment{file->path};
    segment.for_each_description([&]<class Record>(const Record& record) {
        if constexpr (std::is_same_v<Record, ChannelRecord>) {
            if (record.channel >= market::kMaxChannels) return;
            if (record.channel >= depths_.size()) depths_.resize(std::size_t{record.channel} + 1);
            depths_[record.channel] = depth_of(record);
        }
    });
}

/// Reads the events since the newest checkpoint, if they are few: the ring does not wait.
void JournalWriter::restore_books() {
    constexpr std::uint64_t kMaxRecords = 500'000;
    const auto origin = find_books_before(options_.folder, next_record_);
    if (origin && origin->checkpoint) needed_checkpoint_ = origin->record;
    if (!origin || next_record_ - origin->record > kMaxRecords) return;
    JournalReader reader{options_.folder};
    reader.seek(origin->record);
    Restored restored{.books = checkpoints_->books(),
                      .reader = reader,
                      .epoch = epoch_,
                      .origin_end = origin->checkpoint ? origin->checkpoint->last : 0};
    {
        struct End {
            ~End() { from = nullptr; }
            const JournalReader*& from;
        };
        restored_from_ = &reader;
        const End end{restored_from_};
        while (reader.poll(restored, SIZE_MAX) != 0) {
        }
    }
    if (restored.ring != last_ring_) restored.books.on(queue::MissedRange{restored.ring + 1, last_ring_});
}

}  // namespace millpond::journal
