#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <millpond/engine/initiator.hpp>
#include <millpond/engine/session_options.hpp>
#include <millpond/fix/application_version.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/secret_mask.hpp>

#include "fixd/sessions/session_settings.hpp"

/// From settings to what the engine takes.
namespace millpond::fixd {

/// Dictionaries by file, each read once, and the built-in ones.
class Dictionaries {
public:
    /// folder: empty where there is none.
    explicit Dictionaries(std::string folder) : folder_(std::move(folder)) {}

    struct Pair {
        const fix::Dictionary* session{nullptr};
        const fix::Dictionary* application{nullptr};  ///< Null: application messages pass unchecked.
    };
    /// Those of a session. They live as long as this. Throws std::runtime_error that names the file.
    [[nodiscard]] Pair of(const SessionSettings& session);
    /// Those of its further versions, likewise.
    [[nodiscard]] std::vector<fix::ApplicationDictionary> further(const SessionSettings& session);

private:
    [[nodiscard]] std::string in_folder(std::string_view name) const;
    [[nodiscard]] fix::Dictionary& file(const std::string& path);
    [[nodiscard]] const fix::Dictionary& built_in(fix::Version version);

    std::string folder_;
    std::map<std::string, fix::Dictionary> files_;
    std::map<fix::Version, fix::Dictionary> built_in_;
};

[[nodiscard]] fix::Version session_version(FixVersion version) noexcept;
[[nodiscard]] fix::ApplicationVersion application_version(FixVersion version) noexcept;

/// "FIX.4.4:HOUSE->DESK", as the engine names it.
[[nodiscard]] std::string session_name(const SessionSettings& settings);

/// The fields of its messages whose values come from a file or the environment.
[[nodiscard]] std::vector<fix::Tag> secret_tags(const SessionSettings& settings);
/// These, and the data fields that its dictionaries have.
[[nodiscard]] fix::SecretTags secrets_of(const SessionSettings& settings, const engine::SessionOptions& options);

/// Reads every secret and TLS file that the session names. Throws settings::ConfigError or std::runtime_error.
void check_files(const SessionSettings& settings, const engine::SessionOptions& options);

/// Throws settings::ConfigError: a password that cannot be read.
[[nodiscard]] engine::SessionOptions session_options(const SessionSettings& settings, Dictionaries& dictionaries);
[[nodiscard]] engine::Initiator::Options initiator_options(const SessionSettings& settings);

}  // namespace millpond::fixd
