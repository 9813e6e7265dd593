# For scripts that source it, with `set -euo pipefail`: a library from the source package of a newer
# Debian release, built into a folder keyed by its version. CMake finds it there.
#
#   exit_if_built NAME LEAST            exits if a version that is new enough is there already
#   unpack_source NAME LEAST RELEASE ...    the first of these releases whose version is new enough,
#                                       into $work/NAME; sets $prefix, the folder to install into.
#                                       Exits if no package source of this machine has one
#   install_built OPTION ...            configures $work/NAME with these options of CMake, builds it
#                                       and installs it; $work is removed when the script ends

dependencies="${ONCEWARD_DEPENDENCIES:-${XDG_CACHE_HOME:-$HOME/.cache}/onceward}"

exit_if_built() {
    local stamp version
    for stamp in "$dependencies/$1"-*/complete; do
        version=${stamp%/complete}
        if [ -f "$stamp" ] && dpkg --compare-versions "${version##*/"$1"-}" ge "$2"; then exit 0; fi
    done
}

# download MIRROR RELEASE NAME
download() {
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    # The machine's own configuration (proxy, mirror, keys) counts; only the lists are private.
    local apt_options=(
        -q -o=Acquire::Retries=3
        -o=Dir::Etc::SourceList="$work/sources.list" -o=Dir::Etc::SourceParts="$work/none"
        -o=Dir::State="$work/state" -o=Dir::State::status=/var/lib/dpkg/status
        -o=Dir::Cache="$work/cache" -o=APT::Update::Post-Invoke=
        -o=APT::Update::Post-Invoke-Success=
    )
    echo "deb-src [signed-by=$keyring] $1 $2 main" >"$work/sources.list"
    apt-get "${apt_options[@]}" update >"$work/apt.log" 2>&1 || return 1
    (cd "$work/source" && apt-get "${apt_options[@]}" source --download-only "$3") \
        >>"$work/apt.log" 2>&1
}

unpack_source() {
    local codename mirrors mirror release archive version
    name=$1
    local least=$2
    shift 2
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    # apt drops its privileges while it downloads.
    chmod 755 "$work"
    mkdir -p "$work"/{state/lists/partial,cache,source}
    if [ "$(id -u)" = 0 ]; then chown -R _apt "$work"/state "$work"/cache "$work"/source; fi
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    mirrors=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' |
        awk -v codename="$codename" '$2 == codename && $3 == "main" {print $1}' |
        sort -u)
    for mirror in $mirrors; do
        for release in "$@"; do
            if ! download "$mirror" "$release" "$name"; then continue; fi
            archive=$(ls "$work"/source/"$name"_*.orig.tar.*[!c] | head -n 1)
            version=${archive##*/"$name"_}
            version=${version%.orig.tar.*}
            if ! dpkg --compare-versions "$version" ge "$least"; then continue; fi
            prefix="$dependencies/$name-$version"
            mkdir "$work/$name"
            tar -xf "$archive" -C "$work/$name" --strip-components=1
            return
        done
    done
    cat "$work/apt.log" >&2 2>/dev/null || true
    echo "No $name >= $least in the package sources of this machine: CMake will look for an" \
        "installed one." >&2
    exit 0
}

install_built() {
    echo "building ${prefix##*/} into $prefix"
    # Asserts hold the names of their files: without the random folder, so that two builds give the
    # same bytes.
    cmake -S "$work/$name" -B "$work/build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON "-DCMAKE_C_FLAGS=-ffile-prefix-map=$work=." \
        "-DCMAKE_CXX_FLAGS=-ffile-prefix-map=$work=." "$@" >"$work/build.log" 2>&1 &&
        cmake --build "$work/build" >>"$work/build.log" 2>&1 &&
        cmake --install "$work/build" >>"$work/build.log" 2>&1 || {
        tail -n 40 "$work/build.log" >&2
        exit 1
    }
    touch "$prefix/complete"
}
