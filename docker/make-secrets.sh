#!/bin/sh
# Makes the passwords and keys that docker-compose.yml reads, each once: a file that is there stays. The folder keeps other
# users of the machine out, and containers can read the files.
set -eu

folder=${FANFARE_SECRETS_DIR:-$(dirname "$0")/secrets}

random() {
  head -c "$1" /dev/urandom | base64 | tr -d '\n'
}

make() {
  [ -e "$folder/$1" ] || printf '%s' "$2" > "$folder/$1"
}

mkdir -p "$folder"
chmod 700 "$folder"
make superuser_password "$(random 24 | tr '+/' '-_')"
make temporal_password "$(random 24 | tr '+/' '-_')"
make fanfare_password "$(random 24 | tr '+/' '-_')"
make database_url "postgres://fanfare:$(cat "$folder/fanfare_password")@postgresql:5432/fanfare"
make secrets_key "$(random 32)"
chmod 644 "$folder"/*
