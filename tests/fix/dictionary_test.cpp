#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <millpond/fix/dictionary.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/validator.hpp>

#include "tests/fix/messages.hpp"
#include "tests/fix/small_dictionary.hpp"
#include "tests/support/allocation_counter.hpp"

namespace millpond::fix {
namespace {

constexpr const char* kHeader = "|34=2|49=A|52=20240102-03:04:05|56=B|";

class DictionaryCheck : public testing::Test {
protected:
    /// "reason tag" of the first error, or "" if the message is valid.
    std::string wrong_with(std::string_view type, std::string_view body, Validator::Options options = {}) {
        return wrong_with_whole("35=" + std::string{type} + kHeader + std::string{body}, options);
    }
    std::string wrong_with_whole(const std::string& fields, Validator::Options options = {}) {
        bytes_ = message_of("FIX.4.4", fields);
        const auto frame = next_frame(bytes_of(bytes_));
        if (!frame) return std::string{name(frame.error().error)};
        const auto message = parser_.parse(*frame);
        if (!message) return std::string{name(message.error())};
        Validator validator{dictionary_, &dictionary_, options};
        const auto rejection = validator.check(*message);
        if (!rejection) return "";
        EXPECT_FALSE(text(rejection->reason).empty());
        return std::to_string(static_cast<int>(rejection->reason)) + " " + std::string{rejection->tag_text};
    }

    Dictionary dictionary_ = small_dictionary();
    Parser parser_;
    std::string bytes_;
};

TEST_F(DictionaryCheck, AMessageThatIsAsItShouldBePasses) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|38=002000.00|18=1 G|60=20240102-03:04:05.678|"), "");
    EXPECT_EQ(wrong_with("0", ""), "");
    EXPECT_EQ(wrong_with("0", "112=x|"), "");
    EXPECT_EQ(wrong_with("A", "98=0|108=30|384=2|372=D|385=S|372=8|385=R|"), "");
}

TEST_F(DictionaryCheck, AnUnknownMsgTypeIsRejectedWithReason11) { EXPECT_EQ(wrong_with("*", ""), "11 "); }

TEST_F(DictionaryCheck, ATagThatNoFieldHasIsRejectedWithReason0) {
    EXPECT_EQ(wrong_with("0", "999=HI|"), "0 999");
    EXPECT_EQ(wrong_with("0", "0=HI|"), "0 0");
    EXPECT_EQ(wrong_with("0", "-1=HI|"), "0 -1");
    EXPECT_EQ(wrong_with("0", "5000=HI|"), "0 5000");
    EXPECT_EQ(wrong_with("0", "5000=HI|", {.user_fields_are_known = false}), "");
    EXPECT_EQ(wrong_with("0", "4999=HI|", {.user_fields_are_known = false}), "0 4999");
}

TEST_F(DictionaryCheck, AMissingRequiredFieldIsRejectedWithReason1) {
    EXPECT_EQ(wrong_with("D", "11=a|"), "1 40");
    EXPECT_EQ(wrong_with("D", ""), "1 11");
    EXPECT_EQ(wrong_with_whole("35=0|34=2|49=A|52=20240102-03:04:05|"), "1 56");
    EXPECT_EQ(wrong_with("1", ""), "1 112");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=1|448=x|"), "1 452");
}

TEST_F(DictionaryCheck, AFieldOfAnotherMessageIsRejectedWithReason2) {
    EXPECT_EQ(wrong_with("0", "55=MSFT|"), "2 55");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|448=x|"), "2 448");
}

TEST_F(DictionaryCheck, AFieldWithoutValueIsRejectedWithReason4UnlessAllowed) {
    EXPECT_EQ(wrong_with("D", "11=|40=1|"), "4 11");
    EXPECT_EQ(wrong_with("D", "11=|40=1|", {.fields_have_values = false}), "");
    EXPECT_EQ(wrong_with_whole("35=0|34=2|49=A|52=20240102-03:04:05|56=|"), "4 56");
}

TEST_F(DictionaryCheck, AValueOutsideTheListIsRejectedWithReason5) {
    EXPECT_EQ(wrong_with("D", "11=a|40=w|"), "5 40");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|18=1 3|"), "5 18");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|18=1  2|"), "5 18");
}

