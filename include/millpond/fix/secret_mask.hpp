#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// Which values are secret: Password(554), NewPassword(925), EncryptedPassword(1402), EncryptedNewPassword(1404) and a
/// Logon's RawData(96) always, others by choice. And which fields may hold delimiters.
///
/// Threads: a value; built at start-up, then only read.
class SecretTags {
public:
    SecretTags() = default;
    explicit SecretTags(std::vector<Tag> more, const DataFields& data_fields = DataFields::standard())
        : more_(std::move(more)), data_fields_(data_fields) {}

    /// What is secret, or data, to one of both is so to this.
    void add(const SecretTags& other);

    [[nodiscard]] bool hides(Tag tag, bool in_logon) const noexcept;
    [[nodiscard]] const DataFields& data_fields() const noexcept { return data_fields_; }

private:
    std::vector<Tag> more_;
    DataFields data_fields_ = DataFields::standard();
};

/// Overwrites secret values in a stream of messages with '*', byte by byte, so that the length stays. A value may go on
/// in the next piece, and a data value may hold delimiters: its length field counts. Where the standard does not know
/// the pair of fields, a secret in the data is hidden as well: the other side may not know it either. CheckSum stays
/// that of the original.
///
/// Threads: one, which is also the one that may add to the tags between two pieces. Memory: only the tags'.
class SecretMask {
public:
    /// tags: must outlive this.
    explicit SecretMask(const SecretTags& tags) noexcept : tags_(&tags) {}

    /// The next bytes of the stream. Gives how many were overwritten.
    std::size_t hide(std::span<char> piece) noexcept;

    /// Bytes are missing in front of the next piece: all is hidden until a message begins.
    void on_loss() noexcept { place_ = Place::lost; }

private:
    enum class Place : std::uint8_t { tag, value, data, lost };

    [[nodiscard]] bool takes(char byte) noexcept;
    [[nodiscard]] bool takes_data(char byte) noexcept;
    void begin_value() noexcept;
    void end_value() noexcept;
    void apply_tags() noexcept;

    const SecretTags* tags_;
    Place place_{Place::tag};
    Tag tag_{0};
    bool tag_is_number_{true};
    bool hidden_{false};
    bool other_type_{false};  // the message is known not to be a Logon
    char type_{0};            // MsgType's first character
    std::uint64_t value_chars_{0};
    std::uint64_t number_{0};  // of the value, while it is one
    bool value_is_number_{true};
    Tag before_{0};  // the field before, whose value is a number: it may announce data
    std::uint64_t announced_bytes_{0};
    std::uint64_t data_left_{0};
    Tag tag_in_data_{0};  // as if the data were fields
    bool in_value_of_data_{false};
    bool hidden_in_data_{false};
    bool body_is_known_{false};
    std::uint64_t body_left_{0};
};

}  // namespace millpond::fix
