import { createRandomiser, LdpError, type Randomiser, type RandomiserSpec } from '@undertone/ldp';
import { ArtifactError } from '../artifact-error';
import { inputDimension, type Column, type InputSchema } from '../input-schema/input-schema';
import type {
  ArtifactBody,
  AuxiliaryGuarantee,
  EncoderLayer,
  EncoderSpec,
  MechanismClaim,
} from './artifact-body';
import { mechanismClaim, weightSizes } from './artifact-body';
import { decodeCanonical, encodeCanonical, sameBytes } from './canonical-cbor';
import { broken, distinct, Fields, plainData, text } from './fields';

const MAXIMUM_LAYERS = 16;
const MAXIMUM_WIDTH = 65_536;
const MAXIMUM_WEIGHTS = 64 * 1024 * 1024;
const MAXIMUM_LABELS = 65_536;
const MAXIMUM_COLUMNS = 4096;
const MAXIMUM_LEVELS = 16_384;
const MAXIMUM_LINEAGE_BYTES = 16 * 1024;
const LONGEST_LINEAGE_LIST = 32;

/**
 * The body in a header, which must be its one deterministic encoding: no tag, no other order, no field besides.
 *
 * @throws ArtifactError `invalid` or `claim-mismatch`.
 */
export function readHeader(header: Uint8Array): { body: ArtifactBody; randomiser: Randomiser } {
  let value: unknown;
  try {
    value = decodeCanonical(header);
  } catch (error) {
    throw new ArtifactError('invalid', `the header isn't deterministic CBOR: ${(error as Error).message}`);
  }
  const read = readBody(value);
  if (!sameBytes(encodeCanonical(read.body), header)) {
    throw new ArtifactError('invalid', "the header isn't the deterministic CBOR of its body");
  }
  return read;
}

/**
 * The body in `value`, copied field by field, frozen, and with its randomiser: unknown fields, broken limits, parts
 * that don't fit together, and a claim that isn't the randomiser's are refused.
 *
 * @throws ArtifactError `invalid` or `claim-mismatch`.
 */
export function readBody(value: unknown): { body: ArtifactBody; randomiser: Randomiser } {
  const fields = new Fields(value, '');
  const name = fields.text('name');
  const schema = readSchema(fields.record('schema'));
  const labels = distinct(fields.list('labels', MAXIMUM_LABELS, text), 'labels');
  const encoder = readEncoder(fields.record('encoder'));
  const randomiser = readRandomiser(fields.take('randomiser'));
  const claim = readClaim(fields.take('claim'), randomiser);
  const lineage = readLineage(fields.take('lineage'));
  fields.end();
  const body = { name, schema, labels, encoder, randomiser: randomiser.spec, claim, lineage };
  requireFit(body, randomiser);
  return { body: deepFreeze(body), randomiser };
}

function readSchema(fields: Fields): InputSchema {
  const kind = fields.oneOf('kind', 'image', 'table');
  const side = { from: 1, to: MAXIMUM_WIDTH };
  const schema: InputSchema =
    kind === 'image'
      ? {
          kind,
          height: fields.integer('height', side),
          width: fields.integer('width', side),
          channels: fields.integer('channels', side),
          maximum: fields.number('maximum', (v) => v > 0, 'a number above 0'),
        }
      : { kind, columns: fields.list('columns', MAXIMUM_COLUMNS, readColumn) };
  fields.end();
  if (schema.kind === 'table') {
    distinct(
      schema.columns.map((column) => column.name),
      'schema.columns',
    );
  }
  return schema;
}

function readColumn(value: unknown, path: string): Column {
  const fields = new Fields(value, path);
  const name = fields.text('name');
  const kind = fields.oneOf('kind', 'numeric', 'categorical');
  const column: Column =
    kind === 'numeric'
      ? {
          name,
          kind,
          mean: fields.number('mean'),
          deviation: fields.number('deviation', (v) => v > 0, 'a number above 0'),
        }
      : { name, kind, levels: distinct(fields.list('levels', MAXIMUM_LEVELS, text), `${path}.levels`) };
  fields.end();
  return column;
}

