#include "store_upgrade.hpp"

#include <cerrno>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/store_layout2.hpp>
#include <millpond/fix/store_reader.hpp>

namespace millpond::fix {
namespace {

bool is_layout2(const std::filesystem::path& path) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) return false;  // opening a pipe would wait
    std::ifstream file{path, std::ios::binary};
    std::uint64_t magic = 0;
    std::uint32_t version = 0;
    file.read(reinterpret_cast<char*>(&magic), sizeof magic);
    file.read(reinterpret_cast<char*>(&version), sizeof version);
    return file.good() && magic == kStoreMagic && version == Layout2Segment::kVersion;
}

/// Layout 2 had no identity: the newest message shows whose store it is.
void check_session(const StoreReader& store, const std::filesystem::path& path, const StoreIdentity& expected) {
    const auto newest = store.retrieve(store.next_sender() - 1);
    if (expected.empty() || !newest) return;
    const auto frame = next_frame(std::as_bytes(std::span{newest->data(), newest->size()}), newest->size());
    if (!frame) return;
    Parser parser;
    const auto message = parser.parse(*frame);
    if (!message) return;
    const StoreIdentity found{.begin_string = std::string{message->begin_string()},
                              .sender_comp_id = std::string{message->text(tag::kSenderCompId).value_or("")},
                              .target_comp_id = std::string{message->text(tag::kTargetCompId).value_or("")}};
    if (found.begin_string != expected.begin_string || found.sender_comp_id != expected.sender_comp_id ||
        found.target_comp_id != expected.target_comp_id) {
        throw std::invalid_argument(path.string() + " is the message store of the session " + found.name() +
                                    ", not of " + expected.name());
    }
}

void remove_chain(const std::filesystem::path& path) {
    for (std::size_t number = 0; number < FileStore::kMostSegments; ++number) {
        std::filesystem::remove(FileStore::segment_path(path, number));
    }
}

void copy(const StoreReader& from, const std::filesystem::path& path, FileStore::Options options) {
    options.identity = {};  // checked, and taken on when the store is opened
    FileStore to{path, from.creation_utc_ns(), options};
    from.visit(1, 0, [&](std::uint64_t sequence, std::string_view message) {
        if (to.next_sender() != sequence) to.set_next_sender(sequence);
        if (!to.store(message)) {
            throw std::invalid_argument(path.string() + " has no room for a message of " +
                                        std::to_string(message.size()) + " bytes");
        }
        to.mark_written(sequence);
        if (const auto error = to.maintain({})) throw std::system_error(error, path.string());
    });
    if (to.next_sender() != from.next_sender()) to.set_next_sender(from.next_sender());
    to.set_next_target(from.next_target());
    if (const auto error = to.sync()) throw std::system_error(error, path.string());
}

/// Waits until the disk has the names in the folder of this file.
void sync_folder(const std::filesystem::path& path) {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
    const core::Descriptor open{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!open) throw std::system_error(errno, std::system_category(), "cannot open " + folder.string());
    ::fsync(open.get());
}

/// The first file is renamed last: until then the old store is in force.
void put_in_place(const std::filesystem::path& made, const std::filesystem::path& path) {
    for (auto number = FileStore::kMostSegments - 1; number > 0; --number) {
        const auto file = FileStore::segment_path(made, number);
        const auto place = FileStore::segment_path(path, number);
        if (std::filesystem::exists(file)) {
            std::filesystem::rename(file, place);
        } else if (is_layout2(place)) {
            std::filesystem::remove(place);
        }
    }
    std::filesystem::rename(made, path);
}

}  // namespace

void upgrade_store(const std::filesystem::path& path, const FileStore::Options& options) {
    const std::filesystem::path made{path.string() + ".upgrade"};
    const std::filesystem::path complete{made.string() + ".complete"};
    if (!is_layout2(path)) {
        std::filesystem::remove(complete);
        return;
    }
    // Another engine may have it open.
    const auto owned = memory::Region::open_file(path, memory::Access::writable, {.exclusive = true});
    if (!std::filesystem::exists(complete) || !std::filesystem::exists(made)) {
        remove_chain(made);
        const StoreReader store{path};
        check_session(store, path, options.identity);
        try {
            copy(store, made, options);
        } catch (...) {
            remove_chain(made);
            throw;
        }
        sync_folder(path);
        if (!(std::ofstream{complete} << "1\n").flush()) {
            throw std::system_error(errno, std::system_category(), "cannot write " + complete.string());
        }
        sync_folder(path);
    }
    put_in_place(made, path);
    sync_folder(path);
    std::filesystem::remove(complete);
}

}  // namespace millpond::fix
