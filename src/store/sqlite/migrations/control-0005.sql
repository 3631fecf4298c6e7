-- Each pair of keys has a name and a scope. Several names can be in force; of the valid pairs of one name the newest is.
ALTER TABLE API_KEYS ADD COLUMN NAME TEXT NOT NULL DEFAULT 'default';
ALTER TABLE API_KEYS ADD COLUMN SCOPE TEXT NOT NULL DEFAULT 'write';
