#include <millpond/fix/store_reader.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <variant>

#include <millpond/fix/file_store.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>

namespace millpond::fix {
namespace {

constexpr std::size_t kMostFaults = 100;
constexpr std::size_t kLeastFieldBytes = 3;

/// The error in a stored message; empty if there is none.
std::string fault_of(std::string_view bytes, std::uint64_t sequence, Parser& parser, std::vector<Field>& spill) {
    const auto frame = next_frame(std::as_bytes(std::span{bytes.data(), bytes.size()}), bytes.size());
    if (!frame) return std::string{name(frame.error().error)};
    if (frame->bytes.size() != bytes.size()) return "more than one message";
    spill.resize(bytes.size() / kLeastFieldBytes + 1);
    const auto message = parser.parse(*frame, spill);
    if (!message) return std::string{name(message.error())};
    const auto number = message->unsigned_integer(tag::kMsgSeqNum);
    if (number != sequence) return "MsgSeqNum is " + std::string{message->text(tag::kMsgSeqNum).value_or("missing")};
    return {};
}

}  // namespace

void StoreReader::add(const std::filesystem::path& file) {
    regions_.push_back(memory::Region::open_file(file));
    auto& one = segments_.emplace_back();
    one.file = file;
    if (const auto segment = StoreSegment::open(regions_.back().bytes())) {
        one.layout = kStoreVersion;
        one.generation = segment->header->generation.load(std::memory_order_acquire);
        one.data_bytes = segment->data.size();
        mapped_.emplace_back(*segment);
    } else if (const auto old = Layout2Segment::open(regions_.back().bytes())) {
        one.layout = Layout2Segment::kVersion;
        one.generation = old->generation();
        one.data_bytes = old->data_bytes();
        one.extent = old->extent();
        mapped_.emplace_back(*old);
    } else {
        throw std::invalid_argument(file.string() + " is not a message store that this build can read");
    }
}

StoreReader::StoreReader(const std::filesystem::path& path) {
    add(path);
    for (const auto number : FileStore::segment_numbers(path)) {
        if (number == 0) continue;
        try {
            add(FileStore::segment_path(path, number));
        } catch (const memory::RegionError&) {
            // Its owner has just removed it, or is about to create it.
            if (!owned()) throw;
        }
    }
    const auto newest = std::ranges::max_element(segments_, {}, &Segment::generation);
    current_ = static_cast<std::size_t>(newest - segments_.begin());
    auto known = newest->generation;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        const auto* segment = std::get_if<StoreSegment>(&mapped_[i]);
        if (segment == nullptr) continue;
        const auto& header = *segment->header;
        const auto file = FileStore::segment_path(path, header.newest_number);
        // An owner may have made it meanwhile.
        if (header.newest_generation > known && !std::filesystem::exists(file)) {
            known = header.newest_generation;
            missing_file_ = file;
        }
        if (segments_[i].generation == 0) continue;
        segments_[i].extent = i == current_ ? segment->extent() : segment->sealed_extent();
    }
    if (const auto* segment = std::get_if<StoreSegment>(&mapped_[current_])) {
        creation_utc_ns_ = segment->header->creation_utc_ns;
        next_sender_ = segment->header->next_sender.load(std::memory_order_relaxed);
        next_target_ = segment->header->next_target.load(std::memory_order_relaxed);
    } else {
        const auto& old = std::get<Layout2Segment>(mapped_[current_]);
        creation_utc_ns_ = old.creation_utc_ns();
        next_sender_ = old.next_sender();
        next_target_ = old.next_target();
    }
    for (const auto& segment : segments_) next_sender_ = std::max(next_sender_, segment.extent.next);
    oldest_ = next_sender_;
    for (const auto& segment : segments_) {
        if (segment.extent.messages != 0) oldest_ = std::min(oldest_, segment.extent.first);
    }
}

StoreIdentity StoreReader::identity() const {
    const auto* segment = std::get_if<StoreSegment>(&mapped_[current_]);
    return segment == nullptr ? StoreIdentity{} : FileStore::identity_of(*segment->header);
}

std::optional<std::string_view> StoreReader::retrieve(std::uint64_t sequence) const noexcept {
    for (std::size_t i = 0; i < mapped_.size(); ++i) {
        const auto& extent = segments_[i].extent;
        if (extent.messages == 0 || sequence < extent.first || sequence >= extent.next) continue;
        const auto* segment = std::get_if<StoreSegment>(&mapped_[i]);
        if (segment != nullptr && !segment->is_whole(sequence & segment->slot_mask)) continue;
        const auto message =
            segment != nullptr ? segment->retrieve(sequence) : std::get<Layout2Segment>(mapped_[i]).retrieve(sequence);
        if (message) return message;
    }
    return std::nullopt;
}

std::uint64_t StoreReader::next_kept(std::uint64_t sequence) const noexcept {
    auto lowest = next_sender_;
    for (std::size_t i = 0; i < mapped_.size(); ++i) {
        const auto& extent = segments_[i].extent;
        if (extent.messages == 0 || sequence >= extent.next || extent.first >= lowest) continue;
        const auto from = std::max(sequence, extent.first);
        const auto kept = std::visit([&](const auto& segment) { return segment.next_kept(from); }, mapped_[i]);
        if (kept < extent.next) lowest = std::min(lowest, kept);
    }
    return lowest;
}

StoreReader::Verification StoreReader::verify() const {
    Parser parser;
    std::vector<Field> spill;
    Verification found;
    const auto* segment = std::get_if<StoreSegment>(&mapped_[current_]);
    for (auto sequence = oldest_; sequence < next_sender_; ++sequence) {
        const auto message = retrieve(sequence);
        if (!message) {
            const auto next = next_kept(sequence + 1);
            found.missing += next - sequence;
            if (segment != nullptr) found.skipped += segment->skipped(sequence, next);
            sequence = next - 1;
            continue;
        }
        auto fault = fault_of(*message, sequence, parser, spill);
        if (fault.empty()) {
            ++found.messages;
            continue;
        }
        ++found.faulty;
        if (found.faults.size() < kMostFaults) found.faults.push_back({sequence, std::move(fault)});
    }
    return found;
}

}  // namespace millpond::fix
