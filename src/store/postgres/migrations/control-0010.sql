-- The limit of calls a month that the owners of the team set themselves.
ALTER TABLE "TENANTS" ADD COLUMN "OWN_QUOTA" BIGINT;
