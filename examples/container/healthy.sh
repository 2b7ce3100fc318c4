#!/usr/bin/env bash
# Succeeds if JupyterLab answers, and the SSH server too if there is one.
set -euo pipefail

state=${STATE_DIR:-$HOME/.workplace}

exec 3<> "/dev/tcp/127.0.0.1/${JUPYTER_PORT:-8888}"
printf 'GET /api HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
read -r -t 3 answer <&3
[[ $answer == *" 200 "* ]]

if [[ -f $state/authorized_keys ]]; then
    exec 4<> "/dev/tcp/127.0.0.1/${SSH_PORT:-2222}"
    read -r -t 3 banner <&4
    [[ $banner == SSH-2.0-* ]]
fi
