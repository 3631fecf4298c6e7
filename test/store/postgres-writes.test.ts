/** The PostgreSQL store passes the contract of the ports: numbers, groups of writes, repetition, orders and stock. */
import { describeStore } from './contract.ts';
import { openDatabase } from './postgres-database.ts';

describeStore('PostgreSQL', 'writes', openDatabase);
