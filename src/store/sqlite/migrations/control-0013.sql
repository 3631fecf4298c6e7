-- The shared tables.
$TABLES
CREATE UNIQUE INDEX TENANTS_TEAM_ID ON TENANTS (TEAM_ID COLLATE NOCASE);
-- A record of the audit log can only be deleted with its tenant.
CREATE TRIGGER AUDIT_KEPT BEFORE UPDATE ON AUDIT BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END;
CREATE TRIGGER AUDIT_WHOLE BEFORE DELETE ON AUDIT WHEN EXISTS (SELECT 1 FROM TENANTS WHERE TEAM_ID = OLD.TEAM_ID)
  BEGIN SELECT RAISE(ABORT, 'the audit log is never changed'); END;

INSERT INTO SECRETS VALUES ('cursors', randomblob(32)), ('webhooks', randomblob(32));
-- The identity of the store, which its backups have too.
INSERT INTO INSTALLATION VALUES ('identity', lower(hex(randomblob(16))));
