# Sourced: the names of the stand-ins, exported for compose.yaml. Each is tagged with a digest of
# what it is made of, so that an old one is never taken for a new one.
images_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
toxiproxy_version=2.5.0
kafka_version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' \
    "$images_folder/../scripts/kafka/pom.xml")
kafka_jars=${ONCEWARD_DEPENDENCIES:-${XDG_CACHE_HOME:-$HOME/.cache}/onceward}/kafka-$kafka_version

digest_of() { cat "$@" | sha256sum | cut -c 1-12; }

base_digest=$(digest_of "$images_folder/build-stand-ins")
tag_of() { echo "$codename-$base_digest-$(digest_of "$images_folder/images/$1"/*)"; }

# Names without a registry's host, and none that a public registry has.
export BASE_IMAGE=onceward-stand-in/debian:$codename-$base_digest
export KAFKA_IMAGE=onceward-stand-in/kafka:$kafka_version-$(tag_of kafka)
export POSTGRES_IMAGE=onceward-stand-in/postgres:$(tag_of postgres)
export TOXIPROXY_IMAGE=onceward-stand-in/toxiproxy:$toxiproxy_version-$(tag_of toxiproxy)
