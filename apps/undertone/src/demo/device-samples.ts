import { LaplaceL1 } from '@undertone/ldp';

import { type PlatformClient } from '../api/platform-client';
import { type FleetOutcome } from '../devices/device-fleet';
import { type DeviceSample } from './demo-report';

/** What a few devices held, computed and sent, and what the trusted side's decoder draws from it. */
export async function deviceSamples(
  api: PlatformClient,
  mechanism: string,
  fleet: FleetOutcome,
): Promise<DeviceSample[]> {
  const { artifact, data, remembered } = fleet;
  const { factors } = artifact.randomiser;
  const { schema, labels } = artifact.body;
  if (!factors || schema.kind !== 'image')
    throw new Error('the demo shows images reported by a factorised randomiser only');
  const seen = remembered.map(({ row, report }) => {
    const parts = factors.split(report.payload);
    const [low, high = 0] = parts.label;
    return {
      row,
      representation: Array.from(artifact.encode(data.vector(row))),
      reported: Array.from(LaplaceL1.decode(parts.representation)),
      reportedLabel: labels[low + 256 * high],
      bytesSent: report.payload.length,
    };
  });
  const draw = async (representations: number[][]): Promise<number[][]> =>
    (
      await api.post<{ records: number[][] }>(`/v1/mechanisms/${mechanism}/reconstructions`, {
        representations,
      })
    ).records;
  const [ofRepresentation, ofReport] = await Promise.all([
    draw(seen.map((s) => s.representation)),
    draw(seen.map((s) => s.reported)),
  ]);
  return seen.map((s, i) => ({
    image: Array.from(data.raw(s.row)),
    width: schema.width,
    height: schema.height,
    label: labels[data.label(s.row)],
    reportedLabel: s.reportedLabel,
    representation: s.representation,
    reportedRepresentation: s.reported,
    reconstructionOfRepresentation: ofRepresentation[i].map(Math.round),
    reconstructionOfReport: ofReport[i].map(Math.round),
    bytesSent: s.bytesSent,
  }));
}
