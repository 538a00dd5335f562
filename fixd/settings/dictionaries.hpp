#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/application_version.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/version.hpp>

#include "fixd/settings/session_settings.hpp"

namespace millpond::fixd {

/// Reads a dictionary in QuickFIX's format. Throws std::runtime_error that names the file.
[[nodiscard]] fix::Dictionary read_dictionary_file(const std::string& path);

/// Dictionaries by file, each read once, and the built-in ones.
class Dictionaries {
public:
    /// folder: empty: none.
    explicit Dictionaries(std::string folder) : folder_(std::move(folder)) {}

    struct Pair {
        const fix::Dictionary* session{nullptr};
        const fix::Dictionary* application{nullptr};  ///< Null: application messages pass unchecked.
    };
    /// The dictionaries of a session, which live as long as this. Throws std::runtime_error that names the file.
    [[nodiscard]] Pair of(const SessionSettings& session);
    /// The dictionaries of its further versions. Throws likewise.
    [[nodiscard]] std::vector<fix::ApplicationDictionary> further(const SessionSettings& session);
    /// Warnings about the dictionaries that were read, each with its file name.
    [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
    /// The files of all dictionaries of a session; empty where one has no file.
    [[nodiscard]] std::vector<std::string> files_of(const SessionSettings& session) const;

private:
    /// Paths; empty: no file.
    struct Files {
        std::string session;
        std::string application;
    };
    [[nodiscard]] Files paths_of(const SessionSettings& session) const;
    [[nodiscard]] std::string path_of(const FurtherVersion& further) const;
    [[nodiscard]] std::string in_folder(std::string_view name) const;
    [[nodiscard]] fix::Dictionary& file(const std::string& path);
    [[nodiscard]] const fix::Dictionary& built_in(fix::Version version);

    std::string folder_;
    std::map<std::string, fix::Dictionary> files_;
    std::map<fix::Version, fix::Dictionary> built_in_;
    std::vector<std::string> warnings_;
};

}  // namespace millpond::fixd
