#include "apps/millpond/command_line/help_text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millpond::app {
namespace {

TEST(HelpText, ALineThatFitsIsKept) {
    const std::string page = "Usage: millpond\n\n  --once   text\n" + std::string(80, 'x') + ".\n";
    EXPECT_EQ(wrapped(page), page);
}

TEST(HelpText, ADescriptionContinuesInItsColumn) {
    EXPECT_EQ(
        wrapped("  --poll spin|block           How receive threads wait: busy-wait, sleep, or busy-wait briefly\n"),
        "  --poll spin|block           How receive threads wait: busy-wait, sleep, or\n"
        "                              busy-wait briefly\n");
    EXPECT_EQ(wrapped(std::string(30, ' ') + "a description below a long name, of more than eighty columns\n"),
              std::string(30, ' ') + "a description below a long name, of more than\n" + std::string(30, ' ') +
                  "eighty columns\n");
}

TEST(HelpText, KeysOfATopicContinueTwoColumnsFurther) {
    EXPECT_EQ(
        wrapped("      Seconds of silence after which the feed is stale and its quotes incomplete; 0 for never.\n"),
        "      Seconds of silence after which the feed is stale and its quotes\n"
        "        incomplete; 0 for never.\n");
}

TEST(HelpText, CommandLinesOfExamplesContinueAfterABackslash) {
    EXPECT_EQ(wrapped("Examples:\n  millpond replay day.pcap --only 224.0.105.2:51002 --to 239.1.1.1:14000 --interface "
                      "eth1 --speed 10\n"),
              "Examples:\n"
              "  millpond replay day.pcap --only 224.0.105.2:51002 --to 239.1.1.1:14000 \\\n"
              "      --interface eth1 --speed 10\n");
}

TEST(HelpText, LinesOfAParagraphAreJoinedAndThoseOfOthersAreNot) {
    EXPECT_EQ(wrapped("From a journal, which\na gateway reads.\nExit codes: 0 good,\n1 failed.\n\nNext\n"),
              "From a journal, which a gateway reads.\nExit codes: 0 good, 1 failed.\n\nNext\n");
}

TEST(HelpText, AWordLongerThanALineIsNotBroken) {
    const auto word = std::string(90, 'x');
    EXPECT_EQ(wrapped("a " + word + " b\n"), "a\n" + word + "\nb\n");
    EXPECT_EQ(wrapped(word + "\n"), word + "\n");
}

}  // namespace
}  // namespace millpond::app
