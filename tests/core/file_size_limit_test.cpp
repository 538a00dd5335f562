#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <millpond/core/descriptor.hpp>
#include <millpond/core/file_size_limit.hpp>

namespace millpond::core {
namespace {

/// Exit status of a child that writes beyond its limit.
template <class Write>
int status_of(const Write& write) {
    const auto child = fork();
    if (child == 0) {
        const rlimit small{10, 10};
        if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
        const auto file = std::filesystem::temp_directory_path() / ("millpond-limit-" + std::to_string(getpid()));
        const Descriptor open{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
        ::unlink(file.c_str());
        _exit(write(open.get()));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST(FileSizeLimit, AWriteBeyondTheLimitIsAnErrorAndNoSignal) {
    const auto status = status_of([](int file) {
        for (int i = 0; i < 2; ++i) {
            const FileSizeLimit limit;
            if (::ftruncate(file, 100) == 0 || errno != EFBIG) return 3;
        }
        return 0;
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(FileSizeLimit, TheCodeOfTheWriteSurvivesItAndTheSignalIsUnblockedAgain) {
    const auto status = status_of([](int file) {
        int error = 0;
        {
            const FileSizeLimit limit;
            if (::ftruncate(file, 100) == 0) return 3;
            error = errno;
        }
        if (errno != error) return 4;
        static_cast<void>(::ftruncate(file, 100));
        return 5;
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
}

}  // namespace
}  // namespace millpond::core
