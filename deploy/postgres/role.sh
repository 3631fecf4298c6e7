#!/bin/sh
# Creates the role of the nodes, which is no superuser, and its database, as docs/several-nodes/set-up.md does. The image
# of PostgreSQL runs this file when its volume is empty.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$STOREROOM_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
CREATE ROLE storeroom LOGIN PASSWORD :'password' CONNECTION LIMIT 92;
CREATE DATABASE storeroom ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE storeroom FROM PUBLIC;
GRANT CONNECT, CREATE ON DATABASE storeroom TO storeroom;
SQL
