/** Tests the contract of the ports on the embedded store. */
import { describeStore, GROUPS, type Group } from './contract.ts';
import { folderOf, openFolder, runProcess } from './sqlite-folder.ts';

for (const group of Object.keys(GROUPS) as Group[])
  describeStore(
    'SQLite',
    group,
    (place) => openFolder(folderOf(place)),
    (place, script) => runProcess(folderOf(place), script),
  );
