#include <millpond/core/descriptor.hpp>
#include <millpond/market/reader_registry.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include <millpond/market/ring_name.hpp>

namespace millpond::market {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::size_t kMaxNames = 65'536;
constexpr std::size_t kMaxExamined = 1'024;
constexpr int kMaxReadersPerProcess = 64;

struct CloseFolder {
    void operator()(DIR* folder) const noexcept { closedir(folder); }
};

/// Path of a reader's object; the first one of a process has no index.
std::string object_path(std::string_view ring_name, pid_t pid, int index) {
    auto path = kFolder + reader_object_prefix(ring_name) + std::to_string(pid);
    return index == 0 ? path : path.append(".").append(std::to_string(index));
}

/// Parses the PID in the name "millpond.<ring>.reader.<pid>" or "....<pid>.<n>".
std::optional<std::uint64_t> pid_of(std::string_view name, std::string_view prefix) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    std::uint64_t pid = 0;
    const auto* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, pid);
    if (error != std::errc{} || (rest != end && *rest != '.')) return std::nullopt;
    return pid;
}

/// Calls visit(folder's descriptor, name, pid) for every name that may be a reader's object, until it returns false.
/// Returns true if all were visited.
template <class Visitor>
bool for_each_object(std::string_view ring_name, Visitor&& visit) {
    const auto prefix = reader_object_prefix(ring_name).substr(1);
    const std::unique_ptr<DIR, CloseFolder> folder{opendir(kFolder)};
    if (!folder) return true;
    for (std::size_t names = 0; names < kMaxNames; ++names) {
        const auto* entry = readdir(folder.get());  // NOLINT(concurrency-mt-unsafe): this call's own folder
        if (entry == nullptr) return true;
        const auto pid = pid_of(entry->d_name, prefix);
        if (pid && !visit(dirfd(folder.get()), entry->d_name, *pid)) return false;
    }
    return false;
}

