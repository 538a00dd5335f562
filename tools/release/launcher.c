/* bin/millpond of the portable archive: starts the program with the archive's own loader and libraries, so that nothing
 * of the system's is used. Linked statically. Time zones and certificate authorities of the archive are used where the
 * system has none. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[4096];

static char* in_root(const char* path) {
    const size_t bytes = strlen(root) + strlen(path) + 1;
    char* all = malloc(bytes);
    if (all == NULL) exit(127);
    snprintf(all, bytes, "%s%s", root, path);
    return all;
}

/* Sets the variable, unless the user has, to the first of the paths that is readable, else to the archive's. */
static void set_to_first(const char* variable, const char* const* paths, const char* ours) {
    for (; *paths != NULL; ++paths) {
        if (access(*paths, R_OK) == 0) {
            setenv(variable, *paths, 0);
            return;
        }
    }
    setenv(variable, in_root(ours), 0);
}

int main(int argc, char** argv) {
    const ssize_t bytes = readlink("/proc/self/exe", root, sizeof root - 1);
    if (bytes <= 0 || argc < 1) {
        fputs("millpond: cannot read /proc/self/exe: /proc must be mounted\n", stderr);
        return 127;
    }
    setenv("MILLPOND_PROGRAM", root, 1); /* /proc/self/exe of the program is the loader */
    for (int i = 0; i < 2; ++i) { /* ROOT/bin/millpond */
        char* slash = strrchr(root, '/');
        if (slash == NULL) return 127;
        *slash = '\0';
    }
    static const char* const zones[] = {"/usr/share/zoneinfo", NULL};
    set_to_first("TZDIR", zones, "/share/zoneinfo");
    /* Debian and SUSE, Red Hat, Alpine: the library of the archive knows only Debian's own place. */
    static const char* const authorities[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/ca-bundle.pem",
                                              "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", NULL};
    set_to_first("SSL_CERT_FILE", authorities, "/share/ca-certificates.crt");
    char** args = calloc((size_t)argc + 7, sizeof *args);
    if (args == NULL) return 127;
    char* loader = in_root("/lib/ld.so");
    char* const before[] = {loader, "--library-path", in_root("/lib"), "--argv0", argv[0], in_root("/lib/millpond")};
    const size_t count = sizeof before / sizeof *before;
    memcpy(args, before, sizeof before);
    memcpy(args + count, argv + 1, (size_t)(argc - 1) * sizeof *args);
    execv(loader, args);
    perror(loader);
    return 127;
}
