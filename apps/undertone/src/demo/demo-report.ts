/** One simulated device as the report shows it. The clean parts exist only because the demo plays the device too. */
export interface DeviceSample {
  /** Grey values 0–255, row by row. */
  image: number[];
  width: number;
  height: number;
  label: string;
  reportedLabel: string;
  /** z, before the noise: never leaves the device. */
  representation: number[];
  /** z̃, after the noise: what was sent. */
  reportedRepresentation: number[];
  /** What the trusted side's decoder makes of z and of z̃, grey values 0–255. */
  reconstructionOfRepresentation: number[];
  reconstructionOfReport: number[];
  /** Of the payload: all of the report that depends on the record. The rest names report, task and artifact. */
  bytesSent: number;
}

export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** What a demo run did and found: written as `report.json`, drawn as `report.html`. Accuracies are shares of 1; times are seconds. */
export interface DemoReport {
  version: string;
  size: 'full' | 'quick';
  dataset: { name: string; auxiliary: number; devices: number; test: number; classes: number };
  engine: { backend: string; library: string };
  seed: number;
  epsilon: { total: number; features: number; label: number };
  lambda: number;
  claim: { kind: string; neighbouring: string; composition: string; assumptions: string[]; d1: string };
  accuracy: {
    cleanInput: number;
    privateInput: number;
    /** e^ε/(e^ε+K−1) at the ε of what the classifier sees, the report's feature part. */
    ceilingPrivateInput: number;
    /** The same classifier on the same representations with no noise and the true labels. */
    noPrivacy: number;
    /** What the platform could do with D1 alone, which has no labels. */
    auxiliaryOnly: number;
  };
  intervals: { cleanInput: Interval; privateInput: Interval };
  reports: {
    devices: number;
    accepted: number;
    stored: number;
    repeated: number;
    rejected: number;
    resent: number;
  };
  seconds: { mechanism: number; collection: number; classifier: number; total: number };
  artifact: { id: string; bytes: number; signer: string };
  classifier: { id: string };
  task: { name: string };
  samples: DeviceSample[];
}