bool is_locked(int file) noexcept {
    struct flock lock{};
    lock.l_type = F_RDLCK;  // conflicts only with write locks, which only the owner can hold
    lock.l_whence = SEEK_SET;
    return fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool try_lock(int file) noexcept {
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

bool leads_to(int folder, const char* name, int file) noexcept {
    struct stat named{};
    struct stat held{};
    return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &held) == 0 &&
           named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

/// True if a process with this PID may have created an object of this owner, or if the process is not visible.
bool may_be_of(std::uint64_t pid, uid_t owner) {
    if (owner == 0) return true;
    const core::Descriptor status{open(("/proc/" + std::to_string(pid) + "/status").c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 2'048> text{};
    const auto bytes = read(status.get(), text.data(), text.size());
    if (bytes <= 0) return true;
    const std::string_view lines{text.data(), static_cast<std::size_t>(bytes)};
    constexpr std::string_view kUids = "\nUid:";
    auto at = lines.find(kUids);
    if (at == std::string_view::npos) return true;
    // Real, effective, saved and file system uid.
    const auto* end = lines.data() + std::min(lines.find('\n', at + 1), lines.size());
    for (const auto* next = lines.data() + at + kUids.size(); next < end;) {
        uid_t uid = 0;
        const auto [rest, error] = std::from_chars(next, end, uid);
        if (error == std::errc{} && uid == owner) return true;
        next = error == std::errc{} ? rest : next + 1;
    }
    return false;
}

ReaderName printable(const ReaderName& claimed) {
    std::string text{claimed.view()};
    std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return ReaderName{text};
}

/// Returns nullopt if the object does not belong to a reader.
std::optional<RegisteredReader> read_object(int folder, const char* name, std::uint64_t pid) {
    const core::Descriptor file{openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat facts{};
    if (!file || fstat(file.get(), &facts) != 0) return std::nullopt;
    if (!S_ISREG(facts.st_mode) || facts.st_nlink != 1) return std::nullopt;
    if (facts.st_size < static_cast<off_t>(sizeof(ReaderRecord)) || facts.st_size > sysconf(_SC_PAGESIZE)) {
        return std::nullopt;
    }
    ReaderRecord record{};
    if (pread(file.get(), static_cast<void*>(&record), sizeof record, 0) != sizeof record) return std::nullopt;
    if (record.magic.load(std::memory_order_relaxed) != kReaderMagic) return std::nullopt;
    if (record.layout_version != kReaderLayoutVersion) return std::nullopt;
    const bool alive = is_locked(file.get());
    if (alive && !may_be_of(pid, facts.st_uid)) return std::nullopt;
    std::array<std::uint64_t, 4> claimed{};
    for (std::size_t i = 0; i < claimed.size(); ++i) claimed[i] = record.name[i].load(std::memory_order_relaxed);
    return RegisteredReader{.pid = pid,
                            .uid = facts.st_uid,
                            .name = printable(std::bit_cast<ReaderName>(claimed)),
                            .epoch = record.epoch.load(std::memory_order_relaxed),
                            .next = record.next.load(std::memory_order_relaxed),
                            .missed = record.missed.load(std::memory_order_relaxed),
                            .alive = alive};
}

}  // namespace

ReaderList list_readers(std::string_view ring_name, std::size_t max) {
    ReaderList list;
    std::size_t examined = 0;
    list.complete = for_each_object(ring_name, [&](int folder, const char* name, std::uint64_t pid) {
        if (++examined > kMaxExamined) return false;
        if (auto reader = read_object(folder, name, pid)) list.readers.push_back(*reader);
        return true;
    });
    std::ranges::stable_partition(list.readers, [](const RegisteredReader& reader) { return reader.alive; });
    if (list.readers.size() > max) {
        list.readers.resize(max);
        list.complete = false;
    }
    return list;
}

void remove_dead_readers(std::string_view ring_name) noexcept try {
    std::size_t examined = 0;
    static_cast<void>(for_each_object(ring_name, [&](int folder, const char* name, std::uint64_t) {
        if (++examined > kMaxExamined) return false;
        struct stat named{};
        if (fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(named.st_mode)) return true;
        if (named.st_uid != geteuid() && geteuid() != 0) return true;
        const core::Descriptor file{openat(folder, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
        // Only the holder of its lock removes an object, so that an object taken over by a new reader is not removed.
        if (!file || !try_lock(file.get()) || !leads_to(folder, name, file.get())) return true;
        unlinkat(folder, name, 0);
        return true;
    }));
} catch (const std::exception&) {
    return;  // no memory: a later call removes them
}

std::optional<ReaderRegistration> ReaderRegistration::acquire(std::string_view ring_name, const memory::Region& ring,
                                                              const ReaderName& name, std::uint64_t epoch) {
    remove_dead_readers(ring_name);
    struct stat facts{};
    if (stat(ring.path().c_str(), &facts) != 0) return std::nullopt;
    memory::RegionOptions options{.prefault = true, .exclusive = true, .mode = 0644};
    if ((facts.st_mode & S_IROTH) == 0) {
        options.mode = 0640;
        options.group = facts.st_gid;
    }
    const auto pid = getpid();
    for (int i = 0; i < kMaxReadersPerProcess; ++i) {
        try {
            // The object of a dead process with this PID is reused; that of another user or of a live reader is not.
            auto region = memory::Region::file(object_path(ring_name, pid, i), sizeof(ReaderRecord), options);
            auto& record = *reinterpret_cast<ReaderRecord*>(region.data());
            record.magic.store(0, std::memory_order_release);  // sync "reader shown": read_object
            record.layout_version = kReaderLayoutVersion;
            const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(name);
            for (std::size_t k = 0; k < words.size(); ++k) record.name[k].store(words[k], std::memory_order_relaxed);
            record.epoch.store(epoch, std::memory_order_relaxed);
            record.next.store(0, std::memory_order_relaxed);
            record.missed.store(0, std::memory_order_relaxed);
            record.magic.store(kReaderMagic, std::memory_order_release);  // sync "reader shown": read_object
            return ReaderRegistration(std::move(region), pid);
        } catch (const memory::RegionError&) {
            continue;  // being listed is optional: a reader without an object works too
        }
    }
    return std::nullopt;
}

ReaderRegistration::ReaderRegistration(memory::Region region, int pid) noexcept
    : region_(std::move(region)), pid_(pid) {}

ReaderRegistration& ReaderRegistration::operator=(ReaderRegistration&& other) noexcept {
    std::swap(region_, other.region_);
    std::swap(pid_, other.pid_);
    return *this;
}

ReaderRegistration::~ReaderRegistration() {
    if (region_.size() == 0 || pid_ != getpid() || !region_.name_is_current()) return;
    unlink(region_.path().c_str());
}

}  // namespace millpond::market
