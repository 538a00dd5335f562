#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/rivals/jvm_process.hpp"

namespace millpond::bench {

/// A Java virtual machine with a Java library (bench/rivals/jvm/rings/Rivals.java), which does the work of a ring bench
/// in a separate process. It lives as long as this object, so that its code is compiled before it is measured; between
/// questions its threads sleep.
class JvmRival {
public:
    /// The duration of the work, and the answer, which must equal that of the C++ links.
    struct Answer {
        double value{0};
        std::uint64_t sum{0};
    };

    /// kind: disruptor, aeron or chronicle. Its two threads run on these processors, on which this process may run.
    JvmRival(const std::string& kind, int first_core, int second_core)
        : process_(MILLPOND_RIVAL_JAVA, MILLPOND_RIVAL_JVM, words(kind, first_core, second_core)) {}

    /// work: "stream" for millions of messages per second, "hop" for nanoseconds.
    [[nodiscard]] Answer ask(const std::string& work, std::uint64_t count) {
        process_.say(work + ' ' + std::to_string(count));
        Answer answer;
        process_.read(answer.value, answer.sum);
        return answer;
    }

private:
    static std::vector<std::string> words(const std::string& kind, int first_core, int second_core) {
        std::vector<std::string> all{"-Dchronicle.analytics.disable=true"};
        for (const auto* const package :
             {"java.lang", "java.lang.reflect", "java.io", "java.util", "sun.nio.ch", "java.nio"})
            all.push_back(std::string("--add-opens=java.base/") + package + "=ALL-UNNAMED");
        for (const auto* const package : {"jdk.internal.ref", "jdk.internal.misc", "sun.nio.ch"})
            all.push_back(std::string("--add-exports=java.base/") + package + "=ALL-UNNAMED");
        all.insert(all.end(), {"Rivals", kind, std::to_string(first_core), std::to_string(second_core)});
        return all;
    }

    JvmProcess process_;
};

}  // namespace millpond::bench