TEST_F(DictionaryCheck, AValueOfTheWrongFormIsRejectedWithReason6) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|38=+200.00|"), "6 38");
    EXPECT_EQ(wrong_with("D", "11=a|40=12|"), "6 40");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|60=20240102|"), "6 60");
    EXPECT_EQ(wrong_with("A", "98=x|108=30|"), "6 98");
    EXPECT_EQ(wrong_with("A", "98=0|108=30|141=y|"), "6 141");
}

TEST_F(DictionaryCheck, ARepeatedTagIsRejectedWithReason13) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|40=2|"), "13 40");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=1|448=x|452=1|452=2|"), "13 452");
    EXPECT_EQ(wrong_with_whole("35=0|34=2|34=3|49=A|52=20240102-03:04:05|56=B|"), "13 34");
}

TEST_F(DictionaryCheck, HeaderFieldsInTheBodyAreRejectedWithReason14) {
    EXPECT_EQ(wrong_with_whole("35=D|11=id|40=1|34=2|49=A|52=20240102-03:04:05|56=B|"), "14 34");
    EXPECT_EQ(wrong_with_whole("35=D|11=id|40=1|34=2|49=A|52=20240102-03:04:05|56=B|", {.fields_are_in_order = false}),
              "");
    EXPECT_EQ(wrong_with("D", "11=a|93=1|89=x|40=1|"), "14 40");
}

TEST_F(DictionaryCheck, AGroupThatBeginsWithAnotherFieldIsRejectedWithReason15) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=1|452=1|448=x|"), "15 452");
}

TEST_F(DictionaryCheck, AGroupCountThatIsNotTheNumberOfInstancesIsRejectedWithReason16) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=3|448=x|452=1|448=y|452=2|"), "16 453");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=1|448=x|452=1|448=y|452=2|"), "16 453");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=1|"), "16 453");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=0|448=x|452=1|"), "16 453");
}

TEST_F(DictionaryCheck, AWrongGroupCountIsReportedBeforeErrorsInTheInstances) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=3|448=x|452=?|448=y|"), "16 453");
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=2|448=x|452=?|448=y|452=1|"), "6 452");
}

TEST_F(DictionaryCheck, GroupsMayNestAndMayBeEmpty) {
    EXPECT_EQ(wrong_with("D", "11=a|40=1|453=0|58=t|"), "");
    EXPECT_EQ(wrong_with("D", "11=a|453=2|448=x|452=1|802=2|523=s|523=t|448=y|452=2|40=1|"), "");
    EXPECT_EQ(wrong_with("D", "11=a|453=2|448=x|452=1|802=3|523=s|523=t|448=y|452=2|40=1|"), "16 802");
    EXPECT_EQ(wrong_with("D", "11=a|453=2|448=x|452=1|802=1|523=s|448=y|452=2|802=0|40=1|"), "");
}

TEST_F(DictionaryCheck, HopsInTheHeaderAreAGroup) {
    EXPECT_EQ(wrong_with_whole("35=0|34=2|49=A|52=20240102-03:04:05|56=B|627=2|628=x|628=y|630=5|"), "");
    EXPECT_EQ(wrong_with_whole("35=0|34=2|49=A|52=20240102-03:04:05|56=B|627=2|628=x|"), "16 627");
}

TEST_F(DictionaryCheck, TheSessionLevelAloneChecksOnlySessionMessages) {
    dictionary_ = Dictionary::session_level(Version::fix44);
    EXPECT_EQ(wrong_with("D", "40=1|40=2|7777=x|"), "");
    EXPECT_EQ(wrong_with("D", "40=|"), "4 40");
    EXPECT_EQ(wrong_with("2", "7=1|"), "1 16");
    EXPECT_EQ(wrong_with("2", "7=1|16=x|"), "6 16");
}