function readEncoder(fields: Fields): EncoderSpec {
  const layers = fields.list('layers', MAXIMUM_LAYERS, readLayer);
  const projection = fields.record('projection');
  const kind = projection.oneOf('kind', 'l1-ball');
  const radius = projection.number('radius', (v) => v > 0, 'a number above 0');
  projection.end();
  fields.end();
  return { layers, projection: { kind, radius } };
}

function readLayer(value: unknown, path: string): EncoderLayer {
  const fields = new Fields(value, path);
  const width = { from: 1, to: MAXIMUM_WIDTH };
  const layer = {
    inputs: fields.integer('inputs', width),
    outputs: fields.integer('outputs', width),
    activation: fields.oneOf('activation', 'relu', 'linear'),
  };
  fields.end();
  return layer;
}

function readRandomiser(value: unknown): Randomiser {
  let randomiser: Randomiser;
  try {
    randomiser = createRandomiser(value as RandomiserSpec);
  } catch (error) {
    if (!(error instanceof LdpError)) throw error;
    throw new ArtifactError('invalid', `randomiser: ${error.message}`);
  }
  if (!sameBytes(encodeCanonical(plainData(value, 'randomiser', 0)), encodeCanonical(randomiser.spec))) {
    throw new ArtifactError('invalid', 'randomiser has fields that are not in the format');
  }
  return randomiser;
}

function readClaim(value: unknown, randomiser: Randomiser): MechanismClaim {
  const d1 = readAuxiliaryGuarantee(new Fields(value, 'claim').record('d1'));
  const claim = mechanismClaim(randomiser, d1);
  if (!sameBytes(encodeCanonical(plainData(value, 'claim', 16)), encodeCanonical(claim))) {
    throw new ArtifactError(
      'claim-mismatch',
      `the claim isn't the one that the randomiser gives (ε = ${claim.epsilon}): use mechanismClaim(randomiser, d1)`,
    );
  }
  return claim;
}

function readAuxiliaryGuarantee(fields: Fields): AuxiliaryGuarantee {
  const kind = fields.oneOf('kind', 'public', 'central-dp');
  const guarantee: AuxiliaryGuarantee =
    kind === 'public'
      ? { kind }
      : {
          kind,
          epsilon: fields.number('epsilon', (v) => v > 0, 'a number above 0'),
          delta: fields.number('delta', (v) => v >= 0 && v < 1, 'a number in [0, 1)'),
        };
  fields.end();
  return guarantee;
}

function readLineage(value: unknown): Record<string, unknown> {
  new Fields(value, 'lineage');
  const lineage = plainData(value, 'lineage', LONGEST_LINEAGE_LIST) as Record<string, unknown>;
  const bytes = encodeCanonical(lineage).length;
  if (bytes > MAXIMUM_LINEAGE_BYTES) {
    throw new ArtifactError(
      'invalid',
      `lineage takes ${bytes} bytes: it must take at most ${MAXIMUM_LINEAGE_BYTES}`,
    );
  }
  return lineage;
}

function requireFit(body: ArtifactBody, randomiser: Randomiser): void {
  const { layers, projection } = body.encoder;
  let width = inputDimension(body.schema);
  let from = 'the input schema';
  for (const [i, layer] of layers.entries()) {
    if (layer.inputs !== width) {
      throw broken(`encoder.layers[${i}].inputs`, layer.inputs, `${width}, the width of ${from}`);
    }
    width = layer.outputs;
    from = `layer ${i}`;
  }
  const weights = weightSizes(body.encoder).reduce((a, b) => a + b, 0);
  if (weights > MAXIMUM_WEIGHTS) {
    throw broken('the number of weights', weights, `at most ${MAXIMUM_WEIGHTS}`);
  }
  if (randomiser.dimension !== width) {
    throw broken('randomiser dimension', randomiser.dimension, `${width}, the width of the encoder`);
  }
  if (randomiser.classes !== body.labels.length) {
    throw broken('randomiser classes', randomiser.classes, `${body.labels.length}, the number of labels`);
  }
  const { radius } = body.randomiser.representation;
  if (radius !== projection.radius) {
    throw broken('encoder.projection.radius', projection.radius, `${radius}, the radius of the randomiser`);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}
