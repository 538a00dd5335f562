#include "bench/fix/parse.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <millpond/fix/dictionary_xml.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/validator.hpp>

#include "bench/fix/one_pass.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/timing.hpp"

namespace millpond::bench {
namespace {

constexpr std::size_t kPasses = 300;

std::uint64_t digest(const fix::Message& message, const WantedField& wanted) {
    const auto tag = static_cast<fix::Tag>(wanted.tag);
    switch (wanted.kind) {
        case WantedField::text: {
            const auto text = message.text(tag).value_or("");
            return digest_text(text.data(), text.size());
        }
        case WantedField::integer: return message.unsigned_integer(tag).value_or(0);
        case WantedField::decimal: {
            const auto value = message.decimal(tag);
            return static_cast<std::uint64_t>(value ? fix::scaled(*value, 4).value_or(0) : 0);
        }
        case WantedField::character: return static_cast<unsigned char>(message.character(tag).value_or('\0'));
    }
    return 0;
}

/// validator: compares every message with a dictionary; may be null. set: the code that scans the bytes.
Finding read_with_parser(const FixStream& stream, std::span<const WantedField> wanted,
                         fix::Validator* validator = nullptr,
                         fix::detail::InstructionSet set = fix::detail::best_supported()) {
    fix::Parser::Options options;
    options.instruction_set = set;
    fix::Parser parser{options};
    std::uint64_t answer = 0;
    const auto nanos = typical_nanos_each(scaled(kPasses), kFixMessages, [&] {
        std::uint64_t sum = 0;
        auto rest = stream.bytes();
        while (const auto frame = fix::next_frame(rest)) {
            const auto message = parser.parse(*frame);
            if (!message || (validator != nullptr && validator->check(*message))) {
                throw std::runtime_error("a message was refused");
            }
            for (const auto& field : wanted) sum += digest(*message, field);
            rest = rest.subspan(frame->bytes.size());
        }
        answer = sum;
    });
    return {.value = nanos, .answer = answer};
}

/// The answer for messages without groups, by a search for each field.
std::uint64_t searched(const std::vector<std::string>& messages, std::span<const WantedField> wanted) {
    std::uint64_t sum = 0;
    for (const auto& message : messages) {
        for (const auto& field : wanted) {
            const auto name = '\x01' + std::to_string(field.tag) + '=';
            const auto begin = message.find(name) + name.size();
            const auto value = message.substr(begin, message.find('\x01', begin) - begin);
            switch (field.kind) {
                case WantedField::text: sum += digest_text(value.data(), value.size()); break;
                case WantedField::integer: sum += std::stoull(value); break;
                case WantedField::decimal:
                    sum += static_cast<std::uint64_t>(std::llround(std::stod(value) * 1e4));
                    break;
                case WantedField::character: sum += static_cast<unsigned char>(value.front()); break;
            }
        }
    }
    return sum;
}

/// Finds all fields and reads none of them. Returns the expected answer if all were found.
Finding read_in_one_pass(const std::vector<std::string>& messages, std::uint64_t answer) {
    struct Place {
        std::size_t begin;
        std::size_t size;
    };
    std::string bytes;
    std::vector<Place> places;
    OnePass expected;
    for (const auto& message : messages) {
        places.push_back({bytes.size(), message.size()});
        bytes += message;
        expected.delimiters += static_cast<std::uint64_t>(std::ranges::count(message, '\x01'));
        expected.equals += static_cast<std::uint64_t>(std::ranges::count(message, '='));
        for (const char c : message) expected.sum += static_cast<unsigned char>(c);
    }
    bytes.append(64, '\0');
    bool right = true;
    const auto nanos = typical_nanos_each(scaled(kPasses), messages.size(), [&] {
        OnePass all;
        for (const auto& place : places) {
            auto one = one_pass(bytes.data() + place.begin, place.size);
            keep(one);
            all.delimiters += one.delimiters;
            all.equals += one.equals;
            all.sum += one.sum;
        }
        right =
            right && all.delimiters == expected.delimiters && all.equals == expected.equals && all.sum == expected.sum;
    });
    return {.value = nanos, .answer = right ? answer : 0};
}

#if defined(MILLPOND_RIVAL_QUICKFIX)
fix::Dictionary read_dictionary(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return fix::read_dictionary(std::string{std::istreambuf_iterator<char>(file), {}});
}

Finding read_with_quickfix(QuickfixCodec::Checks checks, const std::vector<std::string>& messages,
                           std::span<const WantedField> wanted) {
    QuickfixCodec codec;
    std::uint64_t answer = 0;
    const auto nanos = typical_nanos_each(scaled(5), messages.size(), [&] {
        std::uint64_t sum = 0;
        for (const auto& message : messages)
            sum += codec.read(checks, message.data(), message.size(), wanted.data(), wanted.size());
        answer = sum;
    });
    return {.value = nanos, .answer = answer};
}
#endif

}  // namespace

void ask_parse(const FixInput& input, std::span<const WantedField> wanted, double at_most) {
    const std::string limit = kOnePassName;
    const std::string usual = "Parser, fields in the usual order";
    const std::string widths = "Parser, the same with values of many widths";
    const std::string any_order = "Parser, fields in any order";
    const std::string without = "QuickFIX without dictionary";
    const FixStream stream{input.usual};
    const FixStream varied{input.widths};
    const FixStream shuffled{input.any_order};
    const auto answer = read_with_parser(stream, wanted).answer;
    std::size_t bytes = 0;
    for (const auto& message : input.usual) bytes += message.size();
    Question question{.question = "What does reading a " + std::string{input.name} + " of " +
                                  std::to_string((bytes + input.usual.size() / 2) / input.usual.size()) +
                                  " bytes cost?",
                      .unit = "ns/message",
                      .goals = {{.contender = usual, .to = limit, .at_most = at_most}},
                      .measured = "a stream in cache: framing, BodyLength and CheckSum compared, all fields found, " +
                                  std::to_string(wanted.size()) + " of them read as what they are",
                      .not_measured = "the comparison with a dictionary, but in the rows that name it"};
    std::vector<Contender> contenders{
        {limit, [&] { return read_in_one_pass(input.usual, answer); }},
        {usual, [&] { return read_with_parser(stream, wanted); }},
    };
    if (!input.widths.empty()) {
        // These messages have another answer: the common one is returned if it is right.
        contenders.push_back({widths, [&, right = searched(input.widths, wanted)] {
                                  auto finding = read_with_parser(varied, wanted);
                                  finding.answer = finding.answer == right ? answer : 0;
                                  return finding;
                              }});
        question.goals.push_back({.contender = widths, .to = limit, .at_most = 9.0});
    }
    if (!input.any_order.empty()) {
        contenders.push_back({any_order, [&] { return read_with_parser(shuffled, wanted); }});
        question.goals.push_back({.contender = any_order, .to = limit, .at_most = 12.0});
        using Set = fix::detail::InstructionSet;
        for (const auto& [set, name] : {std::pair{Set::avx2, ", AVX2"}, std::pair{Set::avx512, ", AVX-512 F and BW"}}) {
            if (fix::detail::best_supported() <= set) continue;
            contenders.push_back(
                {any_order + name, [&, set = set] { return read_with_parser(shuffled, wanted, nullptr, set); }});
        }
    }
#if defined(MILLPOND_RIVAL_QUICKFIX)
    const auto dictionary = read_dictionary(MILLPOND_RIVAL_DICTIONARY);
    contenders.push_back({"Parser and Validator", [&] {
                              fix::Validator validator{dictionary, &dictionary, {}};
                              return read_with_parser(stream, wanted, &validator);
                          }});
    using Checks = QuickfixCodec::Checks;
    if (std::ranges::none_of(wanted, &WantedField::of_first_entry)) {
        contenders.push_back({without, [&] { return read_with_quickfix(Checks::none, input.usual, wanted); }});
        question.goals.push_back({.contender = without, .to = usual, .at_least = 25});
    } else {
        question.not_measured += "; QuickFIX without dictionary, which finds no groups";
    }
    contenders.push_back(
        {"QuickFIX with its dictionary", [&] { return read_with_quickfix(Checks::dictionary, input.usual, wanted); }});
#else
    question.not_measured += "; QuickFIX is not installed here";
#endif
    compare(question, contenders);
}

}  // namespace millpond::bench
