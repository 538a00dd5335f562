#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/tag.hpp>

namespace millpond::fix {

/// The fields with secret values: Password(554), NewPassword(925), EncryptedPassword(1402), EncryptedNewPassword(1404)
/// and a Logon's RawData(96) always, others by choice. Also the fields that may contain delimiters.
///
/// Threads: a value; built at start-up, then only read.
class SecretTags {
public:
    SecretTags() = default;
    explicit SecretTags(std::vector<Tag> more, const DataFields& data_fields = DataFields::standard())
        : more_(std::move(more)), data_fields_(data_fields) {}

    /// Adds the secret fields and data fields of `other`.
    void add(const SecretTags& other);

    [[nodiscard]] bool hides(Tag tag, bool in_logon) const noexcept;
    [[nodiscard]] const DataFields& data_fields() const noexcept { return data_fields_; }

private:
    std::vector<Tag> more_;
    DataFields data_fields_ = DataFields::standard();
};

/// Overwrites secret values in a stream of messages with '*', byte by byte, so that lengths are unchanged. A value may
/// continue in the next piece, and a data value may contain delimiters, by its length field. If the pair of fields is
/// not in the standard, a secret inside the data is masked too, since the peer may not know the pair either. CheckSum
/// stays that of the original.
///
/// Threads: one, which may also add tags between two pieces. Memory: only that of the tags.
class SecretMask {
public:
    /// tags: must outlive this.
    explicit SecretMask(const SecretTags& tags) noexcept : tags_(&tags) {}

    /// Masks the next bytes of the stream. Returns the number of overwritten bytes.
    std::size_t hide(std::span<char> piece) noexcept;

    /// Call if bytes before the next piece are missing: everything is masked until a message begins.
    void on_loss() noexcept { place_ = Place::lost; }

private:
    enum class Place : std::uint8_t { tag, value, data, lost };

    [[nodiscard]] bool advance(char byte) noexcept;
    [[nodiscard]] bool masks_data(char byte) noexcept;
    void begin_value() noexcept;
    void end_value() noexcept;
    void apply_tags() noexcept;

    const SecretTags* tags_;
    Place place_{Place::tag};
    Tag tag_{0};
    bool tag_is_number_{true};
    bool hidden_{false};
    bool other_type_{false};  // the message is not a Logon
    char type_{0};            // first character of MsgType
    std::uint64_t value_chars_{0};
    std::uint64_t number_{0};  // the numeric value so far
    bool value_is_number_{true};
    Tag before_{0};  // tag of the preceding field, if its value is a number: it may be a length field
    std::uint64_t announced_bytes_{0};
    std::uint64_t data_left_{0};
    Tag tag_in_data_{0};  // current tag inside data, if the data were fields
    bool in_value_of_data_{false};
    bool hidden_in_data_{false};
    bool body_is_known_{false};
    std::uint64_t body_left_{0};
};

}  // namespace millpond::fix
