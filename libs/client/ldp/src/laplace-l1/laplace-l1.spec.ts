import fc from 'fast-check';
import { DeterministicRandom } from '../../testing/deterministic-random';
import { Rational } from '../../testing/rational';
import { ScriptedRandom } from '../../testing/scripted-random';
import { scaleIntoL1Ball } from '../l1-ball/l1-ball';
import { LaplaceL1 } from './laplace-l1';
import oracle from './laplace-l1.oracle.json';

const laplace = (dimension: number, epsilon: number, radius = 1) =>
  new LaplaceL1({ kind: 'laplace-l1', dimension, radius, epsilon });

/** The payload of given noisy coordinates. */
function payloadOf(values: number[]): Uint8Array {
  const payload = new Uint8Array(4 * values.length);
  const view = new DataView(payload.buffer);
  values.forEach((value, i) => view.setFloat32(4 * i, value, true));
  return payload;
}

describe('LaplaceL1', () => {
  const coordinates = fc.array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 4, maxLength: 4 });
  const epsilon = fc.double({ min: 0.01, max: 30, noNaN: true });

  it('keeps the log likelihood of any report within ε between any two points of the ball', () => {
    const noisy = fc.array(fc.double({ min: -50, max: 50, noNaN: true }), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(coordinates, coordinates, noisy, epsilon, (a, b, values, e) => {
        const mechanism = laplace(4, e);
        const payload = payloadOf(values);
        const ratio =
          mechanism.logLikelihood(payload, scaleIntoL1Ball(a, 1)) -
          mechanism.logLikelihood(payload, scaleIntoL1Ball(b, 1));
        expect(Math.abs(ratio)).toBeLessThanOrEqual(e * (1 + 1e-12) + 1e-9);
      }),
    );
  });

  it('reaches ε between opposite vertices: no budget is wasted', () => {
    const mechanism = laplace(2, 3);
    const payload = payloadOf([5, 0]);
    expect(mechanism.logLikelihood(payload, [1, 0]) - mechanism.logLikelihood(payload, [-1, 0])).toBeCloseTo(
      3,
      12,
    );
  });

  it('covers the sensitivity 2l by its scale over the reals', () => {
    fc.assert(
      fc.property(epsilon, fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (e, radius) => {
        const { scale } = laplace(1, e, radius);
        const covered = Rational.of(scale).times(Rational.of(e));
        expect(Rational.of(2 * radius).isAtMost(covered)).toBe(true);
        expect(scale).toBeCloseTo((2 * radius) / e, 8);
      }),
    );
  });

  it.each(oracle.density)('has the density of scale $b at $x', ({ b, x, log_pdf }) => {
    const mechanism = laplace(1, 2 / b);
    expect(mechanism.logLikelihood(payloadOf([0]), [-x])).toBeCloseTo(log_pdf, 11);
  });

  it.each(oracle.noise)('turns the uniform $u into noise of scale $b', ({ b, u, noise }) => {
    const uniform = Math.round((1 - 2 * Math.abs(u)) * 2 ** 53) - 1;
    const random = new ScriptedRandom([ScriptedRandom.word(uniform, u < 0 ? -1 : 1)]);
    const [noisy] = LaplaceL1.decode(laplace(1, 2 / b).randomise([0], random));
    expect(Math.abs(noisy - Math.fround(noise))).toBeLessThanOrEqual(Math.abs(noise) * 2 ** -23);
  });

  it('weighs points as the posterior of RLM eq. 11 does', () => {
    const { reports, points, cases } = oracle.posterior;
    for (const { epsilon: e, l, weights } of cases) {
      const mechanism = laplace(3, e, l);
      reports.forEach((report, n) => {
        const logs = new Float64Array(points.length);
        mechanism.logLikelihoods(payloadOf(report), points.flat(), logs);
        const likelihoods = logs.map((x) => Math.exp(x - Math.max(...logs)));
        const total = likelihoods.reduce((a, b) => a + b, 0);
        weights[n].forEach((weight, m) => expect(likelihoods[m] / total).toBeCloseTo(weight, 6));
      });
    }
  });

  it('is distributed as Laplace (Kolmogorov–Smirnov at one in a million)', () => {
    const n = 20_000;
    const random = new DeterministicRandom(11);
    const mechanism = laplace(2, 4);
    for (const coordinate of [0, 1]) {
      const noise = Float64Array.from(
        { length: n },
        () => LaplaceL1.decode(mechanism.randomise([0.25, -0.5], random))[coordinate],
      ).sort();
      const centre = [0.25, -0.5][coordinate];
      const distance = noise.reduce((worst, x, i) => {
        const t = (x - centre) / mechanism.scale;
        const cdf = t < 0 ? Math.exp(t) / 2 : 1 - Math.exp(-t) / 2;
        return Math.max(worst, Math.abs(cdf - i / n), Math.abs(cdf - (i + 1) / n));
      }, 0);
      expect(distance * Math.sqrt(n)).toBeLessThan(Math.sqrt(-Math.log(0.5e-6) / 2));
    }
  });

  it('draws coordinates independently', () => {
    const n = 20_000;
    const random = new DeterministicRandom(12);
    const mechanism = laplace(2, 4);
    let both = 0;
    for (let i = 0; i < n; i++) {
      const [a, b] = LaplaceL1.decode(mechanism.randomise([0, 0], random));
      both += Math.sign(a) * Math.sign(b) * (Math.abs(a) > 0.3 ? 1 : 0.5);
    }
    expect(Math.abs(both) / n).toBeLessThan(5 / Math.sqrt(n));
  });

  it.each(oracle.reportMse.filter((c) => c.d <= 16))(
    'has mean squared error 8dl²/ε² for d = $d, ε = $epsilon, l = $l',
    ({ d, epsilon: e, l, mse }) => {
      const random = new DeterministicRandom(d);
      const mechanism = laplace(d, e, l);
      const z = new Float64Array(d);
      const n = 4000;
      let sum = 0;
      for (let i = 0; i < n; i++) {
        sum += LaplaceL1.decode(mechanism.randomise(z, random)).reduce((s, x) => s + x * x, 0);
      }
      // Each squared coordinate has a standard deviation of √20 b² around 2b².
      const error = Math.sqrt(20 / 4 / (d * n)) * mse;
      expect(Math.abs(sum / n - mse)).toBeLessThan(5 * error);
    },
  );

  it.each(oracle.twoClasses)(
    'lets two classes be told apart as often as theory says at ε = $epsilon',
    (c) => {
      const n = 20_000;
      const random = new DeterministicRandom(99);
      const mechanism = laplace(1, c.epsilon);
      let right = 0;
      for (let i = 0; i < n; i++) {
        const z = i % 2 === 0 ? 1 : -1;
        const payload = mechanism.randomise([z], random);
        const guess = mechanism.logLikelihood(payload, [1]) > mechanism.logLikelihood(payload, [-1]) ? 1 : -1;
        if (guess === z) right++;
      }
      const deviation = Math.sqrt((c.accuracy * (1 - c.accuracy)) / n);
      expect(Math.abs(right / n - c.accuracy)).toBeLessThan(5 * deviation);
    },
  );

  it('calls possible whatever it sends, the largest noise included, and nothing beyond', () => {
    const mechanism = laplace(2, 0.5, 3);
    for (const sign of [1, -1] as const) {
      const extreme = new ScriptedRandom([
        Uint8Array.of(...ScriptedRandom.word(0, sign), ...ScriptedRandom.word(2 ** 53 - 1, sign)),
      ]);
      const payload = mechanism.randomise([sign * 3, 0], extreme);
      expect(mechanism.fault(payload)).toBeUndefined();
      const [largest, smallest] = LaplaceL1.decode(payload);
      expect(Math.abs(largest)).toBeGreaterThan(0.999999 * mechanism.largestCoordinate);
      expect(Math.abs(smallest)).toBe(0);
      expect(mechanism.fault(payloadOf([largest * 1.00001, 0]))).toMatch(/coordinate 0 .* at most/);
    }
    const random = new DeterministicRandom(3);
    for (let i = 0; i < 1000; i++) {
      expect(mechanism.fault(mechanism.randomise([1, -2], random))).toBeUndefined();
    }
  });

  it('names what is wrong with a payload', () => {
    const mechanism = laplace(2, 1);
    expect(mechanism.fault(payloadOf([0, NaN]))).toMatch(/coordinate 1 is NaN/);
    expect(mechanism.fault(payloadOf([Infinity, 0]))).toMatch(/coordinate 0 is Infinity/);
    expect(mechanism.fault(payloadOf([0]))).toMatch(/4 bytes: it must have 8/);
    expect(() => mechanism.logLikelihood(payloadOf([0]), [0, 0])).toThrow(/4 bytes: it must have 8/);
    expect(() => mechanism.logLikelihoods(payloadOf([0, 0]), [0, 0, 0], new Float64Array(1))).toThrow(
      /3 numbers of points for 1 results/,
    );
  });

  it('reads payloads that start anywhere in a buffer', () => {
    const shifted = new Uint8Array(9);
    shifted.set(payloadOf([1.5, -2]), 1);
    expect([...LaplaceL1.decode(shifted.subarray(1))]).toEqual([1.5, -2]);
    expect(laplace(2, 1).fault(shifted.subarray(1))).toBeUndefined();
  });

  describe('refuses', () => {
    const random = new DeterministicRandom(1);
    it.each([
      ['a point outside the ball', [0.7, 0.4], /‖z‖₁ is 1\.1/],
      ['NaN', [0, NaN], /coordinate 1 is NaN/],
      ['infinity', [-Infinity, 0], /‖z‖₁ is Infinity/],
      ['too few coordinates', [0.1], /1 coordinates: it must have 2/],
      ['too many coordinates', [0.1, 0.1, 0.1], /3 coordinates: it must have 2/],
    ])('%s', (_, z, message) => {
      const act = () => laplace(2, 1).randomise(z, random);
      expect(act).toThrow(message);
      expect(act).toThrow(expect.objectContaining({ name: 'LdpError', code: 'outside-domain' }));
    });

    it.each([
      [{ dimension: 0, radius: 1, epsilon: 1 }, /dimension is 0/],
      [{ dimension: 1.5, radius: 1, epsilon: 1 }, /dimension is 1\.5/],
      [{ dimension: 20_000, radius: 1, epsilon: 1 }, /dimension is 20000/],
      [{ dimension: 2, radius: 0, epsilon: 1 }, /radius is 0/],
      [{ dimension: 2, radius: NaN, epsilon: 1 }, /radius is NaN/],
      [{ dimension: 2, radius: Infinity, epsilon: 1 }, /radius is Infinity/],
      [{ dimension: 2, radius: 1, epsilon: 0 }, /ε of the representation is 0/],
      [{ dimension: 2, radius: 1, epsilon: NaN }, /is NaN/],
      [{ dimension: 2, radius: 1, epsilon: '1' as unknown as number }, /is 1: it must be a number/],
    ])('the parameters %j', (parameters, message) => {
      expect(() => new LaplaceL1({ kind: 'laplace-l1', ...parameters })).toThrow(message);
    });
  });

  it('scales a point that only rounding put outside', () => {
    const random = new ScriptedRandom([ScriptedRandom.word(2 ** 53 - 1)]);
    const [noisy] = LaplaceL1.decode(laplace(1, 1).randomise([1 + 1e-12], random));
    expect(noisy).toBe(1);
  });

  it('claims what it gives', () => {
    expect(laplace(2, 1.5).claim).toEqual({
      kind: 'pure-ldp',
      epsilon: 1.5,
      delta: 0,
      parts: [{ of: 'representation', epsilon: 1.5 }],
      neighbouring: 'any-two-records',
      composition: 'none',
      assumptions: ['idealised-real-arithmetic', 'one-report-per-record'],
    });
  });
});
