#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>

namespace millpond::bench {

/// A Java virtual machine with a library of that world (bench/rivals/jvm/Rivals.java), which does the work of a ring's
/// bench in a process of its own. It lives as long as this object, so that its code is compiled
/// when it counts; between questions its threads sleep.
class JvmRival {
public:
    /// What the work took, and the answer that the C++ links give.
    struct Answer {
        double value{0};
        std::uint64_t sum{0};
    };

    /// kind: disruptor, aeron or chronicle. Its two threads run on these processors, where this process may run.
    JvmRival(const std::string& kind, int first_core, int second_core) {
        namespace process = boost::process;
        const std::string folder = MILLPOND_RIVAL_JVM;
        std::vector<std::string> words{"-cp", folder + "/jars/*:" + folder, "-Dchronicle.analytics.disable=true"};
        for (const auto* const package :
             {"java.lang", "java.lang.reflect", "java.io", "java.util", "sun.nio.ch", "java.nio"})
            words.push_back(std::string("--add-opens=java.base/") + package + "=ALL-UNNAMED");
        for (const auto* const package : {"jdk.internal.ref", "jdk.internal.misc", "sun.nio.ch"})
            words.push_back(std::string("--add-exports=java.base/") + package + "=ALL-UNNAMED");
        words.insert(words.end(), {"Rivals", kind, std::to_string(first_core), std::to_string(second_core)});
        machine_ = process::child(process::exe = MILLPOND_RIVAL_JAVA, process::args = words,
                                  process::std_in<in_, process::std_out> out_, process::std_err > process::null);
    }
    JvmRival(const JvmRival&) = delete;
    JvmRival& operator=(const JvmRival&) = delete;
    ~JvmRival() {
        in_ << "end" << std::endl;  // another rival may hold this pipe too, so that closing it ends nothing
        machine_.wait();
    }

    /// work: "stream" for millions of messages a second, "hop" for nanoseconds.
    [[nodiscard]] Answer ask(const std::string& work, std::uint64_t count) {
        in_ << work << ' ' << count << std::endl;
        Answer answer;
        if (!(out_ >> answer.value >> answer.sum)) throw std::runtime_error("a rival's Java virtual machine ended");
        return answer;
    }

private:
    boost::process::opstream in_;
    boost::process::ipstream out_;
    boost::process::child machine_;
};

}  // namespace millpond::bench
