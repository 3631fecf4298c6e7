/** Tests the contract of the ports on the PostgreSQL store: the group `records` of contract.ts. */
import { describeStore } from './contract.ts';
import { openDatabase, runProcess } from './postgres-database.ts';

describeStore('PostgreSQL', 'records', openDatabase, runProcess);
