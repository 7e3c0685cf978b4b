#!/bin/sh
# Creates the user and the folders of the service. It does not start the service.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers /usr/lib/sysusers.d/govsvc.conf
elif ! getent passwd govsvc >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/govsvc --no-create-home --shell /usr/sbin/nologin govsvc
fi
install -d -m 0700 -o govsvc -g govsvc /var/lib/govsvc /var/backups/govsvc
chgrp govsvc /etc/govsvc /etc/govsvc/govsvc.env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart govsvc.service # after an upgrade
fi
