#!/usr/bin/env bash
# Starts JupyterLab, and an SSH server if a public key is given, as the user who calls it.
# When one of the two ends, or on SIGTERM, it ends both.
#
#   SSH_PUBLIC_KEY   who may log in; empty: no SSH server
#   JUPYTER_TOKEN    32 characters or more; empty: one is made at the first start and kept
#   WORK_DIR         the notebooks, ~/work
#   STATE_DIR        the token and the server's key, ~/.workplace
#   LISTEN_ADDRESS, JUPYTER_PORT, SSH_PORT   0.0.0.0, 8888, 2222
set -euo pipefail
umask 077

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=${WORK_DIR:-$HOME/work}
state=${STATE_DIR:-$HOME/.workplace}
listen=${LISTEN_ADDRESS:-0.0.0.0}
jupyter_port=${JUPYTER_PORT:-8888}
ssh_port=${SSH_PORT:-2222}

say() { printf 'start: %s\n' "$*"; }
fail() {
    say "$*" >&2
    exit 1
}

((EUID != 0)) || fail "do not run this as root; an ordinary user is enough"
for folder in "$work" "$state"; do
    mkdir -p "$folder" 2> /dev/null || true
    [[ -w $folder ]] || fail "user $(id -u) may not write in $folder; give the mounted folder to" \
        "that user (chown), or build the image with your USER_ID and GROUP_ID"
done

# --- JupyterLab's token

if [[ -n ${JUPYTER_TOKEN:-} ]]; then
    ((${#JUPYTER_TOKEN} >= 32)) || fail "JUPYTER_TOKEN has ${#JUPYTER_TOKEN} characters, not 32" \
        "or more; make one with: openssl rand -hex 24"
    printf %s "$JUPYTER_TOKEN" > "$state/token"
elif [[ ! -s $state/token ]]; then
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > "$state/token"
fi
unset JUPYTER_TOKEN # else every notebook would find it in its environment
export JUPYTER_TOKEN_FILE=$state/token

# --- The SSH server's keys, and the environment of who logs in

rm -f "$state/authorized_keys"
sshd=()
if [[ -n ${SSH_PUBLIC_KEY:-} ]]; then
    [[ $SSH_PUBLIC_KEY != *"PRIVATE KEY"* ]] || fail "SSH_PUBLIC_KEY holds a private key;" \
        "give the line of the file that ends in .pub, and replace that key: it has left its place"
    ssh-keygen -l -f /dev/stdin <<< "$SSH_PUBLIC_KEY" > /dev/null 2>&1 \
        || fail "SSH_PUBLIC_KEY is no public key; give the whole line of ~/.ssh/id_ed25519.pub"
    printf '%s\n' "$SSH_PUBLIC_KEY" > "$state/authorized_keys"
    [[ -f $state/host_key ]] || ssh-keygen -q -t ed25519 -N '' -C workplace -f "$state/host_key"
    # A login starts with an empty environment: no PATH to this Python, no CUDA libraries.
    environment=
    for name in PATH VIRTUAL_ENV PIP_CONSTRAINT LANG LD_LIBRARY_PATH CUDA_VISIBLE_DEVICES \
        NVIDIA_VISIBLE_DEVICES NVIDIA_DRIVER_CAPABILITIES; do
        [[ -z ${!name+set} ]] || environment+=" \"$name=${!name}\""
    done
    sshd=("$(PATH=$PATH:/usr/sbin command -v sshd)" -D -e -f "$here/sshd_config"
        -o "ListenAddress=$listen" -o "Port=$ssh_port" -o "HostKey=\"$state/host_key\""
        -o "AuthorizedKeysFile=\"$state/authorized_keys\"" -o "SetEnv=$environment")
fi

# --- Start, and end together

pids=()
# shellcheck disable=SC2329 # the trap below calls it
stop() {
    trap '' TERM INT
    ((${#pids[@]} == 0)) || kill "${pids[@]}" 2> /dev/null || true
    wait
}
trap stop EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

umask 022 # what is kept above is for this user only; notebooks are files like others
cd "$work"
python -m jupyterlab --no-browser --ip="$listen" --port="$jupyter_port" \
    --ServerApp.port_retries=0 --ServerApp.root_dir="$work" \
    --PasswordIdentityProvider.hashed_password='' \
    --PasswordIdentityProvider.allow_password_change=False &
pids+=($!)
if ((${#sshd[@]})); then
    "${sshd[@]}" &
    pids+=($!)
    say "SSH on port $ssh_port, for the key $(ssh-keygen -l -f "$state/authorized_keys")"
else
    say "no SSH: SSH_PUBLIC_KEY is empty"
fi
say "JupyterLab on port $jupyter_port; its token is in $state/token"
if command -v nvidia-smi > /dev/null && nvidia-smi -L; then
    say "the GPUs above are in this container"
else
    say "this container has no GPU"
fi

ended=0
wait -n "${pids[@]}" || ended=$?
say "one of the servers has ended with status $ended; stopping"
exit $((ended ? ended : 1))
