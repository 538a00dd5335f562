# Bash functions that make and remove a bare Debian 12 tree: a minimal system with git, make, sudo and certificates, and with
# this machine's settings of package clients. Source this file; it needs root and debootstrap.
#   make_tree      sets `tree`, the folder
#   in_tree COMMAND...   runs it there, with an environment that has only PATH, HOME, LANG and package clients' settings
#   remove_tree    leaves the tree, and says so, if something is still mounted in it
bare_cache=${XDG_CACHE_HOME:-$HOME/.cache}/millpond/bare_tree
bare_mounts=()

can_make_tree() {
    [ "$(id -u)" = 0 ] || { echo "a bare tree needs root" >&2; return 1; }
    command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null 2>&1 ||
        { echo "a bare tree needs debootstrap, which cannot be installed" >&2; return 1; }
}

# Bind-mounts the machine's folder $1 at $2 in the tree.
mount_in_tree() {
    mkdir -p "$tree/$2"
    mount --bind "$1" "$tree/$2"
    bare_mounts+=("$tree/$2")
}

make_tree() {
    local base=$bare_cache/base file
    mkdir -p "$bare_cache"
    (
        flock 8 # only one run at a time may make the base
        [ ! -e "$base/usr/bin/make" ] || exit 0
        mirror=$(grep -hoE '^URIs: *[^ ]+' /etc/apt/sources.list.d/*.sources 2>/dev/null | head -n 1 | awk '{print $2}')
        rm -rf --one-file-system "$base" "$base.new"
        debootstrap --variant=minbase --include=git,make,sudo,ca-certificates bookworm "$base.new" ${mirror:+"$mirror"} >/dev/null
        mv "$base.new" "$base"
    ) 8>"$bare_cache/base.lock"
    tree=$(mktemp -d "${TMPDIR:-/tmp}/bare.XXXXXX")
    cp -a --reflink=auto "$base/." "$tree/"
    rm -rf "$tree/etc/apt"
    cp -a /etc/apt "$tree/etc/apt"
    rm -f "$tree"/etc/apt/sources.list.d/nodesource* "$tree"/etc/apt/preferences.d/nodejs*
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/npmrc /etc/environment; do
        if [ -f "$file" ]; then cp -L "$file" "$tree$file"; fi
    done
    for file in .npmrc .pip .config/pip .m2/settings.xml .cargo/config.toml .gitconfig; do
        if [ -e "$HOME/$file" ]; then
            mkdir -p "$(dirname "$tree/root/$file")"
            cp -aLT "$HOME/$file" "$tree/root/$file"
        fi
    done
    if [ -d /usr/local/share/ca-certificates ]; then
        cp -a /usr/local/share/ca-certificates/. "$tree/usr/local/share/ca-certificates/"
    fi
    cp -aL /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/" 2>/dev/null || true
    for file in proc sys dev dev/pts; do mount_in_tree "/$file" "$file"; done
    mount -t tmpfs tmpfs "$tree/dev/shm" # the tree does not see the machine's rings
    bare_mounts+=("$tree/dev/shm")
    bare_settings=()
    while IFS= read -r file; do bare_settings+=("$file"); done < <(
        env | grep -E '^(PIP_|NPM_|npm_|CARGO_|GOPROXY|GOFLAGS|MAVEN_|SSL_CERT|REQUESTS_CA|NODE_EXTRA_CA|[A-Za-z]*_proxy=|[A-Z]*_PROXY=)')
}

in_tree() {
    chroot "$tree" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive ${bare_settings[@]:+"${bare_settings[@]}"} "$@"
}

remove_tree() {
    local i
    [ -n "${tree:-}" ] || return 0
    for ((i = ${#bare_mounts[@]} - 1; i >= 0; i--)); do umount -l "${bare_mounts[i]}" 2>/dev/null || true; done
    if grep -q " $tree/" /proc/mounts; then
        echo "left, with mounts inside: $tree" >&2
    else
        rm -rf --one-file-system "$tree"
    fi
}
