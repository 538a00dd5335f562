#include <millpond/market/reader_registry.hpp>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#include <millpond/market/ring_name.hpp>

namespace millpond::market {
namespace {

std::size_t bytes_of(std::uint32_t seats) { return sizeof(ReadersHeader) + seats * sizeof(ReaderSeatRecord); }

bool lives(std::uint64_t pid) { return kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH; }

bool agrees(const memory::Region& region) {
    if (region.size() < sizeof(ReadersHeader)) return false;
    const auto& header = *reinterpret_cast<const ReadersHeader*>(region.data());
    return header.magic.load(std::memory_order_acquire) == kReadersMagic &&  // sync "registry made": make
           header.layout_version == kReadersLayoutVersion && header.seats >= 1 &&
           bytes_of(header.seats) <= region.size();
}

/// One of an earlier run may have other permissions than this run wants.
void permit(const memory::Region& region, std::uint32_t mode, std::uint32_t group) {
    const bool keeps_group = group == memory::kOwnGroup;
    if ((keeps_group || chown(region.path().c_str(), static_cast<uid_t>(-1), group) == 0) &&
        chmod(region.path().c_str(), static_cast<mode_t>(mode)) == 0) {
        return;
    }
    throw memory::RegionError(errno, std::generic_category(), region.path() + ": cannot set its mode and group");
}

}  // namespace

ReaderRegistry::ReaderRegistry(memory::Region region) noexcept : region_(std::move(region)), seats_(header().seats) {}

ReaderSeatRecord* ReaderRegistry::records() noexcept {
    return reinterpret_cast<ReaderSeatRecord*>(region_.data() + sizeof(ReadersHeader));
}

const ReaderSeatRecord* ReaderRegistry::records() const noexcept {
    return reinterpret_cast<const ReaderSeatRecord*>(region_.data() + sizeof(ReadersHeader));
}

ReaderRegistry ReaderRegistry::make(std::string_view ring_name, std::uint32_t seats, std::uint32_t mode,
                                    std::uint32_t group) {
    const auto name = readers_object_name(ring_name);
    const memory::RegionOptions options{.prefault = true, .mode = mode, .group = group};
    memory::Region region;
    try {
        region = memory::Region::shared(name, bytes_of(seats), options);
    } catch (const memory::RegionError& error) {
        if (error.code().value() != EEXIST) throw;
    }
    if (region.size() == 0 || (!region.created() && !agrees(region))) {
        // Another layout, or one that nobody finished. Readers that sit there keep it until they leave.
        unlink(ring_name);
        region = memory::Region::shared(name, bytes_of(seats), options);
    }
    auto& header = *reinterpret_cast<ReadersHeader*>(region.data());
    if (!region.created()) permit(region, mode, group);
    if (region.created()) {
        header.layout_version = kReadersLayoutVersion;
        header.seats = seats;
        header.magic.store(kReadersMagic, std::memory_order_release);  // sync "registry made": agrees
    }
    return ReaderRegistry(std::move(region));
}

std::optional<ReaderRegistry> ReaderRegistry::open(std::string_view ring_name) {
    try {
        auto region = memory::Region::open_shared(readers_object_name(ring_name), memory::Access::writable);
        if (!agrees(region)) return std::nullopt;
        return ReaderRegistry(std::move(region));
    } catch (const memory::RegionError&) {
        return std::nullopt;  // Being seen is a wish: a ring without a registry is read as well.
    }
}

void ReaderRegistry::unlink(std::string_view ring_name) {
    memory::Region::unlink_shared(readers_object_name(ring_name));
}

std::vector<RegisteredReader> ReaderRegistry::list() const {
    std::vector<RegisteredReader> readers;
    for (std::uint32_t i = 0; i < seats_; ++i) {
        const auto& record = records()[i];
        const auto pid = record.pid.load(std::memory_order_acquire);
        // sync "seat ready": ReaderSeat::take
        if (pid == 0 || record.ready.load(std::memory_order_acquire) != pid) continue;
        std::array<std::uint64_t, 4> name{};
        for (std::size_t k = 0; k < name.size(); ++k) name[k] = record.name[k].load(std::memory_order_relaxed);
        readers.push_back({.pid = pid,
                           .name = std::bit_cast<ReaderName>(name),
                           .epoch = record.epoch.load(std::memory_order_relaxed),
                           .next = record.next.load(std::memory_order_relaxed),
                           .missed = record.missed.load(std::memory_order_relaxed),
                           .alive = lives(pid)});
    }
    return readers;
}

std::optional<ReaderSeat> ReaderSeat::take(ReaderRegistry registry, const ReaderName& name, std::uint64_t epoch) {
    const auto self = static_cast<std::uint64_t>(getpid());
    for (const bool from_the_dead : {false, true}) {
        for (std::uint32_t i = 0; i < registry.seats(); ++i) {
            auto& record = registry.records()[i];
            auto pid = record.pid.load(std::memory_order_relaxed);
            if (pid != 0 && (!from_the_dead || lives(pid))) continue;
            // sync "seat left": the store in ~ReaderSeat
            if (!record.pid.compare_exchange_strong(pid, self, std::memory_order_acq_rel)) continue;
            record.ready.store(0,
                               std::memory_order_release);  // sync "seat ready": a list sees no mixed fields as ready
            const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(name);
            for (std::size_t k = 0; k < words.size(); ++k) record.name[k].store(words[k], std::memory_order_relaxed);
            record.epoch.store(epoch, std::memory_order_relaxed);
            record.next.store(0, std::memory_order_relaxed);
            record.missed.store(0, std::memory_order_relaxed);
            record.ready.store(self, std::memory_order_release);  // sync "seat ready": ReaderRegistry::list
            return ReaderSeat(std::move(registry), &record);
        }
    }
    return std::nullopt;
}

ReaderSeat::ReaderSeat(ReaderRegistry registry, ReaderSeatRecord* record) noexcept
    : registry_(std::move(registry)), record_(record) {}

ReaderSeat::ReaderSeat(ReaderSeat&& other) noexcept
    : registry_(std::move(other.registry_)), record_(std::exchange(other.record_, nullptr)) {}

ReaderSeat& ReaderSeat::operator=(ReaderSeat&& other) noexcept {
    std::swap(registry_, other.registry_);
    std::swap(record_, other.record_);
    return *this;
}

ReaderSeat::~ReaderSeat() {
    if (record_ == nullptr) return;
    record_->ready.store(0, std::memory_order_relaxed);
    record_->pid.store(0, std::memory_order_release);  // sync "seat left": the exchange in take
}

}  // namespace millpond::market
