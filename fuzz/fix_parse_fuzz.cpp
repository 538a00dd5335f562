#include <vector>

#include <millpond/fix/parser.hpp>
#include <millpond/fix/writer.hpp>

#include "fuzz/fix_input.hpp"
#include "fuzz/fuzz_target.hpp"

/// Arbitrary bytes as fields: all results are bytes of the message, each field at its position. Every instruction set,
/// and a parser that has seen the layout before, give the same result.
MILLPOND_FUZZ_TARGET {
    using namespace millpond::fix;
    const auto message_bytes = framed("35=D\x01" + fields_of(input));
    const auto frame = next_frame(bytes_of(message_bytes), message_bytes.size());
    if (!frame) return;
    static std::vector<Parser> parsers = [] {
        std::vector<Parser> all;
        for (const auto set : {detail::InstructionSet::scalar, detail::InstructionSet::avx2,
                               detail::InstructionSet::avx512, detail::InstructionSet::avx512_vbmi2}) {
            Parser::Options options;
            options.instruction_set = set;
            if (detail::supported(set)) all.emplace_back(options);
        }
        return all;
    }();
    std::vector<Field> spill(message_bytes.size() / 3 + 1);
    std::vector<Field> first;
    for (std::size_t round = 0; round < 2 * parsers.size(); ++round) {
        const auto message = parsers[round % parsers.size()].parse(*frame, spill);
        if (!message) {
            require(round == 0 || first.empty(), "all code refuses the same messages");
            continue;
        }
        std::size_t end = 0;
        for (const auto& field : message->fields()) {
            require(field.offset > end && field.offset + field.length < message_bytes.size(), "fields lie in order");
            require(message_bytes[field.offset - 1] == '=', "a value begins behind '='");
            require(message_bytes[field.offset + field.length] == '\x01', "a value ends at a delimiter");
            end = field.offset + field.length;
            const auto* found = message->find(field.tag);
            require(found != nullptr && found <= &field && found->tag == field.tag, "find gives the first of a tag");
            static_cast<void>(message->decimal(field.tag));
            static_cast<void>(message->integer(field.tag));
            static_cast<void>(message->utc_timestamp_ns(field.tag));
        }
        require(end + 1 == message_bytes.size(), "fields leave nothing out");
        std::vector<Field> fields{message->fields().begin(), message->fields().end()};
        if (round == 0) {
            first = std::move(fields);
            continue;
        }
        require(first.size() == fields.size(), "all code finds as many fields");
        for (std::size_t i = 0; i < fields.size(); ++i) {
            require(first[i].tag == fields[i].tag && first[i].offset == fields[i].offset &&
                        first[i].length == fields[i].length,
                    "all code finds the same fields");
        }
    }
}
