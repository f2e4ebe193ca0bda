#!/bin/sh
# Creates the namespace once the server can; an open port does not mean yet that it can.
set -eu

tries=0
until temporal operator cluster health; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "Temporal at $TEMPORAL_ADDRESS is not healthy after $tries tries" >&2
    exit 1
  fi
  sleep 1
done

if temporal operator namespace describe --namespace "$NAMESPACE"; then
  echo "Namespace $NAMESPACE is there"
else
  temporal operator namespace create --namespace "$NAMESPACE" --retention "$RETENTION"
fi
