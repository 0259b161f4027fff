import { accessSync, constants, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { type DemoReport } from './demo-report';
import { reportPage } from './report-page';

const refused = (folder: string, error: unknown): Error =>
  new Error(
    `the report can't be written to ${path.resolve(folder)}: ${(error as Error).message}; name another folder with --out`,
  );

/** Makes the folder, so that a wrong one is told before the work and not after it. @throws {Error} naming the folder */
export function prepareReportFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (e) {
    throw refused(folder, e);
  }
}

/** Writes `report.json` and `report.html`, each whole or not at all. @throws {Error} naming the folder that can't be written. */
export function writeDemoReport(report: DemoReport, folder: string): { data: string; page: string } {
  const data = path.join(folder, 'report.json');
  const page = path.join(folder, 'report.html');
  try {
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of [
      [data, `${JSON.stringify(report, null, 2)}\n`],
      [page, reportPage(report)],
    ]) {
      writeFileSync(`${file}.part`, text);
      renameSync(`${file}.part`, file);
    }
  } catch (e) {
    throw refused(folder, e);
  }
  return { data, page };
}
