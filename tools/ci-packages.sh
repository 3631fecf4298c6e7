#!/usr/bin/env bash
# Installs missing Debian packages whose programs the tests of `.ci/run` run. Needs Debian and root.
set -euo pipefail

# program=package
wanted=(systemd-analyze=systemd prometheus=prometheus debootstrap=debootstrap)

PATH=$PATH:/usr/sbin:/sbin
missing=()
for pair in "${wanted[@]}"; do
  command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}"
