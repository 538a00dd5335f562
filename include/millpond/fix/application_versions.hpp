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

/// The application versions that a FIXT 1.1 session carries, each with its dictionary, and which of them a message of
/// the peer has: the one in its ApplVerID(1128), else the one that the peer's Logon gives to its MsgType, else the
/// DefaultApplVerID(1137) of that Logon.
///
/// A Logon gives a version to a MsgType in its group NoMsgTypes(384): an entry with RefApplVerID(1130) and
/// DefaultVerIndicator(1410) = Y, or the first entry of the MsgType where none has the indicator. Entries with
/// MsgDirection(385) = R are about what the peer receives.
///
/// Threads: one.
/// Memory:  4 KiB, taken in the constructor; none without versions.
/// Source:  FIX Session Layer, technical specification, "FIXT session profile".
class ApplicationVersions {
public:
    static constexpr std::size_t kMostTypes = 256;    ///< Message types to which a Logon may give a version.
    static constexpr std::size_t kMostTypeChars = 8;  ///< Of each of them.

    /// What is wrong with a Logon.
    enum class Fault : std::uint8_t {
        none,
        unknown_default,  ///< DefaultApplVerID is missing or none of the session's versions.
        too_many_types,   ///< More than kMostTypes.
        type_too_long,    ///< More than kMostTypeChars.
    };

    /// None: below FIXT 1.1.
    ApplicationVersions() noexcept = default;
    /// usual: that of our own Logon, and of the peer's until there is one. The dictionaries must outlive this.
    ApplicationVersions(const ApplicationDictionary& usual, std::span<const ApplicationDictionary> further);

    [[nodiscard]] bool has(ApplicationVersion version) const noexcept {
        return (known_ >> static_cast<unsigned>(version) & 1U) != 0;
    }
    /// Null where there is none.
    [[nodiscard]] const Dictionary* dictionary(ApplicationVersion version) const noexcept {
        return dictionaries_[static_cast<std::size_t>(version)];
    }
    /// Of our own messages without ApplVerID(1128).
    [[nodiscard]] ApplicationVersion usual() const noexcept { return usual_; }

    /// The version of an application message from the peer. Nothing when the session does not carry it.
    [[nodiscard]] std::optional<ApplicationVersion> of(const Message& message) const noexcept;

    /// Takes what the peer's Logon says of versions, in place of what an earlier one said. After a fault MsgTypes have
    /// no versions.
    [[nodiscard]] Fault learn(const Message& logon) noexcept;

private:
    struct Entry;
    struct Typed {
        std::uint64_t type{0};
        ApplicationVersion version{};  // none of known_ where the session does not carry it
        bool is_indicated{false};      // by DefaultVerIndicator
    };

    [[nodiscard]] std::optional<ApplicationVersion> if_known(std::optional<ApplicationVersion> version) const noexcept {
        return version && has(*version) ? version : std::nullopt;
    }
    [[nodiscard]] std::optional<ApplicationVersion> of_type(std::string_view msg_type) const noexcept;
    [[nodiscard]] Fault add(const Entry& entry) noexcept;

    std::array<const Dictionary*, static_cast<std::size_t>(ApplicationVersion::latest) + 1> dictionaries_{};
    std::uint16_t known_{0};  // a bit a version
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
