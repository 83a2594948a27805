#!/bin/sh
# Prints the directory of a cargo that is new enough, installing one into .rust/ if there is none.
# Everything else goes to stderr. Usage: tools/cargo.sh MINIMUM, as in 1.89
set -eu
minimum=$1
root=$(cd "$(dirname "$0")/.." && pwd)

fit() { # cargo binary -> success if it is MINIMUM or newer
    version=$("$1" --version 2>/dev/null | awk '{print $2}') || return 1
    [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$minimum" "$version" | sort -V | head -n1)" = "$minimum" ]
}

command -v cc >/dev/null || {
    echo "no C linker: install one (Debian: apt-get install gcc libc6-dev), then run make again" >&2
    exit 1
}
for cargo in "$(command -v cargo || true)" "$root/.rust/cargo/bin/cargo"; do
    if [ -n "$cargo" ] && fit "$cargo"; then
        dirname "$cargo"
        exit 0
    fi
done

triple=$(uname -m)-unknown-linux-gnu
url=https://static.rust-lang.org/rustup/dist/$triple/rustup-init
hint="install Rust $minimum or newer from https://rustup.rs, then run make again"
[ "$(uname -s)" = Linux ] || { echo "no cargo $minimum or newer: $hint" >&2; exit 1; }
command -v curl >/dev/null || { echo "no cargo and no curl to fetch one: $hint" >&2; exit 1; }
echo "no cargo $minimum or newer: installing one into .rust/ with rustup" >&2
mkdir -p "$root/.rust"
init=$root/.rust/rustup-init
curl -fsSL --retry 3 -o "$init" "$url" || { echo "cannot fetch $url: $hint" >&2; exit 1; }
want=$(curl -fsSL --retry 3 "$url.sha256" | awk '{print $1}')
got=$(sha256sum "$init" | awk '{print $1}')
[ "$want" = "$got" ] || { echo "rustup-init has SHA-256 $got, not $want: $hint" >&2; exit 1; }
chmod +x "$init"
CARGO_HOME=$root/.rust/cargo RUSTUP_HOME=$root/.rust/rustup "$init" -y -q --no-modify-path \
    --profile minimal --component clippy --component rustfmt >/dev/null
echo "$root/.rust/cargo/bin"
