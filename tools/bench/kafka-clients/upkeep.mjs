// What a client brings along.
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { moduleFolder } from './install.mjs';

/**
 * @param {{ client: import('./clients.mjs').Client, folder: string, mebibytes: number, buildSeconds?: number }} installed
 * @returns a row: its size as installed; `details`: version, the versions of Node that it asks for, whether code is compiled
 */
export function upkeepRow({ client, folder, mebibytes, buildSeconds }) {
  const {
    version,
    engines,
    dependencies = {},
  } = JSON.parse(readFileSync(path.join(moduleFolder(folder, client), 'package.json'), 'utf8'));
  return {
    name: `upkeep/${client.name}`,
    work: `${client.package} ${version}, Node ${engines?.node ?? 'any'}${buildSeconds === undefined ? '' : `, compiled in ${buildSeconds} s`}`,
    ours: mebibytes,
    peer: null,
    peerName: null,
    unit: 'MiB installed',
    ratio: null,
    runs: 1,
    details: { version, node: engines?.node, dependencies: Object.keys(dependencies), buildSeconds },
  };
}
