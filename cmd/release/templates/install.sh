#!/bin/sh
# install.sh installs varve {{.Version}} for the user who runs it, without root:
#   sh install.sh              into ~/.local
#   sh install.sh /opt/varve   into another folder
# It downloads the archive of this system, or takes it from the folder in VARVE_FROM, and installs nothing if the SHA-256
# differs from the one below.
set -eu

prefix=${1:-$HOME/.local}
from=${VARVE_FROM:-{{.URL}}}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail "there is no archive for $(uname -s); see docs/reference/platforms.md" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for $(uname -m) processors" ;;
esac
archive=varve_{{.Version}}_${system}_$arch.tar.gz
case $archive in
{{- range .Archives}}{{if ne .OS "windows"}}
{{.Name}}) want={{.SHA256}} ;;
{{- end}}{{end}}
*) fail "this release has no archive for $system/$arch" ;;
esac
[ -n "$from" ] || fail "set VARVE_FROM to the address or folder of $archive"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $from in
http://* | https://*)
	if command -v curl >/dev/null; then
		curl -fsSL -o "$work/$archive" "${from%/}/$archive" || fail "cannot download ${from%/}/$archive"
	elif command -v wget >/dev/null; then
		wget -q -O "$work/$archive" "${from%/}/$archive" || fail "cannot download ${from%/}/$archive"
	else
		fail "needs curl or wget; or download $archive and set VARVE_FROM to its folder"
	fi
	;;
*) cp "$from/$archive" "$work/" ;;
esac

if command -v sha256sum >/dev/null; then
	got=$(sha256sum "$work/$archive")
else
	got=$(shasum -a 256 "$work/$archive")
fi
got=${got%% *}
[ "$got" = "$want" ] || fail "$archive has the SHA-256 $got, not $want: nothing is installed"

tar -xzf "$work/$archive" -C "$work"
new=$work/varve-{{.Version}}
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
	"$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
cp "$new"/man/man1/*.1 "$prefix/share/man/man1/"
cp "$new/completions/varve.bash" "$prefix/share/bash-completion/completions/varve"
cp "$new/completions/_varve" "$prefix/share/zsh/site-functions/"
cp "$new/completions/varve.fish" "$prefix/share/fish/vendor_completions.d/"
# A rename replaces a running varve; a copy would fail.
cp "$new/varve" "$prefix/bin/.varve.new"
chmod 755 "$prefix/bin/.varve.new"
mv "$prefix/bin/.varve.new" "$prefix/bin/varve"

"$prefix/bin/varve" version
case :$PATH: in
*":$prefix/bin:"*) ;;
*) echo "Add $prefix/bin to your PATH." ;;
esac
