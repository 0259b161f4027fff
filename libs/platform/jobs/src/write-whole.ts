import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file in one step: a reader sees the old one or the whole new one. */
export function writeWhole(file: string, bytes: Uint8Array): void {
  const unfinished = `${file}.${process.pid}.unfinished`;
  writeFileSync(unfinished, bytes, { mode: 0o600 });
  renameSync(unfinished, file);
}
