-- The store of the file. TEAM_ID is the tenant, in the file of a tenant.
CREATE TABLE OWNER (IDENTITY TEXT NOT NULL, TEAM_ID TEXT NOT NULL) STRICT;
INSERT INTO OWNER VALUES ('$IDENTITY', '$TEAM_ID');
