-- The identity of the store, which its backups bear. Since this version, each tenant has its file from the first on.
INSERT INTO INSTALLATION VALUES ('identity', lower(hex(randomblob(16))));
