#!/bin/sh
# Stops the service before its program is removed, but not for an upgrade.
set -e
case "${1:-}" in
  upgrade | 1) exit 0 ;; # dpkg says upgrade; rpm says how many versions stay
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now govsvc.service
fi
