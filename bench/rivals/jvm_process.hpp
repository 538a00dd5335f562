#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/io.hpp>
#include <boost/process/pipe.hpp>

namespace millpond::bench {

/// A Java virtual machine that runs a program of bench/rivals/jvm, on the processors of the thread that constructs it.
/// It ends with this object.
class JvmProcess {
public:
    /// folder: has the classes, and their jars in jars/. words: the command line after the class path.
    JvmProcess(const std::string& java, const std::string& folder, const std::vector<std::string>& words) {
        namespace process = boost::process;
        std::vector<std::string> all{"-cp", folder + "/jars/*:" + folder};
        all.insert(all.end(), words.begin(), words.end());
        machine_ = process::child(process::exe = java, process::args = all, process::std_in<in_, process::std_out> out_,
                                  process::std_err > process::null);
    }
    JvmProcess(const JvmProcess&) = delete;
    JvmProcess& operator=(const JvmProcess&) = delete;
    ~JvmProcess() {
        say("end");  // another process may have the pipe too, so that closing it would not end the program
        machine_.wait();
    }

    void say(const std::string& line) { in_ << line << std::endl; }
    /// The next two words of its output. Throws if it has ended.
    template <class First, class Second>
    void read(First& first, Second& second) {
        if (!(out_ >> first >> second)) throw std::runtime_error("a rival's Java virtual machine ended");
    }

private:
    boost::process::opstream in_;
    boost::process::ipstream out_;
    boost::process::child machine_;
};

}  // namespace millpond::bench
