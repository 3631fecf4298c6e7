/** The embedded store passes the contract of the ports. */
import { describeStore, GROUPS, type Group } from './contract.ts';
import { folderOf, openFolder } from './sqlite-folder.ts';

for (const group of Object.keys(GROUPS) as Group[])
  describeStore('SQLite', group, (place) => openFolder(folderOf(place)));
