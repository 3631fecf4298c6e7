/** The embedded store passes the contract of the ports. */
import { describeStore } from './contract.ts';
import { folderOf, openFolder } from './sqlite-folder.ts';

describeStore('SQLite', (place) => openFolder(folderOf(place)));
