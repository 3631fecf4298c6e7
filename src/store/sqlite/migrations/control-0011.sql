-- ONCE names the request that made the record, by its Idempotency-Key. A second record with the same one is refused.
ALTER TABLE AUDIT ADD COLUMN ONCE TEXT;
CREATE UNIQUE INDEX AUDIT_ONCE ON AUDIT (TEAM_ID, ONCE) WHERE ONCE IS NOT NULL;