TEST_F(DictionaryCheck, CheckingDoesNotAllocate) {
    bytes_ = message_of(
        "FIX.4.4", "35=D" + std::string{kHeader} + "11=a|453=2|448=x|452=1|802=2|523=s|523=t|448=y|452=2|40=1|18=1 2|");
    const auto message = parser_.parse(*next_frame(bytes_of(bytes_)));
    ASSERT_TRUE(message);
    Validator validator{dictionary_, &dictionary_, {}};
    const test::AllocationCounter counter;
    const auto rejection = validator.check(*message);
    EXPECT_EQ(counter.allocations(), 0U);
    EXPECT_FALSE(rejection);
}

TEST(SessionLevel, EveryVersionKnowsItsSessionMessages) {
    for (auto i = 0; i <= static_cast<int>(Version::fixt11); ++i) {
        const auto dictionary = Dictionary::session_level(static_cast<Version>(i));
        for (const auto* type : {"0", "1", "2", "3", "4", "5", "A"}) {
            ASSERT_NE(dictionary.message(type), nullptr);
            EXPECT_TRUE(dictionary.message(type)->admin);
        }
        EXPECT_EQ(version_of(dictionary.version_name()), static_cast<Version>(i));
        EXPECT_FALSE(dictionary.complete());
    }
    const auto oldest = Dictionary::session_level(Version::fix40);
    const auto newest = Dictionary::session_level(Version::fixt11);
    EXPECT_FALSE(oldest.message("A")->fields.has(141));
    EXPECT_FALSE(oldest.message("3")->fields.has(373));
    EXPECT_TRUE(newest.message("A")->fields.find(1137)->required);
    EXPECT_TRUE(newest.message("A")->fields.has(789));
}

TEST(DictionaryDefinitions, NothingIsDefinedTwice) {
    Dictionary dictionary{"FIX.4.4"};
    dictionary.define_field(1, "Account", FieldType::text);
    dictionary.define_message("D", "Order", false);
    EXPECT_THROW(dictionary.define_field(1, "Other", FieldType::text), DictionaryError);
    EXPECT_THROW(dictionary.define_field(2, "Account", FieldType::text), DictionaryError);
    EXPECT_THROW(dictionary.define_message("D", "Other", false), DictionaryError);
    EXPECT_THROW(dictionary.define_message("", "Other", false), DictionaryError);
    EXPECT_THROW(dictionary.define_field(0, "Zero", FieldType::text), DictionaryError);
}

TEST(DictionaryDefinitions, DataFieldsArePairedWithTheirLengthByName) {
    Dictionary dictionary{"FIX.4.4"};
    dictionary.define_field(9001, "BlobLen", FieldType::count);
    dictionary.define_field(9002, "Blob", FieldType::data);
    EXPECT_EQ(dictionary.data_fields().data_of(9001), 9002U);
    EXPECT_EQ(dictionary.data_fields().data_of(95), 96U);
    EXPECT_EQ(dictionary.data_fields().data_of(96), 0U);
}

TEST(Dictionary, ALogonWithoutMessageTypesGetsThoseOfFixt) {
    Dictionary lacking{"FIXT.1.1"};
    lacking.define_field(372, "RefMsgType", FieldType::text);
    lacking.complete_logon();
    EXPECT_EQ(lacking.field(384), nullptr);
    auto& logon = lacking.define_message("A", "Logon", true).fields;
    lacking.complete_logon();
    ASSERT_TRUE(logon.has(384) && logon.find(384)->group);
    EXPECT_EQ(logon.find(384)->group->first(), 372U);
    for (const Tag tag : {372U, 385U, 1130U, 1131U, 1406U, 1410U}) {
        EXPECT_TRUE(logon.find(384)->group->has(tag)) << tag;
        EXPECT_NE(lacking.field(tag), nullptr) << tag;
    }
    lacking.complete_logon();
    EXPECT_EQ(logon.members().size(), 1U);
}

}  // namespace
}  // namespace millpond::fix
