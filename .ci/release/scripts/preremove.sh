#!/bin/sh
# Stops the service before its program is removed. An upgrade does not stop it.
set -e
case "${1:-}" in
  upgrade | 1) exit 0 ;; # dpkg passes "upgrade", rpm the number of versions that remain
esac
if [ -d /run/systemd/system ]; then
  systemctl disable --now govsvc.service
fi
