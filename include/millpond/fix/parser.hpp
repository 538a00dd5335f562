#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include <millpond/fix/data_fields.hpp>
#include <millpond/fix/detail/delimiter_scan.hpp>
#include <millpond/fix/detail/field_index.hpp>
#include <millpond/fix/detail/field_layout.hpp>
#include <millpond/fix/detail/tag_cache.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/message.hpp>

namespace millpond::fix {

/// Turns a frame into a Message: one pass over the bytes finds all fields and checks CheckSum. Any tag, any number of
/// fields, '=' in values; data fields end where their length field says. Remembers the layout of the last message of a
/// few types, which spares the next one the reading of its tags.
///
/// Threads: one; each connection has its own.
/// Memory:  kFields fields and kLayouts layouts (about 250 KiB), taken once from `memory`. Fields beyond go to `spill`.
class Parser {
public:
    static constexpr std::size_t kFields = 512;
    static constexpr std::size_t kLayouts = 16;

    struct Options {
        DataFields data_fields = DataFields::standard();
        /// Which code scans the bytes; the results are the same. The caller has asked detail::supported.
        detail::InstructionSet instruction_set = detail::best_supported();
        std::pmr::memory_resource* memory = std::pmr::get_default_resource();
    };
    Parser() : Parser(Options{}) {}
    explicit Parser(const Options& options);

    /// Views into `frame` and into this parser, valid until it parses again. `spill`: room for all fields of a message
    /// that has more than kFields; where it is too small too, the error is too_many_fields and nothing is lost: a field
    /// takes three bytes of the message at least.
    [[nodiscard]] std::expected<Message, FrameError> parse(const Frame& frame, std::span<Field> spill = {}) noexcept;

private:
    struct Cursor;

    // The usual message: in one piece, no data fields, no tag that is no number.
    [[nodiscard]] std::optional<Message> read_in_place(const Frame& frame, detail::FieldLayout& layout,
                                                       std::uint32_t& sum) noexcept;
    [[nodiscard]] bool may_be_remembered(const char* data, std::uint32_t count,
                                         const detail::FieldLayout& layout) const noexcept;
    [[nodiscard]] bool read_as_remembered(const char* data, std::uint32_t count,
                                          const detail::FieldLayout& layout) noexcept;
    [[nodiscard]] bool read_in_any_order(const char* data, std::uint32_t count) noexcept;
    [[nodiscard]] Tag new_tag(std::uint64_t word, std::uint32_t length) const noexcept;
    void remember(const char* data, std::uint32_t count, detail::FieldLayout& layout) noexcept;

    // Any message.
    [[nodiscard]] std::expected<Message, FrameError> parse_any(const Frame& frame, std::span<Field> spill) noexcept;
    [[nodiscard]] FrameError scan_fields(Cursor& cursor) noexcept;
    [[nodiscard]] FrameError take_field(Cursor& cursor, std::size_t end) noexcept;
    [[nodiscard]] bool grow(Cursor& cursor) noexcept;

    DataFields data_fields_;
    detail::ScanFunction scan_;
    detail::ListFunction list_;
    detail::CompareFunction compare_;
    std::pmr::vector<Field> fields_;
    std::pmr::vector<detail::FieldLayout> layouts_;
    detail::FieldIndex index_;  // of the newest message, where its layout is not a remembered one
    detail::TagCache tags_;
    detail::DelimiterPlaces ends_;
    detail::DelimiterMasks masks_;
};

}  // namespace millpond::fix
