/** The PostgreSQL store passes the contract of the ports: queries, import and export. */
import { describeStore } from './contract.ts';
import { openDatabase } from './postgres-database.ts';

describeStore('PostgreSQL', 'records', openDatabase);
