#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <millpond/fix/secret_mask.hpp>

#include "tests/fix/messages.hpp"

namespace millpond::fix {
namespace {

/// The masked stream when it arrives in pieces of this size.
std::string shown(std::string_view stream, std::size_t piece_bytes, const SecretTags& tags = {}) {
    SecretMask mask{tags};
    std::string text{stream};
    for (std::size_t at = 0; at < text.size(); at += piece_bytes) {
        mask.hide(std::span{text}.subspan(at, std::min(piece_bytes, text.size() - at)));
    }
    return readable(text);
}

const std::string kLogon =
    message_of("FIX.4.4", "35=A|34=1|49=A|56=B|98=0|108=30|95=7|96=p|554=x|553=me|554=secret|925=next|");

TEST(SecretMask, PasswordsAndTheRawDataOfALogonAreHiddenAndTheLengthStays) {
    const auto text = shown(kLogon, kLogon.size());
    EXPECT_EQ(text.size(), kLogon.size());
    EXPECT_NE(text.find("|95=7|96=*******|553=me|554=******|925=****|10="), std::string::npos) << text;
}

TEST(SecretMask, WhereverTheStreamIsCutTheSameIsHidden) {
    const auto stream = kLogon + message_of("FIX.4.4", "35=D|34=2|95=5|96=|554=|11=x|") + kLogon;
    const auto whole = shown(stream, stream.size());
    for (std::size_t bytes = 1; bytes < 40; ++bytes) EXPECT_EQ(shown(stream, bytes), whole) << bytes;
}

TEST(SecretMask, OtherMessagesKeepTheirRawData) {
    const auto order = message_of("FIX.4.4", "35=D|34=2|95=5|96=|554=|11=x|");
    EXPECT_EQ(shown(order, order.size()), readable(order));
}

TEST(SecretMask, FurtherTagsAreHidden) {
    const auto order = message_of("FIX.4.4", "35=D|34=2|1=account|11=x|");
    EXPECT_NE(shown(order, 3, SecretTags{{1, 11}}).find("|1=*******|11=*|"), std::string::npos);
}

TEST(SecretMask, ALengthThatIsWrongHidesNoOtherMessage) {
    const std::string hostile = delimited("8=FIX.4.4|9=30|35=A|95=900000|96=secret|10=000|");
    const auto order = message_of("FIX.4.4", "35=D|34=2|11=x|");
    const auto text = shown(hostile + order, 1000);
    EXPECT_EQ(text, "8=FIX.4.4|9=30|35=A|95=900000|96=******|10=000|" + readable(order));
    // A length that is too short does not show the rest.
    EXPECT_NE(shown(delimited("8=FIX.4.4|9=30|35=A|95=2|96=secret|10=000|"), 1000).find("96=******|"),
              std::string::npos);
}

TEST(SecretMask, PairsOfADictionaryMayHoldDelimiters) {
    DataFields pairs = DataFields::standard();
    ASSERT_TRUE(pairs.add(5001, 5002));
    SecretTags tags{{5002}};
    tags.add(SecretTags{{}, pairs});
    const auto stream = delimited("8=FIX.4.4|9=60|35=A|5001=8|5002=ab|58=cd|553=me|10=000|");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
        EXPECT_EQ(shown(stream, piece, tags), "8=FIX.4.4|9=60|35=A|5001=8|5002=********|553=me|10=000|");
    }
    EXPECT_NE(shown(stream, 7, SecretTags{{}, pairs}).find("|5002=ab|58=cd|"), std::string::npos);
}

TEST(SecretMask, APairThatOnlyOneSessionKnowsShowsNoSecretOfAnother) {
    DataFields pairs = DataFields::standard();
    ASSERT_TRUE(pairs.add(5001, 5002));
    const SecretTags tags{{}, pairs};
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
        EXPECT_EQ(shown(delimited("8=FIX.4.4|9=60|35=A|5001=14|5002=ab|554=secret|553=me|10=000|"), piece, tags),
                  "8=FIX.4.4|9=60|35=A|5001=14|5002=ab|554=******|553=me|10=000|");
        EXPECT_EQ(shown(delimited("8=FIX.4.4|9=60|35=A|5001=8|5002=ab|554=secret|553=me|10=000|"), piece, tags),
                  "8=FIX.4.4|9=60|35=A|5001=8|5002=ab|554=******|553=me|10=000|");
        EXPECT_EQ(shown(delimited("8=FIX.4.4|9=60|35=A|5001=5|5002=ab|554=secret|553=me|10=000|"), piece, tags),
                  "8=FIX.4.4|9=60|35=A|5001=5|5002=ab|554=******|553=me|10=000|");
    }
}

TEST(SecretMask, ATagThatBecomesSecretInTheMiddleOfAMessageIsHiddenFromThereOn) {
    DataFields pairs = DataFields::standard();
    ASSERT_TRUE(pairs.add(9406, 9407));
    const auto logon = delimited("8=FIX.4.4|9=60|35=A|9406=7|9407=ab|cdef|9408=key|10=000|");
    const std::string shown_whole = "8=FIX.4.4|9=60|35=A|9406=7|9407=*******|9408=***|10=000|";
    const auto delimiter = logon.find(
        "\x01"
        "cdef");
    for (std::size_t cut = 1; cut < logon.size(); ++cut) {
        if (cut > delimiter && cut < delimiter + 6) continue;  // without the pair, the delimiter has ended the value
        SecretTags tags;
        SecretMask mask{tags};
        std::string text = logon;
        mask.hide(std::span{text}.first(cut));
        tags.add(SecretTags{{9407, 9408}, pairs});
        mask.hide(std::span{text}.subspan(cut));
        EXPECT_EQ(readable(text), readable(logon).substr(0, cut) + shown_whole.substr(cut)) << cut;
    }
}

TEST(SecretMask, AfterALossAllIsHiddenUntilAMessageBegins) {
    const SecretTags tags;
    SecretMask mask{tags};
    std::string first = delimited("8=FIX.4.4|9=60|35=A|554=sec");
    mask.hide(first);
    mask.on_loss();
    std::string second = delimited("ret|10=000|") + kLogon;
    EXPECT_GT(mask.hide(second), 11U);
    EXPECT_TRUE(second.starts_with("***********8=FIX.4.4")) << readable(second);
    EXPECT_EQ(second.find("secret"), std::string::npos);
}

TEST(SecretMask, APasswordInFrontOfTheMessageTypeIsHidden) {
    EXPECT_EQ(shown(delimited("8=FIX.4.4|9=5|554=secret|95=3|96=abc|35=A|"), 7),
              "8=FIX.4.4|9=5|554=******|95=3|96=***|35=A|");
}

TEST(SecretMask, EncryptedPasswordsAreHiddenWithTheirDelimitersAndKeepTheirLengths) {
    // The third byte of each value is a delimiter.
    const auto logon = delimited("8=FIXT.1.1|9=60|35=A|1401=6|1402=ab|def|1403=4|1404=gh|j|553=user|10=000|");
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, logon.size()}) {
        EXPECT_EQ(shown(logon, piece), "8=FIXT.1.1|9=60|35=A|1401=6|1402=******|1403=4|1404=****|553=user|10=000|");
    }
}

}  // namespace
}  // namespace millpond::fix
