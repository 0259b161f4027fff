import { randomBytes } from 'node:crypto';

import { load } from '../bench/collection/packages.mjs';
import { messageOf, sampleReports } from '../bench/collection/sample-reports.mjs';

const { REPORT_SCHEMA } = load('client', 'protocol');

const headers = { schema: REPORT_SCHEMA };
const MEGABYTE = 1_000_000;

/**
 * What a broken or hostile writer may put on the topic, each with the reason for which it must be set aside.
 *
 * @param {{ task: string, artifact: string }} collection an open task and its artifact
 * @returns {{ kind: string, reason: string, message: () => { key: Buffer, value: Buffer | null, headers?: object } }[]}
 */
export function garbageKinds({ task, artifact }) {
  const report = (changes = {}) => ({ ...sampleReports({ task, artifact, count: 1 })[0], ...changes });
  const said = (value) => ({ key: randomBytes(16), value, headers });
  const impossible = ({ payload }) => payload.map((byte, i) => (i === payload.length - 1 ? 250 : byte));
  return [
    { kind: 'random bytes', reason: 'malformed', message: () => said(randomBytes(180)) },
    { kind: 'no bytes', reason: 'malformed', message: () => said(Buffer.alloc(0)) },
    { kind: 'a tombstone', reason: 'malformed', message: () => said(null) },
    {
      kind: 'a report cut short',
      reason: 'malformed',
      message: () => said(messageOf(report()).value.subarray(0, 60)),
    },
    {
      kind: 'missing headers',
      reason: 'no-schema',
      message: () => ({ ...messageOf(report()), headers: undefined }),
    },
    {
      kind: 'wrong version',
      reason: 'unknown-schema',
      message: () => ({ ...messageOf(report()), headers: { schema: 'undertone.report.v9' } }),
    },
    { kind: 'wrong task', reason: 'wrong-task', message: () => messageOf(report({ task: 'nobody-s' })) },
    {
      kind: 'wrong artifact',
      reason: 'wrong-artifact',
      message: () => messageOf(report({ artifact: 'c'.repeat(64) })),
    },
    {
      kind: 'an impossible payload',
      reason: 'impossible-payload',
      message: () => messageOf(report({ payload: impossible(report()) })),
    },
    { kind: 'a value of 1 MB', reason: 'too-large', message: () => said(randomBytes(MEGABYTE)) },
  ];
}
