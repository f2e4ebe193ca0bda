#!/bin/sh
# Fills Temporal's two databases, or updates them after the server's image has changed. Every command does
# nothing when its work is done. Connection settings come from the SQL_ variables.
set -eu

schema=/etc/temporal/schema/postgresql/v12

bring_up_to_date() {
  temporal-sql-tool --db "$1" setup-schema -v 0.0
  temporal-sql-tool --db "$1" update-schema -d "$schema/$2/versioned"
}

bring_up_to_date temporal temporal
bring_up_to_date temporal_visibility visibility
