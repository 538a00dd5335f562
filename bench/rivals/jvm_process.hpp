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

/// A Java virtual machine that runs one of the programs of bench/rivals/jvm. It runs where the thread that makes it may
/// run, and ends with this object.
class JvmProcess {
public:
    /// folder: with the classes, and their jars in jars/. words: of the command line behind the class path.
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
        say("end");  // another one may hold this pipe too, so that closing it ends nothing
        machine_.wait();
    }

    void say(const std::string& line) { in_ << line << std::endl; }
    /// The next two words of its output. Throws when it has ended.
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
