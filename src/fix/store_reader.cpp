#include <millpond/fix/store_reader.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

namespace millpond::fix {
namespace {

constexpr std::size_t kMaxFaults = 100;
constexpr std::size_t kMinFieldBytes = 3;

/// Checks a stored message; returns an empty string if it is valid.
std::string fault_of(std::string_view bytes, std::uint64_t sequence, Parser& parser, std::vector<Field>& spill) {
    const auto frame = next_frame(std::as_bytes(std::span{bytes.data(), bytes.size()}), bytes.size());
    if (!frame) return std::string{name(frame.error().error)};
    if (frame->bytes.size() != bytes.size()) return "more than one message";
    spill.resize(bytes.size() / kMinFieldBytes + 1);
    const auto message = parser.parse(*frame, spill);
    if (!message) return std::string{name(message.error())};
    const auto number = message->unsigned_integer(tag::kMsgSeqNum);
    if (number != sequence) return "MsgSeqNum is " + std::string{message->text(tag::kMsgSeqNum).value_or("missing")};
    return {};
}

}  // namespace

void StoreReader::add(const std::filesystem::path& file) {
    regions_.push_back(memory::Region::open_file(file));
    const auto segment = StoreSegment::open(regions_.back().bytes());
    if (!segment) {
        const auto why = StoreSegment::other_layout(regions_.back().bytes(), file.string());
        throw std::invalid_argument(why.empty() ? file.string() + " is not a message store that this build can read"
                                                : why);
    }
    mapped_.push_back(*segment);
    segments_.push_back({.file = file,
                         .generation = segment->header->generation.load(std::memory_order_acquire),
                         .data_bytes = segment->data.size(),
                         .extent = {}});
}

StoreReader::StoreReader(const std::filesystem::path& path) {
    add(path);
    for (const auto number : FileStore::segment_numbers(path)) {
        if (number == 0) continue;
        try {
            add(FileStore::segment_path(path, number));
        } catch (const memory::RegionError&) {
            // The owner has just removed the file, or is about to create it.
            if (!owned()) throw;
        }
    }
    const auto newest = std::ranges::max_element(segments_, {}, &Segment::generation);
    current_ = static_cast<std::size_t>(newest - segments_.begin());
    auto known = newest->generation;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        const auto& header = *mapped_[i].header;
        const auto file = FileStore::segment_path(path, header.newest_number);
        // The owner may have created the file meanwhile.
        if (header.newest_generation > known && !std::filesystem::exists(file)) {
            known = header.newest_generation;
            missing_file_ = file;
        }
        if (segments_[i].generation == 0) continue;
        segments_[i].extent = i == current_ ? mapped_[i].extent() : mapped_[i].sealed_extent();
    }
    const auto& header = *mapped_[current_].header;
    const auto& own = segments_[current_].extent;
    creation_utc_ns_ = header.creation_utc_ns;
    next_sender_ = std::max(header.next_sender.load(std::memory_order_relaxed), own.next);
    next_target_ = header.next_target.load(std::memory_order_relaxed);
    oldest_ = next_sender_;
    for (const auto& segment : segments_) {
        if (segment.extent.messages != 0) oldest_ = std::min(oldest_, segment.extent.first);
    }
}

StoreIdentity StoreReader::identity() const { return FileStore::identity_of(*mapped_[current_].header); }

std::optional<std::string_view> StoreReader::retrieve(std::uint64_t sequence) const noexcept {
    for (std::size_t i = 0; i < mapped_.size(); ++i) {
        if (!may_hold(i, sequence)) continue;
        if (const auto message = mapped_[i].retrieve(sequence)) return message;
    }
    return std::nullopt;
}

bool StoreReader::may_hold(std::size_t segment, std::uint64_t sequence) const noexcept {
    const auto& extent = segments_[segment].extent;
    return extent.messages != 0 && sequence >= extent.first && sequence < extent.next;
}

bool StoreReader::is_damaged(std::uint64_t sequence) const noexcept {
    for (std::size_t i = 0; i < mapped_.size(); ++i) {
        if (may_hold(i, sequence) && mapped_[i].is_damaged(sequence)) return true;
    }
    return false;
}

std::uint64_t StoreReader::next_kept(std::uint64_t sequence) const noexcept {
    auto lowest = next_sender_;
    for (std::size_t i = 0; i < mapped_.size(); ++i) {
        const auto& extent = segments_[i].extent;
        if (extent.messages == 0 || sequence >= extent.next || extent.first >= lowest) continue;
        const auto kept = mapped_[i].next_kept(std::max(sequence, extent.first));
        if (kept < extent.next) lowest = std::min(lowest, kept);
    }
    return lowest;
}

StoreReader::Verification StoreReader::verify() const {
    Parser parser;
    std::vector<Field> spill;
    Verification found;
    const auto note = [&](std::uint64_t sequence, std::string fault) {
        ++found.faulty;
        if (found.faults.size() < kMaxFaults) found.faults.push_back({sequence, std::move(fault)});
    };
    for (auto sequence = oldest_; sequence < next_sender_; ++sequence) {
        if (const auto message = retrieve(sequence)) {
            auto fault = fault_of(*message, sequence, parser, spill);
            fault.empty() ? void(++found.messages) : note(sequence, std::move(fault));
        } else if (is_damaged(sequence)) {
            note(sequence, "the record is damaged: its CRC is wrong");
        } else {
            // Numbers after a damaged message may be of damaged messages too.
            auto next = sequence + 1;
            const auto kept = next_kept(next);
            const auto last = std::min(kept, next + mapped_[current_].slot_mask);
            while (next < last && !is_damaged(next)) ++next;
            if (next == last) next = kept;
            found.missing += next - sequence;
            found.skipped += mapped_[current_].skipped(sequence, next);
            sequence = next - 1;
        }
    }
    return found;
}

}  // namespace millpond::fix
