#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <millpond/fix/application_versions.hpp>
#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/message.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/secret_mask.hpp>

namespace millpond::fixd {

/// Formats FIX messages: one line per message, one line per field with its name and the meaning of its value, the
/// fields of repeating groups indented, or one JSON object per line.
class FixPrinter {
public:
    enum class Form : std::uint8_t {
        one_line,
        fields,
        json,
        decoded,  ///< A JSON object: `type`, its `name`, `sequence`, `masked`, `fault`, `text`, and `fields`, each an
                  ///< array of tag, name, value, its meaning, and its depth in repeating groups.
    };

    /// dictionary: outlives this; null: the built-in names.
    FixPrinter(Form form, const fix::Dictionary* dictionary, fix::SecretTags secrets = {})
        : FixPrinter(form, dictionary == nullptr ? std::vector<const fix::Dictionary*>{} : std::vector{dictionary},
                     std::move(secrets)) {}
    /// dictionaries: one for each version. Chosen by the message's ApplVerID(1128), else by its sender's Logon, else by
    /// BeginString, else the first.
    FixPrinter(Form form, std::vector<const fix::Dictionary*> dictionaries, fix::SecretTags secrets = {})
        : form_(form),
          dictionaries_(std::move(dictionaries)),
          parser_(fix::Parser::Options{.data_fields = data_fields_of(dictionaries_)}),
          secrets_(std::move(secrets)) {
        if (!dictionaries_.empty()) dictionary_ = dictionaries_.front();
        secrets_.add(fix::SecretTags{{}, data_fields_of(dictionaries_)});
    }

    /// The message in `bytes` as text with a line end; secrets are hidden and marked. If the bytes are not a whole
    /// message, the error comes first, then the fields before it.
    [[nodiscard]] std::string text(std::string_view bytes);
    /// Likewise, with this dictionary.
    [[nodiscard]] std::string text(std::string_view bytes, const fix::Dictionary* dictionary);

    /// Parses a message as `text` does; nullopt if the bytes are not one. A CheckSum of the original values is accepted
    /// if values in the bytes are hidden.
    [[nodiscard]] std::optional<fix::Message> parse(std::string_view bytes);
    /// Whether the message parsed last has hidden values, so that its bytes differ from those on the wire.
    [[nodiscard]] bool was_masked() const noexcept { return masked_; }
    /// Whether `text` would hide a value of these bytes.
    [[nodiscard]] bool has_secrets(std::string_view bytes) const;
    /// Why the bytes parsed last were not a message.
    [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

private:
    [[nodiscard]] static fix::DataFields data_fields_of(const std::vector<const fix::Dictionary*>& dictionaries);
    [[nodiscard]] std::optional<fix::Message> parse_whole(std::string_view bytes);
    [[nodiscard]] std::string text_of(std::string_view bytes, const std::optional<fix::Message>& message);
    [[nodiscard]] const fix::Dictionary* dictionary_of(const fix::Message& message);
    [[nodiscard]] std::optional<fix::ApplicationVersion> version_of(const fix::Message& message);
    [[nodiscard]] const fix::Dictionary& built_in(std::string_view begin_string);
    /// Calls visit(field, depth, name, value, meaning) for each field.
    template <class Visitor>
    void visit_fields(const fix::Message& message, Visitor&& visit);
    [[nodiscard]] std::string fields_text(const fix::Message& message);
    [[nodiscard]] std::string decoded(const fix::Message& message, bool hidden);
    [[nodiscard]] std::string one_line(const fix::Message& message);
    [[nodiscard]] std::string_view field_name(fix::Tag tag, const fix::Dictionary& session) const;
    [[nodiscard]] std::string_view value_name(fix::Tag tag, std::string_view value) const;
    [[nodiscard]] std::string_view message_name(std::string_view type, const fix::Dictionary& session) const;

    Form form_;
    std::vector<const fix::Dictionary*> dictionaries_;
    const fix::Dictionary* dictionary_{nullptr};               // of the message that is printed
    std::map<std::string, fix::ApplicationVersions> senders_;  // versions in their Logons, by both CompIDs
    std::map<fix::Version, fix::Dictionary> built_in_;
    fix::Parser parser_;
    std::vector<fix::Field> spill_;
    std::string fault_;
    fix::SecretTags secrets_;
    bool masked_{false};
    std::string repaired_;  // a masked message with the CheckSum of its bytes
};

/// Makes bytes printable: the delimiter as '|', other control characters as '?'.
[[nodiscard]] std::string shown(std::string_view bytes);

}  // namespace millpond::fixd
