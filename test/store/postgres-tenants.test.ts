/** The PostgreSQL store passes the contract of the ports: tenants, keys, fields, people, the request log and the audit log. */
import { describeStore } from './contract.ts';
import { openDatabase } from './postgres-database.ts';

describeStore('PostgreSQL', 'tenants', openDatabase);
