# Sourced: the worker's image by the project's Dockerfile, with $BASE_IMAGE below it. Both functions
# set ONCEWARD_IMAGE.

# Where the upgrade suite begins: the first version that has the migration 001 of today.
oldest_commit=$(git -C "$root" log -n 1 --format=%h -- schemas/migrations/001_initial)

# What the Dockerfile copies before the source, by path. COPY fails without any of them.
first_layer=$(sed -n '/ AS build$/,/^RUN/s/^COPY \(.*\) .*/\1/p' "$root/Dockerfile")

# build_worker IMAGE CONTEXT [ARGUMENT...]
# No suite opens the page, and npm may have no registry here.
build_worker() {
    local image=$1 context=$2
    shift 2
    docker build --network host --build-arg "BASE=$BASE_IMAGE" --build-arg PAGE=optional "$@" \
        -t "$image" "$context"
}

# From a program that was built on this machine, which has the same Debian as the base. The context
# is small, and what the tag named before is removed: this runs with every `make test`.
worker_image_of_build() {
    local folder program before
    folder=$(mktemp -d)
    mkdir -p "$folder/image/program" "$folder/context"
    cp "$1" "$folder/image/program/onceward"
    "$root/scripts/runtime-packages" "$1" >"$folder/image/program/packages"
    cp "$root/Dockerfile" "$folder/context"
    (cd "$root" && cp --parents $first_layer "$folder/context")
    program=onceward-program:build
    export ONCEWARD_IMAGE=onceward-worker:build
    before=$(docker images --quiet "$ONCEWARD_IMAGE")
    tar -C "$folder/image" -c program | docker import - "$program" &&
        build_worker "$ONCEWARD_IMAGE" "$folder/context" --build-arg "PROGRAM=$program" || return 1
    rm -rf "$folder"
    docker rmi "$program" || true
    if [ "$before" != "$(docker images --quiet "$ONCEWARD_IMAGE")" ]; then
        docker rmi $before || true
    fi
}

# From a folder with the source, in the image's own build stage.
worker_image_of_source() {
    export ONCEWARD_IMAGE=onceward-worker:source
    build_worker "$ONCEWARD_IMAGE" "$1"
}

# From an older commit of this repository, which may have had no Dockerfile: today's is put over it,
# and what that copies and the commit did not have yet.
worker_image_of_commit() {
    local folder file
    export ONCEWARD_OLD_IMAGE=onceward-worker:$1
    if [ -n "$(docker images --quiet "$ONCEWARD_OLD_IMAGE")" ]; then return; fi
    folder=$(mktemp -d)
    git -C "$root" archive "$1" | tar -C "$folder" -x || return 1
    cp "$root/Dockerfile" "$root/.dockerignore" "$folder"
    cp "$root"/scripts/{runtime-packages,debian-source.sh} "$folder/scripts"
    for file in $first_layer; do
        [ -e "$folder/$file" ] || (cd "$root" && cp --parents "$file" "$folder")
    done
    build_worker "$ONCEWARD_OLD_IMAGE" "$folder"
    rm -rf "$folder"
    [ -n "$(docker images --quiet "$ONCEWARD_OLD_IMAGE")" ]
}
