import { Presets, SingleBar } from 'cli-progress';

export interface Progress {
  /** Moves to `done` of the total; `note` stands behind the bar. */
  update(done: number, note?: string): void;
  stop(): void;
}

export interface TerminalOptions {
  style: 'text' | 'json';
  out?: NodeJS.WriteStream;
  err?: NodeJS.WriteStream;
}

/**
 * Where a command writes. Text goes to standard output: progress bars on a terminal, plain lines elsewhere.
 * With style `json`, standard output carries exactly one JSON document, the command's result, and nothing else.
 */
export class Terminal {
  readonly style: 'text' | 'json';
  readonly #out: NodeJS.WriteStream;
  readonly #err: NodeJS.WriteStream;

  constructor({ style, out = process.stdout, err = process.stderr }: TerminalOptions) {
    this.style = style;
    this.#out = out;
    this.#err = err;
  }

  say(line = ''): void {
    if (this.style === 'text') this.#out.write(`${line}\n`);
  }

  warn(line: string): void {
    this.#err.write(`${line}\n`);
  }

  /** The command's outcome: `value` as JSON, or the lines that tell the same to a person. */
  result(value: unknown, lines: string[]): void {
    this.#out.write(this.style === 'json' ? `${JSON.stringify(value, null, 2)}\n` : `${lines.join('\n')}\n`);
  }

  progress(label: string, total: number): Progress {
    if (this.style === 'json') return { update: () => {}, stop: () => {} };
    return this.#out.isTTY ? this.#bar(label, total) : this.#lines(label, total);
  }

  #bar(label: string, total: number): Progress {
    const bar = new SingleBar(
      {
        format: `  ${label.padEnd(24)} {bar} {percentage}%  {note}`,
        hideCursor: true,
        stream: this.#out,
        clearOnComplete: true,
      },
      Presets.shades_classic,
    );
    bar.start(Math.max(total, 1), 0, { note: '' });
    return { update: (done, note = '') => bar.update(done, { note }), stop: () => bar.stop() };
  }

  /** One line a fifth of the way, so that a log file stays short. */
  #lines(label: string, total: number): Progress {
    let shown = -1;
    return {
      update: (done, note = '') => {
        const fifth = Math.floor((5 * done) / Math.max(total, 1));
        if (fifth <= shown || done === 0) return;
        shown = fifth;
        this.say(`  ${label}: ${Math.round((100 * done) / Math.max(total, 1))} %${note ? `, ${note}` : ''}`);
      },
      stop: () => {},
    };
  }
}

/** Columns padded to their widest cell, two spaces apart; a line of dashes under the heads. */
export function formatTable(heads: string[], rows: string[][]): string[] {
  const widths = heads.map((h, i) => Math.max(h.length, ...rows.map((r) => r[i].length)));
  const line = (cells: string[]) =>
    cells
      .map((c, i) => c.padEnd(widths[i]))
      .join('  ')
      .trimEnd();
  return [line(heads), line(widths.map((w) => '-'.repeat(w))), ...rows.map(line)];
}
