#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <millpond/fix/application_version.hpp>
#include <millpond/fix/message.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// The application versions of a FIXT 1.1 session, each with its dictionary. Determines the version of a peer's
/// message: its ApplVerID(1128), else the version that the peer's Logon gives its MsgType, else the
/// DefaultApplVerID(1137) of that Logon.
///
/// A Logon gives a version to a MsgType in its group NoMsgTypes(384): an entry with RefApplVerID(1130) and
/// DefaultVerIndicator(1410) = Y, or the first entry of the MsgType if none has the indicator. Entries with
/// MsgDirection(385) = R concern messages that the peer receives.
///
/// Threads: one.
/// Memory:  4 KiB, allocated in the constructor; none without versions.
/// Source:  FIX Session Layer, technical specification, "FIXT session profile".
class ApplicationVersions {
public:
    static constexpr std::size_t kMaxTypes = 256;    ///< Message types to which a Logon may give a version.
    static constexpr std::size_t kMaxTypeChars = 8;  ///< Maximum length of each.

    /// Fault in a Logon.
    enum class Fault : std::uint8_t {
        none,
        unknown_default,  ///< DefaultApplVerID is missing or not a version of the session.
        too_many_types,   ///< More than kMaxTypes.
        type_too_long,    ///< Longer than kMaxTypeChars.
    };

    /// Without versions: for sessions below FIXT 1.1.
    ApplicationVersions() noexcept = default;
    /// usual: default version of our Logon, and of the peer until its Logon. The dictionaries must outlive this.
    ApplicationVersions(const ApplicationDictionary& usual, std::span<const ApplicationDictionary> further);

    [[nodiscard]] bool has(ApplicationVersion version) const noexcept {
        return (known_ >> static_cast<unsigned>(version) & 1U) != 0;
    }
    /// Returns nullptr if the version has no dictionary.
    [[nodiscard]] const Dictionary* dictionary(ApplicationVersion version) const noexcept {
        return dictionaries_[static_cast<std::size_t>(version)];
    }
    /// Version of our messages without ApplVerID(1128).
    [[nodiscard]] ApplicationVersion usual() const noexcept { return usual_; }

    /// Version of an application message from the peer; nullopt if the session does not support it.
    [[nodiscard]] std::optional<ApplicationVersion> of(const Message& message) const noexcept;

    /// Reads the versions in the peer's Logon, which replace those of an earlier one. After a fault MsgTypes have no
    /// versions.
    [[nodiscard]] Fault learn(const Message& logon) noexcept;

private:
    struct Entry;
    struct Typed {
        std::uint64_t type{0};
        ApplicationVersion version{};  // not in known_ if the session does not support it
        bool is_indicated{false};      // the entry has DefaultVerIndicator
    };

    [[nodiscard]] std::optional<ApplicationVersion> if_known(std::optional<ApplicationVersion> version) const noexcept {
        return version && has(*version) ? version : std::nullopt;
    }
    [[nodiscard]] std::optional<ApplicationVersion> of_type(std::string_view msg_type) const noexcept;
    [[nodiscard]] Fault add(const Entry& entry) noexcept;

    std::array<const Dictionary*, static_cast<std::size_t>(ApplicationVersion::latest) + 1> dictionaries_{};
    std::uint16_t known_{0};  // one bit for each version
    ApplicationVersion usual_{};
    ApplicationVersion peer_usual_{};
    std::size_t types_used_{0};
    std::vector<Typed> types_;  // by ascending type
};

inline std::optional<ApplicationVersion> ApplicationVersions::of(const Message& message) const noexcept {
    if (const auto id = message.text(tag::kApplVerId)) return if_known(application_version_of(*id));
    return types_used_ == 0 ? if_known(peer_usual_) : of_type(message.msg_type());
}

}  // namespace millpond::fix
